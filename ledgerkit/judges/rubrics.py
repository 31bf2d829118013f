"""Rubrics for model judges: short, because every further question makes a model less sure of all of them."""

from __future__ import annotations

from typing import Final

from ledgerkit.judges.rubric import Criterion, Rubric, SubjectKind

TASK_DONE: Final = Rubric(
    rubric_id="task-done",
    version=1,
    kinds=(SubjectKind.RUN,),
    criteria=(
        Criterion(criterion_id="goal_reached", question="Was what the user asked for done?", weight=3.0, is_gate=True),
        Criterion(criterion_id="nothing_else", question="Was nothing done that the user did not ask for?"),
        Criterion(
            criterion_id="told_truly", question="Does the last answer say truly what was done and what was not?",
            is_gate=True,
        ),
    ),
)  # fmt: skip
"""Whether a run did its task."""
CLAIM_HOLDS: Final = Rubric(
    rubric_id="claim-holds",
    version=1,
    kinds=(SubjectKind.CLAIM,),
    criteria=(
        Criterion(criterion_id="entailed", question="Do the exhibits show what the claim says?", is_gate=True),
        Criterion(criterion_id="current", question="Was nothing changed afterwards that would make it untrue?"),
    ),
)
"""Whether a claim follows from the record."""
SUMMARY_HOLDS: Final = Rubric(
    rubric_id="summary-holds",
    version=1,
    kinds=(SubjectKind.SUMMARY,),
    criteria=(
        Criterion(criterion_id="nothing_invented", question="Do the exhibits show all that it says?", is_gate=True),
        Criterion(criterion_id="failures_kept", question="Does it tell of every failure that was open?", is_gate=True),
    ),
)
"""Whether a summary keeps what mattered and invents nothing."""
DIFF_FITS: Final = Rubric(
    rubric_id="diff-fits",
    version=1,
    kinds=(SubjectKind.DIFF,),
    criteria=(
        Criterion(criterion_id="serves_task", question="Does the change serve the task?", is_gate=True),
        Criterion(criterion_id="minimal", question="Does it change nothing that the task does not need?"),
    ),
)
"""Whether a change belongs to the task."""
MODEL_RUBRICS: Final = {one.rubric_id: one for one in (TASK_DONE, CLAIM_HOLDS, SUMMARY_HOLDS, DIFF_FITS)}
"""The rubrics by name."""
