"""A run as the conversation that formats with roles can hold: what a model was told, what it answered, what came back.

Only what the model saw stands in it, beside what people were shown of its thoughts; other formats have no labels that
would keep the rest apart. Blocks of one model call are one answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import groupby
from typing import Any, Final, cast

from ledgerkit.exporters.entries import Answer, Call, Check, Entry, Failure, Result, Row, Summary, Told
from ledgerkit.exporters.losses import CALL, MESSAGE, PART, Losses
from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.shapes import is_object
from ledgerkit.protocol.vocabulary import Audience, MessageKind, PartType, TrustLevel, Visibility

_ROLES: Final = {
    MessageKind.SYSTEM_INSTRUCTION: "system",
    MessageKind.ORG_POLICY: "system",
    MessageKind.DEVELOPER_INSTRUCTION: "system",
    MessageKind.REPOSITORY_INSTRUCTION: "user",
    MessageKind.USER_TASK: "user",
}
_SPOKEN: Final = (MessageKind.AGENT_THOUGHT_SUMMARY, MessageKind.ASSISTANT_RESPONSE, MessageKind.TOOL_CALL_REQUEST)
_UNSEEN: Final = "the model did not see it, and the format cannot say so"
_AS_TEXT: Final = "written as a text"
_BYTES: Final = "bytes stay in the ledger"
_NO_PLACE: Final = "the format has no place for it"
_NO_ANSWER: Final = "of a call whose answer is not among the messages: it wrote a summary, or is withheld"
_EMPTY: Final = "nothing in it that the format can hold"


def conversation(rows: Iterable[Row], calls: Mapping[str, Row], losses: Losses) -> list[Entry]:
    """The entries of a run, in order.

    Args:
        rows: Its rows of history, prepared.
        calls: Its rows of ``model_calls``, by call id.
        losses: Counts what stands in no entry.
    """
    making = _Making(calls, losses)
    for _, group in groupby(rows, key=lambda row: row["message_id"]):
        making.take(list(group))
    charged = {entry.call_id for entry in making.entries if isinstance(entry, Answer)}
    losses.add(CALL, "usage", _NO_ANSWER, sum(_has_usage(row) for call, row in calls.items() if call not in charged))
    return making.entries


def _has_usage(call: Row) -> bool:
    return call["input_tokens"] is not None or call["output_tokens"] is not None


def metadata_of(row: Row) -> JsonObject:
    """What the envelope of a message said."""
    return cast(JsonObject, json.loads(row["metadata"])) if row["metadata"] else {}


class _Making:
    """The entries so far, and the answers that later blocks may belong to."""

    def __init__(self, calls: Mapping[str, Row], losses: Losses) -> None:
        self.entries: list[Entry] = []
        self._calls = calls
        self._losses = losses
        self._answers: dict[str, Answer] = {}

    def take(self, rows: list[Row]) -> None:
        """Makes the entry of a message, or adds it to the answer that it is a part of."""
        first, types = rows[0], {row["part_type"] for row in rows}
        kind = MessageKind(first["kind"])
        if PartType.TOOL_CALL in types or kind in _SPOKEN:
            self._spoken(rows)
        elif PartType.TOOL_RESULT in types or kind in (MessageKind.TOOL_CALL_RESULT, MessageKind.FILE_OBSERVATION):
            self._returned(rows)
        elif kind in _ROLES:
            self._told(rows, _ROLES[kind])
        elif kind is MessageKind.RUN_SUMMARY and _is_compaction(rows):
            self._add(Summary(*_head(rows), texts=self._texts(rows, seen_only=False)), rows)
        elif PartType.ERROR in types:
            self._failed(rows)
        elif PartType.VERIFICATION in types and kind is MessageKind.VERIFIER_RESULT:
            self._checked(rows)
        else:
            self._losses.add(kind.value, MESSAGE, _NO_PLACE)

    def _add(self, entry: Entry, rows: list[Row], *, is_empty: bool = False) -> None:
        if is_empty:
            self._losses.add(rows[0]["kind"], MESSAGE, _EMPTY)
        else:
            self.entries.append(entry)

    def _told(self, rows: list[Row], role: str) -> None:
        texts, seen = self._texts(rows), _seen(rows)
        is_copied = bool(metadata_of(rows[0]).get("copied_context"))
        self._add(Told(*_head(seen or rows), role=role, texts=texts, is_copied=is_copied), rows, is_empty=not seen)

    def _spoken(self, rows: list[Row]) -> None:
        stage = self._stage(rows)
        answer = self._answer_of(rows[0], stage)
        thoughts = self._texts(rows, seen_only=False) if rows[0]["kind"] == MessageKind.AGENT_THOUGHT_SUMMARY else []
        texts = [] if thoughts or stage == 0 else self._texts([r for r in rows if r["part_type"] != PartType.TOOL_CALL])
        calls = [self._call(row) for row in rows if row["part_type"] == PartType.TOOL_CALL]
        is_empty = not (thoughts or texts or calls)
        if is_empty:
            self._losses.add(rows[0]["kind"], MESSAGE, _EMPTY)
            if rows[0]["call_id"] not in self._calls:  # a call is one, and has its price, if nothing of it is left
                return
        if answer is None:
            answer = Answer(*_head(rows), model=rows[0]["model"], call_id=rows[0]["call_id"])
            answer.usage = self._calls.get(answer.call_id or "")
            answer.is_copied = bool(metadata_of(rows[0]).get("copied_context"))
            answer.messages = 0
            self.entries.append(answer)
            if answer.call_id:
                self._answers[answer.call_id] = answer
        answer.messages += not is_empty
        answer.stage = stage
        answer.trust = TrustLevel.lowest((answer.trust, _trust(rows)))
        answer.thoughts += thoughts
        answer.texts += texts
        answer.calls += calls

    def _answer_of(self, row: Row, stage: int) -> Answer | None:
        """The answer that a block belongs to: that of its call, or without one the answer that it goes on."""
        if row["call_id"]:
            return self._answers.get(row["call_id"])
        last = self.entries[-1] if self.entries else None
        goes_on = isinstance(last, Answer) and last.call_id is None and last.stage < stage
        return last if goes_on and isinstance(last, Answer) else None

    @staticmethod
    def _stage(rows: list[Row]) -> int:
        """Thoughts come before words, words before calls."""
        if any(row["part_type"] == PartType.TOOL_CALL for row in rows):
            return 2
        return int(rows[0]["kind"] != MessageKind.AGENT_THOUGHT_SUMMARY)

    def _call(self, row: Row) -> Call:
        arguments: Any = json.loads(row["data"]) if row["data"] else {}
        if not is_object(arguments):
            self._losses.add(row["kind"], "data", "arguments that are no object, written as its field 'value'")
            arguments = {"value": arguments}
        return Call(row["tool_call_id"], row["tool_name"], arguments)

    def _returned(self, rows: list[Row]) -> None:
        texts, seen = self._texts(rows), _seen(rows)
        named = next((row for row in rows if row["part_type"] == PartType.TOOL_RESULT), rows[0])
        result = Result(
            *_head(seen or rows),
            call_id=named["tool_call_id"],
            tool_name=named["tool_name"],
            status=named["status"],
            error_category=named["error_category"],
            texts=texts,
        )
        self._add(result, rows, is_empty=not seen)

    def _failed(self, rows: list[Row]) -> None:
        error = next(row for row in rows if row["part_type"] == PartType.ERROR)
        if error["text"] is None:
            self._losses.add(error["kind"], MESSAGE, _NO_PLACE)
        else:
            self._add(Failure(*_head(rows), category=error["error_category"], text=error["text"]), rows)

    def _checked(self, rows: list[Row]) -> None:
        said = next(row for row in rows if row["part_type"] == PartType.VERIFICATION)
        data: JsonObject = json.loads(said["data"]) if said["data"] else {}
        self._losses.add(said["kind"], PART, _NO_PLACE, len(rows) - 1)
        check = Check(
            *_head([said]), name=str(data.get("check") or said["actor"]), scope=data.get("scope"),
            verdict=said["status"], value=data.get("value"), text=said["text"],
        )  # fmt: skip
        self._add(check, rows)

    def _texts(self, rows: list[Row], *, seen_only: bool = True) -> list[str]:
        """The texts of parts; what has none is counted."""
        texts: list[str] = []
        for row in rows:
            if seen_only and not _is_seen(row):
                self._losses.add(row["kind"], PART, _UNSEEN)
            elif row["text"] is not None:
                texts.append(row["text"])
            elif row["part_type"] == PartType.JSON and row["data"]:
                self._losses.add(row["kind"], "data", _AS_TEXT)
                texts.append(row["data"])
            elif row["part_type"] == PartType.ARTIFACT_REF:
                self._losses.add(row["kind"], PART, _BYTES)
            elif row["part_type"] == PartType.TOOL_RESULT:
                texts.append("")
        return texts


def _is_compaction(rows: list[Row]) -> bool:
    """Whether a summary took the place of a context: it says so, or the model was given its words."""
    is_given = any(_is_seen(row) and row["part_type"] == PartType.TEXT for row in rows)
    return is_given or metadata_of(rows[0]).get("reason") == "compaction"


def _is_seen(row: Row) -> bool:
    return Audience.MODEL.may_see(Visibility(row["part_visibility"]))


def _seen(rows: list[Row]) -> list[Row]:
    return [row for row in rows if _is_seen(row)]


def _trust(rows: list[Row]) -> TrustLevel:
    return TrustLevel.lowest(TrustLevel(row["part_trust_level"]) for row in rows)


def _head(rows: list[Row]) -> tuple[str, str, datetime | None, TrustLevel]:
    first = rows[0]
    return first["message_id"], first["kind"], first["created_at"], _trust(rows)
