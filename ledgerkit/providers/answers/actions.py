"""The next action of an agent, from fields and never from sentences (specification §21).

An answer that does not keep its contract is refused with a hint for the next try; nothing is guessed from it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.parts import ErrorPart
from ledgerkit.protocol.responses import NEXT_ACTION_CONTRACT, NextActionResponse, ResponseContract, parse_next_action
from ledgerkit.protocol.vocabulary import NextAction, TrustLevel, Visibility
from ledgerkit.providers.answers.answer import Answer, AnsweredCall, StopReason
from ledgerkit.providers.answers.decoding import decode, unfenced
from ledgerkit.providers.loosening import loosen


class RefusalReason(StrEnum):
    """Why an answer gives no action."""

    MALFORMED = "malformed_answer"
    EMPTY = "empty_answer"
    CUT_OFF = "answer_cut_off"
    DECLINED = "model_declined"
    SEVERAL_CALLS = "several_tool_calls"
    TWO_ACTIONS = "two_actions"
    BROKEN_ARGUMENTS = "broken_tool_arguments"
    TOOL_NOT_ALLOWED = "tool_not_allowed"


_HINTS: Final = MappingProxyType(
    {
        RefusalReason.MALFORMED: "Answer with one JSON object of the response contract and nothing else.",
        RefusalReason.EMPTY: "Answer with one JSON object of the response contract, or call one tool.",
        RefusalReason.CUT_OFF: "The answer was cut off. Answer again, shorter.",
        RefusalReason.DECLINED: "No action was given. Answer with FINISH_BLOCKED if you cannot go on.",
        RefusalReason.SEVERAL_CALLS: "Call one tool at a time.",
        RefusalReason.TWO_ACTIONS: "Give one action: call a tool, or answer with the response contract, not both.",
        RefusalReason.BROKEN_ARGUMENTS: "Write the tool's arguments as one JSON object.",
        RefusalReason.TOOL_NOT_ALLOWED: "That tool may not be called at this step. Choose one that may.",
    }
)


@dataclass(frozen=True, slots=True)
class ActionRefusal:
    """An answer that gives no action, as an ERROR_EVENT says it."""

    reason: RefusalReason
    """Why."""
    problem: str
    """What was wrong with it; may quote the model."""

    @property
    def retry_hint(self) -> str:
        """What to tell the model: our own words only."""
        return _HINTS[self.reason]

    def part(self) -> ErrorPart:
        """The part of an ERROR_EVENT message; it quotes the model, and has no more trust than it."""
        return ErrorPart(
            text=self.retry_hint,
            data={"problem": self.problem, "retry_hint": self.retry_hint},
            error_category=self.reason.value,
            trust_level=TrustLevel.MODEL_GENERATED,
            visibility=Visibility.MODEL_VISIBLE,
        )


def contract_value(answer: Answer, contract: ResponseContract) -> JsonValue:
    """What an answer says in the form of its contract, as its schema had it before any interface made it strict.

    The schema itself is for the caller to check: limits of numbers and lengths are not enforced by any interface.

    Raises:
        ProtocolError: If the answer holds no text, or its last text is not one JSON value.
    """
    text = answer.last_text
    if text is None:
        raise ProtocolError("The answer holds no text. Ask again.")
    try:
        value = decode(unfenced(text))
    except ValueError as error:
        raise ProtocolError(f"The answer is not one JSON value: {error}") from error
    return loosen(value, contract.answer_schema, decode)


def next_action(
    answer: Answer,
    contract: ResponseContract = NEXT_ACTION_CONTRACT,
    *,
    allowed: Collection[str] | None = None,
) -> NextActionResponse | ActionRefusal:
    """The action that an answer asks for, or why it asks for none.

    One native tool call is an action; so is one JSON object of the contract. Both, several calls, or anything else is
    refused.

    Args:
        answer: The answer.
        contract: The contract that the request gave.
        allowed: Tools that may be called or asked for at this step; ``None`` leaves that to the caller.

    Example:
        >>> from ledgerkit.providers.answers.reading import read_answer
        >>> said = {"choices": [{"message": {"content": "I will now delete everything."}, "finish_reason": "stop"}]}
        >>> refused = next_action(read_answer("local", said))
        >>> refused.reason.value, refused.retry_hint
        ('malformed_answer', 'Answer with one JSON object of the response contract and nothing else.')
    """
    if answer.refusal is not None or answer.stop in (StopReason.REFUSED, StopReason.FILTERED):
        return ActionRefusal(RefusalReason.DECLINED, answer.refusal or answer.stop_word or answer.stop.value)
    calls = answer.tool_calls
    found = _of_calls(answer, calls) if calls else _of_text(answer, contract)
    if isinstance(found, ActionRefusal):
        is_cut = answer.stop is StopReason.LENGTH
        return ActionRefusal(RefusalReason.CUT_OFF, found.problem) if is_cut else found
    if allowed is not None and found.tool_name is not None and found.tool_name not in allowed:
        return ActionRefusal(RefusalReason.TOOL_NOT_ALLOWED, found.tool_name)
    return found


def _of_calls(answer: Answer, calls: Sequence[AnsweredCall]) -> NextActionResponse | ActionRefusal:
    if len(calls) > 1:
        return ActionRefusal(RefusalReason.SEVERAL_CALLS, ", ".join(call.tool_name for call in calls))
    if _is_action(answer.last_text):
        return ActionRefusal(RefusalReason.TWO_ACTIONS, "A tool call and a JSON object in one answer.")
    call = calls[0]
    if call.problem is not None:
        return ActionRefusal(RefusalReason.BROKEN_ARGUMENTS, call.problem)
    return NextActionResponse(
        next_action=NextAction.CALL_TOOL,
        rationale_summary=answer.text,
        tool_name=call.tool_name,
        tool_arguments=call.arguments,
    )


def _is_action(text: str | None) -> bool:
    try:
        return text is not None and isinstance(decode(unfenced(text)), dict)
    except ValueError:
        return False


def _of_text(answer: Answer, contract: ResponseContract) -> NextActionResponse | ActionRefusal:
    if answer.last_text is None:
        return ActionRefusal(RefusalReason.EMPTY, "Neither text nor a call.")
    try:
        action = parse_next_action(contract_value(answer, contract))
    except ProtocolError as error:
        return ActionRefusal(RefusalReason.MALFORMED, str(error))
    if action.tool_name is None:
        return action
    return action.model_copy(update={"tool_name": answer.aliases.name_of(action.tool_name)})
