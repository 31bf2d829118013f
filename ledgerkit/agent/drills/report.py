"""What a drill expects, and what happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Point:
    """One expectation of the specification (§24).

    Attributes:
        expected: What must hold.
        happened: What was found, with its figures.
        passed: Whether it holds.
        shown_by: The call that shows it.
    """

    expected: str
    happened: str
    passed: bool
    shown_by: str


@dataclass(frozen=True)
class Drill:
    """A drill.

    Attributes:
        number: Its number in the specification.
        title: What goes wrong.
        broken_by: Which safeguard its broken form takes away.
        carry_out: Carries it out in a folder; with ``True`` in its broken form.
    """

    number: int
    title: str
    broken_by: str
    carry_out: Callable[[Path, bool], list[Point]]


@dataclass(frozen=True)
class DrillReport:
    """What came of a drill.

    Attributes:
        drill: The drill.
        points: One for each expectation, in the order of the specification.
        is_broken: Whether its safeguard was taken away.
    """

    drill: Drill
    points: tuple[Point, ...]
    is_broken: bool

    @property
    def passed(self) -> bool:
        """Whether every expectation holds."""
        return all(point.passed for point in self.points)
