"""Which approval counts: from whom, about what, until when, and which objections it lifts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ledgerkit.protocol.contracts import (
    ApprovalDecision,
    ApprovalOutcome,
)
from ledgerkit.protocol.instructions import covers
from ledgerkit.protocol.levels import AuthorityLevel, authority_of
from ledgerkit.protocol.vocabulary import MessageKind
from ledgerkit.safety.permissions.calls import (
    LabelledApproval,
    PermissionDecision,
    PermissionRule,
)
from ledgerkit.safety.taint.touched import CallNeeds

_ONLY_EXACT: Final = (
    PermissionRule.UNTRUSTED_INFLUENCE,
    PermissionRule.OPAQUE_COMMAND,
    PermissionRule.ARGUMENTS_UNREADABLE,
)


def may_approve(one: LabelledApproval) -> bool:
    """Only a part that may instruct at the level of an approval, or above it, approves anything."""
    level = authority_of(MessageKind.APPROVAL_DECISION, one.trust_level)
    return level is AuthorityLevel.APPROVAL_DECISION


def is_over(decision: ApprovalDecision, at: datetime | None) -> bool:
    """Whether it holds no longer, or not yet. A refusal does not expire."""
    if decision.outcome is ApprovalOutcome.DENIED:
        return False
    if decision.expires_at is not None and (at is None or at >= decision.expires_at):
        return True
    return decision.decided_at is not None and at is not None and decision.decided_at > at


def is_about(decision: ApprovalDecision, exact: str, subjects: Sequence[str]) -> bool:
    """Whether an approval is about a call: about just these arguments, or about a scope that covers what it touches."""
    if decision.arguments_hash is not None:
        return decision.arguments_hash == exact
    return any(covers(scope, subject) for scope in decision.scope for subject in subjects)


def latest(decisions: Sequence[ApprovalDecision]) -> ApprovalDecision | None:
    """The decision that stands: the last; a refusal where none is dated or two are of one time."""
    undated_refusals = [one for one in decisions if one.decided_at is None and one.outcome is ApprovalOutcome.DENIED]
    ordered = sorted(decisions, key=_when)
    return (undated_refusals or ordered or [None])[-1]


def _when(one: ApprovalDecision) -> tuple[float, bool, str]:
    time = float("-inf") if one.decided_at is None else one.decided_at.timestamp()
    return time, one.outcome is ApprovalOutcome.DENIED, one.request_id


def lifts(decision: ApprovalDecision, objection: PermissionDecision, needs: CallNeeds) -> bool:
    """Whether an approval that is about the call answers an objection.

    One for these very arguments answers all. One by scope answers for a tool or for all that the call writes and
    reaches; what comes from untrusted text, or does not show what it runs, nobody can approve unseen.
    """
    if decision.arguments_hash is not None:
        return True
    if objection.rule in _ONLY_EXACT:
        return False
    tool, *things = needs.subjects
    is_named = bool(things) and all(any(covers(scope, thing) for scope in decision.scope) for thing in things)
    if objection.rule is PermissionRule.TASK_FORBIDS:
        return is_named and not needs.writes_outside
    return any(covers(scope, tool) for scope in decision.scope) or (is_named and not needs.writes_outside)
