"""Input is all input and output all output; a part larger than its whole is refused with both numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from pydantic import ValidationError

from ledgerkit.protocol.names import Usage
from tests.protocol import strategies


@strategies.patient
@given(strategies.usages())
def test_fresh_and_cached_input_make_the_whole(usage: Usage) -> None:
    if usage.input_tokens is None:
        assert usage.fresh_input_tokens is None
    else:
        fresh = usage.fresh_input_tokens
        assert fresh is not None
        assert fresh >= 0
        assert fresh + usage.cached_input_tokens == usage.input_tokens


def test_more_cache_than_input_is_refused_with_both_numbers() -> None:
    with pytest.raises(ValidationError, match=r"1500 cache tokens are more than the 1000 input tokens"):
        Usage(input_tokens=1000, cache_read_tokens=900, cache_write_5m_tokens=500, cache_write_1h_tokens=100)


def test_more_reasoning_than_output_is_refused_with_both_numbers() -> None:
    with pytest.raises(ValidationError, match=r"21 reasoning tokens are more than the 20 output tokens"):
        Usage(output_tokens=20, reasoning_tokens=21)


def test_all_of_the_input_may_come_from_a_cache() -> None:
    assert Usage(input_tokens=1000, cache_read_tokens=1000).fresh_input_tokens == 0


def test_what_is_unknown_stays_unknown() -> None:
    usage = Usage(cache_read_tokens=5, reasoning_tokens=5)
    assert (usage.input_tokens, usage.output_tokens, usage.fresh_input_tokens) == (None, None, None)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Usage(input_tokens=-1)
