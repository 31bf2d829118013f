"""The log formats that can be read, recognised by content and never by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

from ledgerkit.importers import (
    atif,
    chat,
    claude_code,
    codex,
    gemini_cli,
    inspect_ai,
    ledgerkit_jsonl,
    mini_swe_agent,
    openhands,
    otel,
    pi,
    swe_agent,
)
from ledgerkit.importers.archives import is_archive, read_archive
from ledgerkit.importers.columnar import columns_of, is_columnar
from ledgerkit.importers.drafts import ParsedFile
from ledgerkit.importers.inspect_ai import scout
from ledgerkit.importers.plugins import plugged_in
from ledgerkit.importers.reader import Line, read_values

_SNIFFED_VALUES: Final = 40
_SNIFFED_BYTES: Final = 4 * 1024 * 1024
_SNIFFED_CHUNK: Final = 1 << 16


class Reader(Protocol):
    """Reads a file of one format, from a former cursor on."""

    def __call__(
        self,
        path: Path,
        *,
        offset: int = 0,
        line: int = 1,
        keep_reasoning: bool = False,
        measure: Callable[[bytes | str], str],
    ) -> ParsedFile:
        """What the file holds."""
        ...


@dataclass(frozen=True, slots=True)
class LogFormat:
    """A log format: how to recognise a file of it, and how to read one.

    Attributes:
        resumes: Whether a grown file is read on from its cursor; else it is read whole again.
        is_rows: Whether each value of a file says by itself what it is, so that one that is damaged beyond recognition
            does not hide the others; false for a format whose files begin with a header of their own.
        sniff_zip: Recognises a zip file by the names of its members, for a format that has such files.
        sniff_columns: Recognises a Parquet file by the names of its columns, for a format that has such files.
    """

    name: str
    sniff: Callable[[list[Any]], bool]
    read: Reader
    resumes: bool = True
    is_rows: bool = False
    sniff_zip: Callable[[list[str]], bool] | None = None
    sniff_columns: Callable[[list[str]], bool] | None = None


FORMATS: Final[tuple[LogFormat, ...]] = (
    LogFormat(ledgerkit_jsonl.NAME, ledgerkit_jsonl.sniff, ledgerkit_jsonl.read, resumes=False),
    LogFormat(claude_code.NAME, claude_code.sniff, claude_code.read),
    LogFormat(codex.NAME, codex.sniff, codex.read, resumes=False),
    LogFormat(gemini_cli.NAME, gemini_cli.sniff, gemini_cli.read, resumes=False),
    LogFormat(pi.NAME, pi.sniff, pi.read, resumes=False),
    LogFormat(otel.NAME, otel.sniff, otel.read, resumes=False, is_rows=True),
    LogFormat(swe_agent.NAME, swe_agent.sniff, swe_agent.read, resumes=False),
    LogFormat(mini_swe_agent.NAME, mini_swe_agent.sniff, mini_swe_agent.read, resumes=False),
    LogFormat(openhands.NAME, openhands.sniff, openhands.read, resumes=False, is_rows=True),
    LogFormat(atif.NAME, atif.sniff, atif.read, resumes=False, is_rows=True),
    LogFormat(inspect_ai.NAME, inspect_ai.sniff, inspect_ai.read, resumes=False, sniff_zip=inspect_ai.sniff_zip),
    LogFormat(scout.NAME, scout.sniff, scout.read, resumes=False, sniff_columns=scout.sniff_columns),
    LogFormat(chat.NAME, chat.sniff, chat.read, resumes=False, is_rows=True),
)
"""Our own formats, in the order in which a file is tried."""


@cache
def formats() -> tuple[LogFormat, ...]:
    """Our formats, then those of installed packages, by the names of their entry points.

    Raises:
        ConfigurationError: If a package's format cannot be loaded.
    """
    return (*FORMATS, *plugged_in(LogFormat))


def recognise(path: Path) -> LogFormat | None:
    """The format of a file, by its first JSON values, members or columns; ``None`` if it is none that can be read."""
    if is_columnar(path):
        columns = columns_of(path)
        return next((each for each in formats() if each.sniff_columns and each.sniff_columns(columns)), None)
    if is_archive(path):
        names = [member.name for member in read_archive(path).members]
        return next((each for each in formats() if each.sniff_zip and each.sniff_zip(names)), None)
    values = [line.value for line in islice(_head(path), _SNIFFED_VALUES)]
    found = next((log_format for log_format in formats() if values and log_format.sniff(values)), None)
    if found is None and len(values) > 1:  # what stands first may be damaged and JSON all the same
        found = next((each for each in formats() if each.is_rows and each.sniff(values[1:])), None)
    return found


def _head(path: Path) -> Iterator[Line]:
    """The first values that may be records: damage, and scalars that it left, are passed over, a huge line as well."""
    spent = 0
    for item in read_values(path, chunk=_SNIFFED_CHUNK):
        spent += item.size if item.size <= _SNIFFED_BYTES or isinstance(item, Line) else 0
        if isinstance(item, Line) and isinstance(item.value, dict | list):
            yield item
        if spent > _SNIFFED_BYTES:
            return
