"""Needs and mentions, recommendations, correlation with outcomes, strategy files, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ledgerkit.cli import main
from ledgerkit.errors import ConfigurationError
from ledgerkit.evaluation import correlate_outcomes, read_strategy_file, recommend
from ledgerkit.evaluation.edits import quoted_lines
from ledgerkit.evaluation.lexemes import find_tokens
from ledgerkit.evaluation.mentions import find_mentions, normal_texts
from ledgerkit.evaluation.presence import Spans
from ledgerkit.evaluation.refetching import only_reads


@pytest.mark.parametrize(
    ("kind", "value", "text", "is_there"),
    [
        ("path", "src/a.py", "see src/a.py.", True),
        ("path", "src/a.py", "a/src/a.py", False),
        ("path", "src/a.py", "src/a.py:12: error", True),
        ("path", "src/a.py", "src/a.pyc", False),
        ("identifier", "os.path", "os.path.join", False),
        ("identifier", "os.path", "use os.path.", True),
        ("number", "8080", "port 8080,", True),
        ("number", "8080", "18080 80801 8080.5", False),
        ("error_code", "E501", "E501: line too long", True),
        ("error_code", "E501", "SE501", False),
        ("url", "https://x.org/a", "(https://x.org/a)", True),
        ("url", "https://x.org/a", "https://x.org/ab", False),
        ("quoted", "hello world", "hello worlds", False),
        ("quoted", "[x] = y", "z[x] = y;", True),
        ("path", "src/a.py", "日本src/a.py語", True),
    ],
)
def test_a_mention_ends_where_a_name_of_its_kind_ends(kind: str, value: str, text: str, is_there: bool) -> None:
    texts = pl.DataFrame({"run": [0], "part": [0], "text": [text]})
    wanted = pl.DataFrame({"run": [0], "key": [0], "type": [kind], "value": [value]})
    assert bool(find_mentions(texts, wanted).height) == is_there


def test_a_token_of_one_run_is_not_looked_for_in_another() -> None:
    texts = pl.DataFrame({"run": [0, 1], "part": [0, 1], "text": ["8080", "8080"]})
    wanted = pl.DataFrame({"run": [1], "key": [3], "type": ["number"], "value": ["8080"]})
    assert find_mentions(texts, wanted).rows() == [(3, 1)]


def test_paths_have_one_form_in_arguments_and_texts() -> None:
    said = ["/home/me/w/src/a.py ./src/a.py +++ b/src/a.py", "+++ b/src/a.py\n/home/me/other/b.py"]
    made = normal_texts(pl.DataFrame({"text": said, "root": ["/home/me/w"] * 2}))["text"].to_list()
    assert made == ["src/a.py src/a.py +++ b/src/a.py", "+++ src/a.py\n~/other/b.py"]
    calls = pl.DataFrame({"call": [0], "data": ['{"file_path": "/home/me/w/src/../src/a.py"}'], "root": ["/home/me/w"]})
    assert find_tokens(calls).rows() == [(0, "path", "src/a.py")]


def test_hostile_arguments_are_read_as_text() -> None:
    data = ["{", "[" * 5_000, "null", '"\\u0000 8080"']
    calls = pl.DataFrame({"call": range(4), "data": data, "root": [None] * 4}, schema_overrides={"root": pl.String})
    assert find_tokens(calls).rows() == [(3, "number", "8080")]


def test_lines_of_edits_are_read_from_every_form() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n kept line\n-old line\n+new line\n"
    block = "<<<<<<< SEARCH\nfound line\n=======\nput line\n>>>>>>> REPLACE"
    assert quoted_lines(json.dumps({"diff": diff})) == ["kept line", "old line"]
    assert quoted_lines(json.dumps({"diff": block})) == ["found line"]
    assert quoted_lines(json.dumps({"edits": [{"oldText": "nope"}, {"old_str": "this one"}]})) == ["this one"]


@pytest.mark.parametrize(
    ("line", "reads"),
    [("git log -3", True), ("git push", False), ("sed -n 1,5p a", True), ("sed -i s/a/b/ c", False),
     ("cat a 2>/dev/null | wc -l", True), ("find . -delete", False), ("ls && rm x", False), ("cat `x`", False)],
)  # fmt: skip
def test_a_shell_line_only_reads_if_all_of_it_does(line: str, reads: bool) -> None:
    assert only_reads("Bash", json.dumps({"command": line})) == reads


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 9)), max_size=12))
def test_spans_cover_the_steps_that_they_hold(rows: list[tuple[int, int, int]]) -> None:
    rows = [(key, start, max(start + 1, end)) for key, start, end in rows]
    spans = Spans(*np.array(rows, np.int64).reshape(-1, 3).T)
    key, step = (a.ravel() for a in np.meshgrid(np.arange(4), np.arange(12)))
    wanted = [any(k == one and s <= t < e for one, s, e in rows) for k, t in zip(key, step, strict=True)]
    assert spans.cover(key, step).tolist() == wanted
    merged = spans.union()
    assert merged.cover(key, step).tolist() == wanted
    assert (merged.end - merged.start).sum() == sum(wanted)


def _runs(retention: dict[str, list[float]], cost: dict[str, list[float]]) -> pl.DataFrame:
    rows = [
        {"session_id": "s", "run_id": f"r{n}", "task_id": "t", "strategy": name, "evidence_retention": value,
         "cost_equivalent_tokens": cost[name][n]}
        for name, values in retention.items() for n, value in enumerate(values)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_a_strategy_that_is_beaten_in_both_is_not_on_the_frontier() -> None:
    runs = _runs(
        {"full": [1.0, 1.0, 1.0], "cheap": [0.5, 0.7, 0.6], "bad": [0.4, 0.6, 0.5]},
        {"full": [100, 110, 90], "cheap": [50, 60, 40], "bad": [70, 80, 60]},
    )
    found = recommend(runs, "task_id", resamples=200, seed=1)
    assert found.frontier["strategy"].to_list() == ["cheap", "full"]
    cheap = found.table.filter(strategy="cheap").row(0, named=True)
    assert cheap["retention_low"] <= cheap["retention"] <= cheap["retention_high"]
    assert cheap["few_runs"]
    assert found.table.filter(strategy="bad")["frontier_share"].item() == 0
    assert recommend(runs, "task_id", resamples=200, seed=1).table.equals(found.table)


def test_rank_correlation_equals_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="the extra `stats` is not installed")
    random = np.random.default_rng(3)
    outcome = random.choice(["passed", "failed"], 40)
    retention = random.random(40).round(1)
    base = {"strategy": "a", "session_id": "s", "source_retention": None, "lift": None, "edit_support": None}
    runs = pl.DataFrame([{**base, "run_id": f"{n:02}", "task_id": "t", "outcome": o, "evidence_retention": r}
                         for n, (o, r) in enumerate(zip(outcome, retention, strict=True))])  # fmt: skip
    row = correlate_outcomes(runs, resamples=300).filter(metric="evidence_retention").row(0, named=True)
    assert row["rho"] == pytest.approx(stats.spearmanr(retention, outcome == "passed").statistic)
    assert row["rho_low"] < row["rho"] < row["rho_high"]
    assert (row["runs"], row["tasks"], row["passed"]) == (40, 1, int((outcome == "passed").sum()))


def test_tasks_whose_runs_all_end_alike_say_nothing() -> None:
    base = {"strategy": "a", "session_id": "s", "evidence_retention": 0.5, "source_retention": 0.5, "lift": 0.1,
            "edit_support": None, "outcome": "passed"}  # fmt: skip
    runs = pl.DataFrame([{**base, "run_id": str(n), "task_id": "t"} for n in range(5)])
    row = correlate_outcomes(runs).row(0, named=True)
    assert (row["runs"], row["rho"]) == (0, None)


def test_a_strategy_file_names_strategies_and_budgets(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        'budget = 200000\nmetrics = ["cost"]\n[strategies]\nall = "FullHistory"\nfew = "HeadTail | ClearAt"\n'
    )
    read = read_strategy_file(file)
    assert {name: one.label.split("(")[0] for name, one in read.strategies.items()} == {"all": "FullHistory",
                                                                                        "few": "HeadTail"}  # fmt: skip
    assert (read.budget, read.metrics, read.control_seeds) == (200_000, ("cost",), (0,))


@pytest.mark.parametrize(
    ("text", "said"),
    [("x = 1", "no setting is called 'x'"), ("budget = 1", "no table"), ("[strategies]\na = 1", "a is no text"),
     ('[strategies]\na = "__import__(\'os\')"', "strategies.a"),
     ('budget = "1"\n[strategies]\na="FullHistory"', "whole"),
     ("[strategies", "TOML"), ('metrics = ["x"]\n[strategies]\na="FullHistory"', "metrics is one of tokens, ")],
)  # fmt: skip
def test_a_bad_strategy_file_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=said) as caught:
        read_strategy_file(file)
    assert str(file) in str(caught.value)


@pytest.mark.long
def test_the_command_evaluates_strategies_of_a_file_and_says_its_caveats(demo_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        'metrics = ["evidence_retention"]\n[strategies]\nall = "FullHistory"\nfew = "LastObservations(1)"\n'
    )
    command = ["evaluate", "--ledger", str(demo_path), "--file", str(file), "--jobs", "1", "--out", str(tmp_path / "o")]
    shown = CliRunner().invoke(main, command, env={"COLUMNS": "160"})
    assert shown.exit_code == 0, shown.output
    assert "No success rate may be claimed" in shown.output.replace("\n", " ")
    assert (tmp_path / "o" / "runs.parquet").is_file()
    data = json.loads(CliRunner().invoke(main, [*command, "--json"]).output)
    assert data["caveats"]
    assert {row["strategy"] for row in data["summary"]} == {"FullHistory()", "LastObservations(n=1, polling=1)"}
    bad = CliRunner().invoke(main, ["evaluate", "--ledger", str(demo_path), "FulHistory"])
    assert bad.exit_code == 2
    assert "FullHistory" in bad.output
