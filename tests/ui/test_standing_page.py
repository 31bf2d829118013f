"""The replay as a page that stands alone: the same answers as Python's, links to steps, hostile text inert."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.notebook.html import static
from ledgerkit.notebook.module import STANDING
from ledgerkit.notebook.pages import ReplayPages
from ledgerkit.notebook.standing import export_replay
from tests.browsing import browser
from tests.notebook.hostile import hostile_ledger

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
STRATEGIES = ("AsRecorded", "LastObservations(1)", "HeadTail(40, 20) | ClearAt(2000)", "SummariseAt(1500, 500, 90)")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


class Opened:
    """A page from a file, and what it did."""

    def __init__(self, chromium: Browser, path: Path, place: str = "") -> None:
        self.page: Page = chromium.new_page(viewport={"width": 1280, "height": 900})
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri() + place)
        self.page.locator(".lk-replay[data-ready='1']").wait_for()

    def close(self) -> None:
        self.page.close()
        assert self.said == [], "the console stays silent"
        assert [url for url in self.requests if not url.startswith(("file:", "data:"))] == [], "nothing is requested"
        assert len({url.partition("#")[0] for url in self.requests}) == 1


def questions(pages: ReplayPages, draw: random.Random) -> list[dict[str, Any]]:
    """Questions of every kind, at random places and at the ends."""
    steps, parts = len(pages.replay), pages.replay.parts.height
    asked: list[dict[str, Any]] = []
    for strategy in range(len(pages.sights.strategies)):
        asked.append({"kind": "timeline", "strategy": strategy})
        asked.append({"kind": "steps", "strategy": strategy, "start": draw.randrange(steps), "count": 7})
        for step in (0, steps - 1, *(draw.randrange(steps) for _ in range(6))):
            place = {"strategy": strategy, "step": step}
            views = {name: {"start": draw.randrange(parts), "count": 9} for name in ("history", "context")}
            asked.append({"kind": "look", **place, **views})
            asked.extend(
                {"kind": "rows", "list": name, "start": 0, "count": 200, **place}
                for name in ("history", "context", "moved", "out")
            )
    asked.extend({"kind": "part", "row": draw.randrange(parts), "start": start} for start in (0, 5) for _ in range(10))
    asked.extend({"kind": "find", "words": words, "after": after}
                 for words in ("test", "Bash", "", "nowhere at all") for after in (-1, 8, 10_000))  # fmt: skip
    return [{**one, "id": number} for number, one in enumerate(asked)]


def answers_of(chromium: Browser, path: Path, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the page's own script answers to questions, from the data in its file."""
    found = re.search(
        r'<script type="application/json" id="lkr-run">(.*?)</script>', path.read_text("utf-8"), re.DOTALL
    )
    assert found is not None
    page = chromium.new_page()
    said = page.evaluate(
        """([code, run, asked]) => {
            const Answers = new Function(code + "; return Answers;")();
            const answers = new Answers(JSON.parse(run));
            return asked.map((one) => answers.answer(one));
        }""",
        [static("replay/dom.js") + static(f"replay/{STANDING[0]}"), found[1], asked],
    )  # fmt: skip
    page.close()
    return said


def check_answers(chromium: Browser, pages: ReplayPages, folder: Path, seed: int) -> None:
    path = export_replay(pages.replay, folder, strategies=pages.sights.strategies, allow=["all"])
    asked = questions(pages, random.Random(seed))
    for question, answer in zip(asked, answers_of(chromium, path, asked), strict=True):
        answer.pop("held", None)  # how much of a text came with the page
        assert answer == json.loads(json.dumps(pages.answer(question))), question


def test_the_page_answers_what_python_answers(chromium: Browser, demo_path: Path, tmp_path: Path) -> None:
    with lk.open(demo_path) as ledger:
        runs = ledger.runs().sort("steps", "run_id", descending=True)["run_id"]
        for number, run in enumerate((runs[0], runs[-1])):
            pages = ReplayPages(ledger.run(run).replay(strategies=list(STRATEGIES)))
            check_answers(chromium, pages, tmp_path, number)


@pytest.mark.slow
@pytest.mark.corpus
def test_pages_of_real_runs_answer_what_python_answers(
    chromium: Browser, corpus_import: tuple[Path, lk.ImportAccount], tmp_path: Path
) -> None:
    with lk.open(corpus_import[0]) as ledger:
        runs = ledger.runs().filter(pl.col("steps") > 0).sort("run_id").sample(12, seed=10, shuffle=True)
        compacted = ledger.sql(
            "select min(run_id) as run_id from parts where kind = 'CONTEXT_SUMMARY' and step is not null"
        )
        for number, run in enumerate([*runs["run_id"], *compacted["run_id"].drop_nulls()]):
            check_answers(chromium, ReplayPages(ledger.run(run).replay(strategies=list(STRATEGIES))), tmp_path, number)


def opened_demo(chromium: Browser, demo_path: Path, folder: Path, place: str) -> Opened:
    """The longest demo run under two strategies."""
    with lk.open(demo_path) as ledger:
        run = ledger.runs().sort("steps", "run_id", descending=True)["run_id"][0]
        path = export_replay(ledger.run(run).replay(strategies=list(STRATEGIES[:2])), folder / "run.html")
    return Opened(chromium, path, place)


def test_keys_step_and_the_address_follows(chromium: Browser, demo_path: Path, tmp_path: Path) -> None:
    opened = opened_demo(chromium, demo_path, tmp_path, "#step=3&strategy=1")
    page = opened.page
    page.locator(".lk-replay[data-step='3'][data-strategy='1']").wait_for()
    page.locator(".lkr-timeline").focus()
    page.keyboard.press("j")
    page.locator(".lk-replay[data-step='4']").wait_for()
    assert page.url.endswith("#step=4&strategy=1")
    page.evaluate("location.hash = '#step=2'")
    page.locator(".lk-replay[data-step='2'][data-strategy='0']").wait_for()
    page.get_by_role("listbox", name="History: every part of the run").get_by_role("option").nth(1).click()
    page.get_by_role("region", name="The chosen part").wait_for()
    page.get_by_label("Search the run").fill("pytest")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("1 of ").wait_for()
    opened.close()


def test_a_part_is_chosen_though_rows_are_drawn_anew_while_the_button_is_down(
    chromium: Browser, demo_path: Path, tmp_path: Path
) -> None:
    opened = opened_demo(chromium, demo_path, tmp_path, "#step=2")
    page = opened.page
    page.locator(".lk-replay[data-step='2']").wait_for()
    row = page.get_by_role("listbox", name="History: every part of the run").get_by_role("option").nth(1)
    row.hover()
    page.locator(".lkr-timeline").focus()  # which loses it to the list when the button goes down
    page.mouse.down()
    page.evaluate("location.hash = '#step=2&strategy=1'")
    page.locator(".lk-replay[data-strategy='1']").wait_for()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.mouse.up()
    page.get_by_role("region", name="The chosen part").wait_for()
    opened.close()


@pytest.mark.parametrize("end", ["", "contextmenu", "blur"])
def test_a_pressed_button_whose_release_never_comes_does_not_hold_a_list(
    chromium: Browser, demo_path: Path, tmp_path: Path, end: str
) -> None:
    opened = opened_demo(chromium, demo_path, tmp_path, "#step=2")
    page = opened.page
    page.locator(".lk-replay[data-step='2']").wait_for()
    steps = page.get_by_role("listbox", name="Steps")
    steps.get_by_role("option").nth(2).hover()
    page.mouse.down(button="left" if end else "right")  # the right one opens a menu, which may take its release
    if end:
        page.evaluate("(end) => dispatchEvent(new Event(end))", end)
    page.evaluate("location.hash = '#step=3'")
    page.locator(".lk-replay[data-step='3']").wait_for()
    steps.locator("[aria-selected='true'][aria-posinset='4']").wait_for()
    opened.close()


def test_a_hostile_run_is_inert(chromium: Browser, tmp_path: Path) -> None:
    with hostile_ledger(tmp_path) as ledger:
        path = export_replay(ledger.run(ledger.runs()["run_id"][0]).replay(), tmp_path / "page.html", allow=["all"])
    opened = Opened(chromium, path)
    page = opened.page
    for key in ("j", "j", "k"):
        page.locator(".lkr-timeline").focus()
        page.keyboard.press(key)
    page.get_by_label("Search the run").fill("<script>")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("1 of ").wait_for()
    assert page.title() != "owned"
    assert page.locator("main script, main img, main svg, main a, main iframe").count() == 0
    assert page.locator("script").count() == 2, "the data and the page's own module"
    opened.close()


def test_a_script_that_somebody_adds_does_not_run(chromium: Browser, demo_path: Path, tmp_path: Path) -> None:
    with lk.open(demo_path) as ledger:
        path = export_replay(ledger.run(ledger.runs()["run_id"][0]).replay(), tmp_path / "page.html")
    path.write_text(path.read_text("utf-8").replace("<noscript>", "<script>document.title='owned'</script><noscript>"))
    page = chromium.new_page()
    page.goto(path.as_uri())
    page.locator(".lk-replay[data-ready='1']").wait_for()
    assert page.title() != "owned"
    page.close()
