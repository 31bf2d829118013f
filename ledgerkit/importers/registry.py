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
from ledgerkit.importers.drafts import ParsedFile
from ledgerkit.importers.plugins import plugged_in
from ledgerkit.importers.reader import Line, read_values

_SNIFFED_VALUES: Final = 40
_SNIFFED_BYTES: Final = 4 * 1024 * 1024


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
        sniff_zip: Recognises a zip file by the names of its members, for a format that has such files.
    """

    name: str
    sniff: Callable[[list[Any]], bool]
    read: Reader
    resumes: bool = True
    sniff_zip: Callable[[list[str]], bool] | None = None


FORMATS: Final[tuple[LogFormat, ...]] = (
    LogFormat(ledgerkit_jsonl.NAME, ledgerkit_jsonl.sniff, ledgerkit_jsonl.read, resumes=False),
    LogFormat(claude_code.NAME, claude_code.sniff, claude_code.read),
    LogFormat(codex.NAME, codex.sniff, codex.read, resumes=False),
    LogFormat(gemini_cli.NAME, gemini_cli.sniff, gemini_cli.read, resumes=False),
    LogFormat(pi.NAME, pi.sniff, pi.read, resumes=False),
    LogFormat(otel.NAME, otel.sniff, otel.read, resumes=False),
    LogFormat(swe_agent.NAME, swe_agent.sniff, swe_agent.read, resumes=False),
    LogFormat(mini_swe_agent.NAME, mini_swe_agent.sniff, mini_swe_agent.read, resumes=False),
    LogFormat(openhands.NAME, openhands.sniff, openhands.read, resumes=False),
    LogFormat(atif.NAME, atif.sniff, atif.read, resumes=False),
    LogFormat(inspect_ai.NAME, inspect_ai.sniff, inspect_ai.read, resumes=False, sniff_zip=inspect_ai.sniff_zip),
    LogFormat(chat.NAME, chat.sniff, chat.read, resumes=False),
)


@cache
def formats() -> tuple[LogFormat, ...]:
    """Our formats, then those of installed packages, by the names of their entry points.

    Raises:
        ConfigurationError: If a package's format cannot be loaded.
    """
    return (*FORMATS, *plugged_in(LogFormat))


def recognise(path: Path) -> LogFormat | None:
    """The format of a file, by its first JSON values or its members; ``None`` if it is none that can be read."""
    if is_archive(path):
        names = [member.name for member in read_archive(path).members]
        return next((each for each in formats() if each.sniff_zip and each.sniff_zip(names)), None)
    values = [line.value for line in islice(_head(path), _SNIFFED_VALUES)]
    return next((log_format for log_format in formats() if values and log_format.sniff(values)), None)


def _head(path: Path) -> Iterator[Line]:
    for item in read_values(path):
        if item.offset > _SNIFFED_BYTES:
            return
        if isinstance(item, Line):
            yield item
