"""The allowlist: what no rule lets in stays out, and the account names the rule."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit.protocol.vocabulary import Audience, MessageKind, TrustLevel, Visibility
from ledgerkit.strategies import Absence, AsRecorded, LastObservations, TokenWindow
from tests.projection.made import call, context, part, result, task, texts

SECRET = "what must not leave the ledger"
KEPT_OUT: dict[Absence, dict[str, Any]] = {
    Absence.UNKNOWN_KIND: {"kind": "SOMETHING_NEW"},
    Absence.NOT_SELECTED: {"kind": "JUDGE_RESULT"},
    Absence.NOT_VISIBLE: {"part_visibility": "AUDIT_ONLY"},
    Absence.UNKNOWN_TRUST: {"part_trust_level": "SOMETHING_NEW"},
    Absence.RESTRICTED: {"is_restricted": True},
    Absence.ERASED: {"erased": "m9"},
    Absence.EMPTY: {"text": None, "has_content": False},
}
"""Parts that one rule alone keeps out."""


@pytest.mark.parametrize("rule", KEPT_OUT)
@pytest.mark.parametrize("budget", [None, 4000])
def test_each_rule_keeps_out_what_only_it_forbids(rule: Absence, budget: int | None) -> None:
    odd = {**part("ASSISTANT_RESPONSE", SECRET, has_content=True), **KEPT_OUT[rule]}
    found = context(task(), odd, part("ASSISTANT_RESPONSE", "Yes."), budget=budget)
    assert SECRET not in found.to_json()
    assert found.account.filter(pl.col("sequence_no") == 1)["reason"].item() == rule.value
    # Without what the rule is about, the same part is in.
    plain = part("ASSISTANT_RESPONSE", SECRET, has_content=True)
    assert SECRET in context(task(), plain, budget=budget).to_json()


def test_what_comes_later_is_no_row_of_the_account() -> None:
    found = context(task(), part("ASSISTANT_RESPONSE", SECRET, at=2), step=1)
    assert SECRET not in found.to_json()
    assert found.account["sequence_no"].to_list() == [0]


@settings(deadline=None)
@given(
    st.sampled_from([*MessageKind, "NEW_KIND", ""]),
    st.sampled_from([*TrustLevel, "NEW_LEVEL", ""]),
    st.sampled_from([*Visibility, "NEW_VISIBILITY", ""]),
)
def test_nothing_that_no_rule_lets_in_is_in(kind: str, trust: str, visibility: str) -> None:
    found = context(task(), part(str(kind), SECRET, part_trust_level=str(trust), part_visibility=str(visibility)))
    row = found.account.row(1, named=True)
    is_in = SECRET in found.to_json()
    assert is_in == (row["reason"] is None)
    if is_in:
        assert kind in set(MessageKind)
        assert trust in set(TrustLevel)
        assert Audience.MODEL.may_see(Visibility(visibility))
        if trust not in {"PLATFORM_TRUSTED", "ORG_TRUSTED", "USER_TRUSTED"}:
            assert all(SECRET not in one.content for one in found.request.instructions)


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        (LastObservations(1), None),
        (TokenWindow(60), "left_out_by_strategy"),
        (AsRecorded(), "compacted"),
    ],
)
def test_what_a_strategy_took_out_says_so(strategy: Any, reason: str | None) -> None:
    said = part("RUN_SUMMARY", "It went well.", at=2, compaction='{"keeps":"nothing"}')
    found = context(
        task(), call("a", "Read"), result("a", "long " * 200, 1), call("b", "Read", 1), result("b", "short", 2), said,
        strategy=strategy,
    )  # fmt: skip
    assert found.account.filter(pl.col("sequence_no") == 2)["reason"].item() == reason
    assert "long long" not in "".join(texts(found))


def test_every_part_is_in_or_out_for_one_reason() -> None:
    found = context(
        task(), *(part("ASSISTANT_RESPONSE", f"{n} " * 300, at=n % 3) for n in range(12)), budget=2000
    )  # fmt: skip
    rows = found.account
    assert rows.height == 13
    is_in = rows["reason"].is_null()
    assert (is_in == rows["position"].is_not_null()).all()
    assert set(rows["reason"].drop_nulls()) == {"over_budget"}
    assert found.left_out.rows() == [
        ("over_budget", int((~is_in).sum()), int(rows.filter(~is_in)["part_tokens"].sum()))
    ]


def test_a_retry_hint_is_seen_by_the_next_step_alone() -> None:
    hint = part(
        "ERROR_EVENT", "The answer was no JSON object.", at=1, part_type="error", part_trust_level="TOOL_TRUSTED",
        data='{"retry_hint":"Answer with one JSON object."}',
    )  # fmt: skip
    other = {**hint, "data": '{"code":529}'}
    hidden = {**hint, "part_visibility": "AUDIT_ONLY"}
    for step, wanted in enumerate([0, 1, 0]):
        for budget in (None, 4000):
            found = context(task(), hint, other, hidden, step=step, budget=budget)
            assert sum("no JSON" in said for said in texts(found)) == wanted
    (row,) = context(task(), hint, step=1).account.filter(pl.col("kind") == "ERROR_EVENT").rows(named=True)
    assert row["reason"] is None
