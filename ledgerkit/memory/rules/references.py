"""R1 to R6: references exist, come before the claim, were seen, lie in range, are unchanged, and are of the right kind.

They take claims and what they cite, resolved: one row a reference (``ledgerkit.memory.citations`` makes them).
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.memory.rulings import CONTRADICTED, SUPPORTED, UNSUPPORTED, UNVERIFIED, cases, rulings, sentences

MAY_SUPPORT: Final[dict[str, tuple[str, ...]]] = {
    "test_result": ("verifier", "command"),
    "file_changed": ("change", "command"),
    "user_requirement": ("user", "contract"),
    "decision": ("assistant", "user", "contract"),
    "fact": ("verifier", "command", "change", "file", "tool", "user", "contract", "artifact"),
    "open_problem": ("verifier", "command", "tool", "file", "user", "artifact"),
}
"""For each kind of claim the kinds of evidence that may support it. What a model said supports no fact."""


def r1_ref_exists(cited: pl.DataFrame) -> pl.DataFrame:
    """R1: every reference resolves in the claim's run, or in one that is linked with it.

    Args:
        cited: ``claim_id``, ``ref`` (null for a claim that cites nothing), ``is_found``, ``is_linked``.
    """
    ref = pl.col("ref")
    outcome = cases(
        (ref.is_null(), UNSUPPORTED),
        (~pl.col("is_found"), UNSUPPORTED),
        (~pl.col("is_linked"), UNSUPPORTED),
        otherwise=SUPPORTED,
    )
    why = sentences(
        (ref.is_null(), "It cites nothing."),
        (~pl.col("is_found"), pl.format("{} is not in the ledger.", ref)),
        (~pl.col("is_linked"), pl.format("{} belongs to another run.", ref)),
        otherwise=pl.format("{} is there.", ref),
    )
    return rulings(_with_evidence(cited), "R1", outcome, why)


def r2_ref_before(cited: pl.DataFrame) -> pl.DataFrame:
    """R2: what is cited came before the claim.

    Args:
        cited: ``claim_id``, ``ref``, ``ref_sequence_no``, ``sequence_no`` (of the claim).
    """
    late = pl.col("ref_sequence_no") >= pl.col("sequence_no")
    outcome = cases((late, UNSUPPORTED), (late.is_null(), None), otherwise=SUPPORTED)
    why = sentences(
        (late, pl.format("{} came at message {}, not before the claim.", pl.col("ref"), pl.col("ref_sequence_no"))),
        otherwise=pl.format("{} came before.", pl.col("ref")),
    )
    return rulings(_with_evidence(cited), "R2", outcome, why)


def r3_ref_visible(cited: pl.DataFrame, placements: pl.DataFrame) -> pl.DataFrame:
    """R3: what is cited stood in the context of the step that made the claim; else it was guessed.

    Args:
        cited: ``claim_id``, ``ref``, ``ref_part_id``, ``run_id``, ``step`` (of the claim).
        placements: ``run_id, part_id, from_step, to_step`` (exclusive; null for the end of the run).
    """
    rows = cited.filter(pl.col("ref_part_id").is_not_null(), pl.col("step").is_not_null())
    there = (
        rows.join(placements.rename({"part_id": "ref_part_id"}), on=["run_id", "ref_part_id"], how="inner")
        .filter(
            pl.col("from_step") <= pl.col("step"), pl.col("to_step").is_null() | (pl.col("step") < pl.col("to_step"))
        )
        .select("claim_id", "ref")
        .unique()
        .with_columns(is_seen=pl.lit(value=True))
    )
    marked = rows.join(there, on=["claim_id", "ref"], how="left", maintain_order="left")
    seen = pl.col("is_seen").fill_null(value=False)
    why = sentences(
        (seen, pl.format("{} stood in the context.", pl.col("ref"))),
        otherwise=pl.format("{} did not stand in the context of step {}.", pl.col("ref"), pl.col("step")),
    )
    return rulings(_with_evidence(marked), "R3", cases((seen, SUPPORTED), otherwise=UNVERIFIED), why)


def r4_span_in_range(cited: pl.DataFrame) -> pl.DataFrame:
    """R4: a cited range lies in the text that it is a range of.

    Args:
        cited: ``claim_id``, ``ref``, ``range_unit`` (``characters``, ``lines``, or null for none), ``range_first``
            (from 0 or 1), ``range_end`` (exclusive, or the last line), ``whole_text``.
    """
    whole = pl.col("whole_text")
    characters = whole.str.len_chars()
    ends = pl.when(whole.str.ends_with("\n") | (characters == 0)).then(0).otherwise(1)
    lines = whole.str.count_matches("\n", literal=True) + ends
    limit = pl.when(pl.col("range_unit") == "lines").then(lines).otherwise(characters)
    inside = pl.col("range_end") <= limit
    outcome = cases(
        (pl.col("range_unit").is_null() | limit.is_null(), None), (inside, SUPPORTED), otherwise=UNSUPPORTED
    )
    why = sentences(
        (inside, pl.format("{} lies in the text.", pl.col("ref"))),
        otherwise=pl.format("{} lies outside: the text has {} {}.", pl.col("ref"), limit, pl.col("range_unit")),
    )
    return rulings(_with_evidence(cited), "R4", outcome, why)


def r5_hash_match(cited: pl.DataFrame) -> pl.DataFrame:
    """R5: the text that was cited is the one that stands in the ledger, after redaction.

    Args:
        cited: ``claim_id``, ``ref``, ``said_hash`` (null where the claim gives none), ``content_hash`` (of the cited
            range as it stands in the ledger).
    """
    same = pl.col("said_hash") == pl.col("content_hash")
    outcome = cases((pl.col("said_hash").is_null(), None), (same, SUPPORTED), otherwise=UNSUPPORTED)
    why = sentences(
        (same, pl.format("{} is unchanged.", pl.col("ref"))),
        otherwise=pl.format("{} is not the text that was cited.", pl.col("ref")),
    )
    return rulings(_with_evidence(cited), "R5", outcome, why)


def r6_ref_kind_ok(cited: pl.DataFrame) -> pl.DataFrame:
    """R6: what is cited is of a kind that can support such a claim. A model's own words support no fact.

    Args:
        cited: ``claim_id``, ``ref``, ``claim_kind`` (a key of ``MAY_SUPPORT``), ``ref_kind``.
    """
    pairs = pl.DataFrame(
        [(kind, ref_kind, True) for kind, kinds in MAY_SUPPORT.items() for ref_kind in kinds],
        schema={"claim_kind": pl.String, "ref_kind": pl.String, "may": pl.Boolean}, orient="row",
    )  # fmt: skip
    rows = cited.filter(pl.col("ref_kind").is_not_null()).join(
        pairs, on=["claim_kind", "ref_kind"], how="left", maintain_order="left"
    )
    may = pl.col("may").fill_null(value=False)
    why = sentences(
        (may, pl.format("{} can support it.", pl.col("ref"))),
        (
            pl.col("ref_kind") == "assistant",
            pl.format("{} is what a model said, which supports no fact.", pl.col("ref")),
        ),
        otherwise=pl.format(
            "{} ({}) cannot support a claim of the kind {}.", pl.col("ref"), pl.col("ref_kind"), pl.col("claim_kind")
        ),
    )
    return rulings(_with_evidence(rows), "R6", cases((may, SUPPORTED), otherwise=UNSUPPORTED), why)


def r10_cited_verdict(cited: pl.DataFrame) -> pl.DataFrame:
    """R10 for cited checks: the verdict of what is cited agrees with what the claim says.

    What says an outcome and cites no check at all is unverified, whatever else of it agrees: the number of a task is
    not the number of tests that passed.

    Args:
        cited: ``claim_id``, ``ref``, ``polarity`` (null where the claim says no outcome), ``ref_verdict`` (null where
            what is cited is no check).
    """
    positive = pl.col("polarity") == "positive"
    verdict = pl.col("ref_verdict")
    agrees = pl.when(positive).then(verdict == "passed").otherwise(verdict == "failed")
    no_check = verdict.is_null().all().over("claim_id")
    outcome = cases(
        (pl.col("polarity").is_null(), None),
        (no_check, UNVERIFIED),
        (verdict.is_null(), None),
        (agrees, SUPPORTED),
        (verdict == "inconclusive", UNVERIFIED),
        otherwise=CONTRADICTED,
    )
    why = sentences(
        (no_check, pl.lit("It says an outcome, and nothing that it cites is a check that shows one.")),
        otherwise=pl.format("{} {}.", pl.col("ref"), verdict),
    )
    return rulings(_with_evidence(cited), "R10", outcome, why)


def _with_evidence(cited: pl.DataFrame) -> pl.DataFrame:
    return cited.with_columns(evidence=pl.concat_list("ref").list.drop_nulls())
