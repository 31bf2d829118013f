"""What a task is made of.

The rule: a task is data. How an agent goes about it is the configuration's business (:mod:`.behaviour`), and whether
the work is right is decided by the task's hidden check, which no agent sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources

FULL_SUITE = "python -m pytest -q"
"""The command that "all tests" means in tillroll."""


@dataclass(frozen=True, slots=True)
class Change:
    """A text put in the place of another. Without an old text the file is written whole."""

    path: str
    new: str
    old: str | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to solve the task, right or not.

    Attributes:
        changes: The edits, each against the repository as the task begins.
        because: What the agent says to itself before it edits.
        summary: What it says that it did.
    """

    changes: tuple[Change, ...]
    because: str
    summary: str


@dataclass(frozen=True, slots=True)
class Task:
    """One task on the toy repository.

    Attributes:
        task_id: Its id.
        title: A short title.
        branch: The branch that runs work on.
        prompt: The user's words.
        scope: Files that the task allows to change.
        look_at: Files that matter, the most important first.
        aside: Files that matter less, read on detours.
        search: Regular expressions worth searching.
        reproduce: Commands that show the problem, by configuration.
        check: Command that shows whether a change works.
        right: A variant that passes the hidden check.
        partial: One that looks right and fails it.
        wrong: One that does not even look right.
        explore: Prompt for a subagent.
        setup: Changes that turn the toy repository into the task's starting point.
        environment: Variables that the task's commands see.
        changelog: Line for the changelog; None where a user notices nothing.
        success: What may be said when the check passes.
        needs_evidence: Whether nobody could begin without seeing what the commands print.
    """

    task_id: str
    title: str
    branch: str
    prompt: str
    scope: tuple[str, ...]
    look_at: tuple[str, ...]
    aside: tuple[str, ...]
    search: tuple[str, ...]
    reproduce: Mapping[str, tuple[str, ...]]
    check: str
    right: Variant
    partial: Variant
    wrong: Variant
    explore: str
    setup: tuple[Change, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    changelog: str | None = None
    success: str = "The tests in question pass"
    needs_evidence: bool = False

    @property
    def hidden_check(self) -> str:
        """The test file that decides, kept from the agent."""
        name = self.task_id.replace("-", "_") + ".py.txt"
        return (resources.files("ledgerkit.agent") / "scripts" / "checks" / name).read_text(encoding="utf-8")


def same_for_all(*commands: str) -> Mapping[str, tuple[str, ...]]:
    """The same commands for every configuration; the frugal one reads only the end of the first."""
    first, *rest = commands
    return {"careful": commands, "hasty": (first,), "frugal": (f"{first} | tail -6", *rest)}
