"""Real trials of one agent, split in two: an A/A comparison, which must find nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

import ledgerkit as lk
from tests.conftest import NOW
from tests.parsed import Parsed

pytestmark = [pytest.mark.corpus, pytest.mark.slow]
pytest.importorskip("scipy.stats", reason="the extra `stats` is not installed")
_TRIALS = "select run_id from verifier_results where scope = 'run' and (data->>'$.trial')::int in ({})"


@pytest.fixture(scope="module")
def trials(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[lk.Ledger]:
    with lk.open(tmp_path_factory.mktemp("tau") / "tau.ledger", key=bytes(32)) as ledger:
        ledger.import_logs(corpus / "chat" / "tau-bench" / "gpt-4o-airline.json", now=NOW)
        yield ledger


def _some(ledger: lk.Ledger, *numbers: int) -> lk.RunSet:
    return ledger.where(sql=_TRIALS.format(", ".join(map(str, numbers)))).named(f"trials {numbers}")


def test_trials_of_one_agent_do_not_differ(trials: lk.Ledger) -> None:
    first, second = _some(trials, 0, 1), _some(trials, 2, 3)
    assert (len(first), len(second), len(first & second)) == (100, 100, 0)
    found = lk.compare(first, second, slices=["length"])
    assert set(found.verdicts.values()) <= {"equivalent", "inconclusive"}
    assert set(found.frame("slices")["verdict"]) <= {"equivalent", "inconclusive"}
    assert found.exit_code == 0
    row = found.frame("metrics", metric="success").row(0, named=True)
    assert (row["tasks"], row["baseline"], row["candidate"]) == (50, pytest.approx(0.43), pytest.approx(0.41))
    assert found.frame("metrics", metric="cost")["tasks"].item() == 0  # the results say nothing of tokens
    assert "No gate failed." in "".join(Parsed(found.report(generated_at=NOW)).texts)


def test_no_two_trials_of_it_regress(trials: lk.Ledger) -> None:
    for first, second in combinations(range(4), 2):
        found = lk.compare(_some(trials, first), _some(trials, second))
        assert "regressed" not in found.verdicts.values(), (first, second)


def test_chances_over_k_trials_are_those_of_all_four(trials: lk.Ledger) -> None:
    every = _some(trials, 0, 1, 2, 3)
    found = lk.compare(every, every)
    chances = found.frame("pass_k").select("measure", "k", "baseline").rows()
    passed = found.frame("flakiness").filter(found.frame("flakiness")["side"] == "baseline")["passed"]
    assert ("pass^k", 4, pytest.approx((passed == 4).mean())) in chances
    assert ("pass@k", 4, pytest.approx((passed > 0).mean())) in chances
