"""The demo generator with more seeds: 104 tasks, three configurations, and the regressions that were planted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.agent.demo import make_demo
from ledgerkit.agent.scripts.plan import CONFIGURATIONS
from ledgerkit.agent.truth import Truth
from tests.conftest import NOW
from tests.parsed import Parsed

pytestmark = pytest.mark.slow
pytest.importorskip("scipy.stats", reason="the extra `stats` is not installed")
SEEDS = range(3, 16)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Truth]]:
    folder = tmp_path_factory.mktemp("planted")
    truths = make_demo(folder, seeds=SEEDS, format="ledgerkit", task_per_seed=True)
    with lk.open(folder / "planted.ledger", key=bytes(32)) as ledger:
        ledger.import_logs(folder / "ledgerkit", now=NOW)
    return folder / "planted.ledger", truths


@pytest.fixture
def ledger(made: tuple[Path, list[Truth]]) -> Iterator[lk.Ledger]:
    with lk.open(made[0]) as opened:
        yield opened


def _set(ledger: lk.Ledger, configuration: str) -> lk.RunSet:
    return ledger.where(model=CONFIGURATIONS[configuration].model).named(configuration)


def _passed(truths: list[Truth], configuration: str) -> dict[str, bool]:
    mine = [one for one in truths if one.configuration == configuration]
    return {f"{one.task_id}.{one.seed}": one.outcome == "passed" for one in mine}


def test_planted_regressions_are_found_and_the_report_is_full(
    ledger: lk.Ledger, made: tuple[Path, list[Truth]]
) -> None:
    careful, hasty = _set(ledger, "careful"), _set(ledger, "hasty")
    found = lk.compare(careful, hasty, slices=["length", "repository"])
    # Hasty was given far lower chances to solve a task, and says that tests pass without having run them.
    assert {found.verdicts[name] for name in ("success", "contradicted_claims", "unsupported_claims")} == {"regressed"}
    assert found.verdicts["cost"] == found.verdicts["steps"] == "improved"
    assert found.verdicts["verified"] == "equivalent"
    assert found.exit_code == 1
    before, after = (_passed(made[1], name) for name in ("careful", "hasty"))
    row = found.frame("metrics", metric="success").row(0, named=True)
    assert row["tasks"] == len(before) == 104
    assert row["worse"] == sum(before[task] and not after[task] for task in before)
    assert row["better_tasks"] == sum(after[task] and not before[task] for task in before)
    shown = "".join(Parsed(found.report(generated_at=NOW)).texts)
    for section in ("Metrics", "Changed tasks", "Several trials", "Slices", "Not compared", "Manifests"):
        assert section in shown
    assert all(task in shown for task in before if before[task] and not after[task])
    assert ledger.run_set(hasty.manifest()) == hasty


def test_what_was_not_planted_is_not_found(ledger: lk.Ledger) -> None:
    """Every configuration checks its work: the frugal one no less than the careful one."""
    found = lk.compare(_set(ledger, "careful"), _set(ledger, "frugal"))
    assert found.verdicts["verified"] == "equivalent"
    assert found.verdicts["contradicted_claims"] != "improved"
    assert found.frame("unmatched").is_empty()


def test_the_fleet_shows_weeks(ledger: lk.Ledger) -> None:
    trends = ledger.fleet("week").frame("trends")
    assert trends.height > 5
    assert trends["runs"].sum() == 312 + ledger.runs().filter(pl.col("relation").is_in(["compaction"])).height
