"""Every figure about a provider has a source; what has none is unknown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ledgerkit.protocol import names as p
from tests.protocol import strategies


def test_there_is_an_entry_for_every_interface() -> None:
    assert list(p.PROVIDERS) == list(p.ProviderInterface)
    assert all(one.interface is name for name, one in p.PROVIDERS.items())


def test_a_figure_without_a_source_is_refused() -> None:
    with pytest.raises(ValidationError, match="no source for minimum_tokens"):
        p.PromptCacheRule(applies_to="all", minimum_tokens=1024)
    with pytest.raises(ValidationError, match="no source for tool_use"):
        p.ProviderCapabilities(
            interface=p.ProviderInterface.LOCAL, roles=(p.LlmRole.USER,), tool_use=True, sources={"roles": "docs"}
        )


def test_a_source_without_a_figure_is_refused_nowhere_but_stands_nowhere_in_the_data() -> None:
    for one in p.PROVIDERS.values():
        assert all(getattr(one, field) is not None for field in one.sources)
        assert all(getattr(rule, field) is not None for rule in one.cache_rules for field in rule.sources)


@strategies.patient
@given(st.from_regex(p.SAFE_TOOL_NAME, fullmatch=True))
def test_a_safe_tool_name_is_allowed_by_every_interface(name: str) -> None:
    for one in p.PROVIDERS.values():
        assert one.tool_name_pattern is not None
        assert re.fullmatch(one.tool_name_pattern, name)


def test_what_no_source_says_is_unknown() -> None:
    assert p.PROVIDERS[p.ProviderInterface.GEMINI].cache_rules == ()
    assert p.PROVIDERS[p.ProviderInterface.LOCAL].structured_output is None
    assert all(one.context_window is None for one in p.PROVIDERS.values())


def test_only_openai_has_a_developer_role() -> None:
    having = {name.value for name, one in p.PROVIDERS.items() if one.supports(p.LlmRole.DEVELOPER)}
    assert having == {"openai_responses", "openai_chat"}
