"""The criterion that alone can prove success: the last word of somebody who may judge.

The rule (specification §7): what a repository, the network or the model itself says is no evidence of success, in
whatever form it comes. A test run that the agent started prints what the repository makes it print.
"""

from __future__ import annotations

import polars as pl

from ledgerkit.judges.judgement import Outcome
from ledgerkit.judges.material import RUN, TRUSTED, Material
from ledgerkit.judges.rules.ruled import Ruled, failures, states
from ledgerkit.judges.rules.work import last_changes


def proven(material: Material) -> Ruled:
    """A trusted verifier says that the work is done: of the run as a whole, or of every check after the last change."""
    decided = _decided(material)
    failed = decided.filter(pl.col("verdict") == "failed")
    rows = failed.with_columns(
        place=pl.col("reference"),
        why=pl.format("{} says of {}: failed.", "actor", "about"),
        evidence=pl.concat_list("reference"),
    )
    good = decided.group_by(RUN, maintain_order=True).agg(
        passed=(pl.col("verdict") == "passed").all(), evidence=pl.col("reference")
    )
    without = "No trusted verdict on its result is recorded; what untrusted parts say is none."
    said = "Every trusted verdict on its result is: passed."
    return Ruled(states(material.runs, good.filter("passed"), said, without, Outcome.NOT_RECORDED), failures(rows))


def _decided(material: Material) -> pl.DataFrame:
    """The verdicts that count: the last of the whole run, or else the last of each check since the last change."""
    recorded = material.verifier_results.filter(
        pl.col("source") == "recorded", pl.col("part_trust_level").is_in(TRUSTED)
    ).with_columns(about=pl.col("scope").fill_null("the work"), reference=pl.format("message:{}", "message_id"))
    ordered = recorded.sort(*RUN, "sequence_no", maintain_order=True)
    whole = ordered.filter(pl.col("scope") == "run").unique(RUN, keep="last", maintain_order=True)
    since = last_changes(material).select(*RUN, changed_at="seen_at")
    checks = (
        ordered.filter(pl.col("scope").ne_missing("run"))
        .join(whole.select(RUN), on=RUN, how="anti", maintain_order="left")
        .join(since, on=RUN, how="left", maintain_order="left")
        .filter(pl.col("sequence_no") > pl.col("changed_at").fill_null(-1))
        .unique([*RUN, "about"], keep="last", maintain_order=True)
    )
    return pl.concat([whole.with_columns(changed_at=pl.lit(None, pl.Int64)), checks], how="diagonal_relaxed")
