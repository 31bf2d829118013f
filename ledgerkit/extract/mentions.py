"""Which of some known things are mentioned in which texts, and where.

The counterpart of extraction: what is looked for is known, so prose needs no grammar.  One automaton a kind searches
all texts for all needles at once; a mention must end where a name of its kind can end.  Every text is read once a
kind, whatever the number of needles, and hits do not overlap, so the time is bounded by the texts' length.
"""

from __future__ import annotations

from typing import Final

import polars as pl

AROUND: Final = 32
"""Characters on either side that come with a mention."""

_ENDS_SENTENCE: Final = r"[.,;:!?)\]]*(?:[^\w%/?=&#@.,:;!~+-]|$)"
_NOT_IN_NAME: Final = r"(?:^|[^\w.-])$"
_BOUNDS: Final[dict[str, tuple[str, str]]] = {
    "url": (r"(?:^|[^A-Za-z0-9+.-])$", rf"^/?{_ENDS_SENTENCE}"),
    "host": (_NOT_IN_NAME, r"^\.?(?:[^\w.-]|$)"),
    "ip": (_NOT_IN_NAME, r"^\.?(?:[^\w.-]|$)"),
    "email": (r"(?:^|[^\w.+%-])$", r"^\.?(?:[^\w.-]|$)"),
    "path": (r"(?:^|[^\w/.~%+-]|(?:^|[^\w/.])\./)$", r"^/?(?:[.,;!?)\]]*(?:[^\w/%+~.-]|$)|:)"),
    "name": (r"(?:^|[^\w.~%+-])$", r"^/?(?:[.,;!?)\]]*(?:[^\w/%+~.-]|$)|:)"),
    "package": (r"(?:^|[^\w.@-])$", r"^(?:[^\w.-]|\.\W|\.$|$)"),
    "command": (_NOT_IN_NAME, r"^(?:[^\w.=(-]|\.\W|\.$|$)"),
}
"""What may stand before and behind a mention, by kind. ``name`` is the last part of a path, wherever it lies."""
_ANY_CASE: Final = ("url", "host", "ip", "email")
MENTION_SCHEMA: Final = {
    "id": pl.UInt32,
    "kind": pl.String,
    "needle": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
    "before": pl.String,
    "after": pl.String,
}


def find_mentions(texts: pl.DataFrame, needles: pl.DataFrame) -> pl.DataFrame:
    """Every mention of some things in some texts.

    Args:
        texts: Columns ``id`` (an unsigned number) and ``text``.
        needles: Columns ``kind`` (an entity's kind, or ``name``) and ``needle`` (a way to write it).

    Returns:
        One row a mention: ``id``, ``kind``, ``needle``, ``start``, ``end`` (characters), ``before`` and ``after``
        (what stands around it, each character beyond ASCII as one control character). Of mentions that overlap,
        the longest of the first. Letters of URLs, hosts and addresses may be capital or small.

    Example:
        >>> texts = pl.DataFrame({"id": [1], "text": ["Ask Example.org, not notexample.org."]})
        >>> wanted = pl.DataFrame({"kind": ["host"], "needle": ["example.org"]})
        >>> find_mentions(texts, wanted).select("start", "end").rows()
        [(4, 15)]
    """
    plain = texts.select(pl.col("id").cast(pl.UInt32), text=_one_byte_each("text")).filter(pl.col("text") != "")
    known = needles.select("kind", "needle", plain=_one_byte_each("needle")).filter(pl.col("plain") != "").unique()
    found = [_of_kind(plain, known.filter(pl.col("kind") == kind), kind) for kind in _BOUNDS]
    return pl.concat(found).sort("id", "start", "kind", "end", "needle")


def _one_byte_each(column: str) -> pl.Expr:
    """The text with one byte a character, so that places in bytes are places in characters."""
    return pl.col(column).str.replace_all(r"[^\x00-\x7f]", "\x1a")


def _of_kind(texts: pl.DataFrame, needles: pl.DataFrame, kind: str) -> pl.DataFrame:
    wanted = needles.select("needle", "plain", low=pl.col("plain").str.to_lowercase())
    # Longest first: of needles that begin at one place, the automaton takes the first.
    patterns = (
        wanted["low"].unique().to_frame().sort(-pl.col("low").str.len_bytes().cast(pl.Int64), "low")["low"].to_list()
    )
    if not patterns or not texts.height:
        return pl.DataFrame(schema=MENTION_SCHEMA)
    options = {"ascii_case_insensitive": True, "leftmost": True}
    hits = (
        texts.lazy()
        .select("id", "text", start=pl.col("text").str.find_many(patterns, **options))
        .filter(pl.col("start").list.len() > 0)
        .with_columns(hit=pl.col("text").str.extract_many(patterns, **options))
        .explode("start", "hit")
        .with_columns(pl.col("start").cast(pl.Int64), low=pl.col("hit").str.to_lowercase())
        .with_columns(end=pl.col("start") + pl.col("hit").str.len_bytes().cast(pl.Int64))
        .with_columns(before=_slice(pl.max_horizontal(pl.col("start") - AROUND, 0), "start"))
        .with_columns(after=_slice(pl.col("end"), pl.col("end") + AROUND))
        .filter(pl.col("before").str.contains(_BOUNDS[kind][0]) & pl.col("after").str.contains(_BOUNDS[kind][1]))
        .drop("text")
        .join(wanted.lazy(), on="low", how="inner")
        .with_columns(kind=pl.lit(kind))
    )
    if kind not in _ANY_CASE:
        hits = hits.filter(pl.col("hit") == pl.col("plain"))
    return hits.select(pl.col(name).cast(dtype) for name, dtype in MENTION_SCHEMA.items()).collect()


def _slice(start: pl.Expr, end: pl.Expr | str) -> pl.Expr:
    stop = pl.col(end) if isinstance(end, str) else end
    return pl.col("text").cast(pl.Binary).bin.slice(start, stop - start).cast(pl.String)
