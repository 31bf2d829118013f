"""Gates files and the exit code: passed, regressed, inconclusive by choice, or not done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ledgerkit.cli import main
from ledgerkit.comparison import Gates, compare_runs, read_gates
from ledgerkit.errors import ConfigurationError
from tests.comparison.made import observed

pytest.importorskip("scipy.stats", reason="the extra `stats` is not installed")
OPUS, SONNET = "model=claude-opus-4-5-20251101", "model=claude-sonnet-4-5-20250929"


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "gates.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_gates_file_says_everything(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        'alpha = 0.1\ninconclusive = "fail"\npair_by = "title"\nseed = 3\ndraws = 2000\nslices = ["length"]\n'
        "[gates.success]\nmargin = 0.02\n[gates.cost]\n",
    )
    assert read_gates(path) == Gates({"success": 0.02, "cost": 1.1}, "fail", 0.1, "title", 3, 2000, ("length",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no gate is declared"),
        ("alpha = [", "Give a TOML file"),
        ("alpha = 2\n[gates.cost]", "alpha is a number above 0 and below 0.5, not 2"),
        ("alfa = 0.1\n[gates.cost]", "no setting is called 'alfa'; there are alpha, inconclusive"),
        ("[gates.speed]", "no metric is called 'speed'; there are success"),
        ("[gates]\nsuccess = 0.1", "gates.success is no table"),
        ("[gates.success]\nmargin = 5", "gates.success.margin is a number above 0 and below 1, not 5"),
        ("[gates.cost]\nmargin = 0.1", "gates.cost.margin is a number above 1 and below 100, not 0.1"),
        ("[gates.cost]\nmax = 2", "no setting of gates.cost is called 'max'"),
        ('inconclusive = "maybe"\n[gates.cost]', "inconclusive is one of pass, fail, not 'maybe'"),
        ("slices = ['color']\n[gates.cost]", "slices is one of repository"),
        ("seed = -1\n[gates.cost]", "seed is a whole number from 0, not -1"),
        ("draws = 10\n[gates.cost]", "draws is a whole number from 999, not 10"),
    ],
)
def test_a_wrong_gates_file_is_refused_with_what_is_wrong_where(tmp_path: Path, text: str, said: str) -> None:
    path = _file(tmp_path, text)
    with pytest.raises(ConfigurationError) as raised:
        read_gates(path)
    assert said in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_missing_gates_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"gates\.toml"):
        read_gates(tmp_path / "gates.toml")


@pytest.mark.parametrize(("choice", "code"), [("pass", 0), ("fail", 2)])
def test_inconclusive_gates_exit_as_was_chosen(choice: str, code: int) -> None:
    before, after = observed(["passed"] * 10, name="old"), observed(["passed"] * 9 + ["failed"], name="new")
    gates = Gates({"success": 0.05}, "pass" if choice == "pass" else "fail", draws=999, slices=())
    found = compare_runs(before, after, gates)
    assert found.frame("gates")["status"].to_list() == ["inconclusive"]
    assert found.exit_code == code


def test_a_gate_passes_only_where_it_is_shown_that_nothing_is_worse() -> None:
    before, after = observed(["passed"] * 200, name="old"), observed(["passed"] * 200, name="new")
    found = compare_runs(before, after, Gates({"success": 0.05, "cost": 1.1}, "fail", draws=999, slices=()))
    assert found.frame("gates")["status"].to_list() == ["passed", "passed"]
    assert (found.status, found.exit_code) == ("passed", 0)


@pytest.fixture
def run(demo_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LEDGERKIT_LEDGER", str(demo_path))
    return None


def _compare(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments])


@pytest.mark.long
@pytest.mark.usefixtures("run")
def test_the_command_prints_writes_and_exits(tmp_path: Path) -> None:
    gates = _file(tmp_path, "draws = 999\nalpha = 0.2\n[gates.success]\n[gates.cost]\nmargin = 1.5")
    html, markdown = tmp_path / "c.html", tmp_path / "c.md"
    sides = (f"{OPUS},agent=ledgerkit-agent", f"{SONNET},agent=ledgerkit-agent")
    done = _compare(*sides, "--gate", str(gates), "--html", str(html), "--markdown", str(markdown))
    assert done.exit_code == 1, done.output
    assert "Regressed: success." in done.output
    assert html.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert markdown.read_text("utf-8").startswith("## 🔴 Regressed: success.")


@pytest.mark.slow
@pytest.mark.usefixtures("run")
def test_pinned_sets_give_the_same_comparison_again(tmp_path: Path) -> None:
    pinned = tmp_path / "pinned"
    first = _compare(OPUS, SONNET, "--manifests", str(pinned), "--json")
    again = _compare(str(pinned / "baseline.json"), str(pinned / "candidate.json"), "--json")
    assert first.exit_code == again.exit_code == 0
    assert json.loads(first.output) == json.loads(again.output)
    manifest = json.loads((pinned / "baseline.json").read_text("utf-8"))
    assert json.loads(first.output)["manifests"]["baseline"] == manifest


@pytest.mark.long
@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("before", SONNET), "neither a file nor a set of runs"),
        (("model=none", SONNET), "The baseline has no runs: nothing fits model=none. No model 'none'. Known: claude-"),
        (("label=none", SONNET), "The baseline has no runs: nothing fits label=none"),
        (("agent=claude-code", "agent=claude-code"), "table with the columns run_id and task_id"),
        (("task=a,task=b", SONNET), "task stands twice"),
        ((OPUS, SONNET, "--pair-by", "tusk"), "No column to pair by 'tusk'"),
        ((OPUS, SONNET, "--gate", "nowhere.toml"), "nowhere.toml"),
        ((OPUS, SONNET, "--colour"), "No such option"),
        ((OPUS,), "Missing argument"),
    ],
)
def test_what_could_not_be_compared_exits_with_three(arguments: tuple[str, ...], said: str) -> None:
    done = _compare(*arguments)
    assert done.exit_code == 3
    assert said in done.output
