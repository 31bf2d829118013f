"""Inspect Scout's transcripts: Parquet files with one row a transcript, whose messages and events are Inspect's.

Scout keeps what other programs logged, so a transcript may stand for a run that another file tells in full. Columns
that are not Scout's own hold metadata of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.columnar import rows_of
from ledgerkit.importers.drafts import JsonObject, MessageDraft, ParsedFile, Quarantined, RecordDraft, RunFacts
from ledgerkit.importers.inspect_ai.contents import Attachments
from ledgerkit.importers.inspect_ai.events import error_message, limit_message
from ledgerkit.importers.inspect_ai.scores import is_judged, score_message
from ledgerkit.importers.inspect_ai.walking import Walk
from ledgerkit.importers.marks import MARK
from ledgerkit.importers.pieces import digest, json_part, note_message, verdict_message
from ledgerkit.importers.reader import Damage, read_bytes
from ledgerkit.importers.shapes import nonempty_text
from ledgerkit.protocol.vocabulary import RunRelation, TrustLevel, Verdict, Visibility

NAME: Final = "inspect-scout"
_CONTENT: Final = ("messages", "events", "events_data")
_JSON: Final = (*_CONTENT, "timelines", "agent_args", "model_options")
_REQUIRED: Final = frozenset({"transcript_id", "messages"})
_KNOWN_BY: Final = frozenset({"source_type", "source_id", "source_uri", "task_set", "message_count"})
_APART: Final = frozenset({*_CONTENT, "timelines", "score", "success", "score_explanation", "error", "limit"})
_MET: Final = "stands in the events"
_SCORE: Final = "score"


def sniff(values: list[Any]) -> bool:
    """No file of JSON is one of Scout's."""
    del values
    return False


def sniff_columns(names: list[str]) -> bool:
    """Whether columns of these names are those of transcripts."""
    return _REQUIRED.issubset(names) and not _KNOWN_BY.isdisjoint(names)


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[bytes | str], str],
) -> ParsedFile:
    """Reads a file of transcripts. It is always read whole; the lines of its records are rows."""
    del offset, line, measure
    parsed = ParsedFile([], [], path.stat().st_size, 0, NAME)
    for row in rows_of(path):
        parsed.line_count += 1
        if isinstance(row.value, str):
            parsed.quarantined.append(Quarantined(row.number, row.offset, 0, row.value))
        elif nonempty_text(row.value.get("transcript_id")) is None:
            why = "a transcript without transcript_id"
            parsed.quarantined.append(Quarantined(row.number, row.offset, 0, why, "transcript"))
        else:
            reading = _Transcript(row.value, (row.number, row.offset), keep_reasoning=keep_reasoning)
            parsed.records += reading.records()
            parsed.quarantined += reading.damaged
    return parsed


class _Transcript:
    """One reading of a transcript.

    Args:
        row: Its columns that are not null.
        place: Its number, and where its row group begins.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """

    def __init__(self, row: JsonObject, place: tuple[int, int], *, keep_reasoning: bool) -> None:
        self.damaged: list[Quarantined] = []
        self._place = place
        self._row = {name: self._decoded(name, value) for name, value in row.items()}
        own = str(row["transcript_id"])
        is_ours = row.get("source_type") == MARK
        session = nonempty_text(row.get("session_id")) if is_ours else None
        self._session = session or own
        self._run = own if session else ""
        relation = row.get("relation") if is_ours else None
        self._relation = RunRelation(relation) if relation in [*RunRelation] else None
        sample = {name: self._row.get(name) for name in _CONTENT}
        model = nonempty_text(row.get("model"))
        self._walk = Walk(sample, Attachments({}), model, self._draft, keep_reasoning=keep_reasoning)

    def _decoded(self, name: str, value: object) -> Any:  # noqa: ANN401 - any JSON value
        """A column that holds JSON as what it says."""
        if name not in _JSON or not isinstance(value, str):
            return value
        item = read_bytes(value.encode("utf-8", "surrogatepass"), *self._place)
        if isinstance(item, Damage):
            self.damaged.append(Quarantined(*self._place, item.size, f"{name}: {item.reason}", name))
            return None
        return item.value

    def _draft(self, record_type: str, said: object, messages: list[MessageDraft], run: str = "") -> RecordDraft:
        key = "/".join(filter(None, (self._run, run)))
        own = digest([key, record_type, said])
        return RecordDraft(
            *self._place, record_type, own, session=self._session, run_key=key,
            relation=RunRelation.SUBAGENT if run else self._relation, messages=messages,
        )  # fmt: skip

    def records(self) -> Iterator[RecordDraft]:
        """The records of the transcript."""
        about = {name: value for name, value in self._row.items() if name not in _APART and value is not None}
        first = self._draft(
            "transcript", about, [note_message({"note": "transcript", **about}, NAME, TrustLevel.UNKNOWN)]
        )
        first.facts = self._facts()
        yield first
        yield from self._walk.events(self._row.get("events"))
        yield from self._walk.messages(self._row.get("messages"), _MET)
        yield from self._outcome()

    def _facts(self) -> RunFacts:
        """The task and its surroundings: a task's id counts only within its set."""
        named = {name: nonempty_text(self._row.get(name)) for name in _FACTS}
        set_, number = nonempty_text(self._row.get("task_set")), nonempty_text(self._row.get("task_id"))
        return RunFacts(
            **named,
            task_id="/".join(filter(None, (set_, number))) or None if number else None,
            parent_run=nonempty_text(self._row.get("parent_run_id")) if self._relation else None,
            forked_at=nonempty_text(self._row.get("forked_at")) if self._relation else None,
        )

    def _outcome(self) -> Iterator[RecordDraft]:
        error, limit = self._row.get("error"), nonempty_text(self._row.get("limit"))
        if error is not None and "error" not in self._walk.met:
            yield self._draft("error", error, [error_message(error)])
        if limit is not None and "sample_limit" not in self._walk.met:
            yield self._draft("limit", limit, [limit_message({"type": limit})])
        said = {name: self._row[name] for name in ("score", "success", "score_explanation") if name in self._row}
        if said.keys() & {"score", "success"}:
            yield self._draft(_SCORE, said, [self._scored(said)])

    def _scored(self, said: JsonObject) -> MessageDraft:
        """The score: whether it is a success says Scout's own column, or else the value."""
        scorers = [
            name.removeprefix("score_") for name in self._row if name.startswith("score_") and name not in _APART
        ]
        judges = [name for name in scorers if is_judged(name, {}, self._walk.graders)]
        success, why = said.get("success"), said.get("score_explanation")
        name = judges[0] if judges else _SCORE
        if judges or not isinstance(success, bool):
            score = {"value": said.get("score"), "explanation": why}
            return score_message(name, score, judged=bool(judges), is_share=False, scope="run")
        value = {"value": said["score"]} if "score" in said else {}
        message = verdict_message(name, Verdict.PASSED if success else Verdict.FAILED, value)
        if why is not None:
            part = json_part({"explanation": why}, TrustLevel.UNKNOWN, visibility=Visibility.HUMAN_VISIBLE)
            message.parts.append(part)
        return message


_FACTS: Final = ("agent", "agent_version", "title", "repository", "branch", "working_directory")
