"""What is asked for and what is answered: a call that has not been made, the approvals about it, the decision."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ledgerkit.protocol.contracts import (
    ApprovalDecision,
    RiskClass,
)
from ledgerkit.protocol.levels import AuthorityLevel
from ledgerkit.protocol.vocabulary import TrustLevel


class PermissionEffect(StrEnum):
    """What becomes of a call."""

    ALLOW = "allow"
    NEEDS_APPROVAL = "needs_approval"
    DENY = "deny"


class PermissionRule(StrEnum):
    """Which rule decided, in the order in which they are asked."""

    TOOL_DENIED = "tool_denied"
    ARGUMENTS_UNREADABLE = "arguments_unreadable"
    PATH_DENIED = "path_denied"
    NETWORK_DENIED = "network_denied"
    APPROVAL_REFUSED = "approval_refused"
    TASK_FORBIDS = "task_forbids"
    UNTRUSTED_INFLUENCE = "untrusted_influence"
    OPAQUE_COMMAND = "opaque_command"
    TOOL_NEEDS_APPROVAL = "tool_needs_approval"
    RISK_TOO_HIGH = "risk_too_high"
    WITHIN_PROFILE = "within_profile"
    APPROVED = "approved"


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A tool call that has not been made."""

    tool_name: str
    """The tool."""
    arguments: object
    """Its arguments, as JSON values."""
    risk_class: RiskClass | None = None
    """How much harm the tool can do; the greatest where it is not known."""
    suggested_by: TrustLevel | None = None
    """The least trusted source of what it names (``trace_arguments`` tells it); untrusted where it is not known."""
    working_directory: str | None = None
    """The workspace's root; without it every absolute path is outside."""


@dataclass(frozen=True, slots=True)
class LabelledApproval:
    """An approval with the trust of the part that it stands in."""

    decision: ApprovalDecision
    """What was decided."""
    trust_level: TrustLevel
    """Where it comes from."""


@dataclass(frozen=True, slots=True)
class PermissionDecision:
    """Whether a call may be made, and why."""

    effect: PermissionEffect
    """What becomes of it."""
    rule: PermissionRule
    """The rule that decided."""
    level: AuthorityLevel
    """The level of the instruction stack on which it decided."""
    reason: str
    """Why, in words."""
    approved_by: str | None = None
    """The approval request whose granting counted."""


def denied(rule: PermissionRule, reason: str) -> PermissionDecision:
    """A denial by the platform's profile, which is final."""
    return PermissionDecision(PermissionEffect.DENY, rule, AuthorityLevel.PERMISSION_PROFILE, reason)


# What the profile denies


def asks(rule: PermissionRule, reason: str) -> PermissionDecision:
    """A call that needs a person's approval."""
    return PermissionDecision(PermissionEffect.NEEDS_APPROVAL, rule, AuthorityLevel.PERMISSION_PROFILE, reason)
