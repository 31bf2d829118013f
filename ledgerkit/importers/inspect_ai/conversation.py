"""The conversation of one run within a sample: which messages it holds already, and what becomes of new ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from typing_extensions import TypeIs

from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, PartDraft
from ledgerkit.importers.inspect_ai.contents import key_of, said_parts, texts_of, thoughts_of
from ledgerkit.importers.inspect_ai.tools import result_part, server_calls
from ledgerkit.importers.pieces import arguments_of, call_part, json_part, text_part
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, RunRelation, TrustLevel, Visibility

_MODEL: Final = TrustLevel.MODEL_GENERATED
_PEOPLE: Final = frozenset({"input", "operator"})
_SOLVERS_OWN: Final = frozenset({
    "Your submission was incorrect. Please proceed and attempt to find the correct answer.",
    "Please proceed to the next step using your best judgement.",
})  # fmt: skip
"""What Inspect's own agents tell a model, where an evaluation gives them no other words."""
_ROLES: Final = ("system", "user", "assistant", "tool")


def is_message(value: object) -> TypeIs[JsonObject]:
    """Whether a value is a message of a known role."""
    return is_object(value) and value.get("role") in _ROLES


class Conversation:
    """A run of a sample.

    Args:
        key: The run within the session.
        relation: How it hangs on the main one.
        task: What the sample gives as its task, as a text.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """

    def __init__(self, key: str, relation: RunRelation | None, task: str, *, keep_reasoning: bool) -> None:
        self.key = key
        self.relation = relation
        self.is_main = relation in (None, RunRelation.RETRY)
        self.has_answer = False
        self._task = task
        self._keep = keep_reasoning
        self._met: Counter[tuple[object, ...]] = Counter()
        self._uses: Counter[str] = Counter()
        self._open: dict[str, list[PartDraft]] = defaultdict(list)

    def new_of(self, messages: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
        """Messages, and whether each is new: in none of the prompts before as often as here."""
        here: Counter[tuple[object, ...]] = Counter()
        for whole in messages:
            if not is_message(whole):
                yield whole, True
                continue
            key = key_of(whole)
            here[key] += 1
            is_new = here[key] > self._met[key]
            yield whole, is_new
            if is_new:
                self._met[key] = here[key]

    def meet(self, message: JsonObject) -> None:
        """Takes note of a message that stands in the ledger by another record."""
        self._met[key_of(message)] += 1

    def told(self, message: JsonObject) -> tuple[list[MessageDraft], Node]:
        """A message that the model was given."""
        role = message.get("role")
        if role == "assistant":
            return self.answer(message, None), Node.CALL
        if role == "tool":
            return [self.result(message, message)], Node.RESULT
        if role == "system":
            return [self._system(message)], Node.PASSIVE
        return self._user(message)

    def _system(self, message: JsonObject) -> MessageDraft:
        content = message.get("content")
        if self.has_answer:  # the solver's, which may quote anything
            parts = _some(said_parts(content, TrustLevel.UNKNOWN), TrustLevel.UNKNOWN)
            return MessageDraft(MessageKind.DEVELOPER_INSTRUCTION, "solver", parts)
        parts = _some(said_parts(content, TrustLevel.ORG_TRUSTED), TrustLevel.ORG_TRUSTED)
        return MessageDraft(MessageKind.SYSTEM_INSTRUCTION, "operator", parts)

    def _user(self, message: JsonObject) -> tuple[list[MessageDraft], Node]:
        """The sample's task, or what a solver, an agent or a scorer says in the user's place."""
        content = message.get("content")
        source = message.get("source")
        is_task = (isinstance(source, str) and source in _PEOPLE) or (self._task and texts_of(content) == self._task)
        if is_task and self.is_main:
            trust, actor = TrustLevel.USER_TRUSTED, "user"
        else:
            trust, actor = TrustLevel.UNKNOWN, "solver" if self.is_main else self.key.partition(":")[0]
        if not is_task and texts_of(content).strip() in _SOLVERS_OWN:
            trust = TrustLevel.TOOL_TRUSTED
        parts = _some(said_parts(content, trust), trust)
        if not is_task and self.is_main and self.has_answer:
            return [MessageDraft(MessageKind.DEVELOPER_INSTRUCTION, actor, parts)], Node.PASSIVE
        return [MessageDraft(MessageKind.USER_TASK, actor, parts)], Node.PROMPT

    def answer(self, message: JsonObject, model: str | None, started_at: int | None = None) -> list[MessageDraft]:
        """Hidden reasoning, text and calls that a model wrote, with calls that its service made for it."""
        model = model or nonempty_text(message.get("model"))
        actor = model or "assistant"
        thoughts = list(thoughts_of(message, keep=self._keep))
        out = [MessageDraft(MessageKind.AGENT_THOUGHT_SUMMARY, actor, [part]) for part in thoughts]
        parts = [part for part in said_parts(message.get("content"), _MODEL) if part.text != ""]
        listed: Any = message.get("tool_calls")
        calls = [self._call(each, started_at) for each in listed] if is_list(listed) else []
        made, returned = server_calls(message, self._unique)
        if parts or not (calls or made):
            out.append(MessageDraft(MessageKind.ASSISTANT_RESPONSE, actor, _some(parts, _MODEL)))
        if calls or made:
            out.append(MessageDraft(MessageKind.TOOL_CALL_REQUEST, actor, [*made, *calls]))
        for each in out:
            each.model = model
        out += [MessageDraft(MessageKind.TOOL_CALL_RESULT, part.tool_name or "tool", [part]) for part in returned]
        self.has_answer = True
        return out

    def _call(self, call: object, started_at: int | None) -> PartDraft:
        if not is_object(call):
            return json_part(call, _MODEL, visibility=Visibility.AUDIT_ONLY)
        native = nonempty_text(call.get("id")) or "unidentified"
        part = call_part(
            self._unique(native),
            nonempty_text(call.get("function")),
            arguments_of(call.get("arguments")),
            started_at,
        )
        if parse_error := nonempty_text(call.get("parse_error")):
            part.error_category = "parsing"
            part.summary = parse_error[:500]
        self._open[native].append(part)
        return part

    def _unique(self, native: str) -> str:
        self._uses[native] += 1
        used = self._uses[native]
        return native if used == 1 and native != "unidentified" else f"{native}~{used}"

    def holds_call(self, native: object) -> bool:
        """Whether the run holds a call of that id."""
        return isinstance(native, str) and bool(self._open.get(native))

    def result(self, message: JsonObject, said: JsonObject) -> MessageDraft:
        """What a tool returned.

        Args:
            message: The message, or the event if no message tells the model.
            said: Where the result's id, tool and error stand.
        """
        native = said.get("tool_call_id", said.get("id"))
        waiting = self._open.get(native, []) if isinstance(native, str) else []
        call = waiting.pop(0) if len(waiting) > 1 else waiting[0] if waiting else None
        part, media = result_part(message, said, call)
        return MessageDraft(MessageKind.TOOL_CALL_RESULT, part.tool_name or "tool", [part, *media])


def _some(parts: list[PartDraft], trust: TrustLevel) -> list[PartDraft]:
    return parts or [text_part("", trust)]
