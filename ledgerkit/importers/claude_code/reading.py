"""One reading of a file: the calls seen so far, and what has been made of the records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from ledgerkit.importers.claude_code import blocks, bookkeeping, conversation
from ledgerkit.importers.claude_code.envelope import (
    call_id_of,
    envelope_of,
    is_embedded_copy,
    kept_envelope,
    shape_problem,
)
from ledgerkit.importers.claude_code.preserved import preserved
from ledgerkit.importers.claude_code.usage import usage_of
from ledgerkit.importers.drafts import JsonObject, Link, MessageDraft, Node, Quarantined, RecordDraft
from ledgerkit.importers.reader import Line, read_json_lines
from ledgerkit.importers.shapes import is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, RunRelation, TrustLevel

_SKIPPED_PROGRESS: Final = "progress of a running tool or hook; its result is a record of its own"


class Reading:
    """The state of one reading.

    Args:
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
        measure: Content id of a text that is not kept.
    """

    def __init__(self, *, keep_reasoning: bool, measure: Callable[[str], str]) -> None:
        self.records: list[RecordDraft] = []
        self.quarantined: list[Quarantined] = []
        self.calls: dict[str, JsonObject] = {}
        self._keep_reasoning = keep_reasoning
        self._measure = measure
        self._started_by: dict[str, str] = {}
        self._agents: dict[str, str] = {}
        self._there: set[str] = set()
        self._chain: dict[str, str | None] = {}
        self._skipped_parents: dict[str, str | None] = {}

    def recall(self, path: Path, end: int) -> None:
        """Notes what records before an offset left for those behind it."""
        for item in read_json_lines(path) if end else ():
            if item.offset >= end:
                return
            if isinstance(item, Line) and is_object(item.value) and not shape_problem(item.value):
                self._recall(item.value, item)

    def _recall(self, record: JsonObject, item: Line) -> None:
        if record.get("type") == "progress":
            data = record.get("data")
            if not is_object(data) or not is_embedded_copy(data):
                left_out = envelope_of(record, item)
                self._note_link(left_out)
                self._note_left_out(left_out)
                return
            record = data["message"]
        if isinstance(record.get("uuid"), str):
            self._there.add(record["uuid"])
            self._chain[record["uuid"]] = nonempty_text(record.get("parentUuid"))
        if record.get("type") == "assistant":
            self._note_calls(record["message"])

    def take(self, item: Line) -> None:
        """Makes of a line what it is: records with messages, or something quarantined."""
        record = item.value
        if not is_object(record):
            self.quarantined.append(Quarantined(item.number, item.offset, item.size, "not a JSON object", "no object"))
            return
        problem = shape_problem(record)
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
            if is_object(data) and is_embedded_copy(data):
                return self._embedded(record, data, item)
            return self._skipped(record, item)
        draft = envelope_of(record, item)
        self._note_link(draft)
        if kind == "assistant":
            self._assistant(record, draft)
        elif kind == "user":
            self._user(record, draft)
        else:
            draft.messages = [_other(record)]
            draft.messages[0].compaction = preserved(record, self._chain)
            draft.node = Node.PASSIVE
        self._finish(record, draft)
        return draft

    def _assistant(self, record: JsonObject, draft: RecordDraft) -> None:
        message = record["message"]
        draft.messages = conversation.assistant_messages(record, draft.created_at, keep_reasoning=self._keep_reasoning)
        draft.is_model_call = message.get("model") != conversation.SYNTHETIC_MODEL
        draft.node = Node.CALL if draft.is_model_call else Node.PASSIVE
        draft.call_id = call_id_of(message, record) or f"record:{draft.digest}:{draft.native_id or ''}"
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

    def _note_link(self, draft: RecordDraft) -> None:
        if draft.native_id:
            self._chain[draft.native_id] = draft.parent

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
        draft = envelope_of(record, item)
        data = record.get("data")
        draft.record_type = f"progress/{data.get('type')}" if is_object(data) else "progress"
        draft.skipped = _SKIPPED_PROGRESS
        self._note_link(draft)
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
            draft.messages[0].metadata |= kept_envelope(record)


def _empty_answer(message: JsonObject) -> MessageDraft:
    """An answer without content still may carry usage."""
    part = blocks.text_part("", TrustLevel.MODEL_GENERATED)
    return MessageDraft(MessageKind.ASSISTANT_RESPONSE, str(message.get("model") or "assistant"), [part])


def _other(record: JsonObject) -> MessageDraft:
    kind = record.get("type")
    if kind == "system":
        return bookkeeping.system_message(record)
    if kind == "attachment":
        return bookkeeping.attachment_message(record)
    return bookkeeping.plain_message(record) or bookkeeping.unknown_message(record)
