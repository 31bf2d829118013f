"""Events of V0: actions and observations, in the order of the stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ledgerkit.importers.compactions import forgets
from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, PartDraft, RecordDraft
from ledgerkit.importers.openhands.observations import observation_messages
from ledgerkit.importers.openhands.records import (
    FINISH,
    NAME,
    Origin,
    draft_of,
    image_part,
    name_of,
    unknown_record,
    usage_of,
)
from ledgerkit.importers.openhands.replies import Reply, replies_by_place, reply_of
from ledgerkit.importers.pieces import call_part, digest, json_part, micros, note_message, reasoning_part, text_part
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Visibility

_TOP: Final = frozenset({"id", "timestamp", "source", "message", "cause", "action", "observation", "content", "extras",
                         "tool_call_metadata", "llm_metrics", "timeout", "success", "args"})  # fmt: skip
_CALLS: Final = frozenset({
    *("run", "run_ipython", "read", "write", "edit", "browse", "browse_interactive", "call_tool_mcp", "delegate"),
    *("task_tracking", "think", "finish", "reject"),
})  # fmt: skip
_NOTES: Final = frozenset({"change_agent_state", "condensation_request", "loop_recovery", "pause", "resume", "stop"})
_AWAITS: Final = frozenset({"awaiting_confirmation", "rejected"})
_ASKS: Final = "asks for knowledge; the observation after it says what came"
_NOTHING: Final = "says nothing"


class V0Reading:
    """The state of one reading.

    Args:
        origin: Where the stream stands.
        events: Its events, each with its line.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """

    def __init__(self, origin: Origin, events: list[tuple[Line, Any]], *, keep_reasoning: bool) -> None:
        self._origin = origin
        self._events = events
        self._keep = keep_reasoning
        self.session = _identity(origin, events)
        self._calls: dict[str, PartDraft] = {}
        self._uses: dict[str, int] = {}
        self.answered: set[str] = set()
        self._condensations: list[str] = []
        self._place = 0
        self._unnamed = replies_by_place([event for _, event in events], list(origin.usages))

    def records(self) -> Iterator[RecordDraft]:
        """The records of the stream."""
        for place, (line, event) in enumerate(self._events):
            self._place = place
            if not is_object(event):
                yield unknown_record(line, event, self.session)
                continue
            draft = draft_of(line, "unknown", event, self.session, [])
            draft.native_id = _number(event.get("id"))
            draft.created_at = micros(event.get("timestamp"))
            if "action" in event:
                self._action(event, draft)
            elif "observation" in event:
                self._observation(event, draft)
            if not draft.messages and not draft.skipped:
                draft.messages = unknown_record(line, event, self.session).messages
            if line.flags and draft.messages:
                draft.messages[0].metadata = {**draft.messages[0].metadata, "repaired": list(line.flags)}
            yield draft

    def _action(self, event: JsonObject, draft: RecordDraft) -> None:
        action, source = str(event["action"]), event.get("source")
        args = event.get("args")
        args = args if is_object(args) else {k: v for k, v in event.items() if k not in _TOP}
        draft.record_type = f"action/{name_of(action)}"
        if action == "system":
            part = text_part(str(args.get("content") or event.get("message") or ""), TrustLevel.ORG_TRUSTED)
            draft.messages = [MessageDraft(MessageKind.SYSTEM_INSTRUCTION, "operator", [part])]
        elif action == "message" and source != "agent":
            self._asked(event, args, draft)
        elif action == "recall":
            draft.skipped = _ASKS
        elif action == "null":
            draft.skipped = _NOTHING
        elif action == "condensation":
            draft.messages = [self._condensed(args, draft)]
        elif action in _NOTES:
            trust = TrustLevel.USER_TRUSTED if source == "user" else TrustLevel.UNKNOWN
            draft.messages = [note_message({"note": action, **args}, name_of(source), trust)]
        elif action in _CALLS or action == "message" or is_object(event.get("tool_call_metadata")):
            self._answer(event, action, args, draft)

    def _condensed(self, args: JsonObject, draft: RecordDraft) -> MessageDraft:
        """Events that the agent forgot, and the summary in their place, which takes that of an earlier one."""
        summary = nonempty_text(args.get("summary"))
        about = {k: v for k, v in args.items() if k != "summary" and v is not None}
        part = json_part(about, TrustLevel.TOOL_TRUSTED, visibility=Visibility.AUDIT_ONLY)
        parts = [text_part(summary, TrustLevel.MODEL_GENERATED)] if summary else []
        forgotten = self._forgotten(args)
        rule = None if forgotten is None else forgets([*forgotten, *self._condensations])
        if draft.native_id:
            self._condensations.append(draft.native_id)
        about_it = {"reason": "compaction"}
        return MessageDraft(MessageKind.RUN_SUMMARY, NAME, [*parts, part], metadata=about_it, compaction=rule)

    def _forgotten(self, args: JsonObject) -> list[str] | None:
        """The events that a condensation forgot: it lists them, or says the first and the last."""
        listed = args.get("forgotten_event_ids")
        if is_list(listed):
            return [number for one in listed if (number := _number(one))]
        first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
        if not isinstance(first, int) or not isinstance(last, int):
            return None
        numbers = (event.get("id") for _, event in self._events if is_object(event))
        return [str(one) for one in numbers if isinstance(one, int) and _number(one) and first <= one <= last]

    def _asked(self, event: JsonObject, args: JsonObject, draft: RecordDraft) -> None:
        is_user = event.get("source") == "user"
        trust = TrustLevel.USER_TRUSTED if is_user else TrustLevel.UNKNOWN
        urls: list[Any] = args["image_urls"] if is_list(args.get("image_urls")) else []
        text = text_part(str(args.get("content") or event.get("message") or ""), trust)
        parts = [text, *(image_part(url, trust) for url in urls)]
        draft.messages = [MessageDraft(MessageKind.USER_TASK, "user" if is_user else NAME, parts)]
        draft.node = Node.PROMPT

    def _answer(self, event: JsonObject, action: str, args: JsonObject, draft: RecordDraft) -> None:
        """What the model wrote: a message, or a call with what it said before it."""
        by_person = event.get("source") == "user"
        reply = reply_of(event)
        is_derived = reply.id is None and self._place in self._unnamed
        if is_derived:
            reply.id = self._unnamed[self._place]
            reply.model = nonempty_text(self._origin.usages[reply.id].get("model"))
        actor = "user" if by_person else reply.model or "assistant"
        is_first = reply.id is None or reply.id not in self.answered
        messages = self._said(action, args, reply, actor, is_first=is_first)
        if action != "message":
            call = self._call(event, action, args, reply, by_person=by_person)
            if call is not None:
                messages.append(MessageDraft(MessageKind.TOOL_CALL_REQUEST, actor, [call]))
                messages += _approval(args, call)
        messages += _finished(action, args, actor)
        draft.messages = messages or [
            MessageDraft(MessageKind.ASSISTANT_RESPONSE, actor, [text_part("", TrustLevel.MODEL_GENERATED)])
        ]
        draft.node = Node.CALL
        if by_person:
            return
        for message in draft.messages:
            message.model = reply.model
        draft.is_model_call, draft.call_id = True, f"{self.session}/{reply.id or draft.digest}"
        if is_derived:
            draft.messages[0].metadata = {**draft.messages[0].metadata, "derived": ["usage"]}
        if is_first:
            recorded = self._origin.usages.get(reply.id or "")
            draft.messages[0].usage = usage_of(recorded if recorded is not None else reply.usage)
        if reply.id is not None:
            self.answered.add(reply.id)

    def _said(self, action: str, args: JsonObject, reply: Reply, actor: str, *, is_first: bool) -> list[MessageDraft]:
        out: list[MessageDraft] = []
        if reply.reasoning and is_first:
            hidden = reasoning_part(reply.reasoning, keep=self._keep)
            out.append(MessageDraft(MessageKind.AGENT_THOUGHT_SUMMARY, actor, [hidden]))
        kind = MessageKind.AGENT_THOUGHT_SUMMARY
        text = reply.text
        if action == "message":
            kind, text = MessageKind.ASSISTANT_RESPONSE, str(args.get("content") or text)
        elif not text and action not in ("think", FINISH):
            text = str(args.get("thought") or "")
        if text and (is_first or action == "message"):
            trust = TrustLevel.USER_TRUSTED if actor == "user" else TrustLevel.MODEL_GENERATED
            out.append(MessageDraft(kind, actor, [text_part(text, trust)]))
        return out

    def _call(
        self, event: JsonObject, action: str, args: JsonObject, reply: Reply, *, by_person: bool
    ) -> PartDraft | None:
        """The call: as the model wrote it where the reply is kept, else as the action says it."""
        if reply.call_id is None and action == FINISH:
            return None
        native = reply.call_id or f"event:{event.get('id', len(self._calls))}"
        uses = self._uses[native] = self._uses.get(native, 0) + 1
        call_id = native if uses == 1 else f"{native}~{uses}"
        arguments = reply.arguments
        if arguments is None:
            arguments = {k: v for k, v in args.items() if k == "command" or k not in _UNASKED}
        part = call_part(call_id, reply.tool or action, arguments, micros(event.get("timestamp")))
        part.trust = TrustLevel.USER_TRUSTED if by_person else part.trust
        part.path = part.path or nonempty_text(args.get("path"))
        self._calls[f"event {event.get('id')}"] = part
        self._calls[f"call {native}"] = part
        return part

    def _observation(self, event: JsonObject, draft: RecordDraft) -> None:
        kind = str(event["observation"])
        draft.record_type = f"observation/{name_of(kind)}"
        if kind == "null":
            draft.skipped = _NOTHING
            return
        asked = event.get("tool_call_metadata")
        native = nonempty_text(asked.get("tool_call_id")) if is_object(asked) else None
        call = self._calls.get(f"event {event.get('cause')}") if event.get("cause") is not None else None
        call = call or self._calls.get(f"call {native}")
        draft.messages = observation_messages(kind, event, call, native)
        is_result = any(part.tool_call_id for message in draft.messages for part in message.parts)
        draft.node = Node.RESULT if is_result else Node.PASSIVE


_UNASKED: Final = frozenset({
    *("thought", "confirmation_state", "security_risk", "impl_source", "translated_ipython_code", "hidden", "blocking"),
    *("is_static", "cwd", "kernel_init_code", "include_extra"),
})  # fmt: skip


def _identity(origin: Origin, events: list[tuple[Line, Any]]) -> str:
    """What a stream is known by: its instance, and its first event with its time; without a time all of it."""
    first: JsonObject = next((event for _, event in events if is_object(event)), JsonObject())
    if isinstance(first.get("timestamp"), str):
        return f"stream:{digest([origin.instance, first])}"
    return f"stream:{digest([origin.instance, [event for _, event in events]])}"


def _number(value: object) -> str | None:
    """The number of an event in its stream, as the id of its record."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _approval(args: JsonObject, call: PartDraft) -> list[MessageDraft]:
    """That a call waits for a person's word, where it is recorded."""
    state = str(args.get("confirmation_state"))
    if state not in _AWAITS:
        return []
    asked = {"tool_call_id": call.tool_call_id, "state": state, "security_risk": args.get("security_risk")}
    part = json_part(asked, TrustLevel.TOOL_TRUSTED, visibility=Visibility.HUMAN_VISIBLE)
    return [MessageDraft(MessageKind.APPROVAL_REQUEST, NAME, [part])]


def _finished(action: str, args: JsonObject, actor: str) -> list[MessageDraft]:
    """The model's own account of the run, at its end."""
    text = nonempty_text(args.get("final_thought")) or nonempty_text(args.get("thought"))
    if action != FINISH or text is None:
        return []
    part = text_part(text, TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE)
    claims = {k: args[k] for k in ("task_completed", "outputs") if args.get(k)}
    part.data = claims or None
    return [MessageDraft(MessageKind.RUN_SUMMARY, actor, [part])]
