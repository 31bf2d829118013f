"""Events of the V1 SDK, each a record; a tree where events name their parent, else in the order of the stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ledgerkit.importers.compactions import named
from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, PartDraft, RecordDraft
from ledgerkit.importers.openhands import sdk_states
from ledgerkit.importers.openhands.records import (
    NAME,
    Origin,
    draft_of,
    images_of,
    name_of,
    texts_of,
    unknown_record,
    usage_of,
)
from ledgerkit.importers.openhands.sdk_tools import acp_messages, action_messages, critic_message, result_message
from ledgerkit.importers.openhands.sdk_tools import hidden_messages as hidden
from ledgerkit.importers.openhands.stats import Growth, growths
from ledgerkit.importers.pieces import digest, micros, text_part
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel

_LEFT_OUT: Final = {
    "LLMCompletionLogEvent": "a log of a model call, whose answer is an event of its own",
    "TokenEvent": "token ids of a model call, whose answer is an event of its own",
    "StreamingDeltaEvent": "a piece of an answer, which is an event of its own",
}
_RESULTS: Final = frozenset({"ObservationEvent", "UserRejectObservation", "AgentErrorEvent"})


class SdkReading:
    """The state of one reading.

    Args:
        origin: Where the stream stands.
        events: Its events, each with its line.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """

    def __init__(self, origin: Origin, events: list[tuple[Line, Any]], *, keep_reasoning: bool) -> None:
        self._recorded = origin.usages
        self._events = events
        self._keep = keep_reasoning
        first: JsonObject = next((event for _, event in events if is_object(event)), JsonObject())
        self.session = f"conversation:{nonempty_text(first.get('id')) or digest(first)}"
        self._growths = growths([event for _, event in events])
        self._used: dict[str, Growth] = {
            grown.response: grown for each in self._growths.values() for grown in each if grown.response
        }
        self._written_at = {
            str(event["llm_response_id"]): place
            for place, (_, event) in reversed(list(enumerate(events)))
            if is_object(event) and event.get("llm_response_id")
        }
        self._settled: dict[str, int] = {}
        self._calls: dict[str, PartDraft] = {}
        self._parents: dict[str, str | None] = {}
        self._met: set[str] = set()
        self._condensations: list[str] = []
        self.answered: set[str] = set()
        self._makers: dict[str, Callable[[JsonObject, RecordDraft], None]] = {
            "SystemPromptEvent": self._system,
            "MessageEvent": self._message,
            "ActionEvent": self._action,
            "ACPToolCallEvent": self._acp,
            "Condensation": self._condensation,
            **dict.fromkeys(_RESULTS, self._result),
        }

    def settled_by(self, native_id: str | None) -> int | None:
        """The place of the event that says which call a total grew by; ``None`` for other records."""
        return self._settled.get(native_id or "")

    def records(self) -> Iterator[RecordDraft]:
        """The records of the stream."""
        for place, (line, event) in enumerate(self._events):
            if not is_object(event):
                yield unknown_record(line, event, self.session)
                continue
            draft = self._record(line, event)
            if not draft.skipped and not draft.messages:
                draft.messages = unknown_record(line, event, self.session).messages
            if line.flags and draft.messages:
                draft.messages[0].metadata = {**draft.messages[0].metadata, "repaired": list(line.flags)}
            yield draft
            yield from self._counted(line, event, place)

    def _record(self, line: Line, event: JsonObject) -> RecordDraft:
        kind = str(event.get("kind"))
        draft = draft_of(line, name_of(kind), event, self.session, [])
        draft.native_id = nonempty_text(event.get("id"))
        self._met.add(draft.native_id or "")
        draft.created_at = micros(event.get("timestamp"))
        draft.parent = nonempty_text(event.get("parent_id"))
        while draft.parent in self._parents:
            draft.parent = self._parents[draft.parent]
        if kind in _LEFT_OUT:
            draft.skipped = _LEFT_OUT[kind]
            if draft.native_id:
                self._parents[draft.native_id] = draft.parent
        elif kind in self._makers:
            self._makers[kind](event, draft)
        else:
            draft.messages = sdk_states.messages_of(kind, event)
        return draft

    def _counted(self, line: Line, event: JsonObject, place: int) -> Iterator[RecordDraft]:
        """What totals grew by, and which call that was; a call that no event of the file is of stands here itself."""
        for grown in self._growths.get(place, []):
            message = sdk_states.counted_message(grown)
            said = [event.get("id"), grown.name, grown.response]
            draft = draft_of(line, "stats/model call", said, self.session, [message])
            draft.native_id = f"{event.get('id')}/{grown.name}"
            if grown.response is not None:
                self._settled[draft.native_id] = self._written_at[grown.response]
            draft.created_at = micros(event.get("timestamp"))
            draft.parent = nonempty_text(event.get("parent_id"))
            if grown.response is None:
                message.model, message.usage = grown.model, grown.draft()
                draft.is_model_call, draft.call_id = True, f"{self.session}/{draft.native_id}"
                # The event of the last call may still be written; then a later reading says so in its place.
                draft.provisional = grown.is_last
            yield draft

    def _system(self, event: JsonObject, draft: RecordDraft) -> None:
        prompt = text_part(texts_of(event.get("system_prompt")), TrustLevel.ORG_TRUSTED)
        draft.messages = [MessageDraft(MessageKind.SYSTEM_INSTRUCTION, "operator", [prompt])]
        if dynamic := texts_of(event.get("dynamic_context")):
            # Facts of the machine, and what the repository's own instruction files say.
            part = text_part(dynamic, TrustLevel.REPOSITORY_UNTRUSTED)
            draft.messages.append(MessageDraft(MessageKind.DEVELOPER_INSTRUCTION, NAME, [part]))

    def _message(self, event: JsonObject, draft: RecordDraft) -> None:
        said = event.get("llm_message")
        if not is_object(said):
            return
        text, content = texts_of(said.get("content")), said.get("content")
        if event.get("source") == "agent":
            actor = self._answer(event, draft)
            own = [text_part(text, TrustLevel.MODEL_GENERATED), *images_of(content, TrustLevel.MODEL_GENERATED)]
            reasoning = hidden(said, actor, keep=self._keep)
            self._written(draft, event, [*reasoning, MessageDraft(MessageKind.ASSISTANT_RESPONSE, actor, own)])
            return
        is_person = event.get("source") == "user" and not event.get("sender")
        trust = TrustLevel.USER_TRUSTED if is_person else TrustLevel.UNKNOWN
        kind = MessageKind.USER_TASK if event.get("source") == "user" else MessageKind.DEVELOPER_INSTRUCTION
        actor = nonempty_text(event.get("sender")) or name_of(event.get("source"))
        draft.messages = [MessageDraft(kind, actor, [text_part(text, trust), *images_of(content, trust)])]
        if added := texts_of(event.get("extended_content")):
            part = text_part(added, TrustLevel.UNKNOWN)  # a skill is the repository's, the user's or the product's
            metadata: JsonObject = {"skills": event.get("activated_skills")}
            message = MessageDraft(MessageKind.REPOSITORY_INSTRUCTION, "skill", [part], metadata=metadata)
            draft.messages.append(message)
        draft.node = Node.PROMPT if kind is MessageKind.USER_TASK else Node.PASSIVE

    def _answer(self, event: JsonObject, draft: RecordDraft) -> str:
        """Notes that a model wrote an event; the model's name where it is known, to call it by."""
        response = nonempty_text(event.get("llm_response_id"))
        draft.node, draft.is_model_call = Node.CALL, True
        draft.call_id = f"{self.session}/{response or draft.native_id or draft.digest}"
        return self._model(response) or "assistant"

    def _model(self, response: str | None) -> str | None:
        """The model that gave a reply: as the row's metrics say, or the totals that its usage comes from."""
        recorded = self._recorded.get(response or "")
        if recorded is not None:
            return nonempty_text(recorded.get("model"))
        grown = self._used.get(response or "")
        return grown.model if grown else None

    def _written(self, draft: RecordDraft, event: JsonObject, messages: list[MessageDraft]) -> None:
        response = nonempty_text(event.get("llm_response_id"))
        grown = self._used.get(response or "")
        for message in messages:
            message.model = self._model(response)
        recorded = self._recorded.get(response or "")
        if response not in self.answered:
            messages[0].usage = usage_of(recorded) if recorded is not None else grown.draft() if grown else None
        if response is not None:
            self.answered.add(response)
        if critic := critic_message(event.get("critic_result")):
            messages.append(critic)
        draft.messages = messages

    def _action(self, event: JsonObject, draft: RecordDraft) -> None:
        actor = self._answer(event, draft)
        messages, call = action_messages(event, actor, draft.created_at, keep=self._keep)
        if draft.native_id:
            self._calls[draft.native_id] = call
        if call.tool_call_id:
            self._calls[call.tool_call_id] = call
        self._written(draft, event, messages)

    def _result(self, event: JsonObject, draft: RecordDraft) -> None:
        by_action = self._calls.get(str(event.get("action_id")))
        call = by_action or self._calls.get(str(event.get("tool_call_id")))
        draft.messages = result_message(event, call)
        draft.node = Node.RESULT
        draft.provisional = call is None and draft.native_id is not None

    def _acp(self, event: JsonObject, draft: RecordDraft) -> None:
        native = str(event.get("tool_call_id") or draft.native_id or draft.digest)
        draft.messages = acp_messages(event, native, draft.created_at, is_new=native not in self._calls)
        for part in (part for message in draft.messages for part in message.parts):
            self._calls.setdefault(native, part)
        draft.node = Node.RESULT if native in self._calls else Node.PASSIVE
        if not draft.messages:
            draft.skipped = "progress of a running tool; its end is an event of its own"

    def _condensation(self, event: JsonObject, draft: RecordDraft) -> None:
        actor = self._answer(event, draft)
        draft.node = Node.PASSIVE
        summary = nonempty_text(event.get("summary"))
        if summary is None or not event.get("llm_response_id"):
            draft.is_model_call, draft.call_id = False, None
        forgotten = None
        if is_list(event.get("forgotten_event_ids")):
            # A summary takes the place of the one before; newer versions name that by the event that wrote it.
            forgotten = [*named(event["forgotten_event_ids"], self._met), *self._condensations]
        if draft.native_id:
            self._condensations.append(draft.native_id)
        self._written(draft, event, [sdk_states.condensed_message(event, actor, forgotten)])
