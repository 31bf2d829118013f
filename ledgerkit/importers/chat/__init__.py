"""Plain conversations: one JSON value is one run, in the message formats of OpenAI and Anthropic.

A file is JSON Lines with a conversation on each line, or one JSON document that is a conversation or a list of them:
fine-tuning rows, request logs, benchmark results (tau-bench, AgentDojo). A row has no identity that holds beyond its
file, so its run is known by what the row says: the same row is the same run, in whatever file it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.chat.reading import Reading
from ledgerkit.importers.chat.rows import Row, is_foreign, row_of, rows_of
from ledgerkit.importers.drafts import ParsedFile, Quarantined, RecordDraft
from ledgerkit.importers.pieces import digest, unknown_message
from ledgerkit.importers.reader import Damage, Line, read_values
from ledgerkit.importers.shapes import is_list, is_object

NAME: Final = "chat"
_ABOUT_THE_SET: Final = frozenset({"metadata", "name", "description", "version", "license"})


def sniff(values: list[Any]) -> bool:
    """Whether a file begins with a conversation, after a header or not, and holds no record of another format."""
    items = [item for value in values for item in rows_of(value)[:5]]
    first = next((item for item in items if not _is_header(item)), None)
    return row_of(first) is not None and not any(is_foreign(item) for item in items)


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[bytes | str], str],
) -> ParsedFile:
    """Reads a file of conversations. It is always read whole: equal rows are told apart by their order."""
    del offset, line, measure
    parsed = ParsedFile([], [], path.stat().st_size, 0, NAME)
    seen: dict[str, int] = {}
    last = 0
    for item in read_values(path):
        parsed.line_count += item.number != last
        last = item.number
        if isinstance(item, Damage):
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, item.reason))
            parsed.torn_tail = parsed.torn_tail or item.torn
            continue
        for value in rows_of(item.value):
            row = row_of(value)
            if row is not None:
                parsed.records += _run(row, item, seen, keep_reasoning=keep_reasoning)
            elif is_object(value) or is_list(value):
                parsed.records.append(_other(value, item))
            else:
                parsed.quarantined.append(
                    Quarantined(item.number, item.offset, item.size, "neither an object nor a list", "no row")
                )
    return parsed


def _run(row: Row, item: Line, seen: dict[str, int], *, keep_reasoning: bool) -> Iterator[RecordDraft]:
    """The records of a row. Rows that say the same in one file are runs of their own, numbered."""
    identity = digest(row.value)
    number = seen[identity] = seen.get(identity, 0) + 1
    session = f"row:{identity}" if number == 1 else f"row:{identity}:{number}"
    return Reading(row, item, session, keep_reasoning=keep_reasoning).records()


def _other(value: Any, item: Line) -> RecordDraft:  # noqa: ANN401 - any JSON value
    """A row that is no conversation: a header that describes the data set, or something kept as it stands."""
    draft = RecordDraft(item.number, item.offset, "other row", digest(value), run_key=None)
    if _is_header(value):
        draft.record_type, draft.skipped = "header", "describes the data set, not a run"
    else:
        draft.messages = [unknown_message(value, NAME)]
    return draft


def _is_header(value: object) -> bool:
    """Whether a row describes the data set."""
    return is_object(value) and bool(value) and value.keys() <= _ABOUT_THE_SET
