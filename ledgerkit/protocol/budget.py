"""The context window is divided by shares that sum to 100 %; what one section leaves, others get in declared order.

The default shares are those of specification §13. What is reserved for the answer is never lent. All amounts are
whole tokens, and what is granted never exceeds the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, model_validator

from ledgerkit.protocol.model import Count, Flag, Model
from ledgerkit.protocol.vocabulary import ContextSection

_WHOLE: Final = 100


class BudgetName(StrEnum):
    """The shares of a context window (specification §13)."""

    POLICIES_AND_CONTRACTS = "policies_and_contracts"
    WORKING_MEMORY = "working_memory"
    REPOSITORY_MAP = "repository_map"
    REPOSITORY_DATA = "repository_data"
    RECENT_MESSAGES = "recent_messages"
    VERIFIER_AND_DIFFS = "verifier_and_diffs"
    ANSWER = "answer"


class SectionBudget(Model):
    """The share of some sections."""

    name: BudgetName
    """The share."""
    percent: Annotated[int, Field(strict=True, ge=0, le=_WHOLE)]
    """Its part of the context window."""
    sections: tuple[ContextSection, ...] = ()
    """Sections that draw on it; none for what is reserved for the answer."""
    is_mandatory: Flag = False
    """Whether its sections stand whole in every context, or the context cannot be built."""


DEFAULT_SHARES: Final = (
    SectionBudget(
        name=BudgetName.POLICIES_AND_CONTRACTS,
        percent=10,
        sections=(
            ContextSection.PLATFORM_POLICY,
            ContextSection.ORG_POLICY,
            ContextSection.PERMISSION_PROFILE,
            ContextSection.TASK_CONTRACT,
            ContextSection.RESPONSE_CONTRACT,
        ),
        is_mandatory=True,
    ),
    SectionBudget(name=BudgetName.WORKING_MEMORY, percent=10, sections=(ContextSection.WORKING_MEMORY,)),
    SectionBudget(name=BudgetName.REPOSITORY_MAP, percent=10, sections=(ContextSection.REPOSITORY_MAP,)),
    SectionBudget(
        name=BudgetName.REPOSITORY_DATA,
        percent=30,
        sections=(ContextSection.REPOSITORY_INSTRUCTIONS, ContextSection.REPOSITORY_DATA),
    ),
    SectionBudget(name=BudgetName.RECENT_MESSAGES, percent=20, sections=(ContextSection.RECENT_MESSAGES,)),
    SectionBudget(name=BudgetName.VERIFIER_AND_DIFFS, percent=10, sections=(ContextSection.VERIFIER,)),
    SectionBudget(name=BudgetName.ANSWER, percent=10),
)
"""The shares of specification §13."""

DEFAULT_SPILL_ORDER: Final = (BudgetName.REPOSITORY_DATA, BudgetName.RECENT_MESSAGES)
"""Who gets what others leave: repository data first, then recent messages."""


class TokenBudget(Model):
    """How the tokens of a context window are divided.

    Example:
        >>> budget = TokenBudget(context_window=1000)
        >>> budget.tokens(BudgetName.REPOSITORY_DATA)
        300
        >>> budget.grant({BudgetName.REPOSITORY_DATA: 500})[BudgetName.REPOSITORY_DATA]
        500
    """

    context_window: Annotated[Count, Field(ge=1)]
    """Tokens of the window, the answer included."""
    shares: tuple[SectionBudget, ...] = DEFAULT_SHARES
    """How it is divided; sums to 100 %."""
    spill_order: tuple[BudgetName, ...] = DEFAULT_SPILL_ORDER
    """Who gets what others leave, in this order."""

    @model_validator(mode="after")
    def _adds_up(self) -> TokenBudget:
        names = [share.name for share in self.shares]
        sections = [section for share in self.shares for section in share.sections]
        total = sum(share.percent for share in self.shares)
        if total != _WHOLE:
            raise ValueError(f"the shares sum to {total} %, not to 100 %")
        if len(set(names)) != len(names) or len(set(sections)) != len(sections):
            raise ValueError("a share or a section stands twice in the budget")
        may_spill = set(names) - {BudgetName.ANSWER}
        if len(set(self.spill_order)) != len(self.spill_order) or not may_spill.issuperset(self.spill_order):
            raise ValueError("spill_order names each share once, only shares of the budget, and not the answer")
        return self

    def share_of(self, section: ContextSection) -> SectionBudget | None:
        """The share that a section draws on; ``None`` if the budget has no room for it."""
        return next((share for share in self.shares if section in share.sections), None)

    def tokens(self, name: BudgetName) -> int:
        """Tokens of one share, before anything spills; 0 for a share that the budget does not have."""
        return self.allotment().get(name, 0)

    def allotment(self) -> dict[BudgetName, int]:
        """Tokens of each share, in declared order. They sum to the window: remainders go to the largest fractions."""
        exact = [share.percent * self.context_window for share in self.shares]
        tokens = [amount // _WHOLE for amount in exact]
        by_fraction = sorted(range(len(exact)), key=lambda place: (-(exact[place] % _WHOLE), place))
        for place in by_fraction[: self.context_window - sum(tokens)]:
            tokens[place] += 1
        return {share.name: amount for share, amount in zip(self.shares, tokens, strict=True)}

    def grant(self, wanted: Mapping[BudgetName, int]) -> dict[BudgetName, int]:
        """Tokens that each share may use, given what each wants.

        Args:
            wanted: Tokens that the sections of each share would need; a share that is not named wants none.

        Returns:
            Tokens by share, never more than wanted, and the whole reserve for the answer. They sum to at most the
            context window.
        """
        allotted = self.allotment()
        granted = {
            name: tokens if name is BudgetName.ANSWER else min(wanted.get(name, 0), tokens)
            for name, tokens in allotted.items()
        }
        left = self.context_window - sum(granted.values())
        for name in self.spill_order:
            more = min(wanted.get(name, 0) - granted[name], left)
            granted[name] += more
            left -= more
        return granted
