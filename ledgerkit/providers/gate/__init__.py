"""Our own gate: what an interface would refuse, and what must not be sent, found before anything is sent.

The rule: the gate reads the finished body and trusts nothing that made it. First the shape, then, if that holds, what
the shape cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ledgerkit.protocol.model import checked_json
from ledgerkit.providers.gate import limits, order, pairs, tooling
from ledgerkit.providers.gate.bodies import BODIES
from ledgerkit.providers.gate.reading import Reading, read_body
from ledgerkit.providers.gate.violations import RuleName, Violation
from ledgerkit.providers.payloads import ProviderPayload

__all__ = ["RuleName", "Violation", "check_payload"]

_CHECKS: Final[tuple[Callable[[Reading], Iterator[Violation]], ...]] = (
    pairs.check_pairs,
    pairs.check_one_call,
    pairs.check_call_ids,
    pairs.check_item_ids,
    pairs.check_reasoning,
    pairs.check_signatures,
    order.check_words,
    order.check_empty,
    order.check_beginning,
    order.check_end,
    order.check_turns,
    order.check_instruction_place,
    order.check_instruction_roles,
    order.check_instruction_trust,
    tooling.check_name_form,
    tooling.check_aliases,
    tooling.check_declared_once,
    tooling.check_still_declared,
    tooling.check_tool_use,
    tooling.check_tool_schemas,
    tooling.check_choice,
    tooling.check_allowed_mode,
    limits.check_marks,
    limits.check_answer_schema,
    limits.check_options,
)


def check_payload(payload: ProviderPayload) -> tuple[Violation, ...]:
    """What is wrong with a payload; nothing if it may be sent.

    Args:
        payload: Made by ``map_request``, or by hand with the origins of its instructions.

    Example:
        >>> from ledgerkit.protocol.capabilities import PROVIDERS, ProviderInterface
        >>> chat = ProviderInterface.OPENAI_CHAT
        >>> body = {"model": "m", "messages": [{"role": "tool", "tool_call_id": "c", "content": "4"}]}
        >>> found = check_payload(ProviderPayload(chat, "m", body, PROVIDERS[chat]))
        >>> [(one.rule.value, one.path) for one in found]
        [('result_without_call', 'messages[0].content')]
    """
    if too_long := tuple(limits.check_count(payload)):
        return too_long
    try:
        checked_json(payload.body)
    except ValueError as error:
        return (Violation(RuleName.NOT_JSON, "", f"{str(error).rstrip('.')}."),)
    if misshapen := tuple(BODIES[payload.interface].check(payload.body, "")):
        return misshapen
    reading = read_body(payload)
    return tuple(violation for check in _CHECKS for violation in check(reading))
