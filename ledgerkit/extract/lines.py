"""Paths in prose, and shell lines wherever they stand."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.extract import patterns
from ledgerkit.extract.commands import read_commands
from ledgerkit.extract.spans import spans
from ledgerkit.extract.words import words

_READ: Final = {
    "line": pl.UInt32,
    "kind": pl.String,
    "raw": pl.String,
    "from": pl.Int64,
    "to": pl.Int64,
    "role": pl.String,
    "program": pl.String,
    "base": pl.String,
}
"""What the reader of shell lines gives, by the number of the line."""
_KNOWN_ROOTS: Final = words(
    "/etc /tmp /var /usr /home /root /opt /dev /proc /sys /bin /sbin /lib /mnt /media /srv /boot /Users "
    "/Library /private /workspace /app /data /run"
)


def is_path() -> pl.Expr:
    """Whether what looks like a path is one: a bare or single name needs something known about it."""
    raw = pl.col("raw")
    extension = raw.str.extract(r"\.([A-Za-z][A-Za-z0-9]*)$").str.to_lowercase()
    is_bare = ~raw.str.contains(r"[/\\]")
    single = raw.str.contains(r"^/[^/]*/?$")
    known = raw.str.strip_chars_end("/").is_in(_KNOWN_ROOTS) | extension.is_in(sorted(patterns.EXTENSIONS)).fill_null(
        value=False
    )
    return (
        pl.when(is_bare)
        .then(extension.is_in(sorted(patterns.EXTENSIONS)))
        .when(single)
        .then(known)
        .otherwise(pl.lit(value=True))
    )


def quoted_lines(prose: pl.DataFrame) -> pl.DataFrame:
    """Shell lines in running text: fenced, behind a prompt, in a code span, or an installation."""
    found = [
        spans(prose, pattern)
        for pattern in (patterns.FENCE, patterns.PROMPT_LINE, patterns.CODE_SPAN, patterns.INSTALL)
    ]
    looks = pl.col("raw").str.contains(
        r"^\s*(?:[\w./~-]+=\S*\s+)*(?:sudo\s+)?[\w./~@+-]*[a-z][\w./+-]*(?:\s+[^=\s(:]|\s*$|\s*[|>;&])"
    )
    is_word = pl.col("raw").str.contains(r"^\s*[\w./~-]+\s*$")
    found[2] = found[2].filter(looks & ~is_word)
    return pl.concat(found).select("key", "raw", "start")


def read_lines(lines: pl.DataFrame) -> pl.DataFrame:
    """What distinct shell lines name. The reader is the one part that works line by line."""
    distinct = lines.select("raw").unique(maintain_order=True).with_row_index("line")
    read = [
        (number, *found) for number, line in distinct.select("line", "raw").iter_rows() for found in read_commands(line)
    ]
    frame = pl.DataFrame(read, schema=_READ, orient="row")
    return (
        lines.join(distinct, on="raw", how="inner", maintain_order="left")
        .drop("raw")
        .join(frame, on="line", how="inner", maintain_order="left_right")
        .with_columns(end=pl.col("start") + pl.col("to"), start=pl.col("start") + pl.col("from"))
    )


def with_programs(found: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """What a pattern found in a shell line belongs to the last program that began before it."""
    programs = (
        found.join(lines, on="key", how="semi")
        .filter(pl.col("role") == "program")
        .select("key", "start", near="program")
        .sort("key", "start")
    )
    near = pl.when(pl.col("program").is_null()).then(pl.col("near")).otherwise(pl.col("program"))
    return (
        found.sort("key", "start", maintain_order=True)
        .join_asof(programs, on="start", by="key", strategy="backward", check_sortedness=False)
        .with_columns(program=near)
        .drop("near")
    )
