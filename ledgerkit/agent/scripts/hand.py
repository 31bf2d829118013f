"""The scripted agent's hand: the calls it makes and what it reads off their results.

The rule: a script reacts to what its calls really gave; only the choice of a variant is planned.
"""

from __future__ import annotations

import random
import re
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field

from ledgerkit.agent.exchange import ToolResult
from ledgerkit.agent.model import LOST_RESULT, Call, Move, Seen
from ledgerkit.agent.scripts.plan import Plan
from ledgerkit.agent.scripts.task import Change, Task, Variant

Steps = Generator[Move, Seen, tuple[ToolResult, ...]]
"""A stretch of a script; ends with the last results."""

_AGAIN = (
    "The session stopped before that result arrived, so I run it again.",
    "I have no result for the last call; running it once more.",
)
_RED = re.compile(r"\b[1-9]\d* (?:failed|errors?)\b|^(?:FAILED|ERROR)\b", re.MULTILINE)


@dataclass(slots=True)
class Hand:
    """What a script knows while it plays.

    Attributes:
        task: The task.
        plan: How the run goes.
        root: The workspace, as the agent knows it.
        rng: Chooses among phrases.
        done: The variant that the files are in; None before the first edit.
        todo: The plan as it was last written down.
    """

    task: Task
    plan: Plan
    root: str
    rng: random.Random
    done: Variant | None = None
    todo: list[str] = field(default_factory=list[str])

    def say(self, *phrases: str) -> str:
        """One of some phrases."""
        return self.rng.choice(phrases)

    def play(self, *calls: Call, text: str | None = None, thinking: str | None = None) -> Steps:
        """Make calls, again where a result is lost, and give their results."""
        seen = yield Move(text, thinking, calls)
        results = list(seen.results)
        while seen.is_lost:
            missing = [number for number, result in enumerate(results) if result.text == LOST_RESULT]
            seen = yield Move(self.say(*_AGAIN), None, tuple(calls[number] for number in missing))
            for number, result in zip(missing, seen.results, strict=True):
                results[number] = result
        return tuple(results)

    def read(self, path: str, first: int | None = None, count: int | None = None) -> Call:
        """Read a file, or some of its lines."""
        window = {} if first is None else {"offset": first, "limit": count or 40}
        return Call("Read", {"file_path": f"{self.root}/{path}", **window})

    def grep(self, pattern: str, *, content: bool = True) -> Call:
        """Search the code."""
        mode = "content" if content else "files_with_matches"
        return Call("Grep", {"pattern": pattern, "glob": "*.py", "output_mode": mode})

    def bash(self, command: str, description: str) -> Call:
        """Run a command."""
        return Call("Bash", {"command": command, "description": description})

    def change(self, change: Change) -> Call:
        """Carry out a change."""
        path = f"{self.root}/{change.path}"
        if change.old is None:
            return Call("Write", {"file_path": path, "content": change.new})
        return Call("Edit", {"file_path": path, "old_string": change.old, "new_string": change.new})

    def plan_call(self, items: Iterable[str], done: int) -> Call:
        """Write the plan down, with so many of its items done."""
        self.todo = list(items)
        states = ["completed"] * done + ["in_progress"] + ["pending"] * len(self.todo)
        entries = [
            {"content": item, "status": state, "activeForm": f"Working on: {item}"}
            for item, state in zip(self.todo, states, strict=False)
        ]
        return Call("TodoWrite", {"todos": entries})

    def towards(self, variant: Variant) -> list[Call]:
        """The calls that take the files from where they are to a variant."""
        before = self.done.changes if self.done else ()
        wanted = {(c.path, c.old): c for c in variant.changes}
        calls: list[Call] = []
        for change in before:
            target = wanted.pop((change.path, change.old), None)
            if target is None and change.old is not None:
                calls.append(self.change(Change(change.path, change.old, change.new)))
            elif target is not None and target.new != change.new:
                old = None if change.old is None else change.new
                calls.append(self.change(Change(change.path, target.new, old)))
        self.done = variant
        return calls + [self.change(c) for c in wanted.values()]


def is_red(results: Iterable[ToolResult]) -> bool:
    """Whether the last of some results shows a failure."""
    last = list(results)[-1]
    return last.is_error or shows_failure(last.text)


def shows_failure(text: str) -> bool:
    """Whether a check's output counts failures or errors."""
    return _RED.search(text) is not None


def verdict_line(results: Iterable[ToolResult]) -> str:
    """The last line of the last result, such as ``16 passed in 0.21s``."""
    lines = [line for line in list(results)[-1].text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def failing_line(results: Iterable[ToolResult]) -> str:
    """The line that says best what fails."""
    lines = list(results)[-1].text.splitlines()
    marked = [line.strip() for line in lines if line.startswith(("FAILED", "ERROR", "E  "))]
    return marked[-1] if marked else verdict_line(results)
