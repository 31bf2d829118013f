"""What a transcript says: chat messages, and events that hold the usage of calls, errors and verdicts.

A model event refers to the messages before it that stand since the last compaction: what the model was given is not
recorded in most logs, so this is put together, as Scout's own importers do.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from ledgerkit.exporters.entries import Answer, Check, Entry, Failure, Result, Summary, Told
from ledgerkit.exporters.losses import CALL, Losses
from ledgerkit.exporters.marking import mark_of
from ledgerkit.importers.drafts import JsonObject
from ledgerkit.protocol.vocabulary import MessageKind, ToolStatus, TrustLevel, Verdict

_ERROR_TYPES: Final = frozenset({
    "parsing", "timeout", "unicode_decode", "permission", "file_not_found", "is_a_directory", "limit", "approval",
    "cancelled", "sandbox_unavailable", "unknown", "output_limit",
})  # fmt: skip
_ENDED: Final = {ToolStatus.TIMED_OUT: "timeout", ToolStatus.CANCELLED: "cancelled", ToolStatus.FAILED: "unknown"}
_GRADES: Final = {Verdict.PASSED: "C", Verdict.FAILED: "I", Verdict.INCONCLUSIVE: "P"}
_PARTLY: Final = "usage that is known in part only, which the format cannot say"
_ONE_CACHE: Final = "written as a cache write, whatever its lifetime"
_OTHER_ERROR: Final = "the format names other kinds of errors"


class Content:
    """Collects the messages and events of one run.

    Args:
        started_at: When the run began.
        losses: Counts what is left out.

    Attributes:
        messages: The chat messages.
        said: How many messages of the ledger they and the events say.
    """

    def __init__(self, started_at: datetime | None, losses: Losses) -> None:
        self.messages: list[JsonObject] = []
        self.said = 0
        self._events: list[JsonObject] = []
        self._context = 0
        self._started_at = started_at
        self._losses = losses

    def columns(self) -> JsonObject:
        """The columns that hold the content."""
        return {
            "messages": _json(self.messages),
            "events": _json(self._events),
            "events_data": _json({"messages": self.messages, "calls": []}),
        }

    def take(self, entry: Entry) -> None:
        """Adds an entry, as a message or an event."""
        self.said += entry.messages
        if isinstance(entry, Told):
            self._message(entry, entry.role, _contents(entry.texts), source=_source(entry))
        elif isinstance(entry, Answer):
            self._answer(entry)
        elif isinstance(entry, Result):
            self._result(entry)
        elif isinstance(entry, Summary):
            self._event(entry, "compaction", type="summary", metadata={"summary": "\n\n".join(entry.texts)})
            self._context = len(self.messages)
        elif isinstance(entry, Failure):
            error = {"message": entry.text, "traceback": "", "traceback_ansi": ""}
            self._event(entry, "error", error=error, metadata={"category": entry.category} if entry.category else None)
        elif isinstance(entry, Check):
            score = {"value": _GRADES[Verdict(entry.verdict)], "explanation": entry.text}
            self._event(entry, "score", score=score, intermediate=True, scorer=entry.name)

    def _message(self, entry: Entry, role: str, content: object, **fields: object) -> JsonObject:
        message: JsonObject = {"id": entry.message_id, "role": role, "content": content}
        message |= {name: value for name, value in fields.items() if value is not None}
        if mark := mark_of(entry):
            message["metadata"] = mark
        self.messages.append(message)
        return message

    def _answer(self, entry: Answer) -> None:
        before = len(self.messages)
        calls = [
            {"id": call.call_id, "function": call.name, "arguments": call.arguments, "type": "function"}
            for call in entry.calls
        ]
        # What people were shown of thoughts is a summary of reasoning that the ledger does not hold.
        thoughts = [{"type": "reasoning", "reasoning": "", "summary": thought} for thought in entry.thoughts]
        content = _contents(entry.texts)
        message = self._message(
            entry,
            "assistant",
            [*thoughts, *_blocks(entry.texts)] if thoughts else content,
            source="generate" if entry.is_call else None,
            tool_calls=calls or None,
            model=entry.model,
        )
        if not entry.is_call:
            return
        usage = self._usage(entry.usage) if entry.usage else None
        output = {"model": entry.model or "", "choices": [{"message": message, "stop_reason": "unknown"}]}
        self._event(
            entry, "model", model=entry.model or "", input=[], input_refs=[[self._context, before]], tools=[],
            tool_choice="auto", config={}, output=output | ({"usage": usage} if usage else {}),
        )  # fmt: skip

    def _usage(self, row: JsonObject) -> JsonObject | None:
        """Usage in Inspect's terms: input leaves out what a cache read or wrote."""
        inputs, outputs = row["input_tokens"], row["output_tokens"]
        if inputs is None or outputs is None:
            if inputs is not None or outputs is not None:
                self._losses.add(CALL, "usage", _PARTLY)
            return None
        writes = [row[name] for name in ("cache_write_5m_tokens", "cache_write_1h_tokens") if row[name] is not None]
        if row["cache_write_1h_tokens"]:
            self._losses.add(CALL, "cache_write_1h_tokens", _ONE_CACHE)
        read, write = row["cache_read_tokens"], sum(writes) if writes else None
        cost: Any = row["reported_cost"]
        known = {
            "input_tokens": inputs - (read or 0) - (write or 0),
            "output_tokens": outputs,
            "total_tokens": inputs + outputs,
            "input_tokens_cache_read": read,
            "input_tokens_cache_write": write,
            "reasoning_tokens": row["reasoning_tokens"],
            "total_cost": None if cost is None else float(cost),
        }
        return {name: value for name, value in known.items() if value is not None}

    def _result(self, entry: Result) -> None:
        text = "\n".join(entry.texts)
        error: JsonObject | None = None
        if entry.status in _ENDED:
            own = _ENDED[ToolStatus(entry.status)]
            named = entry.error_category if entry.error_category in _ERROR_TYPES else None
            if entry.error_category is not None and named is None:
                self._losses.add(entry.kind, "error_category", _OTHER_ERROR)
            error = {"type": own if own != "unknown" else named or own, "message": text}
        self._message(
            entry, "tool", _contents(entry.texts), tool_call_id=entry.call_id, function=entry.tool_name, error=error
        )

    def _event(self, entry: Entry, kind: str, **fields: object) -> None:
        event: JsonObject = {"event": kind, "uuid": entry.message_id, "working_start": self._since(entry.created_at)}
        if entry.created_at is not None:
            event["timestamp"] = entry.created_at.astimezone(UTC).isoformat()
        self._events.append(event | fields)

    def _since(self, moment: datetime | None) -> float:
        """Seconds since the run began; 0 where no time is known."""
        if moment is None or self._started_at is None:
            return 0.0
        return max((moment - self._started_at) / timedelta(seconds=1), 0.0)


def _source(entry: Told) -> str | None:
    """The user's own words are a sample's input."""
    is_task = entry.kind == MessageKind.USER_TASK and entry.trust is TrustLevel.USER_TRUSTED
    return "input" if is_task else None


def _contents(texts: list[str]) -> str | list[JsonObject]:
    """One text as it is, several as blocks."""
    return (texts[0] if texts else "") if len(texts) <= 1 else _blocks(texts)


def _blocks(texts: list[str]) -> list[JsonObject]:
    return [{"type": "text", "text": text} for text in texts]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
