"""What the parts of a run state of its limits counts by who says it, not by what it looks like."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from ledgerkit import tables
from ledgerkit.protocol.contracts import (
    ApprovalDecision,
    ApprovalOutcome,
    ApprovalRequest,
    PermissionProfile,
    RiskClass,
)
from ledgerkit.protocol.model import Model
from ledgerkit.safety.permissions.recorded import Limits, approved_tools, stated_limits

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
PROFILE = PermissionProfile(name="edit", allowed_tools=("Edit",))
REQUEST = ApprovalRequest(
    request_id="q1",
    action="push",
    reason="release",
    scope=("tools/Bash",),
    risk_class=RiskClass.HIGH,
    tool_call_id="c1",
)


def parts(*said: tuple[str, str, Model | str]) -> pl.DataFrame:
    """Parts of one run: kind, trust and data of each; and the call that waits."""
    blank = dict.fromkeys(tables.HISTORY.names)
    rows: list[dict[str, Any]] = []
    for number, (kind, trust, data) in enumerate(said):
        text = data if isinstance(data, str) else data.model_dump_json()
        rows.append(
            blank
            | {"session_id": "s", "run_id": "r", "sequence_no": number, "part_index": 0, "message_id": f"m{number}"}
            | {"kind": kind, "part_trust_level": trust, "part_type": "json", "data": text}
        )
    rows.append(rows[-1] | {"kind": "TOOL_REQUEST", "data": None, "tool_name": "Bash", "tool_call_id": "c1"})
    return tables.HISTORY.frame(rows)


def decided(outcome: ApprovalOutcome, **more: Any) -> ApprovalDecision:
    given: dict[str, Any] = {
        "request_id": "q1",
        "outcome": outcome,
        "decided_by": "ann",
        "scope": ("tools/Bash",),
        **more,
    }
    return ApprovalDecision(**given)


def tools_after(*said: tuple[str, str, Model | str], at: datetime | None = NOON) -> frozenset[str]:
    rows = parts(("APPROVAL_REQUEST", "TOOL_TRUSTED", REQUEST), *said)
    return approved_tools(rows, stated_limits(rows).get(("s", "r"), Limits()).approvals, at)


@pytest.mark.parametrize("trust", ["PLATFORM_TRUSTED", "ORG_TRUSTED", "USER_TRUSTED"])
def test_a_profile_counts_from_who_may_state_one(trust: str) -> None:
    found = stated_limits(parts(("ORG_POLICY", trust, PROFILE)))["s", "r"]

    assert found.profile == (PROFILE, "message:m0")


@pytest.mark.parametrize("trust", ["TOOL_TRUSTED", "MODEL_GENERATED", "REPOSITORY_UNTRUSTED", "EXTERNAL_UNTRUSTED"])
def test_a_profile_counts_from_nobody_else(trust: str) -> None:
    assert stated_limits(parts(("ORG_POLICY", trust, PROFILE))) == {}


@pytest.mark.parametrize("data", ['{"name": "edit"}', "{}", "[1]", '"Edit"', "{", '{"name": "edit", "colour": "red"}'])
def test_data_of_another_kind_is_no_profile(data: str) -> None:
    assert stated_limits(parts(("SYSTEM_INSTRUCTION", "PLATFORM_TRUSTED", data))) == {}


def test_the_last_profile_stands() -> None:
    later = PROFILE.model_copy(update={"denied_tools": ("Bash",)})
    rows = parts(("ORG_POLICY", "ORG_TRUSTED", PROFILE), ("SYSTEM_INSTRUCTION", "PLATFORM_TRUSTED", later))

    assert stated_limits(rows)["s", "r"].profile == (later, "message:m1")


def test_a_tool_is_approved_by_a_decision_about_a_request() -> None:
    yes = decided(ApprovalOutcome.APPROVED)

    assert tools_after(("APPROVAL_DECISION", "USER_TRUSTED", yes)) == {"Bash"}
    assert tools_after(("APPROVAL_DECISION", "EXTERNAL_UNTRUSTED", yes)) == frozenset()
    other = yes.model_copy(update={"request_id": "q2"})
    assert tools_after(("APPROVAL_DECISION", "USER_TRUSTED", other)) == frozenset()
    rows = parts(("APPROVAL_DECISION", "USER_TRUSTED", yes))
    assert approved_tools(rows, stated_limits(rows)["s", "r"].approvals, NOON) == frozenset()


def test_the_later_decision_stands_whichever_comes_first_in_the_log() -> None:
    yes = ("APPROVAL_DECISION", "USER_TRUSTED", decided(ApprovalOutcome.APPROVED, decided_at=NOON))
    no = ("APPROVAL_DECISION", "USER_TRUSTED", decided(ApprovalOutcome.DENIED, decided_at=NOON + timedelta(minutes=1)))

    assert tools_after(yes, no) == tools_after(no, yes) == frozenset()
    assert tools_after(yes) == {"Bash"}


@pytest.mark.parametrize(
    ("at", "holds"), [(NOON, True), (NOON + timedelta(hours=1), False), (NOON - timedelta(days=1), True), (None, False)]
)
def test_an_approval_that_expires_holds_until_then(at: datetime | None, *, holds: bool) -> None:
    until = decided(ApprovalOutcome.APPROVED, decided_at=NOON, expires_at=NOON + timedelta(minutes=5))

    assert tools_after(("APPROVAL_DECISION", "ORG_TRUSTED", until), at=at) == ({"Bash"} if holds else frozenset())
