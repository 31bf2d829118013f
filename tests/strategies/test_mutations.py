"""Changing a formula makes the comparison with a rebuild fail: the comparison has teeth."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from tests.strategies.mutant import MUTATED, SECONDS, points

SAMPLED = 60
NOTICED = 0.9
ALIKE = {
    "self._moves += 1": "counts moves between two sortings out",
    "NOWHERE - 1": "stands for beyond everything",
    "NOWHERE + 1": "stands for beyond everything",
    "NOWHERE + 2": "stands for beyond everything",
    "key[1:] < key[:-1]": "sorts once more what is in order",
    "change <= grid.suffix_minimum(": "a shorter way to the same sums",
    "cut > covered": "where both are equal nothing is taken, and the other condition fails",
    "~appends & (less != 0)": "behind an appended step's change stands nothing that could be missed",
    "grid.first[group + 1] - 1": "what leaves behind the last step has ended there anyway (``end_at``)",
    "self._until > 0": "runs without room are not walked",
}
"""Changes that were looked at and change no answer, with the reason."""
ROOT = Path(__file__).resolve().parent.parent.parent


def tried(module: str, chosen: int) -> tuple[str, bool]:
    """What was changed, and whether it was noticed."""
    command = [sys.executable, "-m", "tests.strategies.mutant", module, str(chosen)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=5 * SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"{module} {chosen}", True
    return f"{module} {done.stdout.strip() or chosen}", done.returncode != 0


@pytest.mark.long
def test_without_a_change_nothing_is_noticed() -> None:
    assert not tried(next(iter(MUTATED)).__name__, -1)[1]


@pytest.mark.slow
def test_a_changed_formula_is_noticed() -> None:
    possible = [(module.__name__, n) for module in MUTATED for n in range(points(module))]
    modules, numbers = zip(*Random(1).sample(possible, min(SAMPLED, len(possible))), strict=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(tried, modules, numbers))
    alike = [what for what, noticed in found if not noticed and any(text in what for text in ALIKE)]
    survived = [what for what, noticed in found if not noticed and what not in alike]
    real = len(found) - len(alike)
    noticed = f"{real - len(survived)} of {real} changes noticed"
    figures = f"{noticed}, {len(alike)} change nothing ({len(possible)} possible)"
    sys.stdout.write("\n".join([figures, *survived, ""]))
    assert len(survived) <= (1 - NOTICED) * real, "\n".join([figures, *survived])
