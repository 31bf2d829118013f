"""The gate at the way out: what one audience may see, and a second look for secrets at what leaves.

One rule: an allowlist.  A row passes only if its label says that this audience may see it; a row without a label, or
with one that is not in the vocabulary, stays behind and is counted.  What is put together from rows is scanned once
more as it leaves, and a hit blocks it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.errors import OutputBlockedError, UnknownNameError
from ledgerkit.protocol.vocabulary import Audience, Visibility

if TYPE_CHECKING:
    from ledgerkit.safety.redaction import SecretRedactor

ALLOW_ALL: Final = "all"
_LABEL_COLUMNS: Final = ("part_visibility", "visibility")


def visible_to(parts: pl.DataFrame, audience: Audience) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Splits rows into those that an audience may see and a count of the others.

    Args:
        parts: Rows with a label: the column ``part_visibility`` or, where there is none, ``visibility``.
        audience: Who looks.

    Returns:
        The rows that the audience may see, in their order; and the rows withheld from it, counted: one row per label
        (columns ``visibility`` and ``withheld``), widest label first, null for rows without one.

    Raises:
        UnknownNameError: If there is no column of labels.

    Example:
        >>> parts = pl.DataFrame({"part_visibility": ["MODEL_VISIBLE", "AUDIT_ONLY"], "text": ["hello", "bill"]})
        >>> seen, withheld = visible_to(parts, Audience.PEOPLE)
        >>> seen["text"].to_list(), withheld.rows()
        (['hello'], [('AUDIT_ONLY', 1)])
    """
    label = next((name for name in _LABEL_COLUMNS if name in parts.columns), None)
    if label is None:
        raise UnknownNameError.among("column", _LABEL_COLUMNS[0], parts.columns)
    allowed = [level.value for level in Visibility if audience.may_see(level)]
    passes = pl.col(label).is_in(allowed).fill_null(value=False)
    ranks = {level.value: level.rank for level in Visibility}
    withheld = (
        parts.filter(~passes)
        .group_by(pl.col(label).cast(pl.String).alias("visibility"))
        .agg(pl.len().cast(pl.Int64).alias("withheld"))
        .sort(pl.col("visibility").replace_strict(ranks, default=len(ranks), return_dtype=pl.Int64), "visibility")
    )
    return parts.filter(passes), withheld


def check_output(what: str, text: str, redactor: SecretRedactor, *, allow: Collection[str] = ()) -> None:
    """Lets a text pass, or blocks it because of the secrets in it.

    Args:
        what: What it is, for the message: "The report".
        text: All of it, as it leaves.
        redactor: Finds secrets.
        allow: Names of findings that may pass, as the error gives them (``type#fingerprint``), or ``all``.

    Raises:
        OutputBlockedError: If there is another finding.
    """
    if ALLOW_ALL in allow:
        return
    found = redactor.redact([text]).replacements
    names = sorted({f"{one.type}#{one.fingerprint}" for one in found} - set(allow))
    if names:
        raise OutputBlockedError(what, names)
