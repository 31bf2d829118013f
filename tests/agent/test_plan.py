"""Plans are drawn from the stated chances, each from a stream of its own."""

from __future__ import annotations

import pytest

from ledgerkit.agent.scripts.plan import ALWAYS, CONFIGURATIONS, SOLVES, draw
from ledgerkit.agent.scripts.tasks import TASKS

SEEDS = range(400)
CELLS = [(task, name) for task in TASKS for name in CONFIGURATIONS]


def test_every_task_and_configuration_has_its_chance() -> None:
    assert SOLVES.keys() == TASKS.keys()
    assert all(chances.keys() == CONFIGURATIONS.keys() for chances in SOLVES.values())
    assert ALWAYS.keys() <= set(CELLS)


@pytest.mark.parametrize(("task", "name"), CELLS)
def test_runs_solve_their_task_about_as_often_as_stated(task: str, name: str) -> None:
    solved = sum(draw(seed, task, CONFIGURATIONS[name]).solution == "right" for seed in SEEDS)
    # Five standard deviations of a fair draw of 400: this fails by chance once in a million.
    assert abs(solved / len(SEEDS) - SOLVES[task][name]) < 0.125


def test_equal_arguments_give_equal_plans() -> None:
    for task, name in CELLS:
        assert draw(5, task, CONFIGURATIONS[name]) == draw(5, task, CONFIGURATIONS[name])


def test_the_careful_configuration_never_claims_what_it_has_not_seen() -> None:
    finishes = {draw(seed, task, CONFIGURATIONS["careful"]).finish for seed in SEEDS for task in TASKS}
    assert finishes == {"proven", "admits"}
