"""Whether a summary keeps the six rules of specification §17, item by item, against the record that it covers."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from ledgerkit.memory.rules.sets import r16_failure_completeness, r17_changed_files
from ledgerkit.memory.rulings import SUPPORTED
from ledgerkit.memory.summaries.writing import EvidenceBoundSummarizer
from ledgerkit.memory.working import outcomes
from ledgerkit.memory.working.files import changed_files
from ledgerkit.memory.working.proposals import judge_update
from ledgerkit.memory.working.record import RunRecord
from ledgerkit.protocol.memory import EvidencedBase, OpenProblem, Summary

FINDING_SCHEMA: Final = {
    "problem": pl.String,
    "item_kind": pl.String,
    "item": pl.String,
    "rule": pl.String,
    "verdict": pl.String,
    "why": pl.String,
    "evidence": pl.List(pl.String),
}
"""Findings: ``problem`` is ``invented`` (an item that its evidence does not carry), ``hidden`` (a failure that is not
told), ``lost`` (a changed file that is not told) or ``silent`` (nothing says what was left out)."""


def check_summary(record: RunRecord, summary: Summary, *, step: int | None = None) -> pl.DataFrame:
    """Holds a summary against the record.

    Args:
        record: The rows of the run.
        summary: The summary.
        step: The step up to which it covers the run; the whole run if not given.

    Returns:
        One row a finding, with the columns of ``FINDING_SCHEMA``; none if every rule is kept.
    """
    seen = record.up_to(step)
    rows = [*_invented(seen, summary), *_hidden(seen, summary), *_lost(seen, summary)]
    if not summary.discarded_details and EvidenceBoundSummarizer().summarise(seen).discarded_details:
        why = "It does not say what it leaves out."
        rows.append(_finding("silent", "summary", "discarded_details", "R16", "unsupported", why, []))
    return pl.DataFrame(rows, schema=FINDING_SCHEMA).sort("problem", "item_kind", "item")


def repaired(record: RunRecord, summary: Summary, *, step: int | None = None) -> Summary:
    """The summary without what its evidence does not carry, and with the failures and files that it kept quiet about.

    What a model wrote stays where the record agrees; everything else comes from a fresh projection.
    """
    seen = record.up_to(step)
    fresh = EvidenceBoundSummarizer().summarise(seen)
    own = {_said(one): one for one in (*fresh.facts, *fresh.decisions, *fresh.open_problems)}
    judged = [
        (v.kind, own.get(_said(v.item), v.item))
        for v in judge_update(seen, summary)
        if v.is_accepted or _said(v.item) in own
    ]
    kept = {kind: tuple(item for of, item in judged if of == kind) for kind in _KINDS}
    told = {problem.problem for problem in fresh.open_problems}
    more = (item for _, item in judged if isinstance(item, OpenProblem))
    problems = (*fresh.open_problems, *(item for item in more if item.problem not in told))
    return summary.model_copy(
        update={
            "facts": kept["fact"],
            "decisions": kept["decision"],
            "open_problems": problems,
            "changed_files": fresh.changed_files,
            "discarded_details": summary.discarded_details or fresh.discarded_details,
        }
    )


_KINDS: Final = ("fact", "decision")


def _invented(record: RunRecord, summary: Summary) -> list[dict[str, Any]]:
    """Rules 1 and 3: every item rests on evidence that carries it."""
    rows = list[dict[str, Any]]()
    for verdict in judge_update(record, _without_projected(record, summary)):
        if not verdict.is_accepted:
            said = getattr(verdict.item, {"open_problem": "problem"}.get(verdict.kind, verdict.kind))
            refs = [str(ref) for ref in verdict.item.evidence_refs]
            outcome = verdict.item.outcome.value
            rows.append(_finding("invented", verdict.kind, said, verdict.rule, outcome, verdict.why, refs))
    return rows


def _without_projected(record: RunRecord, summary: Summary) -> Summary:
    """The summary without what the record's own projection says in the same words, from the same evidence."""
    fresh = EvidenceBoundSummarizer().summarise(record)
    own = {name: {_said(one) for one in getattr(fresh, name)} for name in ("facts", "decisions", "open_problems")}
    return summary.model_copy(
        update={
            name: tuple(one for one in getattr(summary, name) if _said(one) not in said) for name, said in own.items()
        }
    )


def _said(item: EvidencedBase) -> tuple[str, tuple[str, ...]]:
    text = item.model_dump_json(exclude={"evidence_refs", "trust_level", "outcome", "confidence"})
    return text, tuple(str(ref) for ref in item.evidence_refs)


def _hidden(record: RunRecord, summary: Summary) -> list[dict[str, Any]]:
    """Rule 4: every check that fails where it ends is told."""
    every = outcomes.checks(record)
    failing = [c for c in outcomes.standing(every) if c.verdict == "failed"]
    names = {c.name for c in every}
    failures = pl.DataFrame(
        [{"claim_id": "s", "check_key": c.name, "evidence": [str(ref) for ref in c.refs]} for c in failing],
        schema={"claim_id": pl.String, "check_key": pl.String, "evidence": pl.List(pl.String)},
    )
    texts = [(p.problem, {str(ref) for ref in p.evidence_refs}) for p in summary.open_problems]
    told = [
        {"claim_id": "s", "check_key": c.name}
        for c in failing
        if any(_named(text, names) == c.name or refs & {str(ref) for ref in c.refs} for text, refs in texts)
    ]
    found = r16_failure_completeness(
        failures, pl.DataFrame(told, schema={"claim_id": pl.String, "check_key": pl.String})
    ).filter(pl.col("outcome") != SUPPORTED)
    return [
        _finding("hidden", "open_problem", row["why"], row["rule"], row["outcome"], row["why"], row["evidence"])
        for row in found.iter_rows(named=True)
    ]


def _named(text: str, names: set[str]) -> str:
    """The check that a text names: the longest name in it, since one command may stand in another."""
    return max((name for name in names if name in text), key=len, default="")


def _lost(record: RunRecord, summary: Summary) -> list[dict[str, Any]]:
    """Changed files are those that were changed."""
    schema = {"claim_id": pl.String, "path": pl.String, "evidence": pl.List(pl.String)}
    changed = [
        {"claim_id": "s", "path": one.path, "evidence": [str(ref) for ref in one.evidence_refs]}
        for one in changed_files(record)
    ]
    told = [{"claim_id": "s", "path": one.path} for one in summary.changed_files]
    found = r17_changed_files(
        pl.DataFrame(told, schema={"claim_id": pl.String, "path": pl.String}), pl.DataFrame(changed, schema=schema)
    ).filter(pl.col("outcome") != SUPPORTED)
    problem = {"unsupported": "invented", "contradicted": "lost"}
    return [
        _finding(problem[r["outcome"]], "changed_file", r["why"], r["rule"], r["outcome"], r["why"], r["evidence"])
        for r in found.iter_rows(named=True)
    ]


def _finding(*values: object) -> dict[str, Any]:
    return dict(zip(FINDING_SCHEMA, values, strict=True))
