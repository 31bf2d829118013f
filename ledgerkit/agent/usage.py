"""Usage figures of simulated model calls.

The rule, in full:

- input tokens of a request are the tokens of its system texts, tool declarations and blocks, each counted on its own,
  plus ``FRAMING`` for every message and once more for the answer that it opens;
- the prompt cache holds prefixes of earlier requests of the same model for five minutes after their last use. A
  request ends its system part and its last message with a cache mark. What it shares with the longest live prefix is
  read from the cache, what follows up to the last mark is written to it, and the opening of the answer is fresh;
- prefixes shorter than ``CACHE_MINIMUM`` are neither read nor written: such a request is all fresh input;
- output tokens are the tokens of the produced blocks.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from ledgerkit.agent.exchange import Block, ChatMessage, Request, ToolSpec, content_text
from ledgerkit.protocol.usage import Usage

FRAMING = 3
"""Tokens that a message costs beside its blocks."""

CACHE_LIFETIME = timedelta(minutes=5)
CACHE_MINIMUM = {"claude-haiku-4-5": 2048, "claude-opus-4-5": 1024, "claude-sonnet-4-5": 1024}
"""Shortest prefix, in tokens, that this simulation caches, by start of the model's name."""

_DEFAULT_MINIMUM = 1024


@functools.lru_cache(maxsize=65_536)
def _count(text: str) -> int:
    from ledgerkit import tokens

    return tokens.count(text)


def block_tokens(block: Block | ToolSpec | str) -> int:
    """Tokens of one block, tool declaration or system text."""
    return _count(content_text(block))


def message_tokens(message: ChatMessage) -> int:
    """Tokens of one message with its framing."""
    return FRAMING + sum(block_tokens(b) for b in message.blocks)


def request_tokens(request: Request) -> int:
    """All input tokens of a request."""
    head = sum(block_tokens(b) for b in (*request.system, *request.tools))
    return head + sum(message_tokens(m) for m in request.messages) + FRAMING


def output_tokens(blocks: Iterable[Block]) -> int:
    """Tokens of what a model produced."""
    return sum(block_tokens(b) for b in blocks)


class PromptCache:
    """A provider's prompt cache, simulated. One cache serves all runs of a session."""

    def __init__(self) -> None:
        self._used_at: dict[int, datetime] = {}

    def measure(self, request: Request, produced: Sequence[Block], at: datetime) -> Usage:
        """Usage of a request sent at a time, and what it leaves in the cache."""
        marks = _prefixes(request)
        written = output_tokens(produced)
        long_enough = [(key, size) for key, size in marks if size >= _minimum(request.model)]
        if not long_enough:
            return _usage(marks[-1][1] + FRAMING, read=0, wrote=0, output=written)
        read = max((size for key, size in long_enough if self._is_live(key, at)), default=0)
        for key in {marks[0][0], marks[-1][0]}:
            self._used_at[key] = at
        return _usage(marks[-1][1] + FRAMING, read=read, wrote=marks[-1][1] - read, output=written)

    def _is_live(self, key: int, at: datetime) -> bool:
        used_at = self._used_at.get(key)
        return used_at is not None and at - used_at <= CACHE_LIFETIME


def _usage(total: int, *, read: int, wrote: int, output: int) -> Usage:
    return Usage(input_tokens=total, cache_read_tokens=read, cache_write_5m_tokens=wrote, output_tokens=output)


def _minimum(model: str) -> int:
    return next((size for name, size in CACHE_MINIMUM.items() if model.startswith(name)), _DEFAULT_MINIMUM)


def _prefixes(request: Request) -> list[tuple[int, int]]:
    """Key and size of every prefix that ends at the system part or at a message."""
    head = (*request.system, *(content_text(t) for t in request.tools))
    key, size = hash((request.model, head)), sum(_count(text) for text in head)
    marks = [(key, size)]
    for message in request.messages:
        key = hash((key, message.role, tuple(content_text(b) for b in message.blocks)))
        size += message_tokens(message)
        marks.append((key, size))
    return marks
