"""May this call be made: by the permission profile, the approvals, the risk of the tool, and the trust behind it.

One rule: it fails closed.  What cannot be read, is not named or has no label is denied or needs a person.  A denial by
the profile is final: it is level 3 of the instruction stack, and no approval reaches above the task contract.  An
approval counts only where its part's trust gives it that authority, for what it names, until it expires.

This judges what a call says, before it is made.  A program does what it likes once it runs: the boundary that holds
is that of the process (docs/taint.md says what this cannot see).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.contracts import (
    ApprovalDecision,
    ApprovalOutcome,
    PermissionProfile,
    TaskContract,
    ToolPermission,
)
from ledgerkit.protocol.levels import AuthorityLevel
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.safety.permissions.approvals import is_about, is_over, latest, lifts, may_approve
from ledgerkit.safety.permissions.calls import (
    LabelledApproval,
    PermissionDecision,
    PermissionEffect,
    PermissionRule,
    ProposedCall,
    denied,
)
from ledgerkit.safety.permissions.profiles import objections_to, policy_denial
from ledgerkit.safety.taint.touched import CallNeeds, needs_of


def check_permission(
    profile: PermissionProfile,
    call: ProposedCall,
    approvals: Iterable[LabelledApproval] = (),
    *,
    task: TaskContract | None = None,
    at: datetime | None = None,
    needs: CallNeeds | None = None,
) -> PermissionDecision:
    """Whether a call may be made now.

    Args:
        profile: What the platform lets the agent do.
        call: The call.
        approvals: Approvals of the run, in any order; those without the authority to approve are passed over.
        task: The task's contract, whose forbidden changes need an approval that names the file.
        at: Now. Without it an approval that expires counts as expired.
        needs: What the call would touch, where that was read before (``taint.touched.needs_of_many``).

    Example:
        >>> from ledgerkit.protocol.contracts import RiskClass
        >>> from ledgerkit.protocol.vocabulary import TrustLevel
        >>> profile = PermissionProfile(name="read", allowed_tools=("Read",), readable_paths=("**",))
        >>> read = ProposedCall("Read", {"file_path": "a.py"}, RiskClass.LOW, TrustLevel.USER_TRUSTED)
        >>> check_permission(profile, read).effect.value
        'allow'
        >>> print(check_permission(profile, ProposedCall("Bash", {"command": "ls"})).reason)
        Profile 'read' does not allow the tool 'Bash'.
    """
    permission = profile.permission(call.tool_name)
    if permission is ToolPermission.DENIED:
        return denied(
            PermissionRule.TOOL_DENIED, f"Profile {profile.name!r} does not allow the tool {call.tool_name!r}."
        )
    try:
        exact = arguments_hash(call.arguments)
        needs = needs or needs_of(call.tool_name, call.arguments, call.working_directory)
    except (ProtocolError, RecursionError):
        return denied(PermissionRule.ARGUMENTS_UNREADABLE, "The arguments have no JSON form, so nobody can judge them.")
    standing = [one.decision for one in approvals if may_approve(one) and not is_over(one.decision, at)]
    about = latest([one for one in standing if is_about(one, exact, needs.subjects)])
    objections = list(objections_to(profile, permission, call, needs, task))
    return policy_denial(profile, needs) or _answered(profile, needs, about, objections)


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
    left = [one for one in objections if decision is None or not lifts(decision, one, needs)]
    if left or decision is None:
        return left[0]
    reason = f"{decision.decided_by!r} approved request {decision.request_id!r}. Without it: {objections[0].reason}"
    level = AuthorityLevel.APPROVAL_DECISION
    return PermissionDecision(PermissionEffect.ALLOW, PermissionRule.APPROVED, level, reason, decision.request_id)
