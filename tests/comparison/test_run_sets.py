"""Run sets: what they choose, how they combine, and that a manifest opens the same runs or refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import ledgerkit as lk
from ledgerkit.run_sets import RunSet
from tests.conftest import NOW, ROOT

OPUS, SONNET = "claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929"


@pytest.fixture(scope="module")
def demo(demo_path: Path) -> Iterator[lk.Ledger]:
    with lk.open(demo_path) as ledger:
        yield ledger


@pytest.fixture(scope="module")
def small_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with three sessions, two of them labelled."""
    folder = tmp_path_factory.mktemp("small")
    files = sorted((ROOT / "data" / "ledgerkit").glob("*.jsonl.gz"))[:3]
    with lk.open(folder / "small.ledger", key=bytes([7] * 32)) as ledger:
        ledger.import_logs(*files, now=NOW)
        runs = ledger.runs()
        first, second, _ = runs.filter(runs["relation"].is_null())["run_id"].sort()
        labels = folder / "labels.csv"
        labels.write_text(f"run_id,arm,flaky\n{first},before,false\n{second},after,true\n", "utf-8")
        ledger.import_labels(labels)
    return folder / "small.ledger"


@pytest.fixture
def small(small_path: Path, tmp_path: Path) -> Iterator[lk.Ledger]:
    """A copy of it, to be changed."""
    with lk.open(shutil.copytree(small_path, tmp_path / "small.ledger")) as ledger:
        yield ledger


@pytest.mark.long
def test_conditions_choose_runs_and_never_subagents(demo: lk.Ledger) -> None:
    runs = demo.runs()
    assert len(demo.where()) == runs.filter(runs["relation"].ne_missing("subagent")).height == 51
    assert len(demo.where(model=OPUS)) == 16
    for name in ("claude-opus-4-5", "opus-4-5", "opus-4-5-20251101"):
        assert set(demo.where(model=name).frame()["run_id"]) == set(demo.where(model=OPUS).frame()["run_id"])
    for name in ("opus", "opus-4", "claude", "opus-4-5-2025", "opus.4.5", ""):
        assert len(demo.where(model=name)) == 0
    assert len(demo.where(model=[OPUS, SONNET], repository="tillroll")) == 16
    assert len(demo.where(task="fix-discount")) == 3
    assert demo.where(since="2026-01-19") | demo.where(until="2026-01-19") == demo.where()
    assert not demo.where(since="2026-01-19") & demo.where(until="2026-01-19")
    failed = demo.where(sql="select run_id from runs where outcome = 'failed'")
    assert set(failed.frame()["outcome"]) == {"failed"}
    assert demo.where(runs=list(failed.ids)) == failed
    assert demo.where(agent="claude-code", agent_version="2.1.38", branch="no such branch").ids == ()


def test_sets_can_be_united_intersected_and_taken_from_each_other(demo: lk.Ledger) -> None:
    opus, one = demo.where(model=OPUS), demo.where(task="fix-discount")
    assert (opus | one) - opus == one - opus
    assert (opus & one).ids == tuple(sorted(set(opus.ids) & set(one.ids)))
    assert len(opus - opus) == 0
    assert (opus & one).name == f"(model={OPUS}) and (task=fix-discount)"


def test_labels_choose_by_name_by_value_and_by_both(small: lk.Ledger) -> None:
    (first,), (second,) = small.where(label="before").ids, small.where(label="arm=after").ids
    assert first != second
    assert small.where(label="arm").ids == tuple(sorted((first, second)))
    assert small.where(label="flaky").ids == (second,)
    assert small.where(label=["before", "after"]) == small.where(label="arm")
    assert small.where(label="arm=nothing").ids == ()


def test_what_a_person_said_of_a_run_chooses_it_and_the_review_is_no_run_of_its_own(small: lk.Ledger) -> None:
    first, second, third = small.where().ids
    small.annotate(first, label="good", tags=["short"], by="ada")
    small.annotate(second, label="good", by="ada")
    small.annotate(second, label="bad", by="ada")
    assert (
        small.where(label="good").ids
        == small.where(label="label=good").ids
        == small.where(label="short").ids
        == (first,)
    )
    assert small.where(label=["bad", "good"]).ids == (first, second)
    assert small.where().ids == (first, second, third)


def test_what_cannot_be_chosen_is_refused_with_what_to_do(demo: lk.Ledger) -> None:
    with pytest.raises(lk.UnknownNameError, match=r"No run 'nope'.*ledgerkit runs"):
        demo.where(runs="nope")
    with pytest.raises(lk.QueryError, match="A column run_id is needed"):
        demo.where(sql="select 1 as one")
    with pytest.raises(lk.QueryError, match="sql is one, not 2"):
        demo.where(sql=["select 1", "select 2"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(lk.QueryError, match="is no day or time"):
        demo.where(since="yesterday")


@pytest.mark.slow
def test_an_observation_counts_what_subagents_did_in_the_run_that_started_them(demo: lk.Ledger) -> None:
    runs = demo.runs()
    child = runs.filter(runs["relation"] == "subagent").row(0, named=True)
    parent = runs.filter(runs["run_id"] == child["parent_run_id"]).row(0, named=True)
    seen = demo.where(runs=parent["run_id"]).observations().row(0, named=True)
    assert seen["subagents"] == 1
    assert seen["steps"] == parent["steps"] + child["steps"]
    assert seen["cost"] == pytest.approx(float(parent["cost"] + child["cost"]))
    assert seen["state"] == (parent["outcome"] or "unknown")


@pytest.mark.slow
def test_a_manifest_opens_the_same_runs_after_the_ledger_grew(small: lk.Ledger, tmp_path: Path) -> None:
    chosen = small.where(label="arm")
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(chosen.manifest()), "utf-8")
    more = sorted((ROOT / "data" / "ledgerkit").glob("*.jsonl.gz"))[3]
    small.import_logs(more, now=NOW)
    opened = small.run_set(path)
    assert opened == chosen
    assert opened.name == chosen.name
    assert opened.observations().equals(chosen.observations())
    assert small.run_set(chosen.manifest()).manifest()["runs"] == chosen.manifest()["runs"]


@pytest.mark.long
def test_a_manifest_is_refused_where_it_no_longer_stands(small: lk.Ledger, demo: lk.Ledger, tmp_path: Path) -> None:
    chosen = small.where(label="arm")
    manifest = chosen.manifest()
    with pytest.raises(lk.ComparisonError, match="is of the ledger"):
        demo.run_set(manifest)
    other = {**manifest, "checkpoint": {**manifest["checkpoint"], "root": "00" * 32}}
    with pytest.raises(lk.ComparisonError, match="its history is another one"):
        small.run_set(other)
    gone = {**manifest, "runs": [{**manifest["runs"][0], "run_id": "gone"}]}
    with pytest.raises(lk.ComparisonError, match="Run gone of the manifest is not in the ledger"):
        small.run_set(gone)
    labels = tmp_path / "more.csv"
    labels.write_text(f"run_id,outcome\n{chosen.ids[0]},failed\n", "utf-8")
    small.import_labels(labels)
    with pytest.raises(lk.ComparisonError, match=f"Run {chosen.ids[0]} is not what it was: messages were added"):
        small.run_set(manifest)
    small.erase(runs=chosen.ids[1], reason="asked for")
    with pytest.raises(lk.ComparisonError, match="is not what it was"):
        small.run_set({**manifest, "runs": [row for row in manifest["runs"] if row["run_id"] == chosen.ids[1]]})


@pytest.mark.parametrize(
    ("given", "said"),
    [({}, "no manifest"), ({"version": 2}, "no manifest"), ("missing.json", "Give a file that holds")],
)
def test_what_is_no_manifest_is_refused(demo: lk.Ledger, given: object, said: str) -> None:
    with pytest.raises(lk.ComparisonError, match=said):
        demo.run_set(given)  # pyright: ignore[reportArgumentType]


def test_a_damaged_manifest_says_what_is_missing(small: lk.Ledger) -> None:
    manifest = small.where().manifest()
    with pytest.raises(lk.ComparisonError, match=r"damaged: KeyError\('head'\)"):
        small.run_set({**manifest, "runs": [{"run_id": "a", "subagent_of": None, "revision": 0, "messages": 1}]})
    with pytest.raises(lk.ComparisonError, match="has version 9"):
        small.run_set({**manifest, "version": 9})


def test_what_a_journal_holds_is_sealed_and_pinned(small: lk.Ledger) -> None:
    part = {"type": "text", "text": "Hi", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
    command = {"session_id": "s1", "run_id": "r1", "kind": "USER_TASK", "actor": "user", "parts": [part]}
    small.append(lk.AppendMessageCommand.model_validate(command))
    manifest = small.where(runs="r1").manifest()
    assert small.run_set(manifest).ids == ("r1",)
    small.append(lk.AppendMessageCommand.model_validate(command))
    with pytest.raises(lk.ComparisonError, match=r"messages were added to it .*messages was 1, is 2"):
        small.run_set(manifest)


def test_a_set_shows_itself_without_obeying_its_name(demo: lk.Ledger) -> None:
    chosen: RunSet = demo.where(task="<script>alert(1)</script>\x1b[2J")
    assert "\x1b" not in repr(chosen)
    assert "<script>" not in chosen._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert repr(demo.where(model=OPUS)) == f"RunSet('model={OPUS}', 16 runs)"


@pytest.mark.slow
def test_a_persons_word_on_a_failure_goes_before_the_verdict(small: lk.Ledger, tmp_path: Path) -> None:
    runs = small.runs()
    run = runs.filter(runs["outcome"].is_not_null())["run_id"][0]
    labels = tmp_path / "failures.csv"
    labels.write_text(f"run_id,failure\n{run},infrastructure\n", "utf-8")
    small.import_labels(labels)
    seen = small.where(runs=run).observations().row(0, named=True)
    assert (seen["state"], seen["state_reason"]) == ("infrastructure", "label")


@pytest.mark.long
def test_runs_without_a_recorded_task_are_paired_by_the_one_that_a_table_gives(
    small: lk.Ledger, tmp_path: Path
) -> None:
    pytest.importorskip("scipy.stats", reason="the extra `stats` is not installed")
    before, after = small.where(label="before"), small.where(label="after")
    with pytest.raises(lk.ComparisonError, match="columns run_id and task_id"):
        lk.compare(before, after)  # two tasks, one on each side
    table = tmp_path / "tasks.csv"
    table.write_text(f"run_id,task_id\n{before.ids[0]},the same\n{after.ids[0]},the same\n", "utf-8")
    assert small.import_labels(table).labelled == 2
    found = lk.compare(small.where(label="before"), small.where(label="after"))
    assert set(found.frame("trials")["pair"]) == {"the same"}
    assert small.where(task="the same").ids == tuple(sorted(before.ids + after.ids))
    assert "Did you mean 'the same'?" in small.where(task="the sane").why_empty()
