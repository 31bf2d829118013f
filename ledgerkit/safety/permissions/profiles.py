"""What the profile, the task and the trust behind a call say against it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ledgerkit.protocol.contracts import (
    NetworkAccess,
    PermissionProfile,
    RiskClass,
    TaskContract,
    ToolPermission,
)
from ledgerkit.protocol.levels import AuthorityLevel
from ledgerkit.protocol.vocabulary import TrustLevel
from ledgerkit.safety.permissions.calls import (
    PermissionDecision,
    PermissionEffect,
    PermissionRule,
    ProposedCall,
    asks,
    denied,
)
from ledgerkit.safety.taint.touched import CallNeeds

_RISKS: Final = tuple(RiskClass)


def policy_denial(profile: PermissionProfile, needs: CallNeeds) -> PermissionDecision | None:
    """Why the profile denies a call; ``None`` if it does not."""
    for path, inside in (*needs.reads, *needs.writes):
        for pattern in profile.denied_paths:
            if matches_path(pattern, path, inside=inside, beneath=True):
                reason = f"Profile {profile.name!r} denies {path!r} (pattern {pattern!r})."
                return denied(PermissionRule.PATH_DENIED, reason)
    for verb, paths, allowed in (
        ("read", needs.reads, profile.readable_paths),
        ("write", needs.writes, profile.writable_paths),
    ):
        for path, inside in paths:
            if not any(matches_path(pattern, path, inside=inside) for pattern in allowed):
                reason = f"Profile {profile.name!r} lets nobody {verb} {path!r}."
                return denied(PermissionRule.PATH_DENIED, reason)
    return _network_denial(profile, needs)


def _network_denial(profile: PermissionProfile, needs: CallNeeds) -> PermissionDecision | None:
    if profile.network is NetworkAccess.ALL:
        return None
    rule = PermissionRule.NETWORK_DENIED
    if profile.network is NetworkAccess.NONE and (needs.hosts or needs.has_hidden_network):
        place = needs.hosts[0] if needs.hosts else "a host that the call does not name"
        return denied(rule, f"Profile {profile.name!r} has no network; the call reaches {place}.")
    listed = {host.lower().rstrip(".") for host in profile.hosts}
    for host in needs.hosts:
        if host not in listed:
            return denied(rule, f"Host {host!r} is not listed in profile {profile.name!r}.")
    if profile.network is NetworkAccess.LISTED_HOSTS and needs.has_hidden_network and not needs.hosts:
        return denied(rule, f"Profile {profile.name!r} lists its hosts; the call does not say which it reaches.")
    return None


def matches_path(pattern: str, path: str, *, inside: bool, beneath: bool = False) -> bool:
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


def objections_to(
    profile: PermissionProfile,
    permission: ToolPermission,
    call: ProposedCall,
    needs: CallNeeds,
    task: TaskContract | None,
) -> Iterator[PermissionDecision]:
    """What speaks against a call, short of a denial."""
    for path in _forbidden(task, needs):
        reason = f"The task forbids changing {path!r}; an approval for it would amend the task."
        yield PermissionDecision(
            PermissionEffect.DENY, PermissionRule.TASK_FORBIDS, AuthorityLevel.TASK_CONTRACT, reason
        )
    risk = call.risk_class or RiskClass.CRITICAL
    source = call.suggested_by or TrustLevel.UNKNOWN
    if source.is_untrusted and risk is not RiskClass.LOW:
        reason = f"What the call names comes from {source} content, which may inform and not decide."
        yield asks(PermissionRule.UNTRUSTED_INFLUENCE, reason)
    if needs.is_opaque:
        yield asks(PermissionRule.OPAQUE_COMMAND, "The command runs what it does not show.")
    if needs.is_vague:
        yield asks(PermissionRule.ARGUMENTS_UNREADABLE, "The call does not say what it writes.")
    if permission is ToolPermission.NEEDS_APPROVAL:
        reason = f"Profile {profile.name!r} wants an approval for each call of {call.tool_name!r}."
        yield asks(PermissionRule.TOOL_NEEDS_APPROVAL, reason)
    if _RISKS.index(risk) > _RISKS.index(profile.risk_class):
        known = "risk" if call.risk_class else "risk (not known, so the greatest)"
        reason = f"Its {known} is {risk.value}; profile {profile.name!r} allows {profile.risk_class.value} unasked."
        yield asks(PermissionRule.RISK_TOO_HIGH, reason)


def _forbidden(task: TaskContract | None, needs: CallNeeds) -> list[str]:
    patterns = task.forbidden_changes if task else ()
    return [
        path
        for path, inside in needs.writes
        if any(matches_path(pattern, path, inside=inside, beneath=True) for pattern in patterns)
    ]


# Approvals
