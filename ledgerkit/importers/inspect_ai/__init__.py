"""Logs of Inspect AI: ``.eval`` (a zip file of JSON documents) and ``.json`` (one document), a run for each sample.

Read are all generations of version 2: contents under ``tc://`` (2024), steps (to 2025-04), spans, pools of messages,
and evaluations that were killed and so have a journal in the place of a header.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.archives import is_archive
from ledgerkit.importers.drafts import ParsedFile
from ledgerkit.importers.inspect_ai.evaluation import NAME, is_log
from ledgerkit.importers.inspect_ai.files import is_archive_of_log, read_archived, read_document

__all__: Final = ["NAME", "read", "sniff", "sniff_zip"]


def sniff(values: list[Any]) -> bool:
    """Whether the first value is a log."""
    return is_log(values[0])


def sniff_zip(names: list[str]) -> bool:
    """Whether members of these names make a log."""
    return is_archive_of_log(names)


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[bytes | str], str],
) -> ParsedFile:
    """Reads a log. It is always read whole: a running evaluation writes its list of members anew."""
    del offset, line, measure
    parsed = ParsedFile([], [], path.stat().st_size, 0, NAME)
    if is_archive(path):
        read_archived(path, parsed, keep_reasoning=keep_reasoning)
    else:
        read_document(path, parsed, keep_reasoning=keep_reasoning)
    return parsed
