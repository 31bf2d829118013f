"""What every importer must do, as a check that a package can run over its own files.

Each demand is one of the design's: content tells the format, nothing is dropped silently, a damaged record costs
nothing but itself, and the same file says the same twice.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ledgerkit.importers.archives import is_archive, read_archive
from ledgerkit.importers.columnar import columns_of, is_columnar
from ledgerkit.importers.drafts import ParsedFile, RecordDraft
from ledgerkit.importers.reader import Line, read_values
from ledgerkit.importers.registry import LogFormat

_STRANGERS: tuple[Any, ...] = ({}, [], 1, "text", None, {"type": "user"}, {"role": "user", "content": "hi"}, [{}])


class ConformanceError(AssertionError):
    """An importer that does not do what every importer must."""


def check_format(log_format: LogFormat, files: Iterable[Path], *, cuts: int = 8, seed: int = 0) -> None:
    """Checks an importer against some files of its format.

    Args:
        log_format: The format.
        files: Files of it.
        cuts: How many times each file is cut off somewhere, to see that nothing breaks.
        seed: Where.

    Raises:
        ConformanceError: At the first demand that is not met, with the file and what was seen.
    """
    for value in _STRANGERS:
        _demand(not log_format.sniff([value]), f"{log_format.name} takes {value!r} for one of its files")
    for path in files:
        _demand(_is_recognised(log_format, path), f"{path}: not recognised by its content")
        parsed = _read(log_format, path)
        _check_parsed(path, parsed)
        _demand(_said(parsed) == _said(_read(log_format, path)), f"{path}: reading it twice gives two things")
        for length in _lengths(path, cuts, seed):
            _check_cut(log_format, path, parsed, length)


def _is_recognised(log_format: LogFormat, path: Path) -> bool:
    if is_columnar(path):
        return log_format.sniff_columns is not None and log_format.sniff_columns(columns_of(path))
    if is_archive(path):
        names = [member.name for member in read_archive(path).members]
        return log_format.sniff_zip is not None and log_format.sniff_zip(names)
    values = [line.value for line in read_values(path) if isinstance(line, Line)]
    return bool(values) and log_format.sniff(values[:40])


def _demand(is_met: object, otherwise: str) -> None:
    if not is_met:
        raise ConformanceError(otherwise)


def _measure(content: bytes | str) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:32]


def _read(log_format: LogFormat, path: Path) -> ParsedFile:
    return log_format.read(path, measure=_measure)


def _check_parsed(path: Path, parsed: ParsedFile) -> None:
    _demand(bool(parsed.records or parsed.quarantined), f"{path}: nothing was read, and nothing reported")
    _demand(bool(parsed.agent), f"{path}: the agent has no name")
    for record in parsed.records:
        where = f"{path}:{record.line} ({record.record_type})"
        _demand(bool(record.digest), f"{where}: a record without a digest cannot be told from another")
        _demand(bool(record.messages) != bool(record.skipped), f"{where}: a record has messages, or a rule to skip it")
        for message in record.messages:
            _demand(bool(message.parts), f"{where}: a message without parts")
            _demand(bool(message.actor), f"{where}: a message without an actor")
            json.dumps(message.metadata)


def _lengths(path: Path, cuts: int, seed: int) -> Iterator[int]:
    rng = random.Random(f"{path.name}/{seed}")  # noqa: S311 - where to cut, not a secret
    size = path.stat().st_size
    yield from sorted({rng.randrange(size) for _ in range(cuts)} - {0}) if size > 1 else ()


def _check_cut(log_format: LogFormat, path: Path, whole: ParsedFile, length: int) -> None:
    """A file that is cut off somewhere: no error, and what stands before the cut is as it was."""
    with tempfile.TemporaryDirectory(prefix="ledgerkit-cut-") as folder:
        cut = Path(folder) / path.name
        cut.write_bytes(path.read_bytes()[:length])
        try:
            parsed = _read(log_format, cut)
        except Exception as error:
            raise ConformanceError(f"{path}, cut off after {length} bytes: {type(error).__name__}: {error}") from error
    if log_format.resumes:
        before = {record.digest for record in whole.records}
        for record in parsed.records:
            is_known = record.digest in before or record.provisional
            _demand(is_known, f"{path}, cut off after {length} bytes: line {record.line} says something else")


def _said(parsed: ParsedFile) -> list[tuple[object, ...]]:
    return [_identity(record) for record in parsed.records]


def _identity(record: RecordDraft) -> tuple[object, ...]:
    return (record.digest, record.native_id, record.session, record.run_key, len(record.messages), record.skipped)
