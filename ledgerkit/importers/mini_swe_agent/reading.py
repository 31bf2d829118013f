"""One reading of a trajectory: its messages in order, then what the envelope says of the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, PartDraft, RecordDraft, RunFacts
from ledgerkit.importers.mini_swe_agent.answers import answer_messages, response_of, usage_of
from ledgerkit.importers.mini_swe_agent.commands import (
    NAME,
    Calls,
    extra_of,
    hands_in,
    is_result_text,
    result_part,
    text_of,
)
from ledgerkit.importers.patches import is_patch, patch_parts
from ledgerkit.importers.pieces import digest, media_part, micros, note_message, text_part, unknown_message
from ledgerkit.importers.pieces import verdict_message as verdict
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel, Verdict, Visibility

_APART: Final = frozenset({"messages", "info", "instance_id"})
_PEOPLE: Final = frozenset({"UserInterruption", "UserRejection", "UserNewTask"})
_TOLD: Final = TrustLevel.REPOSITORY_UNTRUSTED
_OPEN: Final = frozenset({"", None})


class Reading:
    """The state of one reading.

    Args:
        item: The document.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """

    def __init__(self, item: Line, *, keep_reasoning: bool) -> None:
        self._item = item
        self._keep = keep_reasoning
        self._envelope: JsonObject = item.value if is_object(item.value) else {}
        messages: Any = self._envelope.get("messages") if self._envelope else item.value
        self._messages: list[Any] = messages if is_list(messages) else []
        info = self._envelope.get("info")
        self._info: JsonObject = info if is_object(info) else {}
        self._session = _identity(item.value, self._messages)
        self._model = _model(self._info)
        self._number = 0
        self._calls = Calls()
        self._has_answer = False

    def records(self) -> Iterator[RecordDraft]:
        """The records of the run."""
        facts: RunFacts | None = RunFacts(
            task_id=nonempty_text(self._envelope.get("instance_id")) or nonempty_text(self._info.get("instance_id")),
            working_directory=nonempty_text(_at(self._info, "config", "environment", "cwd")),
            agent_version=nonempty_text(self._info.get("mini_version")),
        )
        for draft in self._all():
            draft.facts, facts = facts, None
            if self._item.flags:
                draft.messages[0].metadata = {**draft.messages[0].metadata, "repaired": list(self._item.flags)}
            yield draft

    def _all(self) -> Iterator[RecordDraft]:
        for message in self._messages:
            draft = self._message(message) if is_object(message) else self._unknown(message)
            if is_object(message):
                at = extra_of(message).get("timestamp", message.get("timestamp"))
                draft.created_at = micros(at)
            yield draft
        messages = list(self._outcome())
        if messages:
            draft = self._draft("info", self._info, messages)
            # The file of a run that goes on is written anew; what a later reading finds replaces this.
            draft.native_id = f"{self._session}/info"
            draft.provisional = not self._info.get("exit_status")
            yield draft

    def _draft(self, record_type: str, said: Any, messages: list[MessageDraft]) -> RecordDraft:  # noqa: ANN401 - any JSON value
        self._number += 1
        return RecordDraft(
            self._item.number,
            self._item.offset,
            record_type,
            digest([self._number, said]),
            session=self._session,
            messages=messages,
        )

    def _unknown(self, value: object) -> RecordDraft:
        return self._draft("unknown", value, [unknown_message(value, NAME)])

    def _message(self, message: JsonObject) -> RecordDraft:
        role = message.get("role")
        if role == "assistant" or message.get("object") == "response":
            return self._answer(message)
        if role == "system":
            parts = [text_part(text_of(message.get("content")), TrustLevel.ORG_TRUSTED)]
            return self._draft("system", message, [MessageDraft(MessageKind.SYSTEM_INSTRUCTION, "operator", parts)])
        if role == "tool" or message.get("type") == "function_call_output":
            return self._result(message)
        if role == "user":
            return self._user(message)
        return self._exit(message) if role == "exit" else self._unknown(message)

    def _answer(self, message: JsonObject) -> RecordDraft:
        response = response_of(message)
        model = nonempty_text(response.get("model")) or self._model
        calls = self._calls.ask(message)
        messages = answer_messages(message, calls, model or "assistant", keep=self._keep)
        draft = self._draft("assistant", message, messages)
        for each in messages:
            each.model = model
        messages[0].usage = usage_of(message)
        draft.node, draft.is_model_call = Node.CALL, True
        draft.call_id = f"{self._session}/{nonempty_text(response.get('id')) or self._number}"
        self._has_answer = True
        return draft

    def _result(self, message: JsonObject) -> RecordDraft:
        native = message.get("tool_call_id", message.get("call_id"))
        text = text_of(message.get("output") if "output" in message else message.get("content"))
        part = result_part(message, text, self._calls.answered(native), native)
        parts = [part, *_media(message, part.trust)]
        draft = self._draft("result", message, [MessageDraft(MessageKind.TOOL_CALL_RESULT, "bash", parts)])
        draft.node = Node.RESULT if part.tool_call_id else Node.PASSIVE
        return draft

    def _user(self, message: JsonObject) -> RecordDraft:
        """A turn with the role ``user``: the task, a command's output, a person, or the agent's program."""
        extra, text = extra_of(message), text_of(message.get("content"))
        reason = extra.get("interrupt_type")
        if not self._has_answer or (extra.get("actions") and not isinstance(reason, str)):
            self._calls.waiting = []  # the task, or a command that a person gave, whose output follows
            return self._said(message, MessageKind.USER_TASK, "user", TrustLevel.USER_TRUSTED)
        if isinstance(reason, str):
            return self._interrupted(message, text, reason)
        has_result = "returncode" in extra or "raw_output" in extra or is_result_text(text)
        if has_result or self._calls.waiting:
            return self._returned(message, has_result=has_result)
        if self._is_last(message):
            return self._said(message, MessageKind.RUN_SUMMARY, NAME, TrustLevel.UNKNOWN)
        return self._refused(message, text, "format_error")

    def _interrupted(self, message: JsonObject, text: str, reason: str) -> RecordDraft:
        if reason not in _PEOPLE:
            return self._refused(message, text, reason)
        kind = MessageKind.APPROVAL_DECISION if reason == "UserRejection" else MessageKind.USER_TASK
        return self._said(message, kind, "user", TrustLevel.USER_TRUSTED)

    def _returned(self, message: JsonObject, *, has_result: bool) -> RecordDraft:
        """A command's output. Older files mark nothing: what follows a command is its output, or ended the run."""
        handed_in = any(hands_in(call) for call in self._calls.waiting)
        draft = self._result(message)
        if not has_result:
            draft.messages[0].metadata = {"derived": ["kind"]}
            draft.messages[0].parts[0].trust = _TOLD if handed_in else TrustLevel.UNKNOWN
        return draft

    def _is_last(self, message: JsonObject) -> bool:
        return message is self._messages[-1]

    def _said(self, message: JsonObject, kind: MessageKind, actor: str, trust: TrustLevel) -> RecordDraft:
        parts = [text_part(text_of(message.get("content")), trust), *_media(message, trust)]
        draft = self._draft("user", message, [MessageDraft(kind, actor, parts)])
        draft.node = Node.PROMPT if kind is MessageKind.USER_TASK else Node.PASSIVE
        return draft

    def _refused(self, message: JsonObject, text: str, reason: str) -> RecordDraft:
        """What the agent's program told the model of an answer that it could not use. It may quote anything."""
        part = PartDraft(part_type=PartType.ERROR, trust=TrustLevel.UNKNOWN, text=text, error_category=_snake(reason))
        self._calls.waiting = []
        return self._draft("user", message, [MessageDraft(MessageKind.ERROR_EVENT, NAME, [part])])

    def _exit(self, message: JsonObject) -> RecordDraft:
        """The end of a run: the output of the command that handed something in, or why it ended."""
        if extra_of(message).get("exit_status") == "Submitted" and self._calls.waiting:
            return self._result(message)
        text = text_of(message.get("content"))
        part = text_part(text, TrustLevel.UNKNOWN, visibility=Visibility.HUMAN_VISIBLE)
        return self._draft("exit", message, [MessageDraft(MessageKind.RUN_SUMMARY, NAME, [part])])

    def _outcome(self) -> Iterator[MessageDraft]:
        """The run's figures and settings, what it handed in, how it ended."""
        info, rest = self._info, {k: v for k, v in self._envelope.items() if k not in _APART}
        about = {k: v for k, v in info.items() if k != "submission"}
        if about or rest:
            yield note_message({"note": "run", **rest, "info": about}, NAME, TrustLevel.UNKNOWN)
        submission = info.get("submission")
        if isinstance(submission, str) and is_patch(submission):
            parts, about = patch_parts(submission), {"submission": True}
            yield MessageDraft(MessageKind.DIFF_OBSERVATION, NAME, parts, metadata=about)
        elif isinstance(submission, str) and submission.strip():
            part = text_part(submission, TrustLevel.UNKNOWN, visibility=Visibility.HUMAN_VISIBLE)
            part.data = {"note": "submission"}
            yield MessageDraft(MessageKind.RUN_SUMMARY, NAME, [part])
        status = info.get("exit_status")
        if isinstance(status, str | int) and status not in _OPEN:
            yield verdict("exit status", Verdict.INCONCLUSIVE, {"exit_status": status, "submitted": bool(submission)})


def _identity(document: object, messages: list[Any]) -> str:
    """What a run is known by: everything up to its first answer, if that has a time or an id of its own.

    Otherwise only the same document is the same run: another run of the task may begin alike.
    """
    for number, message in enumerate(messages):
        if is_object(message) and (message.get("role") == "assistant" or message.get("object") == "response"):
            own = (extra_of(message).get("timestamp"), message.get("timestamp"), response_of(message).get("id"))
            if any(own):
                return f"run:{digest(messages[: number + 1])}"
            break
    return f"document:{digest(document)}"


def _model(info: JsonObject) -> str | None:
    return nonempty_text(_at(info, "config", "model", "model_name"))


def _at(value: Any, *names: str) -> object:  # noqa: ANN401 - any JSON value
    for name in names:
        value = value.get(name) if is_object(value) else None
    return value


def _media(message: JsonObject, trust: TrustLevel) -> list[PartDraft]:
    blocks = [block.get("image_url") for block in objects_of(message.get("content"))]
    return [media_part(block.get("url"), None, trust) for block in blocks if is_object(block)]


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and n else c.lower() for n, c in enumerate(name))
