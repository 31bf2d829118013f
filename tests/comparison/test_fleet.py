"""The fleet view: periods, reasons, drivers and claims add up to the ledger's own figures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import ledgerkit as lk
from ledgerkit import reports
from ledgerkit.cli import main
from ledgerkit.comparison import fleet
from ledgerkit.fleets import Fleet
from tests.comparison.made import observed
from tests.conftest import NOW
from tests.parsed import Parsed
from tests.reports.test_reports import ATTACK

pytestmark = pytest.mark.long

pytest.importorskip("scipy.stats", reason="the extra `stats` is not installed")
STATES = ["passed"] * 5 + ["failed"] * 3 + ["timed_out", "infrastructure", "unknown"]


@pytest.fixture(scope="module")
def demo(demo_path: Path) -> Iterator[lk.Ledger]:
    with lk.open(demo_path) as ledger:
        yield ledger


@pytest.fixture(scope="module")
def seen(demo: lk.Ledger) -> Fleet:
    return demo.fleet(top=3)


def test_a_period_is_that_in_which_a_run_began() -> None:
    runs = observed(STATES * 3)  # three weeks of days, from a Monday on
    weeks = fleet.trends(runs, "week")
    assert weeks["period"].to_list() == [date(2026, 3, 2), date(2026, 3, 9), date(2026, 3, 16)]
    assert weeks["runs"].sum() == runs.height
    assert fleet.trends(runs, "month")["runs"].to_list() == [33]
    assert fleet.trends(runs, "day").height == 21


def test_success_leaves_out_what_is_not_known_and_has_an_interval() -> None:
    row = fleet.trends(observed(STATES), "month").row(0, named=True)
    assert row["success"] == pytest.approx(5 / 9)
    assert (row["low"], row["high"]) == (pytest.approx(0.2667, abs=1e-4), pytest.approx(0.8112, abs=1e-4))  # Wilson
    assert (row["infrastructure"], row["unknown"], row["runs"]) == (1, 1, 11)
    empty = fleet.trends(observed(["unknown"], cost=[None]), "month").row(0, named=True)
    assert (empty["success"], empty["low"], empty["cost"], empty["priced_runs"]) == (None, None, None, 0)


def test_runs_without_a_time_have_a_row_of_their_own() -> None:
    runs = observed(["passed"] * 3, started_at=[None] * 3, finished_at=[None] * 3)
    assert fleet.trends(runs, "week").select("period", "runs").rows() == [(None, 3)]


def test_reasons_are_counted_by_run_among_those_that_did_not_pass() -> None:
    runs = observed(STATES, state_reason=["recorded outcome"] * 8 + ["exit status cost", "broke off: api_error", "-"])
    reasons = pl.DataFrame(
        [("run-0005", "check", "pytest"), ("run-0006", "check", "pytest"), ("run-0000", "check", "pytest")],
        schema=["run_id", "kind", "reason"],
        orient="row",
    )
    found = fleet.failure_reasons(runs, pl.concat([reasons, reasons]), top=5)
    rows = {(row["kind"], row["reason"]): (row["runs"], row["share"], row["run_id"]) for row in found.to_dicts()}
    assert rows == {
        ("check", "pytest"): (2, pytest.approx(2 / 5), "run-0006"),
        ("ended", "timed_out: exit status cost"): (1, pytest.approx(1 / 5), "run-0008"),
        ("ended", "infrastructure: broke off: api_error"): (1, pytest.approx(1 / 5), "run-0009"),
    }


def test_claims_are_counted_by_version() -> None:
    runs = observed(
        ["passed"] * 6, agent_version=["1", "1", "1", "2", "2", None], claims=[2] * 6,
        contradicted_claims=[0, 1, 3, 0, 0, 0],
    )  # fmt: skip
    found = fleet.claims_by_version(runs)
    assert found.select("agent_version", "runs", "claims", "contradicted_claims", "contradicted_runs").rows() == [
        ("1", 3, 6, 4, 2),
        ("2", 2, 4, 0, 0),
        (None, 1, 2, 0, 0),
    ]
    assert found["share"].to_list() == [pytest.approx(2 / 3), 0.0, 0.0]


def test_the_fleet_adds_up_to_the_ledger(demo: lk.Ledger, seen: Fleet) -> None:
    runs = demo.runs()
    trends = seen.frame("trends")
    assert trends["runs"].sum() == runs.filter(pl.col("relation").ne_missing("subagent")).height
    assert trends["passed"].sum() == (runs["outcome"] == "passed").sum()
    assert trends["cost"].sum() == pytest.approx(float(demo.cost([])["cost"].item()))
    drivers = seen.frame("cost_drivers")
    assert drivers.group_by("label").len()["len"].max() == 3
    models = drivers.filter(pl.col("label") == "model")
    assert models["cost"].sum() == pytest.approx(float(demo.cost([])["cost"].item()))
    assert models["share"].sum() == pytest.approx(1.0)
    tools = demo.attribute_cost("tool_name").filter(pl.col("line").is_null()).drop_nulls("tool_name")
    dearest = tools.sort("cost", descending=True).row(0, named=True)
    assert (dearest["tool_name"], float(dearest["cost"])) in drivers.select("name", "cost").rows()
    checked = demo.check_claims()["verdict"].value_counts()
    counts: dict[str, int] = dict(checked.iter_rows())
    assert seen.frame("claims")["contradicted_claims"].sum() == counts["contradicted"]


@pytest.mark.slow
def test_a_choice_of_runs_is_a_fleet_too(demo: lk.Ledger) -> None:
    some = demo.where(task="fix-discount")
    found = demo.fleet("month", runs=some)
    assert sorted(found.frame("runs")["run_id"]) == list(some.ids)
    with pytest.raises(lk.UnknownNameError, match="No period 'year'"):
        demo.fleet("year")
    with pytest.raises(lk.UnknownNameError, match="No table of a fleet 'trend'"):
        found.frame("trend")


@pytest.mark.slow
def test_the_page_of_a_fleet_is_the_same_each_time(seen: Fleet) -> None:
    assert seen.report(generated_at=NOW) == seen.report(generated_at=NOW)


def test_the_page_of_a_fleet_is_inert(seen: Fleet) -> None:
    frames = {**seen.frames, "claims": seen.frame("claims").with_columns(agent=pl.lit(ATTACK))}
    parsed = Parsed(reports.fleet_report(ATTACK, "week", frames, generated_at=NOW))
    assert parsed.tags.isdisjoint({"script", "iframe", "object", "embed", "form", "base"})
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    links = [value for name, value in parsed.attributes if name in ("src", "href", "srcset")]
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in links)
    assert "document.title='owned'" in "".join(parsed.texts)


@pytest.mark.slow
def test_the_command_shows_and_writes_a_fleet(demo_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    page = tmp_path / "fleet.html"
    arguments = ["fleet", "task=fix-discount", "--by", "month", "--ledger", str(demo_path)]
    done = CliRunner().invoke(main, [*arguments, "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert "Trends by month" in done.output
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    told = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).output)
    assert told["trends"][0]["runs"] == 3


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_in_chromium_trends_show_and_nothing_leaves_the_page(seen: Fleet, tmp_path: Path) -> None:
    playwright: Any = pytest.importorskip("playwright.sync_api")
    file = tmp_path / "fleet.html"
    file.write_text(seen.report(generated_at=NOW), "utf-8")
    asked: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown: Any = browser.new_page()

        def note(request: Any) -> None:
            asked.append(request.url)

        shown.on("request", note)
        shown.goto(file.as_uri())
        sizes = shown.eval_on_selector_all("figure img", "all => all.map(i => i.naturalWidth)")
        browser.close()
    assert len(sizes) == 4
    assert min(sizes) > 200
    assert [url for url in asked if not url.startswith(("data:", file.as_uri()))] == []
