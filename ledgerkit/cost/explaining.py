"""Why a usage record does not count, in a sentence that points at the one that does."""

from __future__ import annotations

from typing import Final

import polars as pl

_SENTENCES: Final = {
    "earlier snapshot": "earlier snapshot of the call; {} counts",
    "copy": "copy of a call that another run made; {} counts",
    "replay": "replay of a call of the run that this one branched off from; {} counts",
    "converted copy": "converted copy; the agent's own log of the session counts",
    "synthetic": "synthetic: written by the client, no call was made",
    "repeated count": "repeats a total that did not move; {} counts",
    "cached evaluation": "cached evaluation: the answer was kept from an earlier one, no call was made",
}


def explained(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds ``why`` to rows of the view ``usage_explained``: null where a record counts.

    Args:
        rows: ``reason``, ``counts_source_file``, ``counts_source_line``, ``counts_message_id``.

    Example:
        >>> row = {"reason": "copy", "counts_source_file": "a.jsonl", "counts_source_line": 7, "counts_message_id": "m"}
        >>> explained(pl.DataFrame([row]))["why"].item()
        'copy of a call that another run made; line 7 of a.jsonl counts'
    """
    there = pl.when(pl.col("counts_source_file").is_not_null()).then(
        pl.format(
            "line {} of {}", pl.col("counts_source_line"), pl.col("counts_source_file").str.split("/").list.last()
        )
    )
    message = pl.format("message {}", pl.col("counts_message_id"))
    counts = pl.coalesce(there, message, pl.lit("none"))
    sentences = [
        pl.when(pl.col("reason") == reason).then(pl.format(sentence, counts) if "{}" in sentence else pl.lit(sentence))
        for reason, sentence in _SENTENCES.items()
    ]
    return rows.with_columns(why=pl.coalesce(*sentences, pl.col("reason")))
