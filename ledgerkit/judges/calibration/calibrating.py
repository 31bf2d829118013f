"""A judge held against people's labels, bound to the judge, its version and the hash of its rubric."""

from __future__ import annotations

from typing import Any, Final

import polars as pl
from pydantic import Field

from ledgerkit.errors import QueryError
from ledgerkit.judges.calibration.figures import CLOPPER_PEARSON, Estimate, corrected_prevalence, kappa, proportion
from ledgerkit.judges.judgement import Label
from ledgerkit.judges.rubric import SubjectKind
from ledgerkit.protocol.model import Identifier, Model, Text

POSITIVE, NEGATIVE = Label.PASSED.value, Label.FAILED.value
"""What counts as positive, and as negative. Other labels abstain: they are counted, and say nothing about errors."""
SUBJECT: Final = ["kind", "session_id", "run_id", "reference"]
_JUDGE: Final = ["judge_id", "judge_version", "rubric_hash", "kind"]


class Calibration(Model):
    """How a judge did against people's labels. ``passed`` is positive.

    Sensitivity: of what people passed, the share that the judge passed. Specificity: of what people failed, the share
    that it failed.
    """

    judge_id: Identifier
    judge_version: Identifier
    rubric_hash: Identifier
    kind: SubjectKind
    """What was judged: how good a judge is at claims says nothing of how good it is at runs."""
    labelled_by: tuple[Text, ...]
    """The people."""
    labelled: int
    """Subjects with a label of people and a judgement."""
    abstained: int
    """Of these, those that the judge left unverified or undecided."""
    disputed: int
    """Subjects that people labelled differently; left out."""
    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int
    agreement: Estimate
    kappa: Estimate
    sensitivity: Estimate
    specificity: Estimate
    observed_prevalence: Estimate
    """Share of *passed* among all decided judgements."""
    corrected_prevalence: Estimate
    """The same, corrected for the judge's errors."""
    self_consistency: float | None = None
    """Mean share of pairs of votes that agree, over judgements with more than one vote."""
    unanimous: float | None = None
    """Share of these whose votes are all alike."""
    caveats: tuple[Text, ...] = Field(default=())

    @property
    def table(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Rows: the judge passed, failed; columns: people passed, failed."""
        return (self.true_positive, self.false_positive), (self.false_negative, self.true_negative)

    def __str__(self) -> str:
        """The figures in a few lines."""
        lines = [
            f"{self.judge_id} ({self.rubric_hash[:19]}…) on {self.kind}s against {', '.join(self.labelled_by)}: "
            f"{self.labelled} labelled, {self.abstained} without a decision, {self.disputed} disputed",
            f"                people passed   people failed\njudge passed    {self.true_positive:13d}"
            f"   {self.false_positive:13d}\njudge failed    {self.false_negative:13d}   {self.true_negative:13d}",
        ]
        named = (
            ("agreement", self.agreement), ("kappa", self.kappa), ("sensitivity", self.sensitivity),
            ("specificity", self.specificity), ("passed, as judged", self.observed_prevalence),
            ("passed, corrected", self.corrected_prevalence),
        )  # fmt: skip
        lines += [f"{name:<18} {estimate}  {estimate.method}" for name, estimate in named]
        if self.self_consistency is not None:
            lines.append(f"self-consistency   {self.self_consistency:.3f}; unanimous {self.unanimous:.3f}")
        return "\n".join([*lines, *self.caveats])


CALIBRATIONS: Final = pl.Schema(
    {
        "message_id": pl.String(),
        "created_at": pl.Datetime("us", "UTC"),
        **dict.fromkeys(_JUDGE, pl.String()),
        "labelled": pl.Int64(),
        "abstained": pl.Int64(),
        "agreement": pl.Float64(),
        "kappa": pl.Float64(),
        "sensitivity": pl.Float64(),
        "specificity": pl.Float64(),
    }
)
"""Columns of stored calibrations; the whole of each stands in its message."""
_FEW: Final = 30


def calibrate(judgements: pl.DataFrame, labels: pl.DataFrame) -> Calibration:
    """Holds the judgements of one judge against people's labels.

    Args:
        judgements: Current judgements of one judge by one rubric on one kind of subject (``JUDGEMENTS``).
        labels: ``kind``, ``session_id``, ``run_id``, ``reference``, ``label`` and ``by``: what people said.

    Raises:
        QueryError: If the judgements are of several judges, rubrics or kinds, or no labelled subject was judged.
        MissingExtraError: If the extra ``stats`` is not installed.
    """
    judges = judgements.select(_JUDGE).unique()
    if judges.height != 1:
        raise QueryError(
            f"A calibration is about one judge, rubric and kind of subject, got {judges.height}. Name one."
        )
    agreed, disputed = _agreed_labels(labels)
    both = judgements.rename({"label": "said"}).join(agreed, on=SUBJECT, how="inner", nulls_equal=True)
    if not both.height:
        raise QueryError("People have labelled none of the subjects with passed or failed. Annotate some first.")
    cells = {(said, label): count for said, label, count in both.group_by("said", "label").len().iter_rows()}
    tp, fp = cells.get((POSITIVE, POSITIVE), 0), cells.get((POSITIVE, NEGATIVE), 0)
    fn, tn = cells.get((NEGATIVE, POSITIVE), 0), cells.get((NEGATIVE, NEGATIVE), 0)
    decided = tp + fp + fn + tn
    all_decided = judgements.filter(pl.col("label").is_in([POSITIVE, NEGATIVE]))
    positive = all_decided.filter(pl.col("label") == POSITIVE).height
    return Calibration(
        **judges.row(0, named=True),
        labelled_by=tuple(agreed["by"].explode().unique().sort()),
        labelled=both.height,
        abstained=both.height - decided,
        disputed=disputed,
        true_positive=tp,
        false_positive=fp,
        true_negative=tn,
        false_negative=fn,
        agreement=proportion(tp + tn, decided),
        kappa=kappa(((tp, fp), (fn, tn))),
        sensitivity=proportion(tp, tp + fn, CLOPPER_PEARSON),
        specificity=proportion(tn, tn + fp, CLOPPER_PEARSON),
        observed_prevalence=proportion(positive, all_decided.height),
        corrected_prevalence=corrected_prevalence(positive, all_decided.height, tp, tp + fn, tn, tn + fp),
        **_consistency(judgements),
        caveats=tuple(_caveats(decided, both.height - decided, tp + fn, tn + fp)),
    )


def _agreed_labels(labels: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """One label a subject, with who gave it; and the subjects on which people disagree."""
    decided = labels.filter(pl.col("label").is_in([POSITIVE, NEGATIVE]))
    grouped = decided.group_by(SUBJECT, maintain_order=True).agg(
        label=pl.col("label").first(), kinds=pl.col("label").n_unique(), by=pl.col("by").unique().sort()
    )
    return grouped.filter(pl.col("kinds") == 1).drop("kinds"), grouped.filter(pl.col("kinds") > 1).height


def _consistency(judgements: pl.DataFrame) -> dict[str, Any]:
    voted = judgements.filter(pl.col("agreement").is_not_null())
    if not voted.height:
        return {}
    unanimous = voted.filter(pl.col("agreement") == 1.0).height / voted.height
    return {"self_consistency": float(str(voted["agreement"].mean())), "unanimous": unanimous}


def _caveats(decided: int, abstained: int, positive: int, negative: int) -> list[str]:
    said = list[str]()
    if decided < _FEW:
        said.append(f"Only {decided} decided cases: the intervals are wide, and that is what they say.")
    if 0 in (positive, negative):
        said.append("People gave one label only: sensitivity or specificity cannot be known.")
    if abstained:
        said.append(f"{abstained} cases without a decision are in none of the figures.")
    return said
