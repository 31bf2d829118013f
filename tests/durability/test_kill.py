"""kill -9 at random instants: all that was acknowledged is there once, and the ledger opens as if nothing had been."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.durability.trials import Trials, Workers

GROUPS: Final = 20
TRIALS_A_GROUP: Final = 10
"""Trials on one ledger: a worker also takes up what several killed ones before it left."""
MIXES: Final = (
    ["append"],
    ["append", "append"],
    ["import"],
    ["import", "append"],
    ["import", "compact"],
    ["append", "compact"],
    ["append", "import", "compact"],
    ["append", "append", "compact"],
)
"""What happens at the same time in a trial. New operations come into ``workers.OPERATIONS``, and in here."""


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    with Workers(tmp_path_factory.mktemp("workers") / "stderr") as started:
        yield started


@pytest.mark.long
def test_a_writer_that_was_killed_leaves_what_it_acknowledged(tmp_path: Path, workers: Workers) -> None:
    trials = Trials(tmp_path, workers, random.Random(1))
    for operations in (["append"], ["append", "import", "compact"]):
        trials.run(operations)
    trials.check_against_another_ledger()


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_kills_at_random_instants_lose_nothing_and_double_nothing(tmp_path: Path, workers: Workers, group: int) -> None:
    draw = random.Random(1000 + group)
    trials = Trials(tmp_path, workers, draw)
    for _ in range(TRIALS_A_GROUP):
        trials.run(draw.choice(MIXES))
    trials.check_against_another_ledger()
    assert trials.acknowledged.total() > TRIALS_A_GROUP
    sys.stdout.write(f"{TRIALS_A_GROUP} kills; acknowledged: {dict(sorted(trials.acknowledged.items()))}\n")
