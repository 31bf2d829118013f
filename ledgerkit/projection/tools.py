"""Which tools a request declares, and which of them may be called at this step.

One rule: what may never be used is not shown, unless the context holds a call of it: taking such a declaration away
would break the provider's rules and every cached beginning. What may be used now is said by the tool choice, not by
taking declarations away and bringing them back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import polars as pl

from ledgerkit.protocol.contracts import PermissionProfile, RiskClass, ToolPermission
from ledgerkit.protocol.requests import ToolChoice, ToolChoiceMode, ToolDefinition


class ToolReason(StrEnum):
    """Why a tool may or may not be called at a step."""

    NO_PROFILE = "no_profile"
    """No permission profile is recorded or supplied: nothing forbids it."""
    ALLOWED = "allowed"
    """The profile allows it."""
    APPROVED = "approved"
    """It needs an approval, and one is in force."""
    NEEDS_APPROVAL = "needs_approval"
    """The profile wants an approval for it."""
    TOO_RISKY = "too_risky"
    """It can do more harm than the profile allows without an approval."""
    UNTRUSTED_INSTRUCTIONS = "untrusted_instructions"
    """Untrusted content of this context tries to give instructions: what can do harm waits for an approval."""
    DENIED = "denied"
    """The profile forbids it, or does not name it."""


@dataclass(frozen=True)
class ToolSet:
    """The tools of one request.

    Attributes:
        declared: Tools that the model is told of, in the order given.
        choice: What of them may be called now.
        account: ``tool``, ``is_declared``, ``may_be_called``, ``reason``; one row per tool that was offered.
    """

    declared: tuple[ToolDefinition, ...]
    choice: ToolChoice
    account: pl.DataFrame


_MAY_BE_CALLED: Final = (ToolReason.NO_PROFILE, ToolReason.ALLOWED, ToolReason.APPROVED)


def tools_of_step(
    offered: tuple[ToolDefinition, ...],
    profile: PermissionProfile | None,
    *,
    called: Collection[str] = (),
    approved: Collection[str] = (),
    risks: Mapping[str, RiskClass] | None = None,
    is_suspicious: bool = False,
) -> ToolSet:
    """Decides about each tool, by the profile, the approvals, its risk and the trust of what the context holds.

    Args:
        offered: Tools that there are.
        profile: What the platform lets the agent do.
        called: Tools of which the context holds calls.
        approved: Tools for which an approval is in force.
        risks: Greatest harm that a tool can do; low if not named.
        is_suspicious: Whether untrusted content of the context tries to give instructions.

    Example:
        >>> tool = ToolDefinition(name="Bash", description="Runs a command.", parameters={"type": "object"})
        >>> tools_of_step((tool,), PermissionProfile(name="read", allowed_tools=("Read",))).declared
        ()
    """
    levels = list(RiskClass)
    known = risks or {}
    reasons = dict[str, ToolReason]()
    for tool in offered:
        risk = known.get(tool.name, RiskClass.LOW)
        reasons[tool.name] = _reason(tool.name, risk, profile, approved, levels, is_suspicious=is_suspicious)
    shown = [tool for tool in offered if reasons[tool.name] is not ToolReason.DENIED or tool.name in called]
    callable_now = tuple(tool.name for tool in shown if reasons[tool.name] in _MAY_BE_CALLED)
    rows = [
        {
            "tool": tool.name,
            "is_declared": tool in shown,
            "may_be_called": tool.name in callable_now,
            "reason": reasons[tool.name].value,
        }
        for tool in offered
    ]
    schema = {"tool": pl.String(), "is_declared": pl.Boolean(), "may_be_called": pl.Boolean(), "reason": pl.String()}
    return ToolSet(tuple(shown), _choice(shown, callable_now), pl.DataFrame(rows, schema=schema))


def _choice(shown: list[ToolDefinition], callable_now: tuple[str, ...]) -> ToolChoice:
    if not callable_now:
        return ToolChoice(mode=ToolChoiceMode.NONE if shown else ToolChoiceMode.AUTO)
    return ToolChoice(allowed=None if len(callable_now) == len(shown) else callable_now)


def _reason(
    tool: str,
    risk: RiskClass,
    profile: PermissionProfile | None,
    approved: Collection[str],
    levels: list[RiskClass],
    *,
    is_suspicious: bool,
) -> ToolReason:
    if profile is None:
        return ToolReason.NO_PROFILE
    permission = profile.permission(tool)
    if permission is ToolPermission.DENIED:
        return ToolReason.DENIED
    if tool in approved:
        return ToolReason.APPROVED
    harms = risk in (RiskClass.HIGH, RiskClass.CRITICAL)
    objections = {
        ToolReason.NEEDS_APPROVAL: permission is ToolPermission.NEEDS_APPROVAL,
        ToolReason.TOO_RISKY: levels.index(risk) > levels.index(profile.risk_class),
        ToolReason.UNTRUSTED_INSTRUCTIONS: is_suspicious and harms,
    }
    return next((reason for reason, holds in objections.items() if holds), ToolReason.ALLOWED)
