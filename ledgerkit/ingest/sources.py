"""Which files there are to read, and where reading each of them begins."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ledgerkit import errors
from ledgerkit.importers.containers import is_compressed
from ledgerkit.importers.registry import recognise
from ledgerkit.store.layout import MARKER

_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read.

    Attributes:
        path: The file, absolute.
        size: Its bytes.
        earlier: Its row in ``imports``, where it continues; ``None`` to read it whole.
        line: Number of the first line to read.
    """

    path: Path
    size: int
    earlier: Mapping[str, Any] | None = None
    line: int = 1

    @property
    def offset(self) -> int:
        """Byte offset of the first line to read."""
        return self.earlier["cursor"] if self.earlier else 0

    @property
    def unread(self) -> int:
        """Bytes that are to be read."""
        return self.size - self.offset


def find_files(paths: Iterable[str | Path]) -> list[Path]:
    """All files at and below some paths, absolute, sorted, each once.

    Raises:
        ImportSourceError: If a path is not there, or there is no file at all.
    """
    found: set[Path] = set()
    for given in paths:
        path = Path(given).expanduser().absolute()
        if not path.exists():
            raise errors.ImportSourceError(f"Nothing at {path}. Check the path.")
        found.update(_below(path) if path.is_dir() else [path])
    if not found:
        raise errors.ImportSourceError(f"No files below {', '.join(map(str, paths))}.")
    return sorted(found)


def _below(folder: Path) -> Iterator[Path]:
    """The files below a folder, those of ledgers left out."""
    ledgers = {marker.parent for marker in folder.rglob(MARKER)}
    return (path for path in folder.rglob("*") if path.is_file() and ledgers.isdisjoint(path.parents))


def plan(path: Path, earlier: Mapping[str, Any] | None) -> Source | None:
    """How to read a file, given its last row in ``imports``; ``None`` if it has not changed since.

    A file that grew continues; one whose beginning is not what it was is read anew.
    """
    size = path.stat().st_size
    if earlier is not None and 0 < earlier["cursor"] <= size:
        fingerprint, lines = fingerprint_of(path, earlier["cursor"])
        if fingerprint == earlier["fingerprint"]:
            if size == earlier["byte_count"]:
                return None
            log_format = recognise(path)
            is_known = log_format is not None and log_format.name == earlier["format"] and log_format.resumes
            if is_known and not is_compressed(path):
                return Source(path, size, earlier, lines + 1)
    return Source(path, size)


def fingerprint_of(path: Path, end: int) -> tuple[str, int]:
    """SHA-256 of a file's first bytes, and how many newlines are among them."""
    digest, lines, left = hashlib.sha256(), 0, end
    with path.open("rb") as file:
        while left and (chunk := file.read(min(_CHUNK, left))):
            digest.update(chunk)
            lines += chunk.count(b"\n")
            left -= len(chunk)
    return digest.hexdigest(), lines
