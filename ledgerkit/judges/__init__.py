"""Judges: who assesses runs, claims, summaries and diffs against versioned rubrics, and how well they can be trusted.

Frames and models in, judgements out; the ledger keeps them (:meth:`ledgerkit.Ledger.judge`).
"""

from __future__ import annotations

from ledgerkit.judges.case import Case, Exhibit, case_of
from ledgerkit.judges.combining import VERDICTS, combined
from ledgerkit.judges.judge import Assessment, BatchJudge, Judge, RawAnswer, RecordingJudge
from ledgerkit.judges.judgement import CriterionResult, Judgement, Label, Outcome, Reason, Subject, score_of
from ledgerkit.judges.material import Material
from ledgerkit.judges.model_judge import AskedModel, Backoff, ModelJudge
from ledgerkit.judges.records import JUDGEMENTS
from ledgerkit.judges.rubric import Criterion, Rubric, SubjectKind
from ledgerkit.judges.rubrics import CLAIM_HOLDS, DIFF_FITS, MODEL_RUBRICS, SUMMARY_HOLDS, TASK_DONE
from ledgerkit.judges.rules import RULES, RuleJudge

__all__ = [
    "CLAIM_HOLDS",
    "DIFF_FITS",
    "JUDGEMENTS",
    "MODEL_RUBRICS",
    "RULES",
    "SUMMARY_HOLDS",
    "TASK_DONE",
    "VERDICTS",
    "AskedModel",
    "Assessment",
    "Backoff",
    "BatchJudge",
    "Case",
    "Criterion",
    "CriterionResult",
    "Exhibit",
    "Judge",
    "Judgement",
    "Label",
    "Material",
    "ModelJudge",
    "Outcome",
    "RawAnswer",
    "Reason",
    "RecordingJudge",
    "Rubric",
    "RuleJudge",
    "Subject",
    "SubjectKind",
    "case_of",
    "combined",
    "score_of",
]
