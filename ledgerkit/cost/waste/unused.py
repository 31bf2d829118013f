"""Outputs that were never referred to again.

One rule: an output was referred to if the model later wrote a word that the output had brought up first. A name that
stood anywhere before it proves nothing, and nor does what nobody wrote: an answer that was read and acted upon without
a word of it counts as unused, so this is a place to look at, not a verdict.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.cost.waste.rows import Waste, reference, rows_of

LEAST_WORDS: Final = 5
"""Of outputs that brought up fewer, nothing can be told."""
_RUN: Final = ["session_id", "run_id"]
_WORDS: Final = r"[\p{L}_][\p{L}\d_./:-]{3,}[\p{L}\d]"
"""Names, paths, identifiers: words of five characters or more."""


def unused_outputs(found: pl.DataFrame, texts: pl.DataFrame, *, least_tokens: int) -> pl.DataFrame:
    """Results of which no word was written again.

    Args:
        found: Rows of ``units``.
        texts: What the parts of the runs say: ``session_id``, ``run_id``, ``sequence_no``, ``message_id``, ``text``,
            ``is_written`` (by the model).
        least_tokens: Shorter outputs are left out; so are those that brought up fewer than five words, of which nothing
            can be told, and those that no call carried.
    """
    words = _words(texts)
    # Messages are compared by their place in the run; all parts of one message stand at one.
    first = words.group_by(*_RUN, "word").agg(first=pl.col("sequence_no").min())
    written = words.filter("is_written").group_by(*_RUN, "word").agg(last=pl.col("sequence_no").max())
    asked = found.filter(pl.col("tokens") >= least_tokens, pl.col("carried_calls") > 0)
    brought = (
        words.filter(~pl.col("is_written"))
        .join(asked.select(*_RUN, "sequence_no").unique(), on=[*_RUN, "sequence_no"], how="semi")
        .join(first, on=[*_RUN, "word"])
        .filter(pl.col("sequence_no") == pl.col("first"))
        .join(written, on=[*_RUN, "word"], how="left")
        .group_by(*_RUN, "sequence_no")
        .agg(
            brought=pl.len().cast(pl.Int64),
            is_used=(pl.col("last") > pl.col("sequence_no")).fill_null(value=False).any(),
        )
    )
    rows = asked.join(brought, on=[*_RUN, "sequence_no"], maintain_order="left").filter(
        ~pl.col("is_used"), pl.col("brought") >= LEAST_WORDS
    )
    rows = rows.with_columns(cost="result_cost")
    said = pl.format("none of the {} words that it brought up was written again", "brought")
    return rows_of(
        Waste.UNUSED_OUTPUT,
        rows.with_columns(detail=said, refs=pl.concat_list(reference("result"), reference("request"))),
    )


def _words(texts: pl.DataFrame) -> pl.DataFrame:
    return (
        texts.select(*_RUN, "sequence_no", "is_written", word=pl.col("text").str.extract_all(_WORDS).list.unique())
        .explode("word")
        .drop_nulls("word")
    )
