"""Claims are read out of texts with care, checked through the ledger, and shown by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.cli import main
from ledgerkit.extract.claims import CLAIM_SCHEMA, ClaimClass, read_claims
from ledgerkit.extract.claims.units import mask, units
from ledgerkit.memory import CHECKED_SCHEMA
from tests.memory.labelled import Run, checked

pytestmark = pytest.mark.long

PIECES = [
    *(
        "all",
        "tests",
        "pass",
        "the",
        "build",
        "`src/a.py`",
        "fixed",
        ".",
        ",",
        ":",
        "no",
        "other",
        "callers",
        "of",
        "`f`",
    ),
    *(
        "?",
        "not",
        "if",
        "done",
        "created",
        "12",
        "|",
        "-",
        "[x]",
        "[ ]",
        "```",
        ">",
        "#",
        "\n",
        "\n\n",
        "✅",
        '"q"',
        "(",
        ")",
    ),
]
WORDS = st.lists(st.sampled_from(PIECES), max_size=60)


def said(text: str) -> list[tuple[str, str, str]]:
    return [(one.claim_class.value, one.subject, text[one.start : one.end]) for one in read_claims(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Let me check whether all tests pass.",
        "All tests pass?",
        "If the build succeeds, deploy.",
        "The tests don't pass.",
        "They told me that lint is clean.",
        "> All tests pass",
        "```\nAll tests pass\n```",
        '"all tests pass" is what it prints',
        "- [ ] All tests pass",
        "## Next steps\n- Created `a.py`",
        "Step 3: All tests pass",
        "Node.js was updated by the image.",
        "`all tests pass`",
        "Verify that the build passes.",
        "I'll have updated `a.py` by then.",
    ],
)
def test_what_is_not_said_as_a_fact_is_no_claim(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| Lint | ✅ clean |", [("verdict", "lint")]),
        ("- [x] Build passes", [("verdict", "build")]),
        ("**All 31 tests pass**, credo clean.", [("verdict", "test"), ("verdict", "lint")]),
        ("`npx tsc --noEmit` passes now.", [("verdict", "types")]),
        ("Clean compile. Now the tests.", [("verdict", "build")]),
        ("All green.", [("verdict", "previous")]),
        ("Done. I created `a.py` and updated `b.py`.", [("done", "work"), ("files", "create"), ("files", "modify")]),
        ("Files created:\n- `a.py`\n- `b.py` - helpers", [("files", "create"), ("files", "create")]),
        ("Committed and pushed.", [("command", "ran")]),
        ("Nothing else uses `old()`.", [("absence", "old")]),
    ],
)
def test_what_is_said_as_a_fact_is_a_claim(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(claim_class, subject) for claim_class, subject, _ in said(text)] == expected


@settings(max_examples=60, deadline=None)
@given(WORDS)
def test_claims_lie_in_the_text_and_units_keep_their_places(words: list[str]) -> None:
    text = " ".join(words)
    assert len(mask(text)) == len(text)
    for unit in units(text):
        assert text[unit.start : unit.end] == unit.text
        assert len(unit.masked) == len(unit.text)
    for claim in read_claims(text):
        assert 0 <= claim.start < claim.end <= len(text)
        assert text[claim.start : claim.end].strip()


@pytest.mark.parametrize(
    "piece", ["tests `" + "a" * 900 + "` x ", "`" * 3_900 + "\n", "| " + "+" * 3_900 + "x|\n", "a/" * 600 + "\n\n"]
)
def test_no_text_takes_long(piece: str) -> None:
    read_claims(piece * (200_000 // len(piece)))  # a pattern that backtracks would not come back


def test_the_columns_are_those_of_the_schemas() -> None:
    run = Run("r")
    run.act(["sh", "pytest -q", "3 passed in 0.1s", 0])
    run.message("ASSISTANT_RESPONSE", text="All tests pass.")
    found = checked([run])
    assert found.schema == pl.Schema(CHECKED_SCHEMA)
    assert set(CLAIM_SCHEMA) - {"extractor_version"} <= set(CHECKED_SCHEMA)
    assert found.row(0, named=True) | {"evidence": ["tool-call:r-call0"], "place": "message:r.2#c0-14"} == found.row(
        0, named=True
    )


def test_a_background_check_counts_when_its_output_was_fetched() -> None:
    run = Run("r")
    run.call(
        "Bash", {"command": "pytest -q", "run_in_background": True}, "Command running in background with ID: b12", None
    )
    run.message("ASSISTANT_RESPONSE", text="All tests pass.")
    output = "<status>completed</status>\n<exit_code>0</exit_code>\n<output>\n9 passed in 0.2s\n</output>"
    run.call("TaskOutput", {"task_id": "b12"}, output)
    run.message("ASSISTANT_RESPONSE", text="All 9 tests pass.")
    assert checked([run])["verdict"].to_list() == ["unverified", "supported"]


def test_evidence_that_the_model_had_not_seen_is_told() -> None:
    from ledgerkit.extract.claims import claims_frame
    from ledgerkit.extract.verifiers import verifier_frame
    from ledgerkit.memory import check_claims
    from tests.memory.labelled import frames

    run = Run("r")
    run.act(["sh", "pytest -q", "3 passed in 0.1s", 0])
    run.message("ASSISTANT_RESPONSE", text="All tests pass.")
    parts, calls, _ = frames([run])
    place = {"run_id": ["r"], "part_id": ["p"], "reference": ["tool-call:r-call0"], "from_step": [1]}
    for until, verdict in ((None, "supported"), (2, "unverified")):
        placements = pl.DataFrame({**place, "to_step": [until]}, schema_overrides={"to_step": pl.Int64})
        found = check_claims(claims_frame(parts), calls, verifier_frame(parts), placements=placements)
        assert found.select("verdict", "rule").row(0) == (verdict, "R3" if until else "R10")


def test_the_ledger_checks_its_demo_runs(demo_path: Path) -> None:
    with lk.open(demo_path) as ledger:
        found = ledger.check_claims()
        assert found.schema == pl.Schema(CHECKED_SCHEMA)
        assert found.height > 0
        assert found["verdict"].null_count() == 0
        one = found["run_id"][0]
        assert ledger.check_claims(runs=one).equals(found.filter(pl.col("run_id") == one))
        places = found.select("run_id", "message_id", "part_index", "start", "end", "text")
        parts = ledger.scan("parts").select("run_id", "message_id", "part_index", whole="text").collect()
        joined = places.join(parts, on=["run_id", "message_id", "part_index"], how="left")
        assert joined.filter(
            pl.col("whole").str.slice(pl.col("start"), pl.col("end") - pl.col("start")) != pl.col("text")
        ).is_empty()
        ids = set(ledger.scan("tool_calls").select("tool_call_id").collect()["tool_call_id"])
        cited = found["evidence"].explode(empty_as_null=True).drop_nulls().str.strip_prefix("tool-call:")
        assert set(cited) <= ids


@pytest.mark.slow
def test_the_command_line_shows_tables_cards_and_json(demo_path: Path) -> None:
    def shown(*arguments: str) -> str:
        done = CliRunner().invoke(main, ["claims", "--ledger", str(demo_path), *arguments])
        assert done.exit_code == 0, done.output
        return done.output

    everything = json.loads(shown("--json"))
    assert {one["claim_class"] for one in everything} <= {one.value for one in ClaimClass}
    card = shown("--cards", "-n", "1")
    assert card.splitlines()[0].startswith(f"{len(everything)} claims")
    assert all(word in card for word in ("said", "why", "where", "not that the code is right"))
    some = everything[0]["verdict"]
    table = shown("--verdict", some, "--about", everything[0]["claim_class"])
    assert all(line.split()[0] == some for line in table.splitlines()[2:3])
