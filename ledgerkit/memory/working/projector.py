"""Working memory of a run at a step: a pure function of its rows, so that a lost snapshot is computed again."""

from __future__ import annotations

from ledgerkit.memory.working import files, intentions, outcomes
from ledgerkit.memory.working.proposals import accepted_items
from ledgerkit.memory.working.record import RunRecord
from ledgerkit.protocol.contracts import SpendingLimits
from ledgerkit.protocol.memory import WorkingMemory

VERSION = 1
"""Version of the rules; snapshots of another one are stale."""


def working_memory(
    record: RunRecord,
    *,
    step: int | None = None,
    limits: SpendingLimits | None = None,
    spent: SpendingLimits | None = None,
) -> WorkingMemory:
    """The state of a run.

    Args:
        record: The rows of the run.
        step: What the context of this step could have known; everything if not given.
        limits: What the run may spend, if that is known. A log does not say.
        spent: What it has spent by then.

    Returns:
        Goal, plan, changed files, known facts, open problems, blockers, failures and the budget left. Every entry names
        what it rests on, and has the lowest trust of that.
    """
    seen = record.up_to(step)
    found = outcomes.checks(seen)
    accepted = accepted_items(seen.parts)
    return WorkingMemory(
        run_id=record.run_id,
        task_goal=intentions.goal(seen),
        current_plan=intentions.plan(seen),
        changed_files=tuple(files.changed_files(seen)),
        known_facts=(*outcomes.known_facts(seen, found), *files.read_files(seen), *accepted.facts),
        open_problems=(*outcomes.open_problems(found), *accepted.open_problems),
        blocked_by=intentions.blockers(seen),
        failure_history=tuple(outcomes.failures(found)),
        budget_left=_left(limits, spent),
    )


def _left(limits: SpendingLimits | None, spent: SpendingLimits | None) -> SpendingLimits | None:
    """What of each limit is left, 0 at least; unknown where the limit or what was spent is."""
    if limits is None:
        return None
    left = dict[str, object]()
    for name in SpendingLimits.model_fields:
        limit, used = getattr(limits, name), getattr(spent, name) if spent is not None else None
        left[name] = max(limit - used, type(limit)(0)) if limit is not None and used is not None else None
    return SpendingLimits.model_validate(left)


def visible_steps(record: RunRecord) -> int:
    """Number of steps that have something to see."""
    return int(record.parts["visible_from"].max() or 0) + 1 if record.parts.height else 0  # pyright: ignore[reportArgumentType]
