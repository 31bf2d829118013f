"""Secrets that stand in a ledger: because nobody looked when they came in, or because no rule knew them then."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.safety.redaction.redactor import SecretRedactor

SECRET_SCHEMA: Final = {
    "session_id": pl.String,
    "run_id": pl.String,
    "sequence_no": pl.Int64,
    "message_id": pl.String,
    "part_id": pl.String,
    "field": pl.String,
    "artifact": pl.String,
    "secret_type": pl.String,
    "fingerprint": pl.String,
    "rule": pl.String,
    "found_by": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
}
"""Columns of the secrets that stand somewhere; the values are in none of them."""
TEXT_COLUMNS: Final = ("session_id", "run_id", "sequence_no", "message_id", "part_id", "field", "artifact")


def standing_secrets(texts: pl.DataFrame, redactor: SecretRedactor) -> pl.DataFrame:
    """The secrets in the texts of some sessions.

    Args:
        texts: ``TEXT_COLUMNS`` and ``text``: one row for each text.
        redactor: Finds them. What one text of a session gives away is found in all texts of that session.

    Returns:
        ``SECRET_SCHEMA``, one row a place, by session, run, number and place.
    """
    given = texts.filter(pl.col("text").is_not_null()).with_row_index("row")
    found: list[tuple[int, str, str, str, str, int, int]] = []
    for _, group in given.group_by("session_id", maintain_order=True):
        rows = group["row"].to_list()
        result = redactor.redact(group["text"].to_list())
        found += [
            (rows[one.text_index], one.type, one.fingerprint, one.rule, one.found_by, one.start, one.end)
            for one in result.replacements
        ]
    names = ("secret_type", "fingerprint", "rule", "found_by", "start", "end")
    schema = {"row": pl.UInt32, **{name: SECRET_SCHEMA[name] for name in names}}
    return (
        pl.DataFrame(found, schema, orient="row")
        .join(given.select("row", *TEXT_COLUMNS), on="row", how="left", maintain_order="left")
        .sort("session_id", "run_id", "sequence_no", "row", "start")
        .select(pl.col(name).cast(dtype) for name, dtype in SECRET_SCHEMA.items())
    )
