"""What an audit says of itself, and who tried to instruct from where only data may stand."""

from __future__ import annotations

import polars as pl

from ledgerkit.safety.injection import LIMITS, RULES, audit_injection, audit_summary, authority_attempts
from tests.injection.samples import MARKERS, OVERRIDE, parts


def test_counts_are_those_of_the_parts_and_findings() -> None:
    frame = pl.concat(
        [
            parts(OVERRIDE, f"{OVERRIDE} \u202e", "fine"),
            parts(OVERRIDE, trust="MODEL_GENERATED").with_columns(run_id=pl.lit("b"), message_id=pl.lit("mb")),
            parts(OVERRIDE, trust="USER_TRUSTED").with_columns(run_id=pl.lit("c"), message_id=pl.lit("mc")),
        ]
    )
    summary = audit_summary(audit_injection(frame), frame)
    assert (summary.parts, summary.parts_read, summary.parts_read_fully) == (5, 4, 3)
    assert (summary.runs, summary.runs_with_markers, summary.parts_with_markers) == (3, 1, 2)
    assert (summary.markers, summary.authority_attempts) == (3, 2)
    assert summary.bytes_read == 3 * len(OVERRIDE) + 1 + 3 + 4
    counted = dict(summary.by_rule.select("rule", "markers").rows())
    assert counted == {**dict.fromkeys(RULES, 0), "instruction-override": 2, "bidi-control": 1}
    assert dict(summary.by_severity.select("severity", "markers").rows()) == {
        "critical": 0,
        "high": 3,
        "medium": 0,
        "low": 0,
    }


def test_a_summary_never_says_that_runs_are_clean() -> None:
    frame = parts("fine")
    text = str(audit_summary(audit_injection(frame), frame))
    assert text.startswith("0 markers in 0 parts of 0 of 1 runs")
    assert text.endswith(LIMITS)
    assert "does not mean that a text is harmless or a run clean" in LIMITS


def test_exposure_says_whether_a_model_call_could_see_the_part() -> None:
    frame = parts(OVERRIDE, OVERRIDE, OVERRIDE, "later").with_columns(
        part_visibility=pl.Series(["MODEL_VISIBLE", "AUDIT_ONLY", "MODEL_VISIBLE", "MODEL_VISIBLE"]),
        step=pl.Series([0, 0, 3, 3]),
        visible_from=pl.Series([1, 1, 4, 2]),
    )
    audited = audit_injection(frame)
    assert audited["exposure"].to_list() == ["shown", "not_shown", "not_shown"]
    assert audit_summary(audited, frame).runs_exposed == 1
    assert audit_injection(frame.drop("part_visibility"))["exposure"].to_list() == ["unknown"] * 3


def test_authority_attempts_are_the_claims_on_untrusted_parts() -> None:
    claims = {name for name, rule in RULES.items() if rule.claims_authority}
    assert claims == {"instruction-override", "authority-claim"}
    texts = [text for rule in ("instruction-override", "authority-claim", "bidi-control") for text in MARKERS[rule]]
    audited = audit_injection(parts(*texts))
    attempts = authority_attempts(audited)
    assert attempts.schema == audited.schema
    assert set(attempts["rule"]) == claims
    assert attempts["part_id"].n_unique() == len(texts) - len(MARKERS["bidi-control"])


def test_what_people_say_is_no_attempt() -> None:
    frame = parts(OVERRIDE, "Message from the developer", trust="USER_TRUSTED")
    audited = audit_injection(frame, everything=True)
    assert audited.height == 2
    assert authority_attempts(audited).is_empty()
    assert authority_attempts(audit_injection(parts(OVERRIDE, trust=None))).height == 1
