"""How true rebuilt contexts are, and where runs part."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.cli import main
from ledgerkit.replay.divergence import Parting, first_difference
from ledgerkit.replay.fidelity import FACTS, verify
from ledgerkit.strategies import AsRecorded, FullHistory, LastObservations, TokenWindow, measure, project
from tests.builders import Log, text, tool_use, uid, usage
from tests.memory.test_working import imported
from tests.projection.made import call, material, part, result, task


def verified(*parts: dict[str, object], reported: list[int | None], **facts: int) -> pl.DataFrame:
    frames = material(*parts, steps=len(reported)).frames
    calls = pl.DataFrame(
        {"session_id": "s", "run_id": "r", "step": range(len(reported)), "input_tokens": reported},
        schema_overrides={"step": pl.Int32, "input_tokens": pl.Int64},
    )
    known = pl.DataFrame([{**dict.fromkeys(FACTS), "session_id": "s", "run_id": "r", **facts}], schema=FACTS)
    none = pl.DataFrame(schema={"run_id": pl.String, "step": pl.Int32, "recorded": pl.String, "rebuilt": pl.String})
    return verify(measure(frames, project(frames, AsRecorded())), calls, known, none)


GROWING = [part("ASSISTANT_RESPONSE", "word " * 50 * (n + 1), at=n) for n in range(6)]


def test_scale_and_offset_of_a_run_are_found() -> None:
    frames = material(*GROWING, steps=6).frames
    rebuilt = measure(frames, project(frames, AsRecorded())).steps()["tokens"].to_list()
    found = verified(*GROWING, reported=[round(1_000 + 1.5 * tokens) for tokens in rebuilt])
    assert found["scale"][0] == pytest.approx(1.5, abs=0.01)
    assert found["offset"][0] == pytest.approx(1_000, abs=5)
    assert (found["residual"].abs() < 5).all()
    assert found["difference"].to_list() == [r - round(1_000 + 1.5 * r) for r in rebuilt]


def test_one_odd_step_does_not_move_the_estimate() -> None:
    frames = material(*GROWING, steps=6).frames
    rebuilt = measure(frames, project(frames, AsRecorded())).steps()["tokens"].to_list()
    reported = [100 + tokens for tokens in rebuilt]
    reported[3] = 90_000
    found = verified(*GROWING, reported=reported)
    assert found["scale"][0] == pytest.approx(1, abs=0.01)
    assert found["offset"][0] == pytest.approx(100, abs=5)


def test_what_is_not_reported_is_null_and_nothing_is_estimated_from_too_little() -> None:
    found = verified(*GROWING, reported=[None, 300, None, None, None, 900])
    assert found["difference"].null_count() == 4
    assert found["scale"].null_count() == 6
    assert found["residual"].null_count() == 6


@pytest.mark.parametrize(
    ("facts", "reasons"),
    [
        ({}, ["no_system_prompt"] * 3),
        ({"instructed_from": 0}, [None] * 3),
        ({"instructed_from": 0, "reasoning_from": 1}, [None, "hidden_reasoning", "hidden_reasoning"]),
        (
            {"instructed_from": 0, "sealed_from": 2, "reasoning_from": 1},
            [None, "hidden_reasoning", "sealed_compaction"],
        ),
    ],
)
def test_a_context_is_opaque_from_where_something_is_unseen(facts: dict[str, int], reasons: list[str | None]) -> None:
    found = verified(*GROWING[:3], reported=[1, 2, 3], **facts)
    assert found["reason"].to_list() == reasons
    assert found["fidelity"].to_list() == ["client_exact" if one is None else "opaque" for one in reasons]


def test_a_part_of_unknown_size_makes_it_opaque() -> None:
    image = part("USER_TASK", "x", at=1, token_count=None)
    found = verified(GROWING[0], image, reported=[1, 2], instructed_from=0)
    assert found["reason"].to_list() == [None, "uncounted_parts"]


def test_a_digest_makes_it_exact_or_different() -> None:
    frames = material(*GROWING[:2], steps=2).frames
    calls = pl.DataFrame(
        {"session_id": "s", "run_id": "r", "step": [0, 1], "input_tokens": [1, 2]}, schema_overrides={"step": pl.Int32}
    )
    known = pl.DataFrame([{**dict.fromkeys(FACTS), "session_id": "s", "run_id": "r"}], schema=FACTS)
    digests = pl.DataFrame(
        {"run_id": ["r", "r"], "step": [0, 1], "recorded": ["a", "b"], "rebuilt": ["a", "c"]},
        schema_overrides={"step": pl.Int32},
    )
    found = verify(measure(frames, project(frames, AsRecorded())), calls, known, digests)
    assert found.select("fidelity", "reason").rows() == [("exact", None), ("opaque", "differs_from_recorded")]


def worked(
    name: str, *, command: str = "pytest", printed: str = "ok", tool: str = "Bash", asked: str = "Mend it."
) -> Log:
    log = Log(name)
    log.asks(asked)
    log.answers(text(f"Said by {name}."), tool_use("c1", "Read", file_path="a.py"), used=usage())
    log.returns("c1", "x = 1")
    log.answers(tool_use("c2", tool, command=command))
    log.returns("c2", printed)
    log.answers(text("Done."))
    return log


@pytest.mark.parametrize(
    ("other", "what", "same"),
    [
        ({}, Parting.NOTHING, 5),
        ({"asked": "Break it."}, Parting.TASK, 0),
        ({"tool": "Shell"}, Parting.TOOL, 3),
        ({"command": "pytest -x"}, Parting.ARGUMENTS, 3),
        ({"printed": "1 failed"}, Parting.RESULT, 4),
    ],
)
def test_runs_part_at_the_first_deed_that_differs(
    ledger: lk.Ledger, tmp_path: Path, other: dict[str, str], what: Parting, same: int
) -> None:
    imported(ledger, tmp_path / "logs", worked("one"), worked("two", **other))
    found = ledger.first_divergence(uid("one"), uid("two"))
    assert (found.what, found.same) == (what, same)
    again = ledger.first_divergence(uid("two"), uid("one"))
    assert (again.what, again.same) == (what, same)
    assert str(found.same) in found.sentence


def test_a_run_that_ended_earlier_says_so(ledger: lk.Ledger, tmp_path: Path) -> None:
    short = worked("short")
    short.records = short.records[:3]
    imported(ledger, tmp_path / "logs", worked("long"), short)
    found = ledger.first_divergence(uid("long"), uid("short"))
    assert found.what is Parting.END
    assert found.b is None
    assert found.a is not None
    assert found.a["tool_name"] == "Bash"


RUN = (
    task(), call("a", "Read"), result("a", "long " * 60, 1), call("b", "Read", 1), result("b", "more " * 60, 2),
    part("ASSISTANT_RESPONSE", "Done.", at=3),
)  # fmt: skip


@pytest.mark.slow
@given(st.integers(1, 4), st.integers(20, 400))
def test_the_first_difference_of_two_strategies_is_that_of_their_contexts(keep: int, budget: int) -> None:
    frames = material(*RUN, steps=4).frames
    a, b = project(frames, LastObservations(keep)), project(frames, TokenWindow(budget))
    held = [
        [set(frames.context(one.placements, 0, step).select("part", "rendition").rows()) for step in range(4)]
        for one in (a, b)
    ]
    wanted = next((step for step in range(4) if held[0][step] != held[1][step]), None)
    found = first_difference(frames, a, b)
    assert found["step"].to_list() == ([] if wanted is None else [wanted])
    if wanted is not None:
        assert found["only_a"].item() == len(held[0][wanted] - held[1][wanted])
        assert found["only_b"].item() == len(held[1][wanted] - held[0][wanted])


@pytest.mark.long
def test_a_ledger_is_verified_and_compared(demo_path: Path) -> None:
    with lk.open(demo_path) as ledger:
        steps = ledger.verify_replay()
        formats = ledger.replay_fidelity()
        assert steps.height == ledger.sql("select count(*) as n from model_calls where step is not null")["n"][0]
        assert dict(formats.select("source_format", "opaque").iter_rows())["ledgerkit-jsonl"] == 0
        assert ledger.first_difference(FullHistory(), FullHistory()).height == 0
        assert ledger.first_difference(FullHistory(), LastObservations(1)).height > 20
        runs = ledger.sql("select run_id from runs where task_id is not null order by task_id, run_id")["run_id"]
    base = ["replay", "--ledger", str(demo_path)]
    table = CliRunner().invoke(main, [*base, "--verify"], env={"COLUMNS": "200"})
    assert "client exact" in table.output
    rows = json.loads(CliRunner().invoke(main, [*base, runs[0], "--verify", "--json"]).output)
    assert {"rebuilt_tokens", "reported_tokens", "fidelity"} <= set(rows[0])
    shown = CliRunner().invoke(main, [*base, runs[0], "--against", runs[1]])
    assert shown.exit_code == 0
    assert "deeds" in shown.output
    assert CliRunner().invoke(main, base).exit_code == 2


def test_a_step_is_found_by_failure_by_words_and_by_cost(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = worked("look")
    log.answers(tool_use("c3", "Bash", command="make broken"), used=usage(90_000))
    log.returns("c3", "make: *** [broken] Error 2", is_error=True)
    log.answers(text("It is Broken, as I said."))
    imported(ledger, tmp_path / "logs", log)
    replay = ledger.run(uid("look")).replay()
    costs = [step.call["cost"] for step in replay]
    assert replay.dearest() == costs.index(max(costs))
    failed = replay.next_failure(-1)
    assert failed is not None
    assert "broken" in str(replay.step(failed).came_back["text"].to_list())
    assert replay.next_failure(failed) is None
    assert replay.find("BROKEN") == failed
    assert replay.find("broken", failed) == len(replay) - 1
    assert replay.find("nowhere") is None
