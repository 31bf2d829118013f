"""What the replay widget is told: bounded pages, every part accounted for, the same as the library's own answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.notebook.linked import ReplayTable
from ledgerkit.notebook.module import module_text
from ledgerkit.notebook.page_rows import PAGE, SLICE
from ledgerkit.notebook.pages import BINS, ReplayPages
from ledgerkit.notebook.widget import ReplayWidget
from tests.notebook.hostile import hostile_ledger
from tests.notebook.long import long_ledger

STRATEGIES = ("AsRecorded", "FullHistory", "LastObservations(1)", "TokenWindow(1200)", "SummariseAt(1500)")
_SOME = [pytest.param(n, marks=() if n == 2 else pytest.mark.slow) for n in range(len(STRATEGIES))]
_MOST_BYTES = 160_000


@pytest.fixture(scope="module")
def demo(demo_path: Path) -> Iterator[lk.Ledger]:
    with lk.open(demo_path) as ledger:
        yield ledger


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lk.Run]:
    with long_ledger(tmp_path_factory.mktemp("long"), 1_000) as ledger:
        yield ledger.run(ledger.runs()["run_id"][0])


def pages_of(run: lk.Run) -> ReplayPages:
    return ReplayPages(run.replay(strategies=list(STRATEGIES)))


def rows_of(pages: ReplayPages, name: str, strategy: int, step: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while True:
        asked = {"kind": "rows", "id": 1, "list": name, "strategy": strategy, "step": step, "start": len(rows)}
        answer = pages.answer(asked)
        rows += answer["rows"]
        if len(rows) >= answer["total"] or not answer["rows"]:
            return rows


@pytest.mark.parametrize("strategy", _SOME)
def test_the_context_of_each_step_is_that_of_the_library(demo: lk.Ledger, strategy: int) -> None:
    run = demo.run(demo.runs().sort("steps", "run_id", descending=True)["run_id"][0])
    pages = pages_of(run)
    frames = demo.frames([run.run_id])
    projection = lk.strategies.project(frames, pages.sights.strategies[strategy])
    sizes = lk.strategies.measure(frames, projection).steps()["tokens"].to_list()
    for step in range(len(pages.replay)):
        look = pages.answer({"kind": "look", "id": 1, "strategy": strategy, "step": step})
        there = frames.context(projection.placements, 0, step)
        shown = rows_of(pages, "context", strategy, step)
        assert look["tokens"] == sizes[step] == there["tokens"].sum()
        assert len(shown) == there.height
        assert [row["tokens"] for row in shown] == there["tokens"].to_list()
        assert sum(tokens for _, tokens, _ in look["sections"]) == look["tokens"]


@pytest.mark.parametrize("strategy", _SOME)
def test_every_known_part_is_in_or_out_for_a_reason_and_moves_add_up(demo: lk.Ledger, strategy: int) -> None:
    run = demo.run(demo.runs().sort("steps", "run_id", descending=True)["run_id"][0])
    pages = pages_of(run)
    before: set[int] = set()
    for step in range(len(pages.replay)):
        history = rows_of(pages, "history", strategy, step)
        by_state: dict[str, set[int]] = {}
        for row in history:
            by_state.setdefault(row["state"], set()).add(row["row"])
        now = by_state.get("in", set()) | by_state.get("new", set()) | by_state.get("changed", set())
        context = {row["row"] for row in rows_of(pages, "context", strategy, step) if row["row"] is not None}
        assert context == now
        assert now - before == by_state.get("new", set())
        assert before - now == by_state.get("left", set())
        out = rows_of(pages, "out", strategy, step)
        assert all(row["why"] for row in out)
        assert {row["row"] for row in out} == by_state.get("out", set()) | by_state.get("left", set())
        moved = rows_of(pages, "moved", strategy, step)
        moves = [by_state.get(name, set()) for name in ("new", "changed", "left")]
        assert {row["row"] for row in moved} == moves[0] | moves[1] | moves[2]
        before = now


def test_reasons_are_those_of_the_projector(demo: lk.Ledger) -> None:
    run = demo.run(demo.runs().sort("steps", "run_id", descending=True)["run_id"][0])
    pages = ReplayPages(run.replay(lk.Audience.AUDIT, strategies=list(STRATEGIES)))
    step = len(pages.replay) - 1
    context = run.project(step, pages.sights.strategies[2])
    told = {row["reason"]: row["parts"] for row in context.left_out.iter_rows(named=True)}
    out = rows_of(pages, "out", 2, step)
    said = pl.Series([row["why"].replace(" ", "_") for row in out]).value_counts()
    assert dict(said.iter_rows()) == told
    for_people = pages_of(run)
    look = for_people.answer({"kind": "look", "id": 1, "strategy": 2, "step": step})
    withheld = pages.sights.parts.height - for_people.sights.parts.height
    assert look["withheld"] == withheld > 0, "what people may not see is counted"


def test_no_answer_grows_with_the_run(long: lk.Run) -> None:
    pages = pages_of(long)
    last = len(pages.replay) - 1
    asked: list[dict[str, Any]] = [
        {"kind": "look", "strategy": 1, "step": last, "history": {"start": 1800}, "context": {"start": 1800}},
        {"kind": "steps", "strategy": 1, "start": 0, "count": 10**9},
        {"kind": "timeline", "strategy": 1},
        {"kind": "rows", "list": "history", "strategy": 1, "step": last, "start": 600, "count": 10**9},
    ]
    for one in asked:
        answer = pages.answer({**one, "id": 7})
        assert "error" not in answer
        assert answer["id"] == 7
        assert len(json.dumps(answer).encode()) < _MOST_BYTES
    assert len(pages.answer(asked[1])["rows"]) == PAGE
    assert len(pages.answer(asked[2])["bins"]) <= BINS
    assert len(json.dumps(pages.head)) < 4_000
    widget: Any = ReplayWidget(long)
    state: dict[str, Any] = widget.get_state()
    assert sum(len(json.dumps(value)) for key, value in state.items() if not key.startswith("_")) < 10_000


def test_the_timeline_covers_every_step_once(long: lk.Run) -> None:
    bins = pages_of(long).answer({"kind": "timeline", "id": 1, "strategy": 0})["bins"]
    assert [one[0] for one in bins] == [0, *(one[1] for one in bins[:-1])]
    assert bins[-1][1] == 1_000
    assert sum(one[5] == "error" for one in bins) == 25, "every fortieth call failed"


def test_a_long_text_comes_in_slices(tmp_path: Path) -> None:
    body = "".join(f"{n:07} " for n in range(7_000))
    chat = {"messages": [{"role": "user", "content": body}, {"role": "assistant", "content": "Yes?"}]}
    (tmp_path / "chat.jsonl").write_text(json.dumps(chat) + "\n", "utf-8")
    with lk.open(tmp_path / "l") as ledger:
        ledger.import_logs(tmp_path / "chat.jsonl")
        pages = ReplayPages(ledger.run(ledger.runs()["run_id"][0]).replay())
        said = ""
        while True:
            part = pages.answer({"kind": "part", "id": 1, "row": 0, "start": len(said)})
            assert len(part["text"]) <= SLICE
            said += part["text"]
            if len(said) >= part["length"]:
                break
    assert said == body


def test_finding_goes_round(demo: lk.Ledger) -> None:
    pages = pages_of(demo.run(demo.runs().sort("steps", "run_id", descending=True)["run_id"][0]))
    seen: list[int] = []
    after = -1
    while True:
        found = pages.answer({"kind": "find", "id": 1, "words": "PYTEST", "after": after})
        if found["row"] in seen:
            break
        seen.append(found["row"])
        assert found["number"] == len(seen)
        after = found["row"]
    assert len(seen) == found["found"] > 1
    assert found["row"] == seen[0], "from the last hit it goes on at the first"
    nothing = pages.answer({"kind": "find", "id": 1, "words": "no such words", "after": -1})
    assert (nothing["row"], nothing["found"]) == (None, 0)


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        "look",
        {},
        {"kind": "exec"},
        {"kind": "look", "strategy": 99, "step": 0},
        {"kind": "look", "strategy": -1, "step": 0},
        {"kind": "part", "row": 10**9},
        {"kind": "part", "row": "0; drop"},
        {"kind": "rows", "list": "__class__", "strategy": 0, "step": 0},
    ],
)
def test_what_a_page_cannot_ask_is_answered_with_why(demo: lk.Ledger, message: object) -> None:
    answer = pages_of(demo.run(demo.runs()["run_id"][0])).answer(message)
    is_first_part = isinstance(message, dict) and message.get("row") == "0; drop"  # pyright: ignore
    assert is_first_part or str(answer["error"]).endswith((".", "known."))


def test_texts_are_inert_before_they_leave(tmp_path: Path) -> None:
    with hostile_ledger(tmp_path) as ledger:
        pages = ReplayPages(ledger.run(ledger.runs()["run_id"][0]).replay())
        answers: list[object] = [pages.head]
        questions = (
            {"kind": "look"},
            {"kind": "steps"},
            {"kind": "part", "row": 1},
            {"kind": "find", "words": "owned"},
        )
        for asked in questions:
            answers.append(pages.answer({"id": 1, "strategy": 0, "step": 1, **asked}))
    said = json.dumps(answers, ensure_ascii=False)
    assert "owned" in said
    assert not set(said) & {"\x1b", "\x07", "\u202e"}


def test_a_run_without_a_call_is_shown_all_the_same(tmp_path: Path) -> None:
    with lk.open(tmp_path / "l") as ledger:
        part = {"type": "text", "text": "Hi", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
        with ledger.record("s1", "run-1", agent="mine") as recorder:
            fields = {"session_id": "s1", "run_id": "run-1", "kind": "USER_TASK", "actor": "user", "parts": [part]}
            recorder.append(lk.AppendMessageCommand.model_validate(fields))
        pages = ReplayPages(ledger.run("run-1").replay())
        look = pages.answer({"kind": "look", "id": 1, "strategy": 0, "step": 0})
        assert pages.head["steps"] == 0
        assert look["lists"]["history"]["total"] == 1
        assert look["call"] is None
        assert ReplayWidget(ledger.run("run-1")).step == 0


def test_the_widget_keeps_its_place_in_bounds(demo: lk.Ledger) -> None:
    run = demo.run(demo.runs().sort("steps", "run_id", descending=True)["run_id"][0])
    widget = ReplayWidget(run, strategies=["FullHistory", lk.strategies.LastObservations(2)], step=-1)
    steps = len(run.replay())
    assert widget.step == steps - 1
    assert widget.current.number == steps - 1
    widget.step = 10**6
    assert widget.step == steps - 1
    widget.strategy = 1
    with pytest.raises(lk.UnknownNameError, match="numbered from 0"):
        widget.strategy = 2
    assert [one.label for one in widget.strategies] == ["FullHistory()", "LastObservations(n=2, polling=1)"]


def test_another_run_can_be_shown_in_the_same_place(demo: lk.Ledger) -> None:
    ids = demo.runs().sort("run_id")["run_id"]
    widget = ReplayWidget(demo.run(ids[0]), step=2)
    widget.show_run(demo.run(ids[1]), step=1)
    assert widget.head["run_id"] == ids[1]
    assert widget.step == 1


def test_the_module_uses_no_sink_that_makes_text_into_a_page() -> None:
    banned = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "Function(",
              "createContextualFragment", "srcdoc", "setHTML", ".href", "fetch(", "XMLHttpRequest", "import(",
              "WebSocket", 'setAttribute("on', "setAttribute('on", "new Image", ".src")  # fmt: skip
    module = module_text()
    assert [word for word in banned if word in module] == []
    assert module.count("export ") == 1


def test_a_table_of_replays_follows_its_rows(demo_path: Path) -> None:
    with lk.open(demo_path) as ledger:
        calls = ledger.sql("select run_id, step, model from model_calls where step > 1 order by all limit 30")
        table = ReplayTable(ledger, calls, title="calls", limit=10)
        assert (len(table.rows), table.note) == (10, "calls · 10 of 30 rows")
        for number in (0, 9, 4):
            table.chosen = number
            assert table.head["run_id"] == calls["run_id"][number]
            assert table.step == calls["step"][number]
        with pytest.raises(lk.UnknownNameError, match="No row 10"):
            table.chosen = 10
        page = str(table.bundle()[0]["text/html"])
        assert "<caption>" in page
        assert "lk-step" in page
        for unfit in (calls.clear(), calls.drop("run_id")):
            with pytest.raises(lk.QueryError, match="run_id"):
                ReplayTable(ledger, unfit)
