"""Where a pattern stands in many texts, with character offsets, in linear time.

Polars has no search that gives offsets of a regular expression.  So matches are set between marks, the texts split at
the marks, and lengths summed: every other piece is a match.  The mark is a noncharacter; one that stands in a text is
replaced by another of the same length first, so offsets hold for any text.
"""

from __future__ import annotations

from typing import Final

import polars as pl

_MARK: Final = "\ufdd0"
_STAND_IN: Final = "\ufdd1"


def spans(texts: pl.DataFrame, pattern: str) -> pl.DataFrame:
    r"""Every match of a pattern in some texts.

    Args:
        texts: Columns ``key`` (distinct) and ``text``.
        pattern: A pattern of Polars, all of it in two or three groups: what stands before, the match, what stands
            behind.

    Returns:
        Columns ``key``, ``raw``, ``start``, ``end`` (characters), in order.

    Example:
        >>> spans(pl.DataFrame({"key": [7], "text": ["é a1 b2"]}), r"(^|\s)([a-z][0-9])").rows()
        [(7, 'a1', 2, 4), (7, 'b2', 5, 7)]
    """
    marked = pl.col("text").str.replace_all(_MARK, _STAND_IN, literal=True)
    marked = marked.str.replace_all(pattern, f"${{1}}{_MARK}${{2}}{_MARK}${{3}}")
    return (
        texts.lazy()
        .filter(pl.col("text").str.contains(pattern))
        .select("key", raw=marked.str.split(_MARK))
        .with_columns(place=pl.int_ranges(pl.col("raw").list.len()))
        .explode("raw", "place")
        .with_columns(end=pl.col("raw").str.len_chars().cast(pl.Int64).cum_sum().over("key"))
        .filter(pl.col("place") % 2 == 1)
        .select("key", "raw", start=pl.col("end") - pl.col("raw").str.len_chars().cast(pl.Int64), end="end")
        .collect()
    )
