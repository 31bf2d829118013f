"""May this call be made: by the permission profile, the approvals, the risk of the tool, and the trust behind it.

One rule: it fails closed.  What cannot be read, is not named or has no label is denied or needs a person.  A denial by
the profile is final: it is level 3 of the instruction stack, and no approval reaches above the task contract.  An
approval counts only where its part's trust gives it that authority, for what it names, until it expires.

This judges what a call says, before it is made.  A program does what it likes once it runs: the boundary that holds
is that of the process (docs/taint.md says what this cannot see).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.authority import AuthorityLevel, authority_of, covers
from ledgerkit.protocol.contracts import (
    ApprovalDecision,
    ApprovalOutcome,
    NetworkAccess,
    PermissionProfile,
    RiskClass,
    TaskContract,
    ToolPermission,
)
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel
from ledgerkit.safety.taint.touched import CallNeeds, needs_of

_RISKS: Final = tuple(RiskClass)


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


_ONLY_EXACT: Final = (
    PermissionRule.UNTRUSTED_INFLUENCE,
    PermissionRule.OPAQUE_COMMAND,
    PermissionRule.ARGUMENTS_UNREADABLE,
)


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


def check_permission(
    profile: PermissionProfile,
    call: ProposedCall,
    approvals: Iterable[LabelledApproval] = (),
    *,
    task: TaskContract | None = None,
    at: datetime | None = None,
) -> PermissionDecision:
    """Whether a call may be made now.

    Args:
        profile: What the platform lets the agent do.
        call: The call.
        approvals: Approvals of the run, in any order; those without the authority to approve are passed over.
        task: The task's contract, whose forbidden changes need an approval that names the file.
        at: Now. Without it an approval that expires counts as expired.

    Example:
        >>> profile = PermissionProfile(name="read", allowed_tools=("Read",), readable_paths=("**",))
        >>> read = ProposedCall("Read", {"file_path": "a.py"}, RiskClass.LOW, TrustLevel.USER_TRUSTED)
        >>> check_permission(profile, read).effect.value
        'allow'
        >>> print(check_permission(profile, ProposedCall("Bash", {"command": "ls"})).reason)
        Profile 'read' does not allow the tool 'Bash'.
    """
    permission = profile.permission(call.tool_name)
    if permission is ToolPermission.DENIED:
        return _denied(
            PermissionRule.TOOL_DENIED, f"Profile {profile.name!r} does not allow the tool {call.tool_name!r}."
        )
    try:
        exact, needs = arguments_hash(call.arguments), needs_of(call.tool_name, call.arguments, call.working_directory)
    except (ProtocolError, RecursionError):
        return _denied(
            PermissionRule.ARGUMENTS_UNREADABLE, "The arguments have no JSON form, so nobody can judge them."
        )
    standing = [one.decision for one in approvals if _may_approve(one) and not _is_over(one.decision, at)]
    about = _latest([one for one in standing if _is_about(one, exact, needs.subjects)])
    objections = list(_objections(profile, permission, call, needs, task))
    return _policy_denial(profile, needs) or _answered(profile, needs, about, objections)


def _answered(
    profile: PermissionProfile,
    needs: CallNeeds,
    decision: ApprovalDecision | None,
    objections: Sequence[PermissionDecision],
) -> PermissionDecision:
    """What becomes of a call that no policy denies: by the decision about it, if there is one, and what objects."""
    if decision is not None and decision.outcome is ApprovalOutcome.DENIED:
        reason = f"{decision.decided_by!r} refused request {decision.request_id!r}."
        level = AuthorityLevel.APPROVAL_DECISION
        return PermissionDecision(PermissionEffect.DENY, PermissionRule.APPROVAL_REFUSED, level, reason)
    if not objections:
        reason = f"Profile {profile.name!r} allows it, and nothing objects."
        level = AuthorityLevel.PERMISSION_PROFILE
        return PermissionDecision(PermissionEffect.ALLOW, PermissionRule.WITHIN_PROFILE, level, reason)
    left = [one for one in objections if decision is None or not _lifts(decision, one, needs)]
    if left or decision is None:
        return left[0]
    reason = f"{decision.decided_by!r} approved request {decision.request_id!r}. Without it: {objections[0].reason}"
    level = AuthorityLevel.APPROVAL_DECISION
    return PermissionDecision(PermissionEffect.ALLOW, PermissionRule.APPROVED, level, reason, decision.request_id)


def _denied(rule: PermissionRule, reason: str) -> PermissionDecision:
    return PermissionDecision(PermissionEffect.DENY, rule, AuthorityLevel.PERMISSION_PROFILE, reason)


# What the profile denies


def _policy_denial(profile: PermissionProfile, needs: CallNeeds) -> PermissionDecision | None:
    for path, inside in (*needs.reads, *needs.writes):
        for pattern in profile.denied_paths:
            if _matches(pattern, path, inside=inside, beneath=True):
                reason = f"Profile {profile.name!r} denies {path!r} (pattern {pattern!r})."
                return _denied(PermissionRule.PATH_DENIED, reason)
    for verb, paths, allowed in (
        ("read", needs.reads, profile.readable_paths),
        ("write", needs.writes, profile.writable_paths),
    ):
        for path, inside in paths:
            if not any(_matches(pattern, path, inside=inside) for pattern in allowed):
                reason = f"Profile {profile.name!r} lets nobody {verb} {path!r}."
                return _denied(PermissionRule.PATH_DENIED, reason)
    return _network_denial(profile, needs)


def _network_denial(profile: PermissionProfile, needs: CallNeeds) -> PermissionDecision | None:
    if profile.network is NetworkAccess.ALL:
        return None
    rule = PermissionRule.NETWORK_DENIED
    if profile.network is NetworkAccess.NONE and (needs.hosts or needs.has_hidden_network):
        place = needs.hosts[0] if needs.hosts else "a host that the call does not name"
        return _denied(rule, f"Profile {profile.name!r} has no network; the call reaches {place}.")
    listed = {host.lower().rstrip(".") for host in profile.hosts}
    for host in needs.hosts:
        if host not in listed:
            return _denied(rule, f"Host {host!r} is not listed in profile {profile.name!r}.")
    if profile.network is NetworkAccess.LISTED_HOSTS and needs.has_hidden_network and not needs.hosts:
        return _denied(rule, f"Profile {profile.name!r} lists its hosts; the call does not say which it reaches.")
    return None


def _matches(pattern: str, path: str, *, inside: bool, beneath: bool = False) -> bool:
    """Whether a path fits a pattern. Patterns without a root speak of the workspace only, save where they deny."""
    is_rooted = pattern.startswith(("/", "~"))
    if not inside and not is_rooted and not beneath:
        return False
    expression = _expression(pattern.removeprefix("./"))
    flags = re.IGNORECASE if beneath else 0  # where case does not count on disk, a denial must not depend on it
    if beneath:
        expression = rf"(?:{expression})(?:/.*)?"
    if beneath and not is_rooted and not inside:
        expression = rf"(?:.*/)?{expression}"
    return re.fullmatch(expression, path, flags | re.DOTALL) is not None


def _expression(pattern: str) -> str:
    pieces = re.split(r"(\*\*/|/\*\*$|\*\*|\*|\?)", pattern)
    known = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(known.get(piece, re.escape(piece)) for piece in pieces)


# What needs a person


def _objections(
    profile: PermissionProfile,
    permission: ToolPermission,
    call: ProposedCall,
    needs: CallNeeds,
    task: TaskContract | None,
) -> Iterator[PermissionDecision]:
    for path in _forbidden(task, needs):
        reason = f"The task forbids changing {path!r}; an approval for it would amend the task."
        yield PermissionDecision(
            PermissionEffect.DENY, PermissionRule.TASK_FORBIDS, AuthorityLevel.TASK_CONTRACT, reason
        )
    risk = call.risk_class or RiskClass.CRITICAL
    source = call.suggested_by or TrustLevel.UNKNOWN
    if source.is_untrusted and risk is not RiskClass.LOW:
        reason = f"What the call names comes from {source} content, which may inform and not decide."
        yield _asks(PermissionRule.UNTRUSTED_INFLUENCE, reason)
    if needs.is_opaque:
        yield _asks(PermissionRule.OPAQUE_COMMAND, "The command runs what it does not show.")
    if needs.is_vague:
        yield _asks(PermissionRule.ARGUMENTS_UNREADABLE, "The call does not say what it writes.")
    if permission is ToolPermission.NEEDS_APPROVAL:
        reason = f"Profile {profile.name!r} wants an approval for each call of {call.tool_name!r}."
        yield _asks(PermissionRule.TOOL_NEEDS_APPROVAL, reason)
    if _RISKS.index(risk) > _RISKS.index(profile.risk_class):
        known = "risk" if call.risk_class else "risk (not known, so the greatest)"
        reason = f"Its {known} is {risk.value}; profile {profile.name!r} allows {profile.risk_class.value} unasked."
        yield _asks(PermissionRule.RISK_TOO_HIGH, reason)


def _asks(rule: PermissionRule, reason: str) -> PermissionDecision:
    return PermissionDecision(PermissionEffect.NEEDS_APPROVAL, rule, AuthorityLevel.PERMISSION_PROFILE, reason)


def _forbidden(task: TaskContract | None, needs: CallNeeds) -> list[str]:
    patterns = task.forbidden_changes if task else ()
    return [
        path
        for path, inside in needs.writes
        if any(_matches(pattern, path, inside=inside, beneath=True) for pattern in patterns)
    ]


# Approvals


def _may_approve(one: LabelledApproval) -> bool:
    """Only a part that may instruct at the level of an approval, or above it, approves anything."""
    level = authority_of(MessageKind.APPROVAL_DECISION, one.trust_level)
    return level is AuthorityLevel.APPROVAL_DECISION


def _is_over(decision: ApprovalDecision, at: datetime | None) -> bool:
    """Whether it holds no longer, or not yet. A refusal does not expire."""
    if decision.outcome is ApprovalOutcome.DENIED:
        return False
    if decision.expires_at is not None and (at is None or at >= decision.expires_at):
        return True
    return decision.decided_at is not None and at is not None and decision.decided_at > at


def _is_about(decision: ApprovalDecision, exact: str, subjects: Sequence[str]) -> bool:
    if decision.arguments_hash is not None:
        return decision.arguments_hash == exact
    return any(covers(scope, subject) for scope in decision.scope for subject in subjects)


def _latest(decisions: Sequence[ApprovalDecision]) -> ApprovalDecision | None:
    """The decision that stands: the last; a refusal where none is dated or two are of one time."""
    undated_refusals = [one for one in decisions if one.decided_at is None and one.outcome is ApprovalOutcome.DENIED]
    ordered = sorted(decisions, key=_when)
    return (undated_refusals or ordered or [None])[-1]


def _when(one: ApprovalDecision) -> tuple[float, bool, str]:
    time = float("-inf") if one.decided_at is None else one.decided_at.timestamp()
    return time, one.outcome is ApprovalOutcome.DENIED, one.request_id


def _lifts(decision: ApprovalDecision, objection: PermissionDecision, needs: CallNeeds) -> bool:
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
