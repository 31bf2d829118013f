"""Calls of tools, and what came back: results stand in the step of their calls."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from typing_extensions import TypeIs

from ledgerkit.importers.atif.steps import TERMINUS, content_parts
from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft
from ledgerkit.importers.pieces import arguments_of, call_part, json_part
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.importers.tool_words import trust_of_result
from ledgerkit.protocol.vocabulary import MessageKind, PartType, ToolStatus, TrustLevel, Visibility

_RESULT: Final = frozenset({"source_call_id", "content"})


def is_result(value: object) -> TypeIs[JsonObject]:
    """Whether a value can be a result."""
    return is_object(value)


class Calls:
    """The calls of a run so far. Ids are unique in a run here: a later use of one gets a number."""

    def __init__(self) -> None:
        self._uses: dict[str, int] = defaultdict(int)
        self._open: dict[str, list[PartDraft]] = {}

    def ask(self, step: JsonObject, started_at: int | None) -> list[PartDraft]:
        """The calls of a step, in its order."""
        self._open = defaultdict(list)
        listed: Any = step.get("tool_calls")
        calls: list[Any] = listed if is_list(listed) else [listed] if listed else []
        parts: list[PartDraft] = []
        for call in calls:
            if not is_object(call):
                parts.append(json_part(call, TrustLevel.MODEL_GENERATED, visibility=Visibility.AUDIT_ONLY))
                continue
            native = nonempty_text(call.get("tool_call_id")) or "unidentified"
            self._uses[native] += 1
            used = self._uses[native]
            unique = native if used == 1 and native != "unidentified" else f"{native}~{used}"
            name = nonempty_text(call.get("function_name"))
            part = call_part(unique, name, arguments_of(call.get("arguments")), started_at)
            self._open[native].append(part)
            parts.append(part)
        return parts

    def answered(self, result: JsonObject) -> PartDraft | None:
        """The call that a result belongs to: of several with one id each in its turn."""
        waiting = self._open.get(str(result.get("source_call_id")), [])
        return waiting.pop(0) if len(waiting) > 1 else waiting[0] if waiting else None


def subagents_of(result: JsonObject) -> list[str]:
    """Ids of the trajectories that a result refers to."""
    refs = objects_of(result.get("subagent_trajectory_ref"))
    return [name for ref in refs if (name := nonempty_text(ref.get("trajectory_id")))]


def result_message(result: JsonObject, call: PartDraft | None, agent: str) -> MessageDraft:
    """A result.

    Args:
        result: The result.
        call: The call that it answers.
        agent: The program that wrote the trajectory.
    """
    name = call.tool_name if call else None
    trust = _trust(result, call, agent)
    content = content_parts(result.get("content"), trust)
    texts = [part.text for part in content if part.text is not None]
    native = nonempty_text(result.get("source_call_id"))
    beside = {k: v for k, v in result.items() if k not in _RESULT and v is not None}
    part = PartDraft(
        part_type=PartType.TOOL_RESULT,
        trust=trust,
        text="\n".join(texts),
        data=beside or None,
        tool_call_id=call.tool_call_id if call else native,
        tool_name=name,
        status=_status(result),
        visibility=Visibility.MODEL_VISIBLE if content else Visibility.AUDIT_ONLY,
    )
    media = [each for each in content if each.text is None]
    return MessageDraft(MessageKind.TOOL_CALL_RESULT, name or "environment", [part, *media])


def _trust(result: JsonObject, call: PartDraft | None, agent: str) -> TrustLevel:
    """Whose words a result holds: it follows from the tool; a subagent's answer is a model's."""
    if result.get("subagent_trajectory_ref"):
        return TrustLevel.MODEL_GENERATED
    if call is None:
        is_terminal = agent.startswith(TERMINUS) and not result.get("source_call_id")
        return TrustLevel.REPOSITORY_UNTRUSTED if is_terminal else TrustLevel.UNKNOWN
    return trust_of_result(call.tool_name, call.data, nonempty_text(result.get("content")))


def _status(result: JsonObject) -> ToolStatus:
    """The format records none; some writers add whether it was an error."""
    extra = result.get("extra")
    failed = extra.get("is_error") if is_object(extra) else None
    return ToolStatus.FAILED if failed is True else ToolStatus.UNKNOWN
