"""What people said of runs, and how judges did against it, as messages of review runs, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from ledgerkit.judges.calibration.calibrating import CALIBRATIONS, SUBJECT, Calibration
from ledgerkit.judges.records import ANNOTATION, CALIBRATION, REVIEWS
from ledgerkit.protocol.messages import AppendMessageCommand
from ledgerkit.protocol.parts import JsonPart
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Visibility

_SAID: Final = pl.Struct(
    {
        "target": pl.Struct({"session_id": pl.String, "run_id": pl.String, "reference": pl.String}),
        "label": pl.String,
        "tags": pl.List(pl.String),
        "note": pl.String,
    }
)
_VALUE: Final = pl.Struct({"value": pl.Float64})
_JUDGE: Final = ("judge_id", "judge_version", "rubric_hash", "kind")
_FIGURES: Final = ("agreement", "kappa", "sensitivity", "specificity")
_MADE: Final = pl.Struct(
    {**dict.fromkeys(_JUDGE, pl.String), "labelled": pl.Int64, "abstained": pl.Int64, **dict.fromkeys(_FIGURES, _VALUE)}
)
ANNOTATIONS: Final = pl.Schema(
    {
        "message_id": pl.String(),
        "created_at": pl.Datetime("us", "UTC"),
        "by": pl.String(),
        "kind": pl.String(),
        "session_id": pl.String(),
        "run_id": pl.String(),
        "reference": pl.String(),
        "label": pl.String(),
        "tags": pl.List(pl.String()),
        "note": pl.String(),
        "is_current": pl.Boolean(),
    }
)
"""Columns of annotations."""


def annotation_run(by: str) -> tuple[str, str]:
    """Session and run that hold what one person said."""
    return REVIEWS, f"annotations-{hashlib.sha256(by.encode()).hexdigest()[:16]}"


def annotation_command(
    review: tuple[str, str], by: str, target: tuple[str, str, str | None], said: Mapping[str, Any]
) -> AppendMessageCommand:
    """The message of an annotation. It is the person's own word: what it is about is named, not quoted as evidence."""
    session_id, run_id, reference = target
    about = {"session_id": session_id, "run_id": run_id, "reference": reference}
    words = [said["label"], *said["tags"], said["note"]]
    data: dict[str, Any] = {"note": ANNOTATION, "target": about, "said": dict(said)}
    part = JsonPart(
        data=data,
        text=" · ".join(one for one in words if one),
        trust_level=TrustLevel.USER_TRUSTED,
        visibility=Visibility.HUMAN_VISIBLE,
    )
    return AppendMessageCommand(
        session_id=review[0], run_id=review[1], kind=MessageKind.JUDGE_RESULT, actor=by, parts=(part,)
    )


def annotation_frame(parts: pl.DataFrame) -> pl.DataFrame:
    """Annotations from the parts of review runs (``ANNOTATIONS``), in the order in which they were made."""
    outer = pl.Struct({"target": _SAID.fields[0].dtype, "said": pl.Struct(_SAID.fields[1:])})
    rows = parts.filter(pl.col("note") == ANNOTATION).drop("note")
    rows = rows.with_columns(pl.col("data").str.json_decode(outer)).unnest("data").unnest("target", "said")
    reference = pl.col("reference")
    is_claim = reference.str.starts_with("message:") & reference.str.contains("#", literal=True)
    kind = pl.when(reference.is_null()).then(pl.lit("run")).when(is_claim).then(pl.lit("claim"))
    target = ["by", "run_id", "reference"]
    return (
        rows.rename({"actor": "by"})
        .with_columns(kind=kind.otherwise(reference.str.split(":").list.first()))
        .sort("created_at", "review_run_id", "sequence_no")
        .with_columns(is_current=pl.int_range(pl.len()).over(target) == pl.len().over(target) - 1)
        .select(pl.col(name).cast(dtype) for name, dtype in ANNOTATIONS.items())
    )


def labels_for(judged: pl.DataFrame, annotations: pl.DataFrame) -> pl.DataFrame:
    """Labels of people in the form of a judge's subjects: what a message is called there, a summary or a diff."""
    named = annotations.select("session_id", "run_id", "reference", "label", "by").drop_nulls("label")
    kinds = judged.select(SUBJECT).unique()
    return kinds.join(named, on=SUBJECT[1:], how="inner", nulls_equal=True)


def calibration_command(review: tuple[str, str], made: Calibration) -> AppendMessageCommand:
    """The message of a calibration; the same one again is the same message."""
    data = made.model_dump(mode="json")
    part = JsonPart(
        data={"note": CALIBRATION, **data}, text=str(made), trust_level=TrustLevel.TOOL_TRUSTED,
        visibility=Visibility.HUMAN_VISIBLE,
    )  # fmt: skip
    key = hashlib.sha256(made.model_dump_json().encode()).hexdigest()[:40]
    return AppendMessageCommand(
        session_id=review[0], run_id=review[1], kind=MessageKind.JUDGE_RESULT, actor="calibration",
        idempotency_key=f"calibration:{key}", parts=(part,),
    )  # fmt: skip


def calibration_frame(parts: pl.DataFrame) -> pl.DataFrame:
    """The last calibration of each judge and rubric (``CALIBRATIONS``)."""
    rows = parts.filter(pl.col("note") == CALIBRATION).drop("note")
    rows = rows.with_columns(pl.col("data").str.json_decode(_MADE)).unnest("data")
    return (
        rows.with_columns(pl.col(name).struct.field("value").alias(name) for name in _FIGURES)
        .sort("created_at", "sequence_no")
        .unique(_JUDGE, keep="last", maintain_order=True)
        .select(pl.col(name).cast(dtype) for name, dtype in CALIBRATIONS.items())
    )
