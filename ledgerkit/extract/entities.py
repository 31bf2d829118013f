"""Entities of texts: URLs, hosts, addresses, paths, packages and commands, with their places.

One rule: whatever is found stands in the text as ``raw`` says, from ``start`` to ``end``; ``value`` is the one form in
which two mentions of the same thing are equal.  Running text is read with patterns, whole columns at once; shell lines
(of a call, or quoted in prose) by a reader, once for each distinct line.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.extract import patterns
from ledgerkit.extract.addresses import find_addresses, find_bare_hosts
from ledgerkit.extract.found import FOUND, as_found, spanning
from ledgerkit.extract.lines import is_path, quoted_lines, read_lines, with_programs
from ledgerkit.extract.spans import spans
from ledgerkit.extract.values import with_values

KINDS: Final = ("url", "host", "ip", "email", "path", "package", "command")
"""What an entity can be."""
FORMS: Final = ("text", "shell", "content", "path", "address")
"""How a text is read: running text, a command line, a file's content (no paths or commands), one path, one address."""

ENTITY_SCHEMA: Final = {
    "id": pl.String,
    "kind": pl.String,
    "value": pl.String,
    "raw": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
    "role": pl.String,
    "program": pl.String,
    "is_inside": pl.Boolean,
}
"""Columns of ``extract_entities``: one row for each thing that a text names."""


def extract_entities(texts: pl.DataFrame) -> pl.DataFrame:
    """The entities of some texts.

    Args:
        texts: Columns ``id`` and ``text``; where they are there, ``form`` (one of ``FORMS``; ``text`` if null) and
            ``working_directory`` (the root of the text's workspace, by which paths are placed).

    Returns:
        One row an entity: ``id``, ``kind``, ``value``, ``raw``, ``start``, ``end`` (characters), ``role`` (of a part
        of a command line: program, wrapper, argument, script, target, source; the manager of a package),
        ``program`` (of the simple command that it stands in) and ``is_inside`` (of a path: whether it lies in the
        workspace; null where that is unknown). By id in the order of the input, then place, then kind. A URL gives
        its host as well.

    Example:
        >>> found = extract_entities(pl.DataFrame({"id": ["a"], "text": ["See https://Example.com/x, mail a@b.org."]}))
        >>> found.select("kind", "value", "start").rows()
        [('url', 'https://example.com/x', 4), ('host', 'example.com', 12), ('email', 'a@b.org', 32)]
    """
    rows = _prepared(texts)
    distinct = rows.select("text", "form").unique(maintain_order=True).with_row_index("key")
    found = _find(distinct)
    placed = (
        rows.join(distinct, on=["text", "form"], how="inner", maintain_order="left")
        .select("order", "id", "working_directory", "key")
        .join(found, on="key", how="inner")
    )
    return (
        with_values(placed)
        .filter(pl.col("value") != "")
        .unique(["order", "kind", "value", "start", "end"], keep="first", maintain_order=True)
        .sort("order", "start", pl.col("kind").replace_strict(dict(zip(KINDS, range(len(KINDS)), strict=True))), "end")
        .select(pl.col(name).cast(dtype) for name, dtype in ENTITY_SCHEMA.items())
    )


def _prepared(texts: pl.DataFrame) -> pl.DataFrame:
    return texts.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("order"),
        pl.col("id").cast(pl.String),
        pl.col("text").cast(pl.String),
        (pl.col("form").fill_null("text") if "form" in texts.columns else pl.lit("text")).alias("form"),
        (
            pl.col("working_directory").cast(pl.String)
            if "working_directory" in texts.columns
            else pl.lit(None, pl.String)
        ).alias("working_directory"),
    ).filter(pl.col("text").is_not_null() & (pl.col("text") != ""))


def _find(distinct: pl.DataFrame) -> pl.DataFrame:
    """Entities of distinct texts, by their form."""
    of_form = {form: distinct.filter(pl.col("form") == form) for form in FORMS}
    running = distinct.filter(pl.col("form") != "path")
    prose = of_form["text"]
    lines = pl.concat([of_form["shell"].select("key", raw="text", start=pl.lit(0, pl.Int64)), quoted_lines(prose)])
    whole = of_form["path"].select("key", kind=pl.lit("path"), raw="text")
    host = pl.col("text").str.extract(patterns.ADDRESS)
    address = of_form["address"].filter(host.is_not_null()).select("key", kind=pl.lit("host"), raw=host)
    found = [
        read_lines(lines),
        find_addresses(running),
        find_bare_hosts(pl.concat([prose, of_form["shell"]])),
        as_found(spans(prose, patterns.PATH), "path").filter(is_path()),
        as_found(spans(of_form["content"], patterns.PATCH_FILE), "path").with_columns(role=pl.lit("target")),
        spanning(whole),
        spanning(address),
    ]
    whole_frame = pl.concat([frame.select(pl.col(n).cast(t) for n, t in FOUND.items()) for frame in found])
    return with_programs(whole_frame, of_form["shell"])
