"""Criteria about what the run was allowed: the task contract's scope, the permission profile, the budget.

A contract or profile counts where a part of the platform, the organisation or the user states it as data. Where none
is recorded, nothing is said: a limit is never invented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import polars as pl

from ledgerkit.extract.paths import normalise_path
from ledgerkit.judges.judgement import Outcome
from ledgerkit.judges.material import EXECUTED, RUN, Material
from ledgerkit.judges.rules.ruled import FAILURES, Ruled, failures, states
from ledgerkit.protocol.contracts import PermissionProfile, RiskClass, TaskContract
from ledgerkit.protocol.vocabulary import TrustLevel
from ledgerkit.safety.permissions import (
    PermissionEffect,
    PermissionRule,
    ProposedCall,
    check_permission,
)
from ledgerkit.safety.permissions.profiles import matches_path
from ledgerkit.safety.permissions.recorded import Limits
from ledgerkit.safety.taint.touched import CallNeeds, needs_of_many

_ASKED: Final = frozenset({PermissionRule.TOOL_NEEDS_APPROVAL})
_PATTERN: Final = re.compile(r"[^\s,;]*[./*][^\s,;]*|[\w-]+")
_ELSEWHERE: Final = re.compile(r"^(?:/private)?/tmp/|^/var/folders/|^/dev/")
_BY_PRODUCT: Final = re.compile(r"\.(?:log|out|tmp|pid)$", re.IGNORECASE)
"""What a command leaves behind; no part of the work."""


# Scope


def scope_kept(material: Material, limits: dict[tuple[str, str], Limits]) -> Ruled:
    """Nothing outside the task contract's allowed changes was changed, and nothing that it forbids."""
    rows = list[dict[str, object]]()
    known = {key: one.contract for key, one in limits.items() if one.contract is not None}
    folders = _folders(material)
    for change in material.changes.drop_nulls("path").iter_rows(named=True):
        key = (change["session_id"], change["run_id"])
        if key in known:
            rows += _outside(change, known[key], folders.get(key))
    stated = pl.DataFrame(
        [(*key, [place]) for key, (_, place) in known.items()],
        schema={"session_id": pl.String, "run_id": pl.String, "evidence": pl.List(pl.String)}, orient="row",
    )  # fmt: skip
    without = "No task contract is recorded as data."
    told = states(material.runs, stated, "All that it changed lies in the task's scope.", without, Outcome.NOT_RECORDED)
    return Ruled(told, failures(pl.DataFrame(rows, schema=FAILURES)))


def _folders(material: Material) -> dict[tuple[str, str], str | None]:
    rows = material.runs.select(*RUN, "working_directory").iter_rows()
    return {(session, run): folder for session, run, folder in rows}


def _outside(
    change: dict[str, Any], stated: tuple[TaskContract, str], folder: str | None
) -> Iterator[dict[str, object]]:
    contract, place = stated
    path = normalise_path(change["path"], folder)
    if _ELSEWHERE.match(path.value) or (change["change"] == "create" and _BY_PRODUCT.search(path.value)):
        return
    inside = path.is_inside is not False
    why = None
    forbidden = [
        one for one in contract.forbidden_changes if matches_path(one, path.value, inside=inside, beneath=True)
    ]
    allowed = contract.allowed_changes
    if forbidden:
        why = f"The task forbids changing {path.value!r} (pattern {forbidden[0]!r})."
    elif _are_patterns(allowed) and not any(_allows(one, path.value, inside=inside) for one in allowed):
        why = f"{path.value!r} is none of the files that the task allows to change."
    elif not inside:
        why = f"{path.value!r} lies outside the workspace."
    if why is not None:
        keys = {name: change[name] for name in RUN}
        evidence = [change["reference"], place]
        yield {**keys, "sequence_no": change["seen_at"], "place": change["reference"], "why": why, "evidence": evidence}


def _are_patterns(allowed: Sequence[str]) -> bool:
    """Whether all of it names files. Prose such as *production code* cannot be held against a path."""
    return bool(allowed) and all(_PATTERN.fullmatch(one) for one in allowed)


def _allows(pattern: str, path: str, *, inside: bool) -> bool:
    return matches_path(pattern, path, inside=inside) or matches_path(pattern.rstrip("/") + "/**", path, inside=inside)


# Policy


def policy_kept(material: Material, limits: dict[tuple[str, str], Limits]) -> Ruled:
    """No call was carried out that the permission profile denies, that a person refused, or that nobody approved."""
    bound = {key: (one, one.profile) for key, one in limits.items() if one.profile is not None}
    done = material.tool_calls.filter(pl.col("status").is_in(EXECUTED), ~pl.col("is_copy").fill_null(value=False))
    keyed = (
        ((row["session_id"], row["run_id"]), row)
        for row in done.sort(*RUN, "sequence_no", "tool_call_id").iter_rows(named=True)
    )
    calls, rows = [(key, row) for key, row in keyed if key in bound], list[dict[str, object]]()
    folders = _folders(material)
    asked = [
        (row["tool_name"], json.loads(row["arguments"]) if row["arguments"] else None, folders.get(key))
        for key, row in calls
    ]
    for (key, row), (_, arguments, folder), needs in zip(calls, asked, needs_of_many(asked), strict=True):
        proposed = ProposedCall(row["tool_name"], arguments, RiskClass.LOW, TrustLevel.USER_TRUSTED, folder)
        own, (profile, stated_at) = bound[key]
        why = _objection(profile, proposed, needs, own, row["started_at"])
        if why is not None:
            place = f"message:{row['message_id']}"
            keys = {name: row[name] for name in RUN}
            rows.append({**keys, "sequence_no": row["sequence_no"], "place": place, "why": why,
                         "evidence": [place, stated_at]})  # fmt: skip
    stated = pl.DataFrame(
        [(*key, [place]) for key, (_, (_, place)) in bound.items()],
        schema={"session_id": pl.String, "run_id": pl.String, "evidence": pl.List(pl.String)}, orient="row",
    )  # fmt: skip
    without = "No permission profile is recorded as data."
    told = states(material.runs, stated, "No call that was carried out is denied.", without, Outcome.NOT_RECORDED)
    return Ruled(told, failures(pl.DataFrame(rows, schema=FAILURES)))


def _objection(
    profile: PermissionProfile, call: ProposedCall, needs: CallNeeds, limits: Limits, at: datetime | None
) -> str | None:
    """What the profile says against a call that was carried out. Its risk and source are other criteria's matter."""
    contract = None if limits.contract is None else limits.contract[0]
    decided = check_permission(profile, call, limits.approvals, task=contract, at=at, needs=needs)
    is_denied = decided.effect is PermissionEffect.DENY and decided.rule is not PermissionRule.TASK_FORBIDS
    return decided.reason if is_denied or decided.rule in _ASKED else None


# Budget


def within_budget(material: Material, limits: dict[tuple[str, str], Limits], cost_usd: float | None) -> Ruled:
    """The run cost no more than its contract allows, or than the rubric does.

    Args:
        material: The runs.
        limits: What is stated of them.
        cost_usd: The rubric's budget in US dollars, for runs whose contract has none.
    """
    budgets = {key: float(one.contract[0].budget.cost_usd) for key, one in limits.items()
               if one.contract is not None and one.contract[0].budget.cost_usd is not None}  # fmt: skip
    names = material.runs.select(RUN).rows()
    given = pl.Series("budget", [budgets.get(key, cost_usd) for key in names], dtype=pl.Float64)
    first = material.parts.sort(*RUN, "sequence_no").unique(RUN, keep="first", maintain_order=True)
    rows = (
        material.runs.with_columns(given)
        .join(
            first.select(*RUN, place=pl.format("message:{}", "message_id")), on=RUN, how="left", maintain_order="left"
        )
        .with_columns(cost=pl.col("cost").cast(pl.Float64), evidence=pl.concat_list("place"))
    )
    is_known = pl.col("cost").is_not_null() & (pl.col("unpriced_calls").fill_null(0) == 0)
    over = rows.filter(pl.col("cost") > pl.col("budget")).with_columns(
        why=pl.format("It cost ${}; the budget is ${}.", pl.col("cost").round(4), "budget"),
        sequence_no=pl.lit(None, pl.Int64),
    )
    judged = rows.filter(pl.col("budget").is_not_null(), is_known)
    without = "No budget is stated, or what it cost is not known."
    told = states(material.runs, judged, "It cost no more than its budget.", without, Outcome.NOT_RECORDED)
    return Ruled(told, failures(over))
