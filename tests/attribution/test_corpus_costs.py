"""Costs of real logs: conserved for every run, counted as an independent counter does, all differences explained."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import ledgerkit as lk
from tests.conftest import NOW, corpus_values

pytestmark = [pytest.mark.corpus, pytest.mark.long]

_FORKS: dict[str, Any] = corpus_values().get("codex_forks", {})
_KINDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
_SUMS = """
    select coalesce(sum(input_tokens), 0)::bigint, coalesce(sum(cache_read_tokens), 0)::bigint,
        coalesce(sum(coalesce(cache_write_5m_tokens, 0) + coalesce(cache_write_1h_tokens, 0)), 0)::bigint,
        coalesce(sum(output_tokens), 0)::bigint
    from model_calls where billed
"""
LABELS = ["tool_name", "path", "kind", "section", "trust_level", "subagent", "model", "day", "source_format"]


@pytest.fixture(scope="module")
def house(corpus_import: tuple[Path, lk.ImportAccount]) -> Iterator[lk.Ledger]:
    with lk.open(corpus_import[0], create=False) as ledger:
        yield ledger


@pytest.fixture(scope="module")
def reference(corpus: Path) -> Callable[[Path, Path], dict[str, Any]]:
    """What an independent counter that stands beside the corpus says of two folders: Claude Code's and Codex's."""
    script = corpus.parent / "peerbench" / "usage_reference.py"
    if not script.is_file():
        pytest.skip(f"no independent counter at {script}")

    def counted(claude: Path, codex: Path) -> dict[str, Any]:
        done = subprocess.run([sys.executable, script, claude, codex], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return counted


def _imported(folder: Path, path: Path) -> lk.Ledger:
    ledger = lk.open(folder / "l", key=bytes(32))
    ledger.import_logs(path, now=NOW, count_tokens=False, redact="off")
    return ledger


@pytest.mark.slow
def test_every_run_call_and_group_of_the_corpus_is_conserved(house: lk.Ledger) -> None:
    total = house.cost([])["cost"].item()
    runs = house.cost("run_id").filter(pl.col("cost") > 0).select("run_id", pl.col("cost").cast(pl.Decimal(38, 12)))
    attributed = house.attribute_cost("run_id").group_by("run_id").agg(pl.col("cost").sum()).filter(pl.col("cost") > 0)
    assert runs.height > 100
    assert attributed.sort("run_id").equals(runs.sort("run_id"))
    for label in LABELS:
        rows = house.attribute_cost(label)
        assert rows["cost"].sum() == total
        assert rows.filter(pl.col("cost") < 0).is_empty()
    for found in house.attributions():
        _check_calls(found)


def _check_calls(found: Any) -> None:
    """All calls at once: amounts by call, from by_step, are those of the calls."""
    from ledgerkit.cost.attribution import by_step

    rows = by_step(found, found.projection.placements["section"])
    keys = ["session_id", "run_id", "call_id"]
    got = rows.group_by(keys).agg(pl.col("cost").sum()).sort(keys)
    want = found.calls.filter(pl.col("cost") > 0).select(*keys, pl.col("cost").cast(pl.Decimal(38, 12))).sort(keys)
    assert got.equals(want)
    assert rows.filter(pl.col("cost") < 0).is_empty()
    assert int(np.min(found.carrying.costs(), initial=0)) >= 0


def test_a_sample_of_real_runs_is_conserved(corpus: Path, tmp_path: Path) -> None:
    """A session with subagents, a rollout and one of pi: small enough for every test run."""
    with lk.open(tmp_path / "l", key=bytes(32)) as ledger:
        for name in ("claude-code/agentcmd", "codex/agent-sessions", "inspect"):
            ledger.import_logs(corpus / name, now=NOW)
        total = ledger.cost([])["cost"].item()
        assert total > 0
        for label in ("tool_name", "section", "model"):
            assert ledger.attribute_cost(label)["cost"].sum() == total
        for found in ledger.attributions():
            _check_calls(found)


@pytest.mark.slow
def test_claude_code_totals_are_those_of_the_independent_counter(
    corpus: Path, reference: Callable[[Path, Path], dict[str, Any]], tmp_path: Path
) -> None:
    """``max_progress``: the largest snapshot of each call, embedded copies of subagents' records included."""
    want = reference(corpus / "claude-code", tmp_path)["claude"]["max_progress"]
    with _imported(tmp_path, corpus / "claude-code") as ledger:
        got = ledger.sql(_SUMS).row(0)
    whole = sum(want[name] for name in _KINDS[:3])
    assert got == (whole, *(want[name] for name in _KINDS[1:]))


@pytest.mark.slow
def test_codex_totals_are_those_of_the_independent_counter(
    corpus: Path, reference: Callable[[Path, Path], dict[str, Any]], tmp_path: Path
) -> None:
    folders = sorted({path.parent for path in (corpus / "codex").rglob("*.jsonl")})
    for number, folder in enumerate(folders):
        want = reference(tmp_path / "nothing", folder)["codex"]["fork_dedupe"]
        with _imported(tmp_path / str(number), folder) as ledger:
            read, written = ledger.sql(_SUMS).row(0)[:2], ledger.sql(_SUMS).row(0)[3]
        assert (*read, written) == (want["input_tokens"], want["cached_input_tokens"], want["output_tokens"]), folder


@pytest.mark.parametrize("family", sorted(_FORKS))
def test_what_a_tool_that_sums_files_counts_more_of_forks_is_what_is_explained_as_replayed(
    family: str, corpus: Path, tmp_path: Path
) -> None:
    """ccusage adds up files of forks whose parent is missing; the difference is the records that are replays."""
    folder, _, names = family.partition(": ")
    paths = [corpus / folder / name.strip() for name in names.split("+")]
    values = _FORKS[family]
    with lk.open(tmp_path / "l", key=bytes(32)) as ledger:
        ledger.import_logs(*paths, now=NOW, count_tokens=False, redact="off")
        rows = ledger.explain_usage()
    tokens = pl.col("input_tokens") + pl.col("output_tokens")
    naive, counted = rows.select(tokens.sum()).item(), rows.filter("billed").select(tokens.sum()).item()
    assert abs(naive - values["naive_sum_last"]) <= naive // 100  # two counts of it name a total and no tokens
    assert abs(counted - values["deduped_sum_last"]) <= values["deduped_sum_last"] // 100
    reasons = rows.filter(~pl.col("billed")).group_by("reason").agg(tokens.sum().alias("tokens"))
    assert naive - counted == reasons["tokens"].sum()
    assert set(reasons.filter(pl.col("tokens") > 0)["reason"]) <= {"replay", "copy"}


@pytest.mark.parametrize("family", sorted(_FORKS))
def test_a_fork_that_is_read_alone_counts_what_it_holds_until_its_origin_is_there(
    family: str, corpus: Path, tmp_path: Path
) -> None:
    """Alone, a fork's copied calls are the only trace of what was paid; no tool can tell that they were another's."""
    folder, _, names = family.partition(": ")
    paths = [corpus / folder / name.strip() for name in names.split("+")]
    sums = "select coalesce(sum(input_tokens + output_tokens), 0)::bigint from model_calls where billed"
    with lk.open(tmp_path / "l", key=bytes(32)) as ledger:
        ledger.import_logs(paths[0], now=NOW, count_tokens=False, redact="off")
        alone = ledger.sql(sums).item()
        ledger.import_logs(paths[1], now=NOW, count_tokens=False, redact="off")
        both = ledger.sql(sums).item()
    values = _FORKS[family]
    assert abs(alone - values["sum_last_each"][0]) <= values["sum_last_each"][0] // 100
    assert abs(both - values["deduped_sum_last"]) <= values["deduped_sum_last"] // 100
    assert max(values["sum_last_each"]) <= both + both // 100 <= sum(values["sum_last_each"])


def test_one_total_by_day_and_by_session_where_ccusage_has_two(house: lk.Ledger) -> None:
    totals = {by: house.cost(by)["cost"].sum() for by in ("day", "week", "month", "session_id", "run_id", "model")}
    assert len(set(totals.values())) == 1
    assert totals["day"] > Decimal(100)


def test_every_usage_record_is_explained(house: lk.Ledger) -> None:
    rows = house.explain_usage()
    told = rows.filter(~pl.col("billed"))
    assert told["why"].null_count() == 0
    assert rows.filter("billed")["why"].null_count() == rows.filter("billed").height
    counted = set(rows.filter("billed")["message_id"])
    pointing = told.filter(pl.col("reason").is_in(["earlier snapshot", "copy", "replay"]))
    assert set(pointing["counts_message_id"]) <= counted
    assert rows.filter(pl.col("reason").is_null() | pl.col("reason").is_in(["earlier snapshot", "copy", "replay",
        "converted copy", "synthetic"])).height == house.sql("select count(*) from usage_rows").item()  # fmt: skip


def test_costs_that_real_logs_report_are_the_computed_ones(house: lk.Ledger) -> None:
    pi = house.reconcile_costs("agent").filter(pl.col("agent") == "pi").row(0, named=True)
    assert pi["both"] > 400
    assert (pi["difference"], pi["differing"]) == (Decimal(0), 0)
