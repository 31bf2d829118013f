"""Where a cached prefix may end, for an interface that wants to be told: as many marks as its capabilities allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from ledgerkit.protocol.capabilities import PromptCacheRule, ProviderCapabilities
from ledgerkit.protocol.vocabulary import LlmRole
from ledgerkit.providers.turns import Turn

_MARK: Final = {"type": "ephemeral"}

Block = dict[str, object]


def mark_prefixes(body: dict[str, object], turns: Sequence[Turn], capabilities: ProviderCapabilities) -> None:
    """Marks, in order of worth: the end of tools and instructions, the last message, the stable head.

    One more mark stands where the last request ended, if so many blocks followed that the provider would not look back
    that far.
    """
    rule = next((rule for rule in capabilities.cache_rules if rule.max_breakpoints), None)
    if rule is None:
        return
    messages = [cast("list[Block]", message["content"]) for message in cast("list[Block]", body["messages"])]
    wanted: list[Block | None] = [_end_of_instructions(body)]
    ends = [at for at, turn in enumerate(turns) if turn.role is not LlmRole.ASSISTANT]
    if ends:
        wanted += [messages[ends[-1]][-1], _end_of_head(turns, messages, ends)]
        wanted.append(_previous_end(messages, ends, rule))
    marked: list[Block] = []
    for block in wanted:
        if (
            block is not None
            and not any(block is other for other in marked)
            and len(marked) < (rule.max_breakpoints or 0)
        ):
            marked.append(block)
            block["cache_control"] = dict(_MARK)


def _end_of_instructions(body: dict[str, object]) -> Block | None:
    """The last block of what comes before the messages: instructions, else tools."""
    blocks = cast("list[Block]", body.get("system") or body.get("tools") or [])
    return blocks[-1] if blocks else None


def _end_of_head(turns: Sequence[Turn], messages: Sequence[list[Block]], ends: Sequence[int]) -> Block | None:
    """The block that the request names as the end of its stable head, else the end of the first message."""
    for at in ends:
        for number, said in enumerate(turns[at].texts):
            if said.ends_head:
                return messages[at][len(turns[at].results) + number]
    return messages[ends[0]][-1]


def _previous_end(messages: Sequence[list[Block]], ends: Sequence[int], rule: PromptCacheRule) -> Block | None:
    if len(ends) < 2 or rule.lookback_blocks is None:
        return None
    since = sum(len(content) for content in messages[ends[-2] + 1 : ends[-1] + 1])
    return messages[ends[-2]][-1] if since > rule.lookback_blocks else None
