"""One row for everything that a summary had to tell or says: kept, lost, hidden, invented, or nothing to be known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import polars as pl

from ledgerkit.memory.compactions.found import Compaction, compactions
from ledgerkit.memory.compactions.made_up import sourced
from ledgerkit.memory.compactions.remembered import Remembered, Told, remembered
from ledgerkit.memory.working.record import RunRecord
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.vocabulary import EvidenceKind

COMPACTION_SCHEMA: Final = {
    "session_id": pl.String,
    "run_id": pl.String,
    "message_id": pl.String,
    "sequence_no": pl.Int64,
    "step": pl.Int32,
    "verdict": pl.String,
    "kind": pl.String,
    "subject": pl.String,
    "rule": pl.String,
    "why": pl.String,
    "evidence": pl.List(pl.String),
}
"""Columns: the summary (``message_id``, its place, the first ``step`` after it), then one item of it. ``verdict`` is
``kept`` (told, still in the context, or sourced), ``lost`` (known before, not told), ``hidden`` (a failing check that
it does not tell of), ``invented`` (said, with nothing before it that says so), ``unverified`` (a claim that the record
cannot decide) or ``unknown`` (the summary is sealed or not recorded). ``evidence`` holds references."""
_VERDICT_OF_CLAIM: Final = {"supported": "kept", "contradicted": "invented", "unsupported": "invented"}
_ORDER: Final = {"hidden": 0, "invented": 1, "lost": 2, "unverified": 3, "unknown": 4, "kept": 5}


def check_run(session_id: str, record: RunRecord, contexts: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """Checks every compaction of a run.

    Args:
        session_id: The session of the run.
        record: The rows of the run.
        contexts: The parts of its contexts, those that it inherited among them, with ``text``, ``data`` and ``path``
            (see ``found.compactions``).
        claims: Checked claims (``CHECKED_SCHEMA``); those in its summaries are looked at.

    Returns:
        Columns of ``COMPACTION_SCHEMA``, by place; what is wrong comes first.
    """
    rows = list[dict[str, Any]]()
    for one in compactions(contexts):
        about = {"session_id": session_id, "run_id": record.run_id, "message_id": one.message_id,
                 "sequence_no": one.sequence_no, "step": one.step}  # fmt: skip
        rows += [{**about, **item} for item in _items(one, record, contexts, claims)]
    rank = pl.col("verdict").replace_strict(_ORDER, return_dtype=pl.Int64)
    return pl.DataFrame(rows, schema=COMPACTION_SCHEMA).sort(
        "sequence_no", rank, "kind", "subject", maintain_order=True
    )


def _items(
    one: Compaction, record: RunRecord, contexts: pl.DataFrame, claims: pl.DataFrame
) -> Iterator[dict[str, Any]]:
    if one.text is None:
        yield _item("unknown", "summary", "", None, "The summary is sealed or not recorded.", [])
        return
    before = _before(record, one.sequence_no)
    results = dict(record.tool_calls.select("tool_call_id", "result_message_id").drop_nulls().iter_rows())
    asked = dict(record.tool_calls.select("tool_call_id", "message_id").drop_nulls().iter_rows())
    for item in remembered(before, Told(one.text)):
        is_there = any(_stands(ref, one.staying, results, asked) for ref in item.refs)
        yield _of_memory(item, is_there=is_there)
    for claim in claims.filter(pl.col("message_id") == one.message_id).iter_rows(named=True):
        verdict = _VERDICT_OF_CLAIM.get(claim["verdict"], "unverified")
        yield _item(verdict, "claim", claim["text"], claim["rule"], claim["why"], claim["evidence"])
    yield from _of_text(one, contexts)


def _of_memory(item: Remembered, *, is_there: bool) -> dict[str, Any]:
    refs = [str(ref) for ref in item.refs]
    if item.is_told or is_there:
        why = "The summary tells of it." if item.is_told else "What says so stood in the context after it, too."
        return _item("kept", item.kind, item.subject, item.rule, why, refs)
    verdict = "hidden" if item.kind == "failing check" else "lost"
    why = (
        "It failed last, and the summary does not tell." if verdict == "hidden" else "The summary does not tell of it."
    )
    return _item(verdict, item.kind, item.subject, item.rule, why, refs)


def _of_text(one: Compaction, contexts: pl.DataFrame) -> Iterator[dict[str, Any]]:
    is_earlier = (pl.col("inherited") > 0) | (pl.col("sequence_no") < one.sequence_no)
    earlier = contexts.filter(is_earlier, pl.col("kind").is_not_null())
    before = "\n".join(t for name in ("path", "text", "data") for t in earlier[name].drop_nulls())
    if not earlier.filter(pl.col("step").is_not_null()).height:
        yield _item("unknown", "source", "", None, "The log holds nothing of what the summary sums up.", [])
        return
    for found in sourced(one.text or "", before):
        where = [f"message:{one.message_id}#c{found.start}-{found.start + len(found.subject)}"]
        if found.is_known:
            yield _item("kept", found.kind, found.subject, found.rule, "It stands in what came before.", where)
        else:
            why = "Nothing before it holds this number; if it was counted, nothing says how."
            why = why if found.kind == "number" else "Nothing before it holds this."
            yield _item("invented", found.kind, found.subject, found.rule, why, where)


def _item(verdict: str, kind: str, subject: str, rule: str | None, why: str, refs: list[str]) -> dict[str, Any]:
    return {"verdict": verdict, "kind": kind, "subject": subject, "rule": rule, "why": why, "evidence": refs}


def _before(record: RunRecord, sequence_no: int) -> RunRecord:
    """The rows of a run before a message, as they were then: calls without the results that came later."""
    parts = record.parts.filter(pl.col("sequence_no") < sequence_no)
    cut = replace(record, parts=parts.with_columns(visible_from=pl.lit(0, parts.schema["visible_from"])))
    return cut.up_to(0)


def _stands(ref: EvidenceRef, staying: frozenset[str], results: dict[str, str], asked: dict[str, str]) -> bool:
    """Whether what an entry rests on stood in the context behind the compaction."""
    if ref.kind is EvidenceKind.MESSAGE:
        return ref.target in staying
    return ref.kind is EvidenceKind.TOOL_CALL and bool({results.get(ref.target), asked.get(ref.target)} & staying)
