"""What a run's own parts state of its limits: only what the platform, the organisation or the user says as data counts.

A contract, a profile or a decision is recognised by its fields. Where none is recorded, nothing is said: a limit is
never invented.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

import polars as pl

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.contracts import (
    ApprovalDecision,
    ApprovalOutcome,
    ApprovalRequest,
    PermissionProfile,
    TaskContract,
)
from ledgerkit.protocol.model import Model
from ledgerkit.protocol.refusals import parse
from ledgerkit.protocol.vocabulary import TrustLevel
from ledgerkit.safety.permissions.approvals import is_over, latest, may_approve
from ledgerkit.safety.permissions.calls import LabelledApproval

_STATED: Final = (TrustLevel.PLATFORM_TRUSTED.value, TrustLevel.ORG_TRUSTED.value, TrustLevel.USER_TRUSTED.value)
_KINDS: Final = ("ORG_POLICY", "SYSTEM_INSTRUCTION", "USER_TASK", "APPROVAL_DECISION")
_ONLY_NAMED: Final = frozenset({"name"})
"""A profile may leave out all but its name; an object that has a name alone is more likely something else."""
_RUN: Final = ("session_id", "run_id")
M = TypeVar("M", bound=Model)
RunName = tuple[str, str]


@dataclass(frozen=True)
class Limits:
    """What is stated of one run.

    Attributes:
        contract: Its task contract, the last one stated, and where.
        profile: Its permission profile, the last one stated, and where.
        approvals: Decisions of people, in order.
    """

    contract: tuple[TaskContract, str] | None = None
    profile: tuple[PermissionProfile, str] | None = None
    approvals: tuple[LabelledApproval, ...] = field(default=())


def stated_limits(parts: pl.DataFrame) -> dict[RunName, Limits]:
    """What is stated of runs, by session and run; a run of which nothing is stated has no entry.

    Args:
        parts: Rows of ``parts``.
    """
    rows = parts.filter(
        pl.col("kind").is_in(_KINDS), pl.col("part_trust_level").is_in(_STATED), pl.col("part_type") == "json"
    ).sort(*_RUN, "sequence_no", "part_index")
    found: dict[RunName, Limits] = {}
    for row in rows.select(*_RUN, "kind", "data", "part_trust_level", "message_id").iter_rows(named=True):
        key = (row["session_id"], row["run_id"])
        found[key] = _with(found.get(key, Limits()), row)
    return {key: limits for key, limits in found.items() if limits != Limits()}


def _with(limits: Limits, row: dict[str, Any]) -> Limits:
    place, data = f"message:{row['message_id']}", row["data"]
    if data is None:
        return limits
    if row["kind"] == "APPROVAL_DECISION":
        decision = _read(ApprovalDecision, data)
        if decision is None:
            return limits
        return replace(
            limits, approvals=(*limits.approvals, LabelledApproval(decision, TrustLevel(row["part_trust_level"])))
        )
    if (contract := _read(TaskContract, data)) is not None:
        return replace(limits, contract=(contract, place))
    profile = _read(PermissionProfile, data)
    if profile is None or profile.model_fields_set == _ONLY_NAMED:
        return limits
    return replace(limits, profile=(profile, place))


def approved_tools(parts: pl.DataFrame, approvals: Collection[LabelledApproval], at: datetime | None) -> frozenset[str]:
    """Tools for a call of which an approval is in force.

    Args:
        parts: Rows of ``parts`` of one run: its requests, and the calls that these are for.
        approvals: What was decided.
        at: When; ``None`` if that is not known, and then nothing holds that expires.
    """
    asked = dict[str, str | None]()
    for (data,) in parts.filter(pl.col("kind") == "APPROVAL_REQUEST").select("data").drop_nulls().iter_rows():
        if (request := _read(ApprovalRequest, data)) is not None:
            asked[request.request_id] = request.tool_call_id
    if not asked:
        return frozenset()
    tools = dict(parts.filter(pl.col("tool_name").is_not_null()).select("tool_call_id", "tool_name").iter_rows())
    counting = [one.decision for one in approvals if may_approve(one) and one.decision.request_id in asked]
    standing = [latest([one for one in counting if one.request_id == request]) for request in asked]
    names = [tools.get(asked[one.request_id]) for one in standing if one is not None and _is_in_force(one, at)]
    return frozenset(name for name in names if name)


def _is_in_force(decision: ApprovalDecision, at: datetime | None) -> bool:
    # A decision that the parts hold was made before the moment that is looked at, whatever the clocks say.
    now = at if at is None or decision.decided_at is None else max(at, decision.decided_at)
    return decision.outcome is ApprovalOutcome.APPROVED and not is_over(decision, now)


@lru_cache(maxsize=1024)
def _read(model: type[M], data: str) -> M | None:
    """The model that a text is by its fields; ``None`` for data of another kind, which most are."""
    try:
        return parse(model, data)
    except ProtocolError:
        return None
