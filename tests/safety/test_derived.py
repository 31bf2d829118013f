"""What is made from parts is no more trusted, and seen by no more people, than what it is made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.protocol.vocabulary import Audience, TrustLevel, Visibility
from ledgerkit.safety.derived import find_amplified

TRUST = st.sampled_from([level.value for level in TrustLevel])
VISIBILITY = st.sampled_from([level.value for level in Visibility])


def a_part(name: str, trust: str | None, visibility: str | None, *refs: str, **more: Any) -> dict[str, Any]:
    return {
        "session_id": "s", "run_id": "r", "sequence_no": 0, "message_id": name, "part_id": f"{name}/0", "kind": "X",
        "part_trust_level": trust, "part_visibility": visibility, "evidence_refs": list(refs) or None,
        "artifact_refs": None, "tool_call_id": None, **more,
    }  # fmt: skip


def found_in(*parts: dict[str, Any]) -> pl.DataFrame:
    return find_amplified(pl.DataFrame(parts, infer_schema_length=None))


@given(TRUST, TRUST, VISIBILITY, VISIBILITY)
def test_exactly_what_says_more_than_its_source_is_found(
    trust: str, source_trust: str, visibility: str, source_visibility: str
) -> None:
    source = a_part("m", source_trust, source_visibility)
    found = set(found_in(source, a_part("n", trust, visibility, "message:m#c1-2"))["rule"])
    more = TrustLevel(trust).rank < TrustLevel(source_trust).rank
    wider = any(one.may_see(Visibility(visibility)) > one.may_see(Visibility(source_visibility)) for one in Audience)
    assert found == ({"trust-amplified"} if more else set()) | ({"visibility-widened"} if wider else set())


def test_a_source_is_named_by_message_call_or_artifact() -> None:
    source = a_part("m", "NETWORK_UNTRUSTED", "MODEL_VISIBLE", artifact_refs=["a" * 32], tool_call_id="call")
    for reference in ("message:m", "tool-call:call", f"artifact:{'a' * 32}#L1-L2"):
        assert found_in(source, a_part("n", "TOOL_TRUSTED", "MODEL_VISIBLE", reference)).height == 1
    for reference in ("message:other", "file:m", "task:goal"):
        assert found_in(source, a_part("n", "TOOL_TRUSTED", "MODEL_VISIBLE", reference)).height == 0


def test_a_source_without_a_label_is_unknown_and_seen_by_nobody() -> None:
    found = found_in(a_part("m", None, None), a_part("n", "MODEL_GENERATED", "AUDIT_ONLY", "message:m"))
    assert found["rule"].to_list() == ["trust-amplified", "visibility-widened"]


def test_what_a_model_says_in_its_own_name_is_its_own() -> None:
    source = a_part("m", "NETWORK_UNTRUSTED", "MODEL_VISIBLE")
    for kind, height in (("ASSISTANT_RESPONSE", 0), ("RUN_SUMMARY", 1)):
        said = a_part("n", "MODEL_GENERATED", "MODEL_VISIBLE", "message:m", kind=kind)
        assert found_in(source, said).height == height
    said = a_part("n", "TOOL_TRUSTED", "MODEL_VISIBLE", "message:m", kind="ASSISTANT_RESPONSE")
    assert found_in(source, said).height == 1


def test_a_part_that_cites_itself_says_nothing_new() -> None:
    assert found_in(a_part("m", "USER_TRUSTED", "MODEL_VISIBLE", "message:m")).height == 0


def test_the_demo_runs_keep_to_it(demo_path: Path) -> None:
    with lk.open(demo_path, create=False) as ledger:
        cited = ledger.sql("select count(*) from parts where len(evidence_refs) > 0").item()
        assert cited > 0
        assert ledger.amplified_labels().rows() == []
