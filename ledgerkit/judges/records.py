"""Judgements as messages of a review run, and back.

A judgement is one JUDGE_RESULT message of two parts. The first is the judge's own statement: label, score, answers.
The second holds its grounds, which quote what was judged; it has no more trust, and is seen by no more people, than
what it cites.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import polars as pl

from ledgerkit.judges.judge import Assessment
from ledgerkit.judges.judgement import Judgement, Reason, Subject
from ledgerkit.judges.material import RUN, Material
from ledgerkit.protocol.messages import AppendMessageCommand
from ledgerkit.protocol.parts import JsonPart
from ledgerkit.protocol.vocabulary import MessageKind, RunRelation, TrustLevel, Visibility
from ledgerkit.tables.money import DOLLARS

REVIEWS: Final = "reviews"
"""The session of all review runs."""
JUDGEMENT, GROUNDS, BRIEF, ANSWER = "judgement", "grounds", "brief", "answer"
CALIBRATION, ANNOTATION = "calibration", "annotation"
"""What a part of a review run says of itself in ``note``."""
AGENT: Final = "ledgerkit-review"
RELATION: Final = RunRelation.REVIEW.value
PASSING: Final = frozenset({Reason.COST_CAP, Reason.UNAVAILABLE})
"""Reasons that lie with the asking, not with the answer: the same subject is judged again when it is asked for."""
Labels = tuple[TrustLevel, Visibility]

_CRITERION: Final = pl.Struct(
    {"criterion": pl.String, "outcome": pl.String, "why": pl.String, "evidence": pl.List(pl.String)}
)
_SUBJECT: Final = pl.Struct(
    {"kind": pl.String, "session_id": pl.String, "run_id": pl.String, "reference": pl.String, "state": pl.String}
)
_STATED: Final = pl.Struct(
    {
        "note": pl.String,
        "judge_id": pl.String,
        "judge_version": pl.String,
        "rubric_id": pl.String,
        "rubric_version": pl.Int64,
        "rubric_hash": pl.String,
        "subject": _SUBJECT,
        "label": pl.String,
        "score": pl.Float64,
        "reason": pl.String,
        "votes": pl.List(pl.String),
        "cost_usd": pl.String,
    }
)
_GROUNDS: Final = pl.Struct({"rationale": pl.String, "criteria": pl.List(_CRITERION)})
JUDGEMENTS: Final = pl.Schema(
    {
        "message_id": pl.String(),
        "created_at": pl.Datetime("us", "UTC"),
        "judge_id": pl.String(),
        "judge_version": pl.String(),
        "rubric_id": pl.String(),
        "rubric_version": pl.Int64(),
        "rubric_hash": pl.String(),
        "kind": pl.String(),
        "session_id": pl.String(),
        "run_id": pl.String(),
        "reference": pl.String(),
        "state": pl.String(),
        "label": pl.String(),
        "score": pl.Float64(),
        "reason": pl.String(),
        "rationale": pl.String(),
        "criteria": pl.List(_CRITERION),
        "evidence": pl.List(pl.String()),
        "votes": pl.List(pl.String()),
        "agreement": pl.Float64(),
        "cost": DOLLARS,
        "trust_level": pl.String(),
    }
)
"""Columns of judgements. ``message_id`` is the judgement; ``kind``, ``session_id``, ``run_id``, ``reference`` and
``state`` are its subject; ``agreement`` is the share of pairs of votes that agree, null for fewer than two."""


def review_run(judge_id: str, judge_version: str, rubric_hash: str) -> tuple[str, str]:
    """Session and run that hold the judgements of one judge, version and rubric.

    Example:
        >>> review_run("rules", "1", "sha256:00") == review_run("rules", "1", "sha256:00")
        True
    """
    said = "\n".join((judge_id, judge_version, rubric_hash))
    return REVIEWS, f"review-{judge_id}-{hashlib.sha256(said.encode()).hexdigest()[:16]}"


def review_title(judge_id: str, rubric_id: str, rubric_version: int) -> str:
    """What a review run is called."""
    return f"{judge_id} by {rubric_id} {rubric_version}"


def judgement_key(subject: Subject) -> str:
    """The idempotency key of the judgement of a subject within its review run."""
    return f"judgement:{hashlib.sha256(subject.key.encode()).hexdigest()[:40]}"


def round_of(subject: Subject, there: Collection[str]) -> int:
    """How often a subject was left without a judgement because nobody could be asked, by the keys that are there."""
    begin = f"{judgement_key(subject)}:round:"
    return sum(key.startswith(begin) for key in there)


def _key(judgement: Judgement, number: int) -> str:
    """A judgement that failed to be made has a key of its own, so that the next attempt is not refused."""
    key = judgement_key(judgement.subject)
    return f"{key}:round:{number}" if judgement.reason in PASSING else key


def judgement_command(made: Assessment, own: TrustLevel, labels: Labels, number: int = 0) -> AppendMessageCommand:
    """The message of a judgement.

    Args:
        made: The judgement, and what it was made from.
        own: The trust of the judge's own words: a rule's, or a model's.
        labels: Those of what it cites, the lowest trust and the narrowest visibility.
        number: How often the subject was left without a judgement before.
    """
    judgement, brief = made.judgement, made.brief
    session_id, run_id = review_run(judgement.judge_id, judgement.judge_version, judgement.rubric_hash)
    data = judgement.model_dump(mode="json")
    grounds = {"note": GROUNDS, "rationale": data.pop("rationale"), "criteria": data.pop("criteria")}
    where = f" {judgement.subject.reference}" if judgement.subject.reference is not None else ""
    kept = JsonPart(
        data={"note": BRIEF, "round": number, **brief},
        trust_level=TrustLevel.PLATFORM_TRUSTED,
        visibility=Visibility.AUDIT_ONLY,
    )
    sentence = (
        f"{judgement.judge_id}: {judgement.subject.kind}{where} of run {judgement.subject.run_id} {judgement.label}"
    )
    trust = TrustLevel.lowest([own, labels[0]])
    narrowest = max([Visibility.HUMAN_VISIBLE, labels[1]], key=lambda level: level.rank)
    return AppendMessageCommand(
        session_id=session_id,
        run_id=run_id,
        kind=MessageKind.JUDGE_RESULT,
        actor=judgement.judge_id,
        idempotency_key=_key(judgement, number),
        parts=(
            JsonPart(
                data={"note": JUDGEMENT, **data}, text=sentence, trust_level=own, visibility=Visibility.HUMAN_VISIBLE
            ),
            JsonPart(
                data=grounds, text=judgement.rationale or None, trust_level=trust, visibility=narrowest,
                evidence_refs=judgement.evidence,
            ),
            *([kept] if brief else []),
        ),
    )  # fmt: skip


def answer_commands(made: Assessment, number: int = 0) -> list[AppendMessageCommand]:
    """The messages of what was answered, word for word, for audits only; each carries the tokens of its call."""
    judgement = made.judgement
    session_id, run_id = review_run(judgement.judge_id, judgement.judge_version, judgement.rubric_hash)
    key = answers_key(judgement.subject, number)
    return [
        AppendMessageCommand(
            session_id=session_id,
            run_id=run_id,
            kind=MessageKind.JUDGE_RESULT,
            actor=judgement.judge_id,
            idempotency_key=f"{key}:{one.vote}:{one.attempt}",
            call=one.call,
            parts=(
                JsonPart(
                    data={
                        "note": ANSWER, "judgement": key, "vote": one.vote, "attempt": one.attempt, "body": one.body,
                        "problem": one.problem,
                    },
                    trust_level=TrustLevel.MODEL_GENERATED,
                    visibility=Visibility.AUDIT_ONLY,
                ),
            ),
        )
        for one in made.answers
    ]  # fmt: skip


def answers_key(subject: Subject, number: int) -> str:
    """What ties the answers of one round to their judgement."""
    return f"{judgement_key(subject)}:answers:{number}"


def source_labels(material: Material) -> dict[str, Labels]:
    """Lowest trust and narrowest visibility of what each reference names, by kind and target as they are, unescaped."""
    trusts = {level.value: level.rank for level in TrustLevel}
    views = {level.value: level.rank for level in Visibility}
    ranked = material.parts.select(
        *RUN,
        "message_id",
        "tool_call_id",
        "artifact_refs",
        trust=pl.col("part_trust_level").replace_strict(trusts, default=len(trusts) - 1, return_dtype=pl.Int64),
        view=pl.col("part_visibility").replace_strict(views, default=len(views) - 1, return_dtype=pl.Int64),
    )
    both = [pl.col("trust").max(), pl.col("view").max()]
    by_name: dict[str, Labels] = {}
    for prefix, name in (("message", "message_id"), ("tool-call", "tool_call_id"), ("artifact", "artifact_refs")):
        rows = ranked.explode(name, empty_as_null=True) if name == "artifact_refs" else ranked
        grouped = rows.drop_nulls(name).group_by(name).agg(both)
        for target, trust, view in grouped.iter_rows():
            by_name[f"{prefix}:{target}"] = (list(TrustLevel)[trust], list(Visibility)[view])
    return by_name


def labels_of(judgement: Judgement, sources: Mapping[str, Labels]) -> Labels:
    """The labels of all that a judgement cites; those of its own words where it cites nothing of its run."""
    names = [f"{ref.kind}:{ref.target}" for ref in judgement.evidence]
    found = [sources[name] for name in names if name in sources]
    if not found:
        return TrustLevel.TOOL_TRUSTED, Visibility.HUMAN_VISIBLE
    trust = TrustLevel.lowest([one for one, _ in found])
    return trust, max((view for _, view in found), key=lambda level: level.rank)


def judgement_frame(parts: pl.DataFrame) -> pl.DataFrame:
    """Judgements from the parts of review runs, in the order in which they were made.

    Args:
        parts: ``message_id``, ``created_at``, ``sequence_no``, ``part_trust_level``, ``data`` and ``note`` of the JSON
            parts of messages of the kind JUDGE_RESULT.

    Returns:
        ``JUDGEMENTS``.
    """
    own = parts.filter(pl.col("note") == JUDGEMENT).drop("note")
    stated = own.with_columns(pl.col("data").str.json_decode(_STATED)).unnest("data")
    grounds = (
        parts.filter(pl.col("note") == GROUNDS)
        .select("message_id", pl.col("data").str.json_decode(_GROUNDS))
        .unnest("data")
    )
    subject = pl.col("subject").struct
    rows = stated.join(grounds, on="message_id", how="left", maintain_order="left")
    evidence = (
        pl.col("criteria")
        .list.eval(pl.element().struct.field("evidence").explode(empty_as_null=True))
        .list.drop_nulls()
    )
    return (
        rows.with_columns(
            *(subject.field(name) for name in ("kind", "session_id", "run_id", "reference", "state")),
            evidence=evidence.list.unique(maintain_order=True),
            agreement=agreement(rows["votes"]),
            cost=pl.col("cost_usd").cast(DOLLARS),
            trust_level="part_trust_level",
        )
        .sort("created_at", "message_id")
        .select(pl.col(name).cast(dtype) for name, dtype in JUDGEMENTS.items())
    )


def agreement(votes: pl.Series) -> pl.Series:
    """Share of pairs of votes that agree; null for fewer than two.

    Example:
        >>> agreement(pl.Series([["passed", "passed", "failed"], ["passed"]])).round(3).to_list()
        [0.333, None]
    """
    return pl.Series([_agreed(one) for one in votes], dtype=pl.Float64)


def _agreed(votes: Sequence[Any] | None) -> float | None:
    given = [] if votes is None else list(votes)
    if len(given) < 2:
        return None
    alike = sum(given.count(one) - 1 for one in given)
    return alike / (len(given) * (len(given) - 1))
