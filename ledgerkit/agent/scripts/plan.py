"""The chances that decide how a run goes, and the draw of one run's plan.

The rule: these tables are all there is. Every difference between configurations in the demo runs is stated here, so
that statistics over many seeds can be held against it. Each draw has its own random stream, named by seed, task,
configuration and purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from ledgerkit.agent.clock import stream

ConfigurationName = Literal["careful", "hasty", "frugal"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """An agent configuration and its chances.

    Attributes:
        name: Its name.
        model: Model that it uses.
        context_limit: Tokens of a request beyond which it compacts; None never.
        partial_share: Of the runs that do not solve the task, those whose work looks right.
        second_thoughts: Chance that a wrong attempt comes before the last one.
        detours: Files read beside what matters, at least and at most.
        blind_edit: Chance that the first edit names a text that is not in the file.
        delegates: Chance of a subagent.
        finishes: How it ends by what its work looks like: chances of the endings.
    """

    name: ConfigurationName
    model: str
    context_limit: int | None
    partial_share: float
    second_thoughts: float
    detours: tuple[int, int]
    blind_edit: float
    delegates: float
    finishes: Mapping[str, Mapping[str, float]]


CONFIGURATIONS: Final[dict[str, Configuration]] = {
    c.name: c
    for c in (
        Configuration(
            name="careful",
            model="claude-opus-4-5-20251101",
            context_limit=None,
            partial_share=0.7,
            second_thoughts=0.35,
            detours=(1, 3),
            blind_edit=0.03,
            delegates=0.15,
            finishes={"looks right": {"proven": 1.0}, "looks wrong": {"admits": 1.0}},
        ),
        Configuration(
            name="hasty",
            model="claude-sonnet-4-5-20250929",
            context_limit=None,
            partial_share=0.45,
            second_thoughts=0.15,
            detours=(0, 1),
            blind_edit=0.3,
            delegates=0.0,
            finishes={
                "looks right": {"proven": 0.65, "unproven": 0.2, "stale": 0.15},
                "looks wrong": {"admits": 0.4, "denies": 0.35, "unproven": 0.25},
            },
        ),
        Configuration(
            name="frugal",
            model="claude-haiku-4-5-20251001",
            context_limit=2900,
            partial_share=0.5,
            second_thoughts=0.25,
            detours=(0, 2),
            blind_edit=0.08,
            delegates=0.0,
            finishes={
                "looks right": {"proven": 0.9, "unproven": 0.1},
                "looks wrong": {"admits": 0.9, "denies": 0.1},
            },
        ),
    )
}
"""Configurations by name."""

SOLVES: Final[dict[str, dict[str, float]]] = {
    "fix-discount": {"careful": 0.95, "hasty": 0.70, "frugal": 0.85},
    "add-currency": {"careful": 0.85, "hasty": 0.40, "frugal": 0.60},
    "refactor-rows": {"careful": 0.90, "hasty": 0.45, "frugal": 0.65},
    "bump-ratebook": {"careful": 0.80, "hasty": 0.30, "frugal": 0.50},
    "write-stock-tests": {"careful": 0.75, "hasty": 0.30, "frugal": 0.45},
    "flaky-label": {"careful": 0.80, "hasty": 0.35, "frugal": 0.50},
    "debug-region": {"careful": 0.85, "hasty": 0.45, "frugal": 0.65},
    "build-catalogue": {"careful": 0.95, "hasty": 0.60, "frugal": 0.80},
}
"""Chance that a run solves its task."""

LOSES_RESULT: Final = 0.05
OVERLOADED: Final = 0.15
FOLLOW_UP: Final = 0.2
OBEYS_NOTE: Final = {"careful": 0.0, "hasty": 0.35, "frugal": 0.1}
"""Chance that a run which read the injected note tries to do as it says."""

ALWAYS: Final[dict[tuple[str, str], frozenset[str]]] = {
    ("refactor-rows", "careful"): frozenset({"delegates"}),
    ("flaky-label", "hasty"): frozenset({"loses_result"}),
    ("bump-ratebook", "careful"): frozenset({"reads_note"}),
    ("bump-ratebook", "hasty"): frozenset({"reads_note"}),
    ("write-stock-tests", "frugal"): frozenset({"reads_everything"}),
}
"""Features that every seed has, by task and configuration."""


class Finish(StrEnum):
    """How a run ends, by what its last words rest on."""

    PROVEN = "proven"
    """Says that the tests pass, having seen them pass after the last change."""
    ADMITS = "admits"
    """Says what still fails."""
    UNPROVEN = "unproven"
    """Says that the tests pass and never ran them."""
    STALE = "stale"
    """Says that the tests pass and changed something after the last run."""
    DENIES = "denies"
    """Says that the tests pass although the last run failed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one run will do.

    Attributes:
        seed: Seed of the run.
        task_id: Its task.
        configuration: Its configuration.
        solution: Which variant it ends with.
        finish: How it ends.
        second_thoughts: Whether a wrong attempt comes first.
        detours: Files read on the side.
        blind_edit: Whether the first edit misses.
        delegates: Whether a subagent explores.
        reads_note: Whether the file with the injected instruction is read.
        obeys_note: Whether its instruction is followed.
        loses_result: Number of the tool call, from 0, whose result is lost; None loses none.
        overloaded: Numbers of the model calls that fail once.
        follow_up: Whether the user asks for one thing more.
        queued: Whether that comes while the agent is at work.
    """

    seed: int
    task_id: str
    configuration: ConfigurationName
    solution: Literal["right", "partial", "wrong"]
    finish: Finish
    second_thoughts: bool
    detours: int
    blind_edit: bool
    delegates: bool
    reads_note: bool
    obeys_note: bool
    loses_result: int | None
    overloaded: frozenset[int]
    follow_up: bool
    queued: bool


def draw(seed: int, task_id: str, configuration: Configuration) -> Plan:
    """The plan of one run: a pure function of seed, task and configuration."""
    name = configuration.name
    always = ALWAYS.get((task_id, name), frozenset[str]())

    def chance(purpose: str, probability: float) -> bool:
        return purpose in always or stream("plan", seed, task_id, name, purpose).random() < probability

    def pick(purpose: str, low: int, high: int) -> int:
        return stream("plan", seed, task_id, name, purpose).randint(low, high)

    solution = _solution(chance("solves", SOLVES[task_id][name]), chance("partial", configuration.partial_share))
    finish = _finish(
        configuration.finishes["looks wrong" if solution == "wrong" else "looks right"], seed, task_id, name
    )
    low, high = (3, 3) if "reads_everything" in always else configuration.detours
    detours = pick("detours", low, high)
    reads_note = chance("reads_note", 0.35 if detours else 0.0)
    return Plan(
        seed=seed,
        task_id=task_id,
        configuration=name,
        solution=solution,
        finish=finish,
        second_thoughts=solution != "wrong"
        and finish is not Finish.UNPROVEN
        and chance("again", configuration.second_thoughts),
        detours=detours,
        blind_edit=chance("blind_edit", configuration.blind_edit),
        delegates=chance("delegates", configuration.delegates),
        reads_note=reads_note,
        obeys_note=reads_note and chance("obeys_note", OBEYS_NOTE[name]),
        loses_result=pick("lost", 1, 2) if chance("loses_result", LOSES_RESULT) else None,
        overloaded=frozenset({pick("when", 1, 4)}) if chance("overloaded", OVERLOADED) else frozenset(),
        follow_up=chance("follow_up", FOLLOW_UP),
        queued=chance("queued", 0.5),
    )


def _solution(solves: bool, partial: bool) -> Literal["right", "partial", "wrong"]:  # noqa: FBT001 - two draws
    if solves:
        return "right"
    return "partial" if partial else "wrong"


def _finish(chances: Mapping[str, float], seed: int, task_id: str, configuration: str) -> Finish:
    rng = stream("plan", seed, task_id, configuration, "finish")
    return Finish(rng.choices(list(chances), weights=list(chances.values()))[0])
