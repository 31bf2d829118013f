"""One reading of a conversation: its turns as records, then what the row says of the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ledgerkit.importers.chat.blocks import blocks_of, said_part, text_of, texts_of
from ledgerkit.importers.chat.calls import Calls
from ledgerkit.importers.chat.items import item_pieces, written_by_model
from ledgerkit.importers.chat.messages import Piece, answer_pieces, grouped, result_piece, tool_piece
from ledgerkit.importers.chat.origins import writes_calls
from ledgerkit.importers.chat.outcomes import facts_of, outcome_messages
from ledgerkit.importers.chat.rows import Row
from ledgerkit.importers.chat.usage import usage_of
from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, RecordDraft
from ledgerkit.importers.pieces import digest, micros, note_message, text_part, unknown_message
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.importers.tool_words import NO_OUTPUT
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel

_NAME: Final = "chat"
_SYSTEM: Final = {"system": MessageKind.SYSTEM_INSTRUCTION, "developer": MessageKind.DEVELOPER_INSTRUCTION}
_INFERRED: Final = {"derived": ["trust_level"]}


class Reading:
    """The state of one reading.

    Args:
        row: The conversation.
        item: Where it stands.
        session: Its run's key.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """

    def __init__(self, row: Row, item: Line, session: str, *, keep_reasoning: bool) -> None:
        self._row = row
        self._item = item
        self._session = session
        self._keep = keep_reasoning
        self._calls = Calls()
        self._model = nonempty_text(row.answer.get("model")) or nonempty_text(row.fields.get("model"))
        self._number = 0
        self._call = session
        self._in_answer = False
        self._awaits_tool = False
        self._writes_calls = False
        info = row.fields.get("info")
        # tau-bench notes what its simulated user cost; a person costs nothing.
        self._simulated = is_object(info) and "user_cost" in info and info["user_cost"] != 0

    def records(self) -> Iterator[RecordDraft]:
        """The records of the conversation, in order."""
        facts = facts_of(self._row.fields)
        first = len(self._row.turns) - self._row.answered
        for draft in self._turns(first):
            draft.facts, facts = facts, None
            if self._item.flags and draft.facts and draft.messages:
                draft.messages[0].metadata = {**draft.messages[0].metadata, "repaired": list(self._item.flags)}
            yield draft
        messages = [note_message(self._row.fields, "data set", TrustLevel.UNKNOWN)] if self._row.fields else []
        messages += outcome_messages(self._row.fields)
        if messages:
            draft = self._draft("row", self._row.fields)
            draft.messages, draft.facts = messages, facts
            yield draft
        if self._number == 0:
            draft = self._draft("row", self._row.value)
            draft.skipped = "conversation without turns"
            yield draft

    def _turns(self, first_answer: int) -> Iterator[RecordDraft]:
        if self._row.system is not None:
            yield self._turn({"role": "system", "content": self._row.system})
        billed = False
        for number, turn in enumerate(self._row.turns):
            draft = self._turn(turn) if is_object(turn) else self._unknown(turn)
            if number >= first_answer and draft.is_model_call and not billed:
                billed = True
                self._answer(draft)
            yield draft

    def _answer(self, draft: RecordDraft) -> None:
        """What the row says of its one model call stands on the first record of it."""
        answer = self._row.answer
        draft.messages[0].usage = draft.messages[0].usage or usage_of(answer.get("usage"), answer.get("service_tier"))
        draft.created_at = draft.created_at or micros(answer.get("created", answer.get("created_at")))

    def _draft(self, record_type: str, said: Any) -> RecordDraft:  # noqa: ANN401 - any JSON value
        self._number += 1
        return RecordDraft(
            self._item.number, self._item.offset, record_type, digest([self._number, said]), session=self._session
        )

    def _unknown(self, turn: object) -> RecordDraft:
        draft = self._draft("unknown", turn)
        draft.messages = [unknown_message(turn, _NAME)]
        self._in_answer = False
        return draft

    def _turn(self, turn: JsonObject) -> RecordDraft:
        role, kind = turn.get("role"), turn.get("type")
        if role == "assistant" or (role is None and self._row.is_items and written_by_model(turn)):
            return self._answered(turn)
        if str(role) in _SYSTEM:
            return self._instructed(turn, _SYSTEM[str(role)])
        if role in ("user", "human"):
            draft = self._asked(turn)
        elif role in ("tool", "function"):
            draft = self._draft(str(role), turn)
            draft.messages, draft.node = grouped(iter([tool_piece(turn, self._calls)])), Node.RESULT
        else:
            draft = self._draft(str(kind or role), turn)
            draft.messages = grouped(item_pieces(turn, "model", self._calls, None, keep=self._keep))
            draft.node = Node.RESULT
        if not draft.messages:
            return self._unknown(turn)
        self._in_answer = False
        _mark_inferred(draft.messages)
        draft.created_at = _time(turn)
        return draft

    def _instructed(self, turn: JsonObject, kind: MessageKind) -> RecordDraft:
        draft = self._draft(str(turn["role"]), turn)
        parts = [said_part(block, TrustLevel.ORG_TRUSTED) for block in blocks_of(turn.get("content"))]
        draft.messages = [MessageDraft(kind, "operator", parts or [text_part("", TrustLevel.ORG_TRUSTED)])]
        draft.created_at = _time(turn)
        self._in_answer = False
        return draft

    def _answered(self, turn: JsonObject) -> RecordDraft:
        """A turn of the model. Items of one answer follow each other; every other turn is an answer of its own."""
        draft = self._draft(str(turn.get("type") or "assistant") if self._row.is_items else "assistant", turn)
        draft.created_at = _time(turn)
        model = nonempty_text(turn.get("model")) or self._model
        actor = model or "assistant"
        is_message = turn.get("role") == "assistant"
        read = answer_pieces if is_message else item_pieces
        draft.messages = grouped(read(turn, actor, self._calls, draft.created_at, keep=self._keep))
        if not draft.messages and not is_message:
            return self._unknown(turn)
        empty = MessageDraft(MessageKind.ASSISTANT_RESPONSE, actor, [text_part("", TrustLevel.MODEL_GENERATED)])
        draft.messages = draft.messages or [empty]
        for message in draft.messages:
            message.model = model
        _mark_inferred(draft.messages)
        draft.node, draft.is_model_call, draft.call_id = Node.CALL, True, self._call_id(turn)
        draft.messages[0].usage = usage_of(turn.get("usage"))
        if stop := nonempty_text(turn.get("stop_reason")) or nonempty_text(turn.get("finish_reason")):
            draft.messages[0].metadata = {**draft.messages[0].metadata, "stop_reason": stop}
        self._in_answer = True
        self._awaits_tool = writes_calls(texts_of(turn.get("content")))
        self._writes_calls = self._writes_calls or self._awaits_tool
        return draft

    def _call_id(self, turn: JsonObject) -> str:
        """The model call that a turn is of: items in a row are of one."""
        native = nonempty_text(turn.get("id")) if turn.get("role") == "assistant" and not self._row.is_items else None
        if not (self._row.is_items and self._in_answer):
            self._call = f"{self._session}/{native or self._number}"
        return self._call

    def _asked(self, turn: JsonObject) -> RecordDraft:
        """A turn with the role ``user``: what a person asks, what a tool returned, or what the environment says."""
        draft = self._draft("user", turn)
        blocks = blocks_of(turn.get("content"))
        has_results = any(block.get("type") == "tool_result" for block in blocks)
        draft.messages = grouped(iter([self._said(block, turn) for block in blocks]))
        draft.node = Node.RESULT if has_results or self._awaits_tool else Node.PROMPT
        self._awaits_tool = False
        if not draft.messages:
            draft.messages = [MessageDraft(MessageKind.USER_TASK, "user", [text_part("", TrustLevel.USER_TRUSTED)])]
        return draft

    def _said(self, block: JsonObject, turn: JsonObject) -> Piece:
        if block.get("type") == "tool_result":
            return result_piece(block, self._calls, block.get("content"))
        if self._awaits_tool:
            is_own = (text_of(block) or "").strip() == NO_OUTPUT
            trust = TrustLevel.TOOL_TRUSTED if is_own else TrustLevel.REPOSITORY_UNTRUSTED
            return MessageKind.TOOL_CALL_RESULT, "environment", said_part(block, trust)
        if self._writes_calls:
            # Between calls in a text, this may be a person or the program that reads the calls.
            return MessageKind.USER_TASK, "user", said_part(block, TrustLevel.UNKNOWN)
        if self._simulated:
            return MessageKind.USER_TASK, "simulated user", said_part(block, TrustLevel.MODEL_GENERATED)
        known = text_of(block) is not None or block.get("type") != "tool_use"
        trust = TrustLevel.USER_TRUSTED if known else TrustLevel.UNKNOWN
        return MessageKind.USER_TASK, nonempty_text(turn.get("name")) or "user", said_part(block, trust)


def _mark_inferred(messages: list[MessageDraft]) -> None:
    """Says of results whose origin only the tool's name or the turn before tells that it was inferred."""
    for message in messages:
        inferred = any(
            part.part_type in (PartType.TOOL_RESULT, PartType.TEXT) and part.trust.is_untrusted
            for part in message.parts
        )
        if inferred and any(part.trust is not TrustLevel.UNKNOWN for part in message.parts):
            message.metadata = {**message.metadata, **_INFERRED}


def _time(turn: JsonObject) -> int | None:
    return next((at for name in ("timestamp", "created_at", "created") if (at := micros(turn.get(name)))), None)
