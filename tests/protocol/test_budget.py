"""The window is divided without remainder, and what spills never touches the answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ledgerkit.protocol.names import DEFAULT_SHARES, BudgetName, ContextSection, SectionBudget, TokenBudget
from tests.protocol import strategies

wants = st.dictionaries(st.sampled_from(BudgetName), st.integers(0, 3_000_000))


def test_the_default_shares_are_those_of_the_design() -> None:
    assert {share.name.value: share.percent for share in DEFAULT_SHARES} == {
        "policies_and_contracts": 10,
        "working_memory": 10,
        "repository_map": 10,
        "repository_data": 30,
        "recent_messages": 20,
        "verifier_and_diffs": 10,
        "answer": 10,
    }


def test_every_section_draws_on_one_share() -> None:
    budget = TokenBudget(context_window=1000)
    assert all(budget.share_of(section) is not None for section in ContextSection)


@strategies.patient
@given(strategies.budgets())
def test_the_shares_sum_to_the_window(budget: TokenBudget) -> None:
    assert sum(budget.allotment().values()) == budget.context_window


@strategies.patient
@given(strategies.budgets())
def test_a_share_is_its_percentage_to_within_a_token(budget: TokenBudget) -> None:
    for share in budget.shares:
        assert abs(budget.tokens(share.name) - share.percent * budget.context_window / 100) < 1


@strategies.patient
@given(strategies.budgets(), wants)
def test_what_is_granted_fits_the_window_and_keeps_the_answer(
    budget: TokenBudget, wanted: dict[BudgetName, int]
) -> None:
    granted, allotted = budget.grant(wanted), budget.allotment()
    assert sum(granted.values()) <= budget.context_window
    assert granted[BudgetName.ANSWER] == allotted[BudgetName.ANSWER]
    for name in granted.keys() - {BudgetName.ANSWER}:
        want = wanted.get(name, 0)
        assert min(want, allotted[name]) <= granted[name] <= want


@strategies.patient
@given(strategies.budgets(), wants)
def test_nothing_is_left_over_while_a_share_that_may_take_it_wants_more(
    budget: TokenBudget, wanted: dict[BudgetName, int]
) -> None:
    granted = budget.grant(wanted)
    hungry = [name for name in budget.spill_order if granted[name] < wanted.get(name, 0)]
    if hungry:
        assert sum(granted.values()) == budget.context_window


def test_unused_shares_spill_to_repository_data_first() -> None:
    budget = TokenBudget(context_window=1000)
    granted = budget.grant({BudgetName.REPOSITORY_DATA: 600, BudgetName.RECENT_MESSAGES: 600})
    assert granted[BudgetName.REPOSITORY_DATA] == 600
    assert granted[BudgetName.RECENT_MESSAGES] == 300
    assert granted[BudgetName.ANSWER] == 100


def test_shares_that_do_not_sum_to_100_are_refused_with_their_sum() -> None:
    with pytest.raises(ValidationError, match="the shares sum to 90 %"):
        TokenBudget(context_window=1000, shares=DEFAULT_SHARES[1:])


@pytest.mark.parametrize(
    "changed",
    [
        {"context_window": 0},
        {"spill_order": ("answer",)},
        {"spill_order": ("repository_data", "repository_data")},
        {"shares": (*DEFAULT_SHARES, SectionBudget(name=BudgetName.ANSWER, percent=0))},
    ],
)
def test_a_budget_that_contradicts_itself_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TokenBudget.model_validate({"context_window": 1000} | changed)
