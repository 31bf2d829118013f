"""Stepping through a run: never the future, and every part of a step in its place."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.replay import Replay, Step
from ledgerkit.safety.gate import visible_to
from tests.builders import (
    Log,
    eventful_session,
    progress_of,
    text,
    thinking,
    tool_use,
    uid,
    usage,
    working_session,
)
from tests.conftest import NOW


def logs(folder: Path) -> None:
    working_session().write(folder / "working.jsonl")
    eventful_session().write(folder / "eventful.jsonl")
    log = Log("late")
    log.asks("Do two things.")
    first = log.answers(tool_use("l1", "Bash", command="slow"), call="late_a")
    second = log.answers(tool_use("l2", "Bash", command="fast"), call="late_a")
    log.returns("l2", "fast result", parent=second)
    log.answers(text("One is done."), call="late_b")
    log.returns("l1", "slow result", parent=first)
    log.answers(text("No response requested."), model="<synthetic>", used=usage(0, 0))
    log.add("system", subtype="turn_duration", durationMs=3)
    log.answers(text("Both are done."), call="late_c")
    log.asks("Never answered.")
    log.write(folder / "late.jsonl")
    log = Log("branches")
    log.asks("one")
    kept = log.answers(text("1"), call="b1")
    for branch in ("left", "right"):
        log.asks(branch, parent=kept)
        log.answers(tool_use(branch), call=f"b_{branch}")
        log.returns(branch, f"{branch} result")
        turned = log.answers(text(f"{branch} end"), call=f"b_{branch}_end")
        log.asks(f"{branch} on", parent=turned)
        log.answers(text(f"{branch} further"), call=f"b_{branch}_on")
        log.asks(f"{branch} edited", parent=turned)
        log.answers(text(f"{branch} anew"), call=f"b_{branch}_anew")
    log.write(folder / "branches.jsonl")
    log = Log("with agent")
    log.asks("Review.")
    log.answers(tool_use("a1", "Task", prompt="Find."), call="w1")
    side = Log("with agent", agent="a7", session=log.session)
    side.asks("Find.", parent=None)
    side.answers(thinking("hush"), text("Found."), call="w_side")
    for inner in side.records:
        progress_of(log, inner, agent="a7", call="a1")
    log.returns("a1", "Found.", toolUseResult={"agentId": "a7", "totalToolUseCount": 0})
    log.answers(text("Reviewed."), call="w2")
    log.write(folder / "agent.jsonl")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("replay")
    logs(folder / "logs")
    ledger = lk.open(folder / "l", key=bytes(32))
    ledger.import_logs(folder / "logs", now=NOW)
    return ledger


@pytest.fixture(scope="module")
def replays(ledger: lk.Ledger) -> dict[str, Replay]:
    """Every run of the ledger, by the first words that it was given."""
    runs = ledger.sql("select run_id, task from runs where task is not null")
    return {task: ledger.run(run_id).replay() for run_id, task in runs.iter_rows()}


def texts(parts: pl.DataFrame) -> list[str]:
    return [said for said in parts["text"].to_list() if said is not None]


# What holds for every run


def own(parts: pl.DataFrame) -> pl.DataFrame:
    return parts.filter(pl.col("inherited") == 1)


def test_there_are_runs_of_every_kind(ledger: lk.Ledger) -> None:
    relations = ledger.sql("select relation, count(*) from runs group by 1")
    assert {"rewind", "subagent", None} == {relation for relation, _ in relations.iter_rows()}


def test_a_step_sees_nothing_that_came_with_its_own_call_or_later(replays: dict[str, Replay]) -> None:
    for replay in replays.values():
        for step in replay:
            began = step.wrote["sequence_no"].min()
            seen = own(step.visible)
            assert seen.filter(pl.col("sequence_no") >= began).height == 0
            assert (seen["visible_from"] <= step.number).all()
            assert seen.filter(pl.col("step") > step.number).height == 0


def test_what_a_step_sees_is_what_the_step_before_saw_and_what_entered(replays: dict[str, Replay]) -> None:
    for replay in replays.values():
        seen: list[str] = []
        for step in replay:
            ids = step.visible["part_id"].to_list()
            assert ids[: len(seen)] == seen or step.number == 0 or sorted(ids) == sorted({*seen, *ids})
            assert set(ids) == {*seen, *step.entered["part_id"]}
            assert set(seen).isdisjoint(step.entered["part_id"])
            assert len(ids) == len(set(ids))
            seen = ids


def test_parts_of_a_step_stand_in_one_place_each(replays: dict[str, Replay]) -> None:
    for replay in replays.values():
        for step in replay:
            places = [step.wrote, step.came_back, step.beside, own(step.entered)]
            ids = [part_id for place in places for part_id in place["part_id"]]
            assert len(ids) == len(set(ids))


@pytest.mark.long
def test_every_part_of_a_run_is_seen_written_or_noted_somewhere(ledger: lk.Ledger) -> None:
    for (run_id,) in ledger.sql("select run_id from runs").iter_rows():
        run = ledger.run(run_id)
        replay = run.replay(lk.Audience.AUDIT)
        met = set(replay.after()["part_id"])
        for step in replay:
            for place in (step.visible, step.wrote, step.came_back, step.beside):
                met |= set(place["part_id"])
        seen, _ = visible_to(run.parts(), lk.Audience.AUDIT)
        assert met >= set(seen["part_id"])


def test_what_came_back_is_seen_later_or_never(replays: dict[str, Replay]) -> None:
    for replay in replays.values():
        for step in replay:
            later = {
                part_id for n in range(step.number + 1, len(replay)) for part_id in replay.step(n).visible["part_id"]
            }
            # What the last call got back was seen by none.
            assert set(step.came_back["part_id"]) <= later or step.number == len(replay) - 1
            assert set(step.came_back["part_id"]).isdisjoint(step.visible["part_id"])


def test_the_model_never_sees_what_is_for_people_or_audits(replays: dict[str, Replay]) -> None:
    for replay in replays.values():
        for step in replay:
            assert set(step.visible["part_visibility"]) <= {"MODEL_VISIBLE", "REDACTED"}
            assert step.visible.filter(pl.col("kind") == "AGENT_THOUGHT_SUMMARY").height == 0


def test_visible_tokens_are_those_of_the_visible_parts(replays: dict[str, Replay]) -> None:
    for replay in replays.values():
        counts = [step.visible_tokens for step in replay]
        assert counts == [int(step.visible["token_count"].fill_null(0).sum()) for step in replay]
        assert counts == sorted(counts)


# One run, looked at closely


def test_a_result_that_came_late_belongs_to_the_call_that_asked_and_is_seen_from_then_on(
    replays: dict[str, Replay],
) -> None:
    first, second, third = replays["Do two things."]
    assert texts(first.came_back) == ["fast result", "slow result"]
    assert texts(second.visible) == ["Do two things.", "fast result"]
    assert texts(second.wrote) == ["One is done."]
    assert texts(second.came_back) == []
    assert texts(third.visible) == [
        *("Do two things.", "fast result", "One is done.", "slow result", "No response requested."),
    ]


def test_what_came_after_the_last_call_was_seen_by_none(replays: dict[str, Replay]) -> None:
    replay = replays["Do two things."]
    assert texts(replay.after()) == ["Never answered."]
    for step in replay:
        assert "Never answered." not in texts(step.visible)


def test_a_rewound_run_begins_with_what_came_before_the_branch_and_nothing_else(replays: dict[str, Replay]) -> None:
    right = replays["right"]
    assert texts(right.step(0).visible) == ["one", "1", "right"]
    assert right.step(0).visible["inherited"].to_list() == [0, 0, 1]
    edited = replays["right edited"].step(0)
    assert texts(edited.visible) == ["one", "1", "right", "right result", "right end", "right edited"]
    assert edited.entered.equals(edited.visible)
    assert edited.visible["inherited"].to_list() == [0, 0, 0, 0, 0, 0, 1]
    left = replays["left edited"].step(0)
    assert texts(left.visible) == ["one", "1", "left", "left result", "left end", "left edited"]


def test_a_subagent_inherits_nothing(replays: dict[str, Replay]) -> None:
    for prompt in ("Find.", "Find the tests."):
        assert texts(replays[prompt].step(0).visible) == [prompt]
        assert replays[prompt].step(0).visible["inherited"].to_list() == [1]


def test_steps_are_numbered_from_zero_and_from_the_end(replays: dict[str, Replay]) -> None:
    replay = replays["Do two things."]
    assert len(replay) == 3
    assert [step.number for step in replay] == [0, 1, 2]
    assert replay.step(-1).number == 2
    assert _same(replay.step(-3), replay.step(0))


@pytest.mark.parametrize("number", [3, -4, 99])
def test_a_step_that_is_not_there_is_an_error_that_says_how_many_there_are(
    replays: dict[str, Replay], number: int
) -> None:
    with pytest.raises(lk.UnknownNameError, match="the run has the steps 0 to 2"):
        replays["Do two things."].step(number)


def _same(one: Step, other: Step) -> bool:
    return one.number == other.number and one.visible.equals(other.visible) and one.wrote.equals(other.wrote)


def test_a_run_without_model_calls_has_no_steps(tmp_path: Path) -> None:
    log = Log("silent")
    log.asks("Anybody?")
    ledger = lk.open(tmp_path / "l", key=bytes(32))
    ledger.import_logs(log.write(tmp_path / "a.jsonl"), now=NOW)
    replay = ledger.run(uid("silent")).replay()
    assert len(replay) == 0
    assert list(replay) == []
    assert texts(replay.after()) == ["Anybody?"]


def test_a_step_carries_the_cost_of_its_call(replays: dict[str, Replay]) -> None:
    step = replays["Do two things."].step(0)
    assert step.call["cost"] > 0


@pytest.mark.slow
@pytest.mark.corpus
def test_no_real_run_shows_a_step_its_future(corpus: Path, tmp_path: Path) -> None:
    ledger = lk.open(tmp_path / "l", key=bytes(32))
    ledger.import_logs(corpus / "claude-code" / "spotter", corpus / "claude-code" / "episodic-memory", now=NOW)
    checked = 0
    for (run_id,) in ledger.sql("select run_id from runs where steps > 0 order by run_id limit 8").iter_rows():
        replay = ledger.run(run_id).replay()
        for number in range(0, len(replay), max(1, len(replay) // 5)):
            step = replay.step(number)
            assert own(step.visible).filter(pl.col("sequence_no") >= step.wrote["sequence_no"].min()).height == 0
            checked += 1
    assert checked > 20
