"""The four forms of a report: the same figures, nothing from a log obeyed, a published schema."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import ledgerkit as lk
from ledgerkit import reports
from ledgerkit.comparison import Compared, Gates, compare_runs
from tests.absent import run_without
from tests.comparison.made import drawn, observed
from tests.conftest import NOW, ROOT
from tests.parsed import Parsed
from tests.reports.test_reports import ATTACK

pytest.importorskip("scipy.stats", reason="the extra `stats` is not installed")
SCHEMA = ROOT / "docs" / "schemas" / "comparison.json"
MANY = "| x | y |\n`` [a](http://evil) @all ${HOME} $(reboot)"


@pytest.fixture(scope="module")
def hostile() -> Compared:
    """Tasks, runs, repositories and sets with names that want to be obeyed."""
    random = np.random.default_rng(0)
    before, after = (
        drawn(np.full(40, chance), random, trials=2, name=f"{ATTACK}; reboot #{side}")
        for side, chance in (("old", 0.8), ("new", 0.2))
    )
    renamed = [
        runs.with_columns(
            task_id=runs["task_id"].replace({"task-0000": ATTACK, "task-0001": MANY}),
            repository=runs["task_id"].str.slice(-1).replace({"1": ATTACK}),
        )
        for runs in (before, after)
    ]
    gates = Gates(draws=999, slices=("repository", "length"))
    return compare_runs(renamed[0], renamed[1], gates, names=(f"label={ATTACK}", f"label={MANY}"))


def _printed(found: Compared, *, force_terminal: bool = False) -> str:
    file = io.StringIO()
    out = Console(file=file, width=200, force_terminal=force_terminal, color_system=None)
    out.print(reports.comparison_terminal(found))
    return file.getvalue()


@pytest.fixture(scope="module")
def page(hostile: Compared) -> str:
    return reports.comparison_report(hostile, generated_at=NOW)


def test_hostile_names_are_text_on_the_page(page: str) -> None:
    parsed = Parsed(page)
    assert parsed.tags.isdisjoint({"script", "iframe", "object", "embed", "form", "base"})
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    links = [value for name, value in parsed.attributes if name in ("src", "href", "srcset", "action")]
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in links)
    assert "document.title='owned'" in "".join(parsed.texts)
    assert not {"\x1b", "\u202e"} & set(page)
    policy = [value for name, value in parsed.attributes if name == "content" and "default-src" in value]
    assert policy == [
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    ]


def test_every_link_of_the_page_leads_somewhere_on_it(page: str) -> None:
    parsed = Parsed(page)
    anchors = {value for name, value in parsed.attributes if name == "id"}
    links = {value[1:] for name, value in parsed.attributes if name == "href"}
    assert links <= anchors
    assert any(link.startswith("run-") for link in links)


def test_the_same_comparison_gives_the_same_page(hostile: Compared, page: str) -> None:
    assert reports.comparison_report(hostile, generated_at=NOW) == page


def test_a_run_id_is_one_argument_of_the_command_that_replays_it(hostile: Compared) -> None:
    command = hostile.frame("flips")["candidate_replay"][0]
    printed = subprocess.run(
        ["sh", "-c", command.replace("ledgerkit replay", "printf '%s|'", 1)], capture_output=True, text=True, check=True
    )
    assert printed.stdout == hostile.frame("flips")["candidate_run"][0] + "|"


def test_markdown_keeps_its_tables_and_lets_no_name_be_more_than_a_name(hostile: Compared) -> None:
    text = reports.comparison_markdown(hostile)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in tables} == {11, 5}
    outside = "".join(piece for line in text.splitlines() for piece in line.split("`")[::2])
    assert all(one not in outside for one in ("<script", "evil", "@all", "onerror", "reboot"))
    assert not {"\x1b", "\u202e"} & set(text)


def test_the_terminal_shows_control_characters_instead_of_obeying_them(hostile: Compared) -> None:
    written = _printed(hostile, force_terminal=True)
    assert "Regressed: success" in written
    assert not {"\x1b", "\u202e"} & set(written)


def test_a_notebook_shows_names_as_text(hostile: Compared) -> None:
    fragment = Parsed(reports.comparison_fragment(hostile))
    assert fragment.tags <= {"p", "b", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}


def test_all_forms_state_the_same_figures(hostile: Compared, page: str) -> None:
    row = hostile.frame("metrics", metric="success").row(0, named=True)
    forms = ["".join(Parsed(page).texts), reports.comparison_markdown(hostile), _printed(hostile)]
    for figure in (f"{100 * row['baseline']:.1f} %", f"{100 * row['effect']:+.1f} pp".replace("-", "−")):
        assert all(figure in form for form in forms)


@pytest.mark.long
def test_the_json_form_fits_its_published_schema(demo_path: Path, hostile: Compared) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    with lk.open(demo_path) as ledger:
        sides = [ledger.where(task=one) for one in (["fix-discount", "add-currency"], "fix-discount")]
        found = lk.compare(sides[0], sides[1], gates=["success"])
        assert "Success" in repr(found)
        assert "<table>" in found._repr_html_()  # pyright: ignore[reportPrivateUsage]
        told: dict[str, Any] = json.loads(json.dumps(found.as_data(), allow_nan=False))
    validator.validate(told)
    validator.validate(json.loads(json.dumps({**hostile.as_data(), "manifests": told["manifests"]}, allow_nan=False)))
    assert not validator.is_valid({**told, "status": "fine"})
    assert not validator.is_valid({**told, "more": 1})


def test_the_schema_is_what_the_declarations_say() -> None:
    script = ROOT / "scripts" / "build_comparison_schema_page.py"
    done = subprocess.run([sys.executable, script, "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_not_recorded_is_said_and_never_shown_as_zero() -> None:
    runs = observed(["unknown"] * 3, cost=[None] * 3)
    found = compare_runs(runs, runs, Gates(draws=999))
    shown = "".join(Parsed(reports.comparison_report(found, generated_at=NOW)).texts)
    assert "Not recorded on both sides of any task: success, cost." in shown
    assert "$0" not in shown
    row = found.frame("metrics", metric="success").row(0, named=True)
    assert (row["tasks"], row["effect"], row["verdict"]) == (0, None, "inconclusive")
    assert (row["worst_case"], row["best_case"]) == (-1.0, 1.0)


@pytest.mark.slow
def test_without_the_extra_a_comparison_says_what_to_install(demo_path: Path) -> None:
    program = """
import ledgerkit as lk
with lk.open(sys.argv[2], create=False) as ledger:
    every = ledger.where(task="fix-discount")
    for attempt in (lambda: lk.compare(every, every), ledger.fleet):
        try:
            attempt()
        except lk.MissingExtraError as error:
            print(error)
"""
    done = run_without("scipy,statsmodels", program, str(demo_path))
    assert done.stdout.count("pip install 'agent-ledgerkit[stats]'") == 2, done.stderr


@pytest.mark.slow
def test_without_charts_tables_stand_in_for_pictures(hostile: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledgerkit.charts.can_draw", lambda: False)
    plain = Parsed(reports.comparison_report(hostile, generated_at=NOW))
    assert "table" in plain.tags
    assert "img" not in plain.tags
    assert "agent-ledgerkit[charts]" in "".join(plain.texts)


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_in_chromium_charts_show_links_work_and_nothing_leaves_the_page(page: str, tmp_path: Path) -> None:
    playwright: Any = pytest.importorskip("playwright.sync_api")
    file = tmp_path / "comparison.html"
    file.write_text(page, "utf-8")
    asked: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown: Any = browser.new_page(viewport={"width": 1300, "height": 900})
        dialogs: list[str] = []

        def note_request(request: Any) -> None:
            asked.append(request.url)

        def note_dialog(dialog: Any) -> None:
            dialogs.append(dialog.message)
            dialog.dismiss()

        shown.on("request", note_request)
        shown.on("dialog", note_dialog)
        shown.goto(file.as_uri())
        sizes = shown.eval_on_selector_all("figure img", "all => all.map(i => [i.complete, i.naturalWidth, i.width])")
        assert len(sizes) == 3
        assert all(complete and natural > 200 and width > 200 for complete, natural, width in sizes)
        first = shown.locator("ul.flips a").first
        anchor = first.get_attribute("href")
        first.click()
        assert shown.url.endswith(anchor)
        assert shown.locator("tr:target").count() == 1
        assert shown.locator("tr:target").is_visible()
        assert shown.title().endswith("· ledgerkit")
        assert shown.locator("script").count() == 0
        browser.close()
        assert dialogs == []
    assert [url for url in asked if not url.startswith(("data:", file.as_uri()))] == []
