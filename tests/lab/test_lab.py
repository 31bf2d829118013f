"""JupyterLab, started for real and driven in a browser: the widget, its keys, the kernel behind it, hostile text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("jupyterlab", reason="the extra notebook is not installed")

from ledgerkit.notebook.lab import Lab, prepare_lab
from tests.browsing import browser, chromium_path
from tests.lab.server import asked, connection_file, opened, running, shut_kernels, write_notebook
from tests.notebook.hostile import hostile_ledger

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
_SETUP = "from ledgerkit import notebook\nledger = notebook.demo_ledger()\nledger"
_WIDGET = """
longest = ledger.runs().sort("steps", "run_id", descending=True)["run_id"][0]
widget = notebook.ReplayWidget(ledger.run(longest), strategies=["AsRecorded", "LastObservations(1)"])
widget
"""
_DONE = "print('ALL-' + 'DONE')"
_HOSTILE = """
import ledgerkit as lk
from ledgerkit import notebook
ledger = lk.open({path!r})
run = ledger.run(ledger.runs()["run_id"][0])
"""


@dataclass
class Place:
    """A server that runs, and a browser."""

    address: str
    room: Path
    lab: Lab
    browser: Browser


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    chromium_path()  # skips before a server is started
    room = tmp_path_factory.mktemp("lab")
    lab = prepare_lab(room / "notebooks")
    with running(lab, room) as address, browser() as started:
        yield Place(address, room, lab, started)


@pytest.fixture(autouse=True)
def no_kernels(place: Place) -> Iterator[None]:
    yield
    shut_kernels(place.address)


def test_the_widget_steps_and_python_sees_it(place: Place) -> None:
    cells = (_SETUP, _WIDGET, "ledger.run(longest).replay()", _DONE)
    write_notebook(place.lab.folder / "widget.ipynb", *cells)
    with opened(place.browser, place.address, "widget.ipynb") as lab:
        lab.run_all()
        widget = lab.notebook.locator(".lk-replay[data-ready='1']").first
        widget.wait_for()
        kernel = connection_file(place.address, place.room)
        widget.locator(".lkr-timeline").focus()
        for key in ("j", "ArrowRight", "j"):
            lab.page.keyboard.press(key)
        lab.notebook.locator(".lk-replay[data-step='3']").first.wait_for()
        assert asked(kernel, "widget.step, widget.current.number") == "(3, 3)"
        widget.locator(".lkr-steps .lkr-row").nth(1).click()
        lab.notebook.locator(".lk-replay[data-step='1']").first.wait_for()
        assert asked(kernel, "widget.step") == "1"
        asked(kernel, "setattr(widget, 'step', 8)")
        lab.notebook.locator(".lk-replay[data-step='8']").first.wait_for()
        before = widget.locator(".lkr-figures").inner_text()
        widget.get_by_label("Strategy").select_option(index=1)
        lab.notebook.locator(".lk-replay[data-strategy='1']").first.wait_for()
        assert widget.locator(".lkr-figures").inner_text() != before
        assert asked(kernel, "widget.strategy") == "1"
        widget.locator(".lkr-history .lkr-row").nth(5).click()
        widget.locator(".lkr-detail").wait_for()
        assert asked(kernel, "widget.selected").strip("'").startswith("message:")
        assert lab.notebook.locator(".lk-replay[data-ready='1']").count() == 2, "run.replay() shows one, too"
        assert lab.said == []
        assert {url.split("/")[2].split(":")[0] for url in lab.requests if url.startswith("http")} == {"127.0.0.1"}


def test_a_row_leads_to_its_replay(place: Place) -> None:
    calls = (
        "calls = ledger.sql('select run_id, step, model, input_tokens from model_calls where step > 1 order by all')"
    )
    table = "table = notebook.ReplayTable(ledger, calls[::9], title='calls', limit=20)\ntable"
    write_notebook(place.lab.folder / "rows.ipynb", _SETUP, f"{calls}\n{table}", _DONE)
    with opened(place.browser, place.address, "rows.ipynb", width=1280, height=1000) as lab:
        lab.run_all()
        lab.notebook.locator(".lk-replay[data-ready='1']").first.wait_for()
        kernel = connection_file(place.address, place.room)
        frame = "table._table.frame"
        where = f"(table.replay.facts['run_id'], table.step) == ({frame}['run_id'][{{n}}], {frame}['step'][{{n}}])"
        assert asked(kernel, where.format(n=0)) == "True"
        rows = lab.notebook.locator(".lkr-links tbody tr")
        assert rows.count() == 20
        rows.nth(7).click()
        step = asked(kernel, "table._table.frame['step'][7]")
        lab.notebook.locator(f".lk-replay[data-ready='1'][data-step='{step}']").first.wait_for()
        assert asked(kernel, "table.chosen") == "7"
        assert asked(kernel, where.format(n=7)) == "True"
        assert rows.nth(7).get_attribute("aria-selected") == "true"
        rows.nth(2).get_by_role("button").focus()
        lab.page.keyboard.press("Enter")
        lab.notebook.locator(".lkr-links tbody tr[aria-selected='true']").nth(0).wait_for()
        assert asked(kernel, "table.chosen") == "2"
        assert lab.said == []


def test_a_hostile_run_is_inert_in_the_notebook(place: Place, tmp_path: Path) -> None:
    hostile_ledger(tmp_path).close()
    setup = _HOSTILE.format(path=str(tmp_path / "hostile.ledger"))
    shown = ("ledger", "run", "run.replay()", "run.replay().step(1)", "run.project(1)", "run")
    cells = (
        "notebook.claim_cards(ledger.check_claims())",
        "notebook.views(ledger).parts",
        "notebook.ReplayTable(ledger, ledger.run(run.run_id).parts(), ['run_id', 'step', 'kind', 'text'])",
        _DONE,
    )
    write_notebook(place.lab.folder / "hostile.ipynb", setup, *shown, *cells)
    with opened(place.browser, place.address, "hostile.ipynb") as lab:
        lab.run_all()
        lab.notebook.locator(".lk-replay[data-ready='1']").first.wait_for()
        lab.notebook.locator(".lkr-timeline").first.focus()
        lab.page.keyboard.press("j")
        lab.page.wait_for_timeout(200)
        assert "owned" not in lab.page.title()
        assert lab.notebook.locator(".lk script, .lk img[src='x'], .lk svg, .lk-context img").count() == 0
        assert lab.said == []
        assert {url.split("/")[2].split(":")[0] for url in lab.requests if url.startswith("http")} == {"127.0.0.1"}


def test_the_first_notebook_runs_as_it_is_delivered(place: Place) -> None:
    first = place.lab.first
    with opened(place.browser, place.address, first, width=800) as lab:
        lab.command("notebook:run-all-cells")
        failed = lab.notebook.locator('[data-mime-type="application/vnd.jupyter.error"]')
        assert failed.count() == 0
        lab.notebook.locator(".lk-picture").first.wait_for()
        for theme in ("JupyterLab Dark", "JupyterLab Light"):
            lab.theme(theme)
            shown = "dark" if theme.endswith("Dark") else "light"
            hidden = "light" if shown == "dark" else "dark"
            picture = lab.notebook.locator(".lk-picture").first
            assert picture.locator(f".lk-{shown}").is_visible()
            assert not picture.locator(f".lk-{hidden}").is_visible()
        assert lab.said == []
