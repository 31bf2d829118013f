"""ledgerkit's own log format: protocol messages as they are, with the model requests that led to them.

Messages keep their ids, runs, steps and labels. A model request becomes an artifact that the first message of its
call names in its metadata; it is kept whole, and never shown or projected. ``docs/formats/ledgerkit-jsonl.md``
defines the format.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from ledgerkit.errors import ProtocolError
from ledgerkit.importers.drafts import (
    Blob,
    JsonObject,
    MessageDraft,
    Node,
    ParsedFile,
    PartDraft,
    Quarantined,
    RecordDraft,
    RunFacts,
    UsageDraft,
)
from ledgerkit.importers.reader import Damage, Line, read_json_lines
from ledgerkit.importers.shapes import is_list, is_object, objects_of
from ledgerkit.protocol.columns import part_columns
from ledgerkit.protocol.messages import AgentMessage, parse_message
from ledgerkit.protocol.parts import Part
from ledgerkit.protocol.vocabulary import MessageKind, PartType, RunRelation, TrustLevel, Visibility

NAME: Final = "ledgerkit-jsonl"
VERSION: Final = 1
REQUEST_TYPE: Final = "application/vnd.ledgerkit.model-request+json"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TYPES: Final = frozenset({NAME, "run", "block", "artifact", "model_request", "message"})
_MESSAGE_KEYS: Final = frozenset({"session_id", "run_id", "message_id", "sequence_no", "kind", "parts"})
_FACTS: Final = ("working_directory", "branch", "repository", "agent", "agent_version", "title", "task_id")


def sniff(values: list[Any]) -> bool:
    """Whether a header of ours is there, or most values are lines of a file whose header is lost."""
    if any(is_object(value) and value.get("type") == NAME for value in values):
        return True
    ours = sum(is_object(value) and str(value.get("type")) in _TYPES for value in values)
    return any(map(_is_message, values)) and 3 * ours >= 2 * len(values)


def _is_message(value: object) -> bool:
    """Whether a line holds a message of the protocol."""
    return is_object(value) and is_object(value.get("message")) and value["message"].keys() >= _MESSAGE_KEYS


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[bytes | str], str],
) -> ParsedFile:
    """Reads a session file. It is always read whole: lines refer to lines before them."""
    del offset, line
    reading = _Reading(measure)
    parsed = ParsedFile(reading.records, reading.quarantined, path.stat().st_size, 0, NAME)
    for item in read_json_lines(path):
        parsed.line_count = item.number
        try:
            if isinstance(item, Damage):
                raise ProtocolError(item.reason)
            reading.take(item)
        except ProtocolError as error:
            kind = item.value.get("type") if isinstance(item, Line) and is_object(item.value) else "damaged"
            reading.quarantined.append(Quarantined(item.number, item.offset, item.size, str(error), str(kind)))
    return parsed


class _Reading:
    def __init__(self, measure: Callable[[bytes | str], str]) -> None:
        self.records: list[RecordDraft] = []
        self.quarantined: list[Quarantined] = []
        self._measure = measure
        self._refusal: str | None = None
        self._session: str | None = None
        self._runs: dict[str, JsonObject] = {}
        self._blocks: dict[str, Any] = {}
        self._requests: dict[str, JsonObject] = {}
        self._artifacts: dict[str, Blob] = {}

    def take(self, item: Line) -> None:
        value = item.value
        if not is_object(value):
            raise ProtocolError("not a JSON object")
        if self._refusal:
            raise ProtocolError(self._refusal)
        kind = value.get("type")
        draft = RecordDraft(item.number, item.offset, str(kind), _digest(value), session=self._session)
        take = {
            NAME: self._header, "run": self._run, "block": self._block, "artifact": self._artifact,
            "model_request": self._request, "message": self._message,
        }.get(str(kind), self._unknown)  # fmt: skip
        take(value, draft)
        draft.session = draft.session or self._session
        self.records.append(draft)

    def _header(self, value: JsonObject, draft: RecordDraft) -> None:
        if value.get("version") != VERSION:
            self._refusal = (
                f"version {value.get('version')!r}; this ledgerkit reads {VERSION}. Upgrade agent-ledgerkit."
            )
            raise ProtocolError(self._refusal)
        self._session = _required_text(value, "session_id")
        draft.skipped = "stands on every message of the file"

    def _run(self, value: JsonObject, draft: RecordDraft) -> None:
        for name in (*_FACTS, "parent_run_id", "forked_at"):
            if not isinstance(value.get(name), str | None):
                raise ProtocolError(f"{name} of a run is a text")
        if (relation := value.get("relation")) not in (None, *RunRelation):
            raise ProtocolError.unknown_value("relation", relation, list(RunRelation))
        self._runs[_required_text(value, "run_id")] = value
        draft.skipped = "stands on the run's first message"

    def _block(self, value: JsonObject, draft: RecordDraft) -> None:
        self._blocks[_required_text(value, "id")] = value.get("content")
        draft.skipped = "stands in the requests that use it"

    def _artifact(self, value: JsonObject, draft: RecordDraft) -> None:
        content = value.get("content")
        if value.get("encoding") == "base64":
            try:
                raw = base64.b64decode(str(content), validate=True)
            except ValueError as error:
                raise ProtocolError(f"content is not base64: {error}") from error
        else:
            raw = _required_text(value, "content").encode()
        self._artifacts[_required_text(value, "content_id")] = Blob(raw, _required_text(value, "media_type"))
        draft.skipped = "stands in the messages that refer to it"

    def _request(self, value: JsonObject, draft: RecordDraft) -> None:
        whole = {k: v for k, v in value.items() if k not in ("type", "system", "tools", "messages")}
        whole["system"] = self._resolved(value.get("system"))
        whole["tools"] = self._resolved(value.get("tools"))
        whole["messages"] = [
            {**message, "content": self._resolved(message.get("content"))}
            for message in objects_of(value.get("messages"))
        ]
        self._requests[_required_text(value, "call_id")] = whole
        draft.skipped = "stands on the first message of its call"

    def _resolved(self, ids: object) -> list[Any]:
        if not is_list(ids):
            raise ProtocolError("a request lists the ids of its blocks")
        missing = [i for i in ids if not isinstance(i, str) or i not in self._blocks]
        if missing:
            raise ProtocolError(f"no block {missing[0]!r} before this line")
        return [self._blocks[i] for i in ids]

    def _unknown(self, value: JsonObject, draft: RecordDraft) -> None:
        """A line of a type that this version does not know is kept whole."""
        part = PartDraft(
            part_type=PartType.ERROR,
            trust=TrustLevel.UNKNOWN,
            visibility=Visibility.AUDIT_ONLY,
            data=value,
            content_type="application/json",
            error_category="unknown_record",
        )
        draft.run_key = None
        draft.messages = [MessageDraft(MessageKind.ERROR_EVENT, NAME, [part])]

    def _message(self, value: JsonObject, draft: RecordDraft) -> None:
        given = value.get("message")
        message = parse_message({"created_at": None, **given} if is_object(given) else given)
        facts = self._runs.get(message.run_id)
        draft.session, draft.run_key = message.session_id, message.run_id
        draft.native_id, draft.parent = message.message_id, message.parent_message_id
        draft.message_ids = [message.message_id]
        draft.step, draft.visible_from = message.step, message.visible_from
        draft.created_at = _micros(message.created_at)
        draft.node = _node(message)
        draft.call_id = message.call.call_id if message.call else None
        draft.is_model_call = draft.call_id is not None
        if facts:
            relation = facts.get("relation")
            draft.relation = RunRelation(relation) if relation else None
            draft.facts = RunFacts(
                **{name: facts.get(name) for name in _FACTS},
                parent_run=facts.get("parent_run_id"),
                forked_at=facts.get("forked_at"),
            )
        draft.messages = [self._drafted(message)]

    def _drafted(self, message: AgentMessage) -> MessageDraft:
        metadata = dict(message.metadata)
        out = MessageDraft(
            message.kind, message.actor, [self._part(part) for part in message.parts], metadata=metadata,
            trace_id=message.trace_id, idempotency_key=message.idempotency_key,
        )  # fmt: skip
        if call := message.call:
            out.model, out.provider = call.model, call.provider
            cost = None if call.reported_cost is None else str(call.reported_cost)
            out.usage = UsageDraft(**dict(call.usage), reported_cost=cost, service_tier=call.service_tier)
            if request := self._requests.pop(call.call_id or "", None):
                out.attached = {"model_request": Blob(msgspec.json.encode(request), REQUEST_TYPE)}
        return out

    def _part(self, part: Part) -> PartDraft:
        columns = part_columns(part)
        blobs = [self._artifacts[ref] for ref in part.artifact_refs if ref in self._artifacts]
        data = columns["data"]
        return PartDraft(
            part_type=PartType(part.type),
            trust=part.trust_level,
            visibility=part.visibility,
            text=columns["text"],  # pyright: ignore[reportArgumentType] - the column's declared type
            data=msgspec.Raw(data.encode()) if isinstance(data, str) else None,
            content_type=part.content_type,
            started_at=_micros(columns["started_at"]),
            finished_at=_micros(columns["finished_at"]),
            evidence_refs=[self._reference(str(ref)) for ref in part.evidence_refs] or None,
            blobs=blobs or None,
            **{name: columns[name] for name in _TEXT_COLUMNS},  # pyright: ignore[reportArgumentType]
        )

    def _reference(self, reference: str) -> str:
        """A reference to an artifact by the id that this ledger gives it."""
        kind, _, target = reference.partition(":")
        name, mark, rest = target.partition("#")
        if kind == "artifact" and name in self._artifacts:
            return f"artifact:{self._measure(self._artifacts[name].content)}{mark}{rest}"
        return reference


_TEXT_COLUMNS: Final = ("summary", "tool_call_id", "tool_name", "arguments_hash", "status", "path", "error_category")


def _node(message: AgentMessage) -> Node:
    if message.call is not None:
        return Node.CALL
    if any(part.type is PartType.TOOL_RESULT for part in message.parts):
        return Node.RESULT
    return Node.PROMPT if message.kind is MessageKind.USER_TASK else Node.PASSIVE


def _micros(moment: object) -> int | None:
    if not isinstance(moment, datetime):
        return None
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def _required_text(value: JsonObject, name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str) or not found:
        raise ProtocolError(f"{value.get('type')} line without {name}")
    return found


def _digest(value: JsonObject) -> str:
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=8).hexdigest()
