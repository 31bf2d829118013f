"""What the commands print that judge, audit and evaluate runs."""

from __future__ import annotations

from ledgerkit.agent.drills import DRILLS
from ledgerkit.cli.evaluating import in_dollars
from ledgerkit.evaluation.result import About
from ledgerkit.judges.calibration import Calibration
from ledgerkit.protocol.vocabulary import Audience
from ledgerkit.reports.audit_answers import Answer
from ledgerkit.reports.audit_report import SCHEMA
from scripts.output_schemas.sample import Sample
from scripts.output_schemas.shapes import (
    COUNT,
    IDENTITY,
    TEXT,
    TEXTS,
    YES_OR_NO,
    Output,
    Shape,
    closed,
    rows,
    several,
    typed,
)  # fmt: skip


def outputs(sample: Sample) -> dict[str, Output]:
    """Their outputs by name."""
    ledger = sample.ledger
    judged = rows(sample.judged, ["message_id", *IDENTITY])
    found = {
        "markers": ledger.injection_markers(), "taint": ledger.tainted_actions(), "labels": ledger.amplified_labels(),
        "secrets": ledger.standing_secrets(), "patterns": ledger.anti_patterns(),
    }  # fmt: skip
    audited = closed({**{name: rows(frame) for name, frame in found.items()}, "limits": TEXT}, optional=found)
    annotated = {"message_id": {"type": ["string", "null"]}, "is_new": YES_OR_NO}
    return {
        "audit": Output("audit", "The findings of each kind that was asked for.", audited),
        "audit-report": Output("audit RUN --report", "The ten questions and their answers.", _report()),
        "judge": Output("judge", "A row per judgement; is_new says whether it was made now.", judged),
        "judgements": Output("judgements", "A row per judgement.",
                             rows(sample.judged.drop("is_new"), ["message_id", *IDENTITY])),
        "judgements-verdicts": Output("judgements --verdicts", "A row per subject.", rows(ledger.verdicts(), IDENTITY)),
        "annotate": Output("annotate", "The message that keeps it; null if it was said before.", closed(annotated)),
        "calibrate": Output("calibrate", "The judge held against people's labels.", typed(Calibration)),
        "evaluate": Output("evaluate", "The summary has a row per strategy, runs one per run and strategy.",
                           _evaluation(sample)),
        "drill": Output("drill", "A row per drill.", _drills()),
    }  # fmt: skip


def _report() -> Shape:
    texts = {"type": "object", "additionalProperties": TEXT}
    counts = {"type": "object", "additionalProperties": COUNT}
    return closed({
        "schema": {"const": SCHEMA}, "run_id": TEXT, "generated_at": TEXT,
        "audience": {"enum": [one.value for one in Audience]}, "about": texts, "questions": several(typed(Answer)),
        "judgements": TEXTS, "annotations": TEXTS, "anti_patterns": TEXTS, "withheld": counts, "limits": TEXT,
    })  # fmt: skip


def _evaluation(sample: Sample) -> Shape:
    made = sample.ledger.evaluate(["AsRecorded"], runs=[sample.run_id], jobs=1)
    tables = {"summary": made.summary(), "runs": made.runs}
    return closed({
        "about": typed(About), "caveats": TEXTS,
        **{name: rows(in_dollars(frame), ["strategy"]) for name, frame in tables.items()},
    })  # fmt: skip


def _drills() -> Shape:
    point = closed({"expected": TEXT, "happened": TEXT, "passed": YES_OR_NO, "shown_by": TEXT})
    return several(closed({
        "drill": {"enum": list(DRILLS)}, "title": TEXT, "broken_by": {"type": ["string", "null"]},
        "passed": YES_OR_NO, "points": several(point),
    }))  # fmt: skip
