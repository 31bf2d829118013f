"""A workspace: a real folder that an agent works in, known to it under another name.

The rule: the folder's own path never leaves this module; everything that is shown or recorded says ``shown_as``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from ledgerkit.errors import LedgerkitError

SUFFIX = ".txt"
"""Files of the toy repository carry this suffix in the package, so that no tool takes them for code of ledgerkit."""


class OutsideWorkspaceError(LedgerkitError, ValueError):
    """A path that leads out of the workspace."""


class Workspace:
    """Text files below one root.

    Args:
        root: The real folder; it must exist.
        shown_as: The absolute path that the agent knows it by.
    """

    def __init__(self, root: Path, shown_as: str) -> None:
        self.root = root.resolve()
        self.shown_as = shown_as

    def locate(self, path: str) -> Path:
        """The real place of a path as the agent writes it, absolute or relative.

        Raises:
            OutsideWorkspaceError: If it lies outside.
        """
        relative = PurePosixPath(path)
        if relative.is_absolute():
            if not relative.is_relative_to(self.shown_as):
                raise OutsideWorkspaceError(f"{path} lies outside {self.shown_as}. Name a file inside it.")
            relative = relative.relative_to(self.shown_as)
        place = (self.root / relative).resolve()
        if not place.is_relative_to(self.root):
            raise OutsideWorkspaceError(f"{path} lies outside {self.shown_as}. Name a file inside it.")
        return place

    def relative(self, path: str) -> str:
        """A path as the agent writes it, relative to the workspace."""
        return self.locate(path).relative_to(self.root).as_posix()

    def absolute(self, relative: str) -> str:
        """The absolute path that the agent knows a file by."""
        return f"{self.shown_as}/{relative}"

    def paths(self) -> list[str]:
        """All files, relative, sorted."""
        found = (p for p in self.root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
        return sorted(p.relative_to(self.root).as_posix() for p in found)

    def read(self, path: str) -> str:
        """Text of a file."""
        return self.locate(path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        """Write a file, with its folders."""
        place = self.locate(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def remove(self, path: str) -> None:
        """Remove a file."""
        self.locate(path).unlink()

    def snapshot(self) -> dict[str, str]:
        """All files with their text."""
        return {path: (self.root / path).read_text(encoding="utf-8") for path in self.paths()}

    def restore(self, files: Mapping[str, str]) -> None:
        """Make the workspace hold exactly these files."""
        for path in self.paths():
            if path not in files:
                self.remove(path)
        for path, text in files.items():
            self.write(path, text)


def fingerprint(files: Mapping[str, str]) -> str:
    """A hash of a set of files: equal sets have equal fingerprints."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path}\x1f{files[path]}\x1e".encode())
    return digest.hexdigest()


def toy_repository() -> dict[str, str]:
    """The files of tillroll, the toy repository that comes with the package."""
    return dict(_texts(resources.files("ledgerkit.agent") / "toy", ""))


def _texts(folder: Traversable, prefix: str) -> Iterable[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.is_dir():
            yield from _texts(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(SUFFIX):
            yield prefix + entry.name.removesuffix(SUFFIX), entry.read_text(encoding="utf-8")
