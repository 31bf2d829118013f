"""Claims that cite their evidence: references resolved against the ledger, and what the rules say of them.

This is the strict side of the rules, for what a model proposes: what it cites must exist, come before it, be of a kind
that can support it, and say what it says. Paraphrase that holds nothing to compare ends as unverified, never as
supported.
"""

from __future__ import annotations

import hashlib
from typing import Final

import polars as pl

from ledgerkit.errors import ProtocolError
from ledgerkit.memory.rules.contents import (
    r7_quote_match,
    r8_number_match,
    r9_ident_match,
    r15_no_invented_requirement,
    r19_taint,
)
from ledgerkit.memory.rules.references import (
    r1_ref_exists,
    r2_ref_before,
    r3_ref_visible,
    r4_span_in_range,
    r5_hash_match,
    r6_ref_kind_ok,
    r10_cited_verdict,
)
from ledgerkit.memory.rulings import UNVERIFIED, rulings
from ledgerkit.memory.sources import citable
from ledgerkit.protocol.references import CharRange, EvidenceRef

CITING_SCHEMA: Final = {
    "claim_id": pl.String,
    "session_id": pl.String,
    "run_id": pl.String,
    "sequence_no": pl.Int64,
    "step": pl.Int32,
    "claim_kind": pl.String,
    "text": pl.String,
    "polarity": pl.String,
    "claim_trust_level": pl.String,
    "is_authority": pl.Boolean,
    "refs": pl.List(pl.String),
    "hashes": pl.List(pl.String),
}
"""Claims that cite: their place and kind (a key of ``MAY_SUPPORT``), what they say, and what they rest on. ``polarity``
is ``positive`` or ``negative`` where the claim says an outcome; ``hashes`` (SHA-256, hexadecimal) stand beside
``refs``."""
_REF: Final = {
    "ref": pl.String, "said_kind": pl.String, "target": pl.String, "range_unit": pl.String,
    "range_first": pl.Int64, "range_end": pl.Int64,
}  # fmt: skip


def resolve_citations(
    claims: pl.DataFrame,
    parts: pl.DataFrame,
    verifier_results: pl.DataFrame | None = None,
    changes: pl.DataFrame | None = None,
    links: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """What claims cite, resolved: one row a reference.

    Args:
        claims: Columns as in ``CITING_SCHEMA``.
        parts: Rows of the view ``parts`` of their runs.
        verifier_results: Parsed results: a call that they name is a verifier, with its verdict.
        changes: As ``changes_frame`` gives them: a call that they name is a change.
        links: ``run_id, linked_run_id``: other runs whose evidence a run may cite.

    Returns:
        The claims' columns with ``ref, is_found, is_linked, ref_run_id, ref_sequence_no, ref_part_id, ref_kind,
        ref_trust_level, range_unit, range_first, range_end, whole_text, ref_text, said_hash, content_hash``.
        A claim without references has one row, with ``ref`` null.
    """
    each = claims.explode("refs", "hashes", empty_as_null=True).rename({"refs": "ref", "hashes": "said_hash"})
    read = pl.DataFrame(
        [_read(ref) for ref in each["ref"].drop_nulls().unique(maintain_order=True)], schema=_REF, orient="row"
    )
    sources = citable(parts, verifier_results, changes)
    cited = each.join(read, on="ref", how="left", maintain_order="left").join(
        sources, on=["said_kind", "target"], how="left", maintain_order="left"
    )
    # The same file or message may stand in several runs: the claim's own goes first, then the last before the claim.
    own = pl.col("ref_run_id") == pl.col("run_id")
    early = pl.col("ref_sequence_no") < pl.col("sequence_no")
    best = (
        cited.with_row_index("_row")
        .with_columns(_own=own.fill_null(value=False), _early=early.fill_null(value=False))
        .sort(
            "claim_id",
            "ref",
            "_own",
            "_early",
            "ref_sequence_no",
            descending=[False, False, True, True, True],
            nulls_last=True,
        )
        .unique(["claim_id", "ref"], keep="first", maintain_order=True)
        .sort("_row")
        .drop("_row", "_early")
    )
    return _with_ranges(_with_links(best, links)).drop("_own")


def _read(ref: str) -> tuple[object, ...]:
    """A reference in its pieces; a text that is none names nothing."""
    try:
        parsed = EvidenceRef.parse(ref)
    except ProtocolError:
        return (ref, None, None, None, None, None)
    span = parsed.range
    if span is None:
        return (ref, parsed.kind.value, parsed.target, None, None, None)
    if isinstance(span, CharRange):
        return (ref, parsed.kind.value, parsed.target, "characters", span.start, span.end)
    return (ref, parsed.kind.value, parsed.target, "lines", span.first, span.last)


def _with_links(cited: pl.DataFrame, links: pl.DataFrame | None) -> pl.DataFrame:
    cited = cited.with_columns(is_found=pl.col("ref_run_id").is_not_null())
    if links is None:
        return cited.with_columns(is_linked=pl.col("_own"))
    pairs = links.select("run_id", ref_run_id="linked_run_id").unique().with_columns(_link=pl.lit(value=True))
    joined = cited.join(pairs, on=["run_id", "ref_run_id"], how="left", maintain_order="left")
    return joined.with_columns(is_linked=pl.col("_own") | pl.col("_link").fill_null(value=False)).drop("_link")


def _with_ranges(cited: pl.DataFrame) -> pl.DataFrame:
    """Adds the text of the cited range, and its hash where the claim gives one to compare."""
    whole, unit = pl.col("whole_text"), pl.col("range_unit")
    length = pl.col("range_end") - pl.col("range_first")
    lines = whole.str.split("\n").list.slice(pl.col("range_first") - 1, length + 1).list.join("\n")
    cut = cited.with_columns(
        ref_text=pl.when(unit == "characters")
        .then(whole.str.slice(pl.col("range_first"), length))
        .when(unit == "lines")
        .then(lines)
        .otherwise(whole)
    )
    hashed = cut.filter(pl.col("said_hash").is_not_null()).select("ref_text").drop_nulls().unique(maintain_order=True)
    table = hashed.with_columns(
        content_hash=pl.Series(
            [hashlib.sha256(text.encode()).hexdigest() for text in hashed["ref_text"]], dtype=pl.String
        )
    )
    return cut.join(table, on="ref_text", how="left", maintain_order="left")


def rule_on_citations(
    cited: pl.DataFrame, verifier_results: pl.DataFrame | None = None, placements: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Rulings on claims that cite: R1 to R10, R15 and R19.

    Args:
        cited: As :func:`resolve_citations` gives them.
        verifier_results: Parsed results, for the verdicts of cited checks.
        placements: What stood in which context, for R3.

    Returns:
        Rulings; ``decide`` makes verdicts of them. A claim that nothing could be compared of has a ruling that says so.
    """
    judged = _with_verdicts(cited, verifier_results)
    found = judged.filter(pl.col("is_found"))
    rules = [
        r1_ref_exists(judged),
        r2_ref_before(found),
        r4_span_in_range(found),
        r5_hash_match(found),
        r6_ref_kind_ok(found),
        r7_quote_match(found),
        r8_number_match(found),
        r9_ident_match(found),
        r10_cited_verdict(found),
        r15_no_invented_requirement(judged),
        r19_taint(judged),
    ]
    if placements is not None:
        rules.append(r3_ref_visible(found, placements))
    everything = pl.concat(rules)
    compared = everything.filter(pl.col("rule").is_in(["R7", "R8", "R9", "R10", "R15"])).select("claim_id").unique()
    rest = (
        judged.select("claim_id")
        .unique(maintain_order=True)
        .join(compared, on="claim_id", how="anti", maintain_order="left")
    )
    nothing = rulings(
        rest,
        "R9",
        pl.lit(UNVERIFIED),
        pl.lit("It says no number, name, quote or outcome that could be compared with what it cites."),
    )
    return pl.concat([everything, nothing])


def _with_verdicts(cited: pl.DataFrame, verifier_results: pl.DataFrame | None) -> pl.DataFrame:
    """Adds the verdict of a cited check; of several in one call the worst."""
    if verifier_results is None:
        return cited.with_columns(ref_verdict=pl.lit(None, pl.String))
    weight = pl.col("verdict").replace_strict({"failed": 0, "inconclusive": 1, "passed": 2}, return_dtype=pl.Int64)
    worst = (
        verifier_results.with_columns(weight=weight)
        .sort("weight")
        .unique(["run_id", "tool_call_id"], keep="first", maintain_order=True)
        .select(ref_run_id="run_id", target="tool_call_id", ref_verdict="verdict")
    )
    return cited.join(worst, on=["ref_run_id", "target"], how="left", maintain_order="left")
