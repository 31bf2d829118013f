"""Takes the pictures of docs/notebooks.md: JupyterLab as a reader meets it, at two widths, light and dark.

PYTHONPATH=. python scripts/take_notebook_pictures.py docs/images
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import ledgerkit as lk
from ledgerkit.notebook import export_replay
from ledgerkit.notebook.lab import prepare_lab
from tests.browsing import browser
from tests.lab.server import Opened, opened, running, write_notebook

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_THEMES: Final = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
_CELLS: Final = (
    "from ledgerkit import charts, notebook\nledger = notebook.demo_ledger()\nnotebook.use_charts()\nledger",
    "run = ledger.run('126abe30')\nstrategies = ['AsRecorded', 'LastObservations(2)']\n"
    "widget = notebook.ReplayWidget(run, strategies=strategies, step=13)\nwidget",
    "notebook.claim_cards(ledger.check_claims(), limit=6)",
    "charts.context_composition(run.replay().composition('AsRecorded', by='trust_level'))",
    "print('ALL-' + 'DONE')",
)
_SHOTS: Final = {"ledger": 0, "replay": 1, "claims": 2}
_KEPT: Final = (
    "ledger-1280-light",
    "claims-800-dark",
    "replay-1280-light",
    "replay-1280-dark",
    "replay-800-light",
    "replay-800-dark",
)


def main(out: Path) -> None:
    """Takes them all."""
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        lab = prepare_lab(room / "lab")
        write_notebook(lab.folder / "pictures.ipynb", *_CELLS)
        with running(lab, room) as address, browser() as started:
            _take_page(started, lab.ledger, out)
            for width, height in ((1280, 860), (800, 960)):
                with opened(started, address, "pictures.ipynb", width=width, height=height) as shown:
                    shown.command("application:toggle-left-area")
                    shown.run_all()
                    shown.notebook.locator(".lk-replay[data-ready='1']").first.wait_for()
                    shown.notebook.locator(".lkr-history .lkr-row").nth(6).click()
                    shown.notebook.locator(".lkr-detail").wait_for()
                    for name, theme in _THEMES.items():
                        shown.theme(theme)
                        _take(shown, out, f"{width}-{name}")


def _take_page(started: Browser, ledger: Path, out: Path) -> None:
    """The replay as a page of its own."""
    with lk.open(ledger) as opened_ledger:
        replay = opened_ledger.run("126abe30").replay(strategies=["AsRecorded", "LastObservations(2)"])
        page_file = export_replay(replay, ledger.parent / "page.html")
    page = started.new_page(viewport={"width": 1280, "height": 860}, color_scheme="light")
    page.goto(page_file.as_uri() + "#step=13")
    page.locator(".lk-replay[data-ready='1']").wait_for()
    page.locator(".lkr-history .lkr-row").nth(6).click()
    page.locator(".lkr-detail").wait_for()
    page.wait_for_timeout(300)
    page.screenshot(path=out / "replay-page-light.png")
    page.close()


def _take(shown: Opened, out: Path, name: str) -> None:
    for what, cell in _SHOTS.items():
        if f"{what}-{name}" not in _KEPT:
            continue
        shown.page.evaluate(
            """(n) => [...document.querySelectorAll(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell")][n]
                .scrollIntoView({block: "start"})""",
            cell,
        )
        shown.page.wait_for_timeout(700)
        path = out / f"notebook-{what}-{name}.png"
        shown.page.screenshot(path=path)
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
