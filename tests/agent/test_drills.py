"""The four failure drills: each holds, and each fails where its safeguard is taken away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import ledgerkit as lk
from ledgerkit.agent.drills import DRILLS, run_drill
from ledgerkit.cli import main

POINTS = {1: 4, 2: 4, 3: 3, 4: 4}
MUST_FAIL = {1: {3}, 2: {1}, 3: {3}, 4: {4}}
"""Points that a drill's broken form must fail; others may fail with them."""


ALL = [pytest.param(number, marks=pytest.mark.slow if number == 3 else ()) for number in sorted(DRILLS)]
"""The fast tests carry the third one out by its command."""


@pytest.mark.long
@pytest.mark.parametrize("number", ALL)
def test_a_drill_goes_as_the_specification_expects(tmp_path: Path, number: int) -> None:
    report = run_drill(number, tmp_path / "kept")
    assert [point.expected for point in report.points if not point.passed] == [], report
    assert len(report.points) == POINTS[number]
    assert lk.open(tmp_path / "kept" / "drill.ledger", create=False).verify().ok


@pytest.mark.slow
@pytest.mark.parametrize("number", sorted(DRILLS))
def test_a_drill_fails_without_its_safeguard(number: int) -> None:
    report = run_drill(number, broken=True)
    failed = {place for place, point in enumerate(report.points, 1) if not point.passed}
    assert failed >= MUST_FAIL[number], report


@pytest.mark.slow
def test_the_command_shows_what_was_expected_and_fails_where_it_did_not_happen(tmp_path: Path) -> None:
    runner = CliRunner()
    held = runner.invoke(main, ["drill", "3", "--keep", str(tmp_path)])
    assert held.exit_code == 0, held.output
    assert "3 of 3 as expected" in held.output
    again = runner.invoke(main, ["drill", "3", "--keep", str(tmp_path)])
    assert again.exit_code == 2
    assert "not empty" in again.output
    broken = runner.invoke(main, ["drill", "3", "--broken", "--json"])
    assert broken.exit_code == 1
    (report,) = json.loads(broken.output)
    assert report["passed"] is False
    assert [point["passed"] for point in report["points"]].count(False) >= 1
    assert report["broken_by"]


def test_there_are_four(tmp_path: Path) -> None:
    with pytest.raises(lk.UnknownNameError):
        run_drill(5, tmp_path)
