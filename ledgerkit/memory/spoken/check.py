"""The claim check: claims of any number of runs against what these runs did, in one pass of joins."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.extract.claims import CLAIM_SCHEMA, spoken_parts
from ledgerkit.memory.evidence import calls_frame, changes_frame, checks_frame
from ledgerkit.memory.evidence.calls import references
from ledgerkit.memory.evidence.linked import with_linked
from ledgerkit.memory.rules.references import r3_ref_visible
from ledgerkit.memory.rulings import decide
from ledgerkit.memory.spoken.deeds import rule_on_absence, rule_on_commands, rule_on_done
from ledgerkit.memory.spoken.files import rule_on_counts, rule_on_files
from ledgerkit.memory.spoken.joins import RUN, Evidence
from ledgerkit.memory.spoken.repairs import rule_on_baselines, rule_on_fixes
from ledgerkit.memory.spoken.verdicts import rule_on_verdicts

CHECKED_SCHEMA: Final = {
    **{name: dtype for name, dtype in CLAIM_SCHEMA.items() if name != "extractor_version"},
    "claim_id": pl.String,
    "verdict": pl.String,
    "rule": pl.String,
    "why": pl.String,
    "evidence": pl.List(pl.String),
    "place": pl.String,
}
"""The columns of a checked claim: the claim's own, then the verdict, the rule that decided, why, the evidence that it
looked at, and where the claim stands (evidence references)."""
_RULE_ON: Final = (
    rule_on_verdicts,
    rule_on_fixes,
    rule_on_baselines,
    rule_on_files,
    rule_on_counts,
    rule_on_commands,
    rule_on_absence,
    rule_on_done,
)


def check_claims(  # noqa: PLR0913 - each frame is one thing that a caller may know
    claims: pl.DataFrame,
    tool_calls: pl.DataFrame,
    verifier_results: pl.DataFrame,
    file_changes: pl.DataFrame | None = None,
    *,
    texts: pl.DataFrame | None = None,
    continued: pl.DataFrame | None = None,
    placements: pl.DataFrame | None = None,
    links: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Holds claims against what is recorded of their runs.

    Args:
        claims: As ``ledgerkit.extract.claims.claims_frame`` gives them, of any number of runs.
        tool_calls: Rows of the view ``tool_calls`` of these runs, with ``result_sequence_no`` where it is known.
        verifier_results: Results parsed from output (``ledgerkit.extract.verifiers.verifier_frame``).
        file_changes: Rows of the view ``file_changes``.
        texts: The whole parts that claims stand in (``run_id, message_id, part_index, text``), so that *done* is not
            held to hide a failure that the same text tells of.
        continued: ``session_id, run_id, sequence_no``: where runs take up what happened before their log begins (a
            fork, or a summary of an earlier context). Their missing evidence makes a claim unverified, not unsupported.
        placements: What stood in which context (``run_id, part_id, from_step, to_step``), with ``reference`` of the
            tool call that a part belongs to: evidence that the model had not seen makes a claim unverified.
        links: Runs whose evidence counts in others (``memory.evidence.linked.LINK_SCHEMA``); their calls, results and
            changes must be given, too.

    Returns:
        One row a claim, in the order of the claims; columns as in ``CHECKED_SCHEMA``. ``supported`` says that the
        record agrees, never that the code is right.
    """
    calls = calls_frame(tool_calls)
    checks, changes = checks_frame(verifier_results, calls), changes_frame(calls, file_changes)
    if links is not None and links.height:
        checks, changes = with_linked(checks, changes, links)
    evidence = Evidence(calls, changes, checks)
    rows = prepared(claims, calls, texts, continued)
    decided = decide(spoken_rulings(rows, evidence, placements))
    in_call = references(rows["tool_call_id"]).rename({"reference": "of_call"})
    place = pl.coalesce("of_call", pl.format("message:{}#c{}-{}", "message_id", "start", "end"))
    return (
        rows.join(decided, on="claim_id", how="left", maintain_order="left")
        .join(in_call, on="tool_call_id", how="left", maintain_order="left")
        .with_columns(place=place)
        .rename({"claim_scope": "scope"})
        .select(pl.col(name).cast(dtype) for name, dtype in CHECKED_SCHEMA.items())
    )


def spoken_rulings(rows: pl.DataFrame, evidence: Evidence, placements: pl.DataFrame | None) -> pl.DataFrame:
    """What every rule says of prepared claims (``RULING_SCHEMA``)."""
    found = [rule(rows, evidence) for rule in _RULE_ON]
    if placements is not None:
        found.append(_unseen(rows, pl.concat(found), placements))
    return pl.concat(found)


def prepared(
    claims: pl.DataFrame, calls: pl.DataFrame, texts: pl.DataFrame | None, continued: pl.DataFrame | None
) -> pl.DataFrame:
    """Claims with an id, their first number, the text around them, and whether evidence may lie before the log."""
    first_path = pl.col("paths").list.first().fill_null("")
    rows = claims.rename({"scope": "claim_scope"}).with_columns(
        claim_id=pl.format(
            "{}/{}/{}/{}-{}/{}/{}/{}",
            "run_id",
            "message_id",
            "part_index",
            "start",
            "end",
            "claim_class",
            "subject",
            first_path,
        ),
        number=pl.col("numbers").list.first(),
    )
    if texts is None:
        rows = rows.with_columns(whole_text=pl.lit(None, pl.String))
    else:
        keys = ["run_id", "message_id", "part_index"]
        whole = spoken_parts(texts).select(*keys, whole_text="text").unique(keys, keep="first", maintain_order=True)
        rows = rows.join(whole, on=keys, how="left", maintain_order="left")
    if continued is None:
        return rows.with_columns(has_past=pl.lit(value=False))
    first_call = calls.group_by(RUN).agg(first_call=pl.col("asked_at").min())
    begins = (
        continued.join(first_call, on=RUN, how="left")
        .filter(pl.col("first_call").is_null() | (pl.col("sequence_no") <= pl.col("first_call")))
        .group_by(RUN)
        .agg(continued_at=pl.col("sequence_no").min())
    )
    joined = rows.join(begins, on=RUN, how="left", maintain_order="left")
    return joined.with_columns(has_past=(pl.col("continued_at") <= pl.col("sequence_no")).fill_null(value=False))


def _unseen(rows: pl.DataFrame, found: pl.DataFrame, placements: pl.DataFrame) -> pl.DataFrame:
    """R3: something of the evidence that rulings looked at stood in the context of the step that made the claim."""
    looked_at = (
        found.select("claim_id", ref="evidence")
        .explode("ref", empty_as_null=True)
        .drop_nulls()
        .unique(maintain_order=True)
    )
    parts = placements.select("run_id", "reference", ref_part_id="part_id").unique(maintain_order=True)
    cited = looked_at.join(
        rows.select("claim_id", "run_id", "step"), on="claim_id", how="inner", maintain_order="left"
    ).join(parts, left_on=["run_id", "ref"], right_on=["run_id", "reference"], how="inner", maintain_order="left")
    ruled = r3_ref_visible(cited, placements)
    seen = ruled.filter(pl.col("outcome") == "supported").select("claim_id").unique()
    # One thing that it saw is enough: the rest says the same.
    return ruled.join(seen, on="claim_id", how="anti", maintain_order="left")
