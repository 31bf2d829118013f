"""Claude Code session logs: JSON Lines, one record per content block, file or notice.

Every record becomes messages, is left out by a named rule, or is quarantined; a type that is not known is kept
whole. Only lines of their own count twice with nothing: copies of subagent messages inside progress records are
marked as embedded, and :mod:`ledgerkit.ingest` lets a line of its own replace them.

The format has no published description; what stands here was read off logs of versions 1.0.57 to 2.1.220.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from ledgerkit.importers.claude_code import blocks, bookkeeping, conversation
from ledgerkit.importers.claude_code.usage import usage_of
from ledgerkit.importers.drafts import (
    JsonObject,
    Link,
    MessageDraft,
    Node,
    ParsedFile,
    Quarantined,
    RecordDraft,
    RunFacts,
)
from ledgerkit.importers.reader import Damage, Line, is_compressed, read_json_lines
from ledgerkit.importers.shapes import is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, RunRelation, TrustLevel

NAME: Final = "claude-code"
_TYPES: Final = frozenset(
    {"user", "assistant", "system", "summary", "progress", "attachment", "file-history-snapshot", "queue-operation"}
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SKIPPED_PROGRESS: Final = "progress of a running tool or hook; its result is a record of its own"


def sniff(values: list[Any]) -> bool:
    """Whether the first JSON values of a file look like Claude Code records."""
    records = [value for value in values if is_object(value)]
    known = [record for record in records if record.get("type") in _TYPES]
    return bool(known) and any(_is_ours(record) for record in known)


def _is_ours(record: JsonObject) -> bool:
    if record["type"] in ("user", "assistant"):
        return is_object(record.get("message")) and "content" in record["message"]
    if record["type"] == "summary":
        return "leafUuid" in record
    return "sessionId" in record or "messageId" in record


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[str], str],
) -> ParsedFile:
    """Reads a session or subagent file, from a former cursor on.

    What stands before the cursor is looked at again for what later records refer to (calls, left out links of the
    chain), so that a file read in pieces gives what it gives at once.

    Args:
        path: The file.
        offset: Byte offset to begin at.
        line: Number of the line there.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
        measure: Content id of a text that is not kept.
    """
    reading = _Reading(keep_reasoning=keep_reasoning, measure=measure)
    reading.recall(path, offset)
    cursor, seen, torn = offset, 0, False
    last_line = 0
    for item in read_json_lines(path, offset=offset, line=line):
        if item.number != last_line:
            seen, last_line = seen + 1, item.number
        if isinstance(item, Damage):
            reading.quarantined.append(Quarantined(item.number, item.offset, item.size, item.reason))
            torn = torn or item.torn
            cursor = item.offset if item.torn else item.offset + item.size + 1
        else:
            reading.take(item)
            cursor = item.offset + item.size + 1
    reading.link_agents()
    size = path.stat().st_size
    cursor = size if is_compressed(path) else cursor
    return ParsedFile(
        records=reading.records,
        quarantined=reading.quarantined,
        cursor=min(cursor, size),
        line_count=seen,
        agent=NAME,
        torn_tail=torn,
    )


class _Reading:
    """The state of one reading: the calls seen so far, and what has been made of the records."""

    def __init__(self, *, keep_reasoning: bool, measure: Callable[[str], str]) -> None:
        self.records: list[RecordDraft] = []
        self.quarantined: list[Quarantined] = []
        self.calls: dict[str, JsonObject] = {}
        self._keep_reasoning = keep_reasoning
        self._measure = measure
        self._started_by: dict[str, str] = {}
        self._agents: dict[str, str] = {}
        self._there: set[str] = set()
        self._skipped_parents: dict[str, str | None] = {}

    def recall(self, path: Path, end: int) -> None:
        """Notes what records before an offset left for those behind it."""
        for item in read_json_lines(path) if end else ():
            if item.offset >= end:
                return
            if isinstance(item, Line) and is_object(item.value) and not _shape_problem(item.value):
                self._recall(item.value, item)

    def _recall(self, record: JsonObject, item: Line) -> None:
        if record.get("type") == "progress":
            data = record.get("data")
            if not is_object(data) or not _embedded_record(data):
                self._note_left_out(_envelope(record, item))
                return
            record = data["message"]
        if isinstance(record.get("uuid"), str):
            self._there.add(record["uuid"])
        if record.get("type") == "assistant":
            self._note_calls(record["message"])

    def take(self, item: Line) -> None:
        record = item.value
        if not is_object(record):
            self.quarantined.append(Quarantined(item.number, item.offset, item.size, "not a JSON object", "no object"))
            return
        problem = _shape_problem(record)
        if problem:
            kind = str(record.get("type"))
            self.quarantined.append(Quarantined(item.number, item.offset, item.size, problem, kind))
            return
        draft = self._draft(record, item)
        self.records.append(draft)
        if item.flags and draft.messages:
            draft.messages[0].metadata["repaired"] = list(item.flags)

    def link_agents(self) -> None:
        """Lets a record of the session's own say which call began a subagent: an embedded copy that says so may go."""
        own = next((draft for draft in reversed(self.records) if draft.messages and not draft.embedded), None)
        if own is not None:
            own.links = [*own.links, *(Link(agent, call) for agent, call in self._agents.items())]

    def _draft(self, record: JsonObject, item: Line) -> RecordDraft:
        data = record.get("data")
        kind = record.get("type")
        if kind == "progress":
            if is_object(data) and _embedded_record(data):
                return self._embedded(record, data, item)
            return self._skipped(record, item)
        draft = _envelope(record, item)
        if kind == "assistant":
            self._assistant(record, draft)
        elif kind == "user":
            self._user(record, draft)
        else:
            draft.messages = [_other(record)]
            draft.node = Node.PASSIVE
        self._finish(record, draft)
        return draft

    def _assistant(self, record: JsonObject, draft: RecordDraft) -> None:
        message = record["message"]
        draft.messages = conversation.assistant_messages(record, draft.created_at, keep_reasoning=self._keep_reasoning)
        draft.is_model_call = message.get("model") != conversation.SYNTHETIC_MODEL
        draft.node = Node.CALL if draft.is_model_call else Node.PASSIVE
        draft.call_id = _call_id(message, record) or f"record:{draft.digest}:{draft.native_id or ''}"
        self._note_calls(message)
        if not draft.messages:
            draft.messages = [_empty_answer(message)]
        draft.messages[0].usage = usage_of(message, record)

    def _note_calls(self, message: JsonObject) -> None:
        for block in objects_of(message.get("content")):
            if isinstance(block.get("id"), str) and "name" in block:
                self.calls[block["id"]] = block
                arguments = block.get("input")
                if is_object(arguments) and isinstance(arguments.get("prompt"), str):
                    self._started_by[arguments["prompt"]] = block["id"]

    def _note_left_out(self, draft: RecordDraft) -> None:
        if draft.native_id:
            self._skipped_parents[draft.native_id] = draft.parent

    def _user(self, record: JsonObject, draft: RecordDraft) -> None:
        draft.messages = conversation.user_messages(record, self.calls, self._measure)
        if not draft.messages:
            draft.skipped = "user record without content"
        answered = {part.tool_call_id for m in draft.messages for part in m.parts if part.tool_call_id}
        results = answered or "toolUseResult" in record
        draft.provisional = not answered <= self.calls.keys()
        is_prompt = conversation.opens_a_turn(draft.messages) and record.get("isMeta") is not True
        draft.node = Node.RESULT if results else Node.PROMPT if is_prompt else Node.PASSIVE
        if link := conversation.agent_link(record):
            draft.links = [link]
        elif draft.node is Node.PROMPT and draft.relation is RunRelation.SUBAGENT and draft.native_id:
            # Older versions write a subagent inline and name no call; its prompt is the call's.
            call = self._started_by.get(draft.messages[0].parts[0].text or "")
            draft.links = [Link(draft.run_key or f"sidechain:{draft.native_id}", call)] if call else []
            draft.provisional = not call and draft.run_key is None

    def _embedded(self, record: JsonObject, data: JsonObject, item: Line) -> RecordDraft:
        inner = {**data["message"], "sessionId": record.get("sessionId"), "isSidechain": True}
        inner["agentId"] = data.get("agentId") or record.get("parentToolUseID")
        draft = self._draft(inner, item)
        draft.record_type = "progress/agent_progress"
        draft.embedded, draft.line_id = True, nonempty_text(record.get("uuid"))
        parent = record.get("parentToolUseID")
        if isinstance(inner["agentId"], str) and isinstance(parent, str):
            draft.links = [Link(inner["agentId"], parent)]
            self._agents[inner["agentId"]] = parent
        return draft

    def _skipped(self, record: JsonObject, item: Line) -> RecordDraft:
        draft = _envelope(record, item)
        data = record.get("data")
        draft.record_type = f"progress/{data.get('type')}" if is_object(data) else "progress"
        draft.skipped = _SKIPPED_PROGRESS
        self._note_left_out(draft)
        return draft

    def _finish(self, record: JsonObject, draft: RecordDraft) -> None:
        while draft.parent in self._skipped_parents:
            draft.parent = self._skipped_parents[draft.parent]
        draft.provisional = bool(draft.native_id) and (
            draft.provisional or (draft.parent is not None and draft.parent not in self._there)
        )
        if draft.native_id:
            self._there.add(draft.native_id)
        if draft.messages:
            draft.messages[0].metadata |= _kept_envelope(record)


def _empty_answer(message: JsonObject) -> MessageDraft:
    """An answer without content still may carry usage."""
    part = blocks.text_part("", TrustLevel.MODEL_GENERATED)
    return MessageDraft(MessageKind.ASSISTANT_RESPONSE, str(message.get("model") or "assistant"), [part])


def _shape_problem(record: JsonObject) -> str | None:
    """Why a record of a known type cannot be read as one; ``None`` if it can."""
    kind = record.get("type")
    if kind in ("user", "assistant"):
        message = record.get("message")
        if not is_object(message):
            return f"{kind} record without a message object"
        if not isinstance(message.get("content"), str | list | None):
            return f"{kind} record whose content is neither text nor a list"
    return None


def _embedded_record(data: object) -> bool:
    """Whether a progress record holds a copy of a subagent's record."""
    if not is_object(data) or data.get("type") != "agent_progress":
        return False
    inner = data.get("message")
    return is_object(inner) and inner.get("type") in ("user", "assistant") and _shape_problem(inner) is None


def _other(record: JsonObject) -> MessageDraft:
    kind = record.get("type")
    if kind == "system":
        return bookkeeping.system_message(record)
    if kind == "attachment":
        return bookkeeping.attachment_message(record)
    return bookkeeping.plain_message(record) or bookkeeping.unknown_message(record)


def _envelope(record: JsonObject, item: Line) -> RecordDraft:
    kind, subtype = record.get("type"), record.get("subtype")
    attachment = record.get("attachment")
    if is_object(attachment):
        subtype = attachment.get("type")
    agent = record.get("agentId") if isinstance(record.get("agentId"), str) else None
    sidechain = record.get("isSidechain") is True
    session = record.get("sessionId")
    return RecordDraft(
        line=item.number,
        offset=item.offset,
        record_type=f"{kind}/{subtype}" if isinstance(subtype, str) else str(kind),
        digest=_digest(record),
        session=session if isinstance(session, str) and session else None,
        native_id=record.get("uuid") if isinstance(record.get("uuid"), str) else None,
        parent=nonempty_text(record.get("parentUuid")) or nonempty_text(record.get("logicalParentUuid")),
        run_key=_run_key(record, agent, sidechain=sidechain),
        relation=_relation(agent, sidechain=sidechain),
        created_at=_time(record.get("timestamp")) or _snapshot_time(record),
        facts=RunFacts(
            working_directory=nonempty_text(record.get("cwd")),
            branch=nonempty_text(record.get("gitBranch")),
            repository=nonempty_text(record.get("prRepository")),
            agent_version=nonempty_text(record.get("version")),
            title=nonempty_text(record.get("customTitle")) or nonempty_text(record.get("aiTitle")),
        ),
    )


def _run_key(record: JsonObject, agent: str | None, *, sidechain: bool) -> str | None:
    """The run within the session: an agent's id; "" for the main run; ``None`` where only the neighbours tell."""
    if agent and (sidechain or record.get("type") in ("user", "assistant", "attachment", "system")):
        return agent
    if sidechain or "uuid" not in record:
        return None
    return ""


def _relation(agent: str | None, *, sidechain: bool) -> RunRelation | None:
    if agent and agent.startswith("acompact"):
        return RunRelation.COMPACTION
    return RunRelation.SUBAGENT if agent or sidechain else None


def _kept_envelope(record: JsonObject) -> JsonObject:
    """The fields of an envelope that no column holds and that may matter to somebody."""
    kept = {key: record[key] for key in _KEPT if record.get(key) not in (None, "", [], {}, False)}
    message = record.get("message")
    if is_object(message):
        if message.get("stop_reason"):
            kept["stop_reason"] = message["stop_reason"]
        usage = message.get("usage")
        if is_object(usage):
            extra = {k: usage[k] for k in ("server_tool_use", "speed", "inference_geo") if usage.get(k)}
            kept |= {"usage": extra} if extra else {}
    return kept


_KEPT: Final = (
    *("type", "slug", "requestId", "agentId", "userType", "origin", "effort", "permissionMode"),
    *("isMeta", "isCompactSummary", "isApiErrorMessage", "apiErrorStatus", "isAbortedMidStream", "toolDenialKind"),
    *("sourceToolUseID", "interruptedMessageId", "supersedesUuids", "attributionSkill", "attributionAgent"),
)


def _call_id(message: JsonObject, record: JsonObject) -> str | None:
    native, request = nonempty_text(message.get("id")), nonempty_text(record.get("requestId"))
    if native:
        return f"{native}:{request}" if request else native
    return None


def _digest(record: JsonObject) -> str:
    """Hash of what a record says: the same in every copy of it, whatever its envelope."""
    message = record.get("message")
    if is_object(message):
        says: Any = [record.get("type"), message.get("id"), message.get("model"), message.get("content")]
    else:
        says = {k: v for k, v in record.items() if k not in ("sessionId", "session_id", "cwd", "gitBranch", "version")}
    return hashlib.blake2b(msgspec.json.encode(says), digest_size=8).hexdigest()


def _snapshot_time(record: JsonObject) -> int | None:
    snapshot = record.get("snapshot")
    return _time(snapshot.get("timestamp")) if is_object(snapshot) else None


def _time(value: object) -> int | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    try:
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        return None
    return (moment - _EPOCH) // timedelta(microseconds=1)
