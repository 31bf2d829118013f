"""Simulated usage follows the stated rule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit.agent.exchange import ChatMessage, Request, TextBlock
from ledgerkit.agent.usage import FRAMING, PromptCache, request_tokens

NOW = datetime(2026, 3, 1, tzinfo=UTC)
POLICY = "word " * 1500
TEXTS = st.text(min_size=1, max_size=30)


def request(*texts: str, model: str = "claude-sonnet-4-5", policy: str = POLICY) -> Request:
    messages = tuple(ChatMessage("user" if n % 2 == 0 else "assistant", (TextBlock(t),)) for n, t in enumerate(texts))
    return Request(model, (policy,), (), messages)


@settings(deadline=None)  # the first count loads the vocabulary
@given(st.lists(TEXTS, min_size=1, max_size=6), st.lists(TEXTS, max_size=4))
def test_a_longer_request_reads_all_that_the_shorter_one_left(first: list[str], more: list[str]) -> None:
    cache = PromptCache()
    one = cache.measure(request(*first), [], NOW)
    two = cache.measure(request(*first, *more), [], NOW + timedelta(minutes=5))
    assert one.cache_read_tokens == 0
    assert two.cache_read_tokens == one.cache_write_5m_tokens
    assert one.fresh_input_tokens == two.fresh_input_tokens == FRAMING
    assert two.input_tokens == request_tokens(request(*first, *more))


def test_a_cache_forgets_after_five_minutes() -> None:
    cache = PromptCache()
    cache.measure(request("a"), [], NOW)
    assert cache.measure(request("a", "b"), [], NOW + timedelta(minutes=5, seconds=1)).cache_read_tokens == 0


def test_a_use_keeps_a_prefix_alive() -> None:
    cache = PromptCache()
    for minute in (0, 4, 8):
        last = cache.measure(request("a"), [], NOW + timedelta(minutes=minute))
    assert last.cache_write_5m_tokens == 0


def test_another_beginning_shares_only_the_system_part() -> None:
    cache = PromptCache()
    cache.measure(request("a", "b"), [], NOW)
    other = cache.measure(request("c"), [], NOW)
    assert other.cache_read_tokens == request_tokens(request()) - FRAMING


def test_models_share_nothing_and_short_prefixes_are_not_kept() -> None:
    cache = PromptCache()
    cache.measure(request("a"), [], NOW)
    assert cache.measure(request("a", model="claude-haiku-4-5"), [], NOW).cache_read_tokens == 0
    short = cache.measure(request("a", policy="short"), [], NOW)
    assert (short.cache_read_tokens, short.cache_write_5m_tokens) == (0, 0)


def test_output_is_counted_on_what_was_produced() -> None:
    assert PromptCache().measure(request("a"), [TextBlock("hello world")], NOW).output_tokens == 2
