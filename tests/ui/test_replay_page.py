"""The widget's module in a real browser, without Jupyter: keys, mouse, strategies, hostile text, size on the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ledgerkit as lk
from ledgerkit.notebook.pages import ReplayPages
from tests.browsing import browser
from tests.notebook.hostile import hostile_ledger
from tests.notebook.long import long_ledger
from tests.ui.bare import Bare, bare_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
STRATEGIES = ("AsRecorded", "LastObservations(1)")
_FORWARD = {"j": 1, "ArrowRight": 1, "ArrowDown": 1, "PageDown": 10}
_BACK = {"k": -1, "ArrowLeft": -1, "ArrowUp": -1, "PageUp": -10}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def demo(demo_path: Path) -> Iterator[ReplayPages]:
    with lk.open(demo_path) as ledger:
        longest = ledger.runs().sort("steps", "run_id", descending=True)["run_id"][0]
        yield ReplayPages(ledger.run(longest).replay(strategies=list(STRATEGIES)))


@pytest.fixture
def bare(chromium: Browser, demo: ReplayPages) -> Iterator[Bare]:
    made = bare_page(chromium, demo)
    yield made
    made.page.close()
    assert made.said == [], "the console stays silent"
    assert [url for url in made.requests if not url.startswith(("about:", "data:"))] == [], "nothing is requested"


def test_keys_step_and_python_is_told(bare: Bare) -> None:
    last = len(bare.pages.replay) - 1
    bare.page.locator(".lkr-timeline").focus()
    expected = 0
    for key, by in {**_FORWARD, **_BACK}.items():
        bare.page.keyboard.press(key)
        expected += by
        bare.at(expected)
        assert bare.saved()["step"] == expected
    bare.page.keyboard.press("End")
    bare.at(last)
    bare.page.keyboard.press("j")
    bare.at(last)
    bare.page.keyboard.press("Home")
    bare.at(0)
    slider = bare.page.get_by_role("slider")
    assert slider.get_attribute("aria-valuenow") == "0"
    assert "tokens in context" in (slider.get_attribute("aria-valuetext") or "")


def test_the_mouse_picks_a_step_a_part_and_what_it_says(bare: Bare) -> None:
    bare.page.get_by_role("listbox", name="Steps").get_by_role("option").nth(3).click()
    bare.at(3)
    history = bare.page.get_by_role("listbox", name="History: every part of the run")
    chosen = history.get_by_role("option").nth(5)
    row = int(chosen.get_attribute("data-index") or "")
    chosen.click()
    detail = bare.page.get_by_role("region", name="The chosen part")
    detail.wait_for()
    reference = detail.get_by_label("Reference of the chosen part").input_value()
    assert reference.startswith("message:")
    assert bare.saved()["selected"] == reference
    part = bare.pages.answer({"kind": "part", "id": 1, "row": row})
    assert reference == part["reference"]
    assert detail.locator("pre").text_content() == part["text"]


def test_python_moves_the_page(bare: Bare) -> None:
    bare.set("step", 5)
    bare.at(5)
    bare.set("strategy", 1)
    bare.at(5, 1)
    assert bare.page.get_by_label("Strategy").evaluate("one => one.selectedIndex") == 1


def test_another_strategy_shows_another_context_and_says_why_parts_are_out(bare: Bare) -> None:
    last = len(bare.pages.replay) - 1
    bare.set("step", last)
    bare.at(last)
    sizes = [bare.pages.answer({"kind": "look", "id": 1, "strategy": n, "step": last})["tokens"] for n in (0, 1)]
    assert sizes[0] != sizes[1]
    assert f"{sizes[0]:,} tokens" in bare.page.locator(".lkr-figures").inner_text()
    bare.page.get_by_label("Strategy").select_option(index=1)
    bare.at(last, 1)
    assert f"{sizes[1]:,} tokens" in bare.page.locator(".lkr-figures").inner_text()
    bare.page.get_by_role("button", name="List what is out, and why").click()
    bare.page.get_by_role("listbox", name="Context of the step").get_by_text("not visible").first.wait_for()
    bare.page.locator(".lkr-timeline").focus()
    bare.page.keyboard.press("s")
    bare.at(last, 0)


def test_search_goes_from_hit_to_hit(bare: Bare) -> None:
    bare.page.locator(".lkr-timeline").focus()
    bare.page.keyboard.press("/")
    bare.page.keyboard.type("pytest")
    bare.page.keyboard.press("Enter")
    bare.page.get_by_role("status").get_by_text("1 of ").wait_for()
    first = bare.saved()["selected"]
    bare.page.keyboard.press("Escape")
    bare.page.keyboard.press("n")
    bare.page.get_by_role("status").get_by_text("2 of ").wait_for()
    assert bare.saved()["selected"] != first
    bare.page.get_by_label("Search the run").fill("no such words")
    bare.page.keyboard.press("Enter")
    bare.page.get_by_role("status").get_by_text("Nothing says").wait_for()


def test_the_next_failure_is_one_of_the_run(bare: Bare) -> None:
    bins = bare.pages.answer({"kind": "timeline", "id": 1, "strategy": 0})["bins"]
    failures = [one[0] for one in bins if one[5] in ("failed", "error") and one[0] > 0]
    assert failures, "the longest demo run failed on the way"
    bare.page.locator(".lkr-timeline").focus()
    bare.page.keyboard.press("f")
    bare.at(failures[0])


def test_everything_has_a_name_and_what_has_the_focus_shows_it(bare: Bare) -> None:
    unnamed = bare.page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, [role=listbox], [role=slider]")]
        .filter((one) => !(one.getAttribute("aria-label") || one.textContent)).map((one) => one.className)"""
    )
    assert unnamed == []
    for name in (".lkr-timeline", ".lkr-steps .lkr-list", ".lkr-select"):
        bare.page.keyboard.press("Tab")
        bare.page.locator(name).focus()
        assert bare.page.locator(name).evaluate("one => getComputedStyle(one).outlineStyle") != "none"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_can_be_read(chromium: Browser, demo: ReplayPages, dark: bool) -> None:
    made = bare_page(chromium, demo, dark=dark, step=4)
    poor = made.page.evaluate(_CONTRAST)
    made.page.close()
    assert poor == [], "contrast of text below 4.5"


@pytest.mark.parametrize("width", [1280, 800, 420])
def test_nothing_runs_over_the_edge(chromium: Browser, demo: ReplayPages, width: int) -> None:
    made = bare_page(chromium, demo, width=width)
    over = made.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    made.page.close()
    assert over <= 0


def test_a_hostile_run_is_inert_in_the_page(chromium: Browser, tmp_path: Path) -> None:
    with hostile_ledger(tmp_path) as ledger:
        made = bare_page(chromium, ReplayPages(ledger.run(ledger.runs()["run_id"][0]).replay()))
        page = made.page
        for key in ("j", "j", "k"):
            page.locator(".lkr-timeline").focus()
            page.keyboard.press(key)
        page.get_by_role("listbox", name="History: every part of the run").get_by_role("option").nth(1).click()
        page.get_by_role("region", name="The chosen part").wait_for()
        page.get_by_label("Search the run").fill("<script>")
        page.keyboard.press("Enter")
        page.get_by_role("status").get_by_text("1 of ").wait_for()
        page.wait_for_timeout(100)
        assert page.title() == "Replay"
        assert page.locator("#here script, #here img, #here svg, #here a, #here iframe").count() == 0
        assert "<script>document.title='owned'</script>" in page.locator(".lkr-body").text_content()  # pyright: ignore
        page.close()
        assert made.said == []
        assert [url for url in made.requests if not url.startswith(("about:", "data:"))] == []


def test_a_long_run_is_a_few_elements_and_small_messages(chromium: Browser, tmp_path: Path) -> None:
    with long_ledger(tmp_path, 1_000) as ledger:
        run = ledger.run(ledger.runs()["run_id"][0])
        made = bare_page(chromium, ReplayPages(run.replay(strategies=list(STRATEGIES))))
        made.page.locator(".lkr-timeline").focus()
        made.page.keyboard.press("End")
        made.at(999)
        made.page.locator(".lkr-history .lkr-list").evaluate("one => { one.scrollTop = one.scrollHeight / 2; }")
        made.page.wait_for_timeout(300)
        rows = made.page.locator(".lkr-row").count()
        columns = made.page.locator(".lkr-column").count()
        loading = made.page.locator(".lkr-loading").count()
        made.page.close()
    assert rows < 120
    assert columns <= 400
    assert loading == 0
    assert max(made.sizes) < 160_000
    assert made.said == []


@pytest.mark.parametrize("style", ["display: none", "content-visibility: hidden"])
def test_a_list_that_was_out_of_the_page_comes_back_where_it_was(bare: Bare, style: str) -> None:
    last = len(bare.pages.replay) - 1
    bare.set("step", last)
    bare.at(last)
    bare.page.wait_for_timeout(150)
    history = bare.page.locator(".lkr-history .lkr-list")
    for given in (style, ""):
        bare.page.evaluate("(style) => { document.getElementById('here').style.cssText = style; }", given)
        bare.page.wait_for_timeout(250)
    shown = history.evaluate(
        """(list) => {
            const box = list.getBoundingClientRect();
            const rows = [...list.querySelectorAll(".lkr-row")].map((row) => row.getBoundingClientRect());
            return rows.filter((row) => row.bottom > box.top && row.top < box.bottom).length;
        }"""
    )
    assert shown >= 5, "the rows in view are there"
    assert history.evaluate("(list) => list.scrollTop") > 0


def test_held_keys_do_not_pile_up_questions(bare: Bare) -> None:
    bare.page.locator(".lkr-timeline").focus()
    before = len(bare.sizes)
    for _ in range(12):
        bare.page.keyboard.press("j")
    bare.at(12)
    assert len(bare.sizes) - before <= 14


_CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = (color, under) => {
    canvas.globalCompositeOperation = "source-over";
    canvas.fillStyle = `rgb(${under.join(",")})`; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const linear = (v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = (c) => { const [r, g, b] = c.map((v) => linear(v / 255)); return .2126 * r + .7152 * g + .0722 * b; };
  const page = matchMedia("(prefers-color-scheme: dark)").matches ? [20, 24, 29] : [255, 255, 255];
  const ground = (one) => {
    const up = [];
    for (let e = one; e; e = e.parentElement) up.unshift(getComputedStyle(e).backgroundColor);
    return up.reduce((under, color) => rgb(color, under), page);
  };
  const poor = [];
  for (const one of document.querySelectorAll("#here *")) {
    if (one.closest("[aria-hidden=true]") || !one.checkVisibility()) continue;
    if (![...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    const under = ground(one), ink = rgb(getComputedStyle(one).color, under);
    const [a, b] = [light(under), light(ink)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) poor.push(`${one.className}: ${one.textContent.slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return poor;
}"""
