"""Judgements made again from the answers that were recorded, without asking anybody."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, cast

import polars as pl

from ledgerkit.judges.judge import RawAnswer
from ledgerkit.judges.judgement import Judgement, Reason, Subject
from ledgerkit.judges.records import ANSWER, BRIEF, GROUNDS, JUDGEMENT, answers_key
from ledgerkit.judges.rubric import Rubric
from ledgerkit.judges.votes import Panel, Shown, read_vote, settled
from ledgerkit.protocol.refusals import parse


def rebuilt(parts: pl.DataFrame) -> Iterator[tuple[str, Judgement]]:
    """The judgements of model judges, read again from the raw answers: ``message_id`` and the judgement.

    Args:
        parts: What :func:`ledgerkit.judges.records.judgement_frame` takes.

    Raises:
        ProtocolError: If what is recorded is no judgement of this version.
    """
    answers: dict[str, list[RawAnswer]] = {}
    for data in _notes(parts, ANSWER).values():
        raw = RawAnswer(data["vote"], data["attempt"], data["body"], data["problem"])
        answers.setdefault(data["judgement"], []).append(raw)
    briefs, stated = _notes(parts, BRIEF), _notes(parts, JUDGEMENT)
    for message_id, brief in briefs.items():
        yield message_id, _again(brief, stated[message_id], answers)


def _again(
    brief: Mapping[str, Any], stated: Mapping[str, Any], answers: Mapping[str, Sequence[RawAnswer]]
) -> Judgement:
    rubric, subject = parse(Rubric, brief["rubric"]), parse(Subject, stated["subject"])
    shown = {one["name"]: Shown(one["reference"], one["may_prove"]) for one in brief["exhibits"]}
    last: dict[int, RawAnswer] = {}
    for raw in sorted(answers.get(answers_key(subject, brief["round"]), ()), key=lambda one: (one.vote, one.attempt)):
        last[raw.vote] = raw
    votes = [read_vote(raw, brief["interface"], rubric, shown) for raw in last.values()]
    stopped = None if brief["stopped"] is None else Reason(brief["stopped"])
    cost = None if stated["cost_usd"] is None else Decimal(stated["cost_usd"])
    panel = Panel(stated["judge_id"], stated["judge_version"], rubric, subject)
    return settled(panel, votes, brief["votes"], cost, stopped)


def _notes(parts: pl.DataFrame, note: str) -> dict[str, dict[str, Any]]:
    rows = parts.filter(pl.col("note") == note).select("message_id", "data").rows()
    return {message_id: cast("dict[str, Any]", json.loads(data)) for message_id, data in rows}


REBUILT: Final = pl.Schema(
    {
        "message_id": pl.String(),
        "judge_id": pl.String(),
        "run_id": pl.String(),
        "label": pl.String(),
        "score": pl.Float64(),
        "reason": pl.String(),
        "is_same": pl.Boolean(),
    }
)
"""Columns of rebuilt judgements."""


def rebuilt_frame(parts: pl.DataFrame) -> pl.DataFrame:
    """Rebuilt judgements beside the recorded ones (``REBUILT``), by message."""
    stated, grounds = _notes(parts, JUDGEMENT), _notes(parts, GROUNDS)
    rows = list[tuple[object, ...]]()
    for message_id, one in rebuilt(parts):
        data = one.model_dump(mode="json")
        recorded = {**stated[message_id], **grounds[message_id]}
        recorded.pop("note")
        rows.append(
            (message_id, one.judge_id, one.subject.run_id, one.label.value, one.score, one.reason, data == recorded)
        )
    return pl.DataFrame(rows, schema=REBUILT, orient="row").sort("message_id")
