"""The ways in which a traced entity can be written, and which of its mentions count.

Whoever clears an entity may name it loosely (a file by its name, a folder for what is beneath it); whoever taints it
must have written the thing itself, and a program or a plain word only where it reads as one.
"""

from __future__ import annotations

from typing import Final

import polars as pl

NEEDLE_SCHEMA: Final = {
    "entity": pl.UInt32,
    "kind": pl.String,
    "needle": pl.String,
    "clears_only": pl.Boolean,
}
_COMMAND_BEFORE: Final = (
    r"(?i)(?:(?:^|\n|[\x1a`'\"]|[$#%>]|[|;&(:]|\b(?:sudo|doas|env|xargs|exec|nohup|time|run|runs|running|execute|use|using|"
    r"with|via|through|invoke|call|calling|command|program|then|do|and)\b)[ \t]*|/)$"
)
_COMMAND_AFTER: Final = r"^(?:[\s`'\"|;&)<>]|$)"
_DISTINCTIVE: Final = r"[-_./@0-9]"
_PACKAGE_BEFORE: Final = (
    r"(?i)(?:[`'\"]|\b(?:install|add|get|require|requires|import|from|package|packages|library|module|dependency|need|"
    r"needs|upgrade|download|npx|uvx|-[a-z])[ \t]+[`'\"]?)$"
)
_PACKAGE_LINE: Final = (r"(?:^|\n|\x1a)[ \t]*$", r"^[ \t]*(?:[=<>~!@;\[]|\n|$)")
_ANCESTORS: Final = 12


def needles_of(entities: pl.DataFrame) -> pl.DataFrame:
    """Every way to write some entities.

    Args:
        entities: Columns ``entity`` (a number), ``kind``, ``value``, ``raw``, ``is_inside``, ``working_directory``.

    Returns:
        Columns ``entity``, ``kind`` (of the needle), ``needle``, and ``clears_only`` (true where only a trusted part
        may write it so).
    """
    value, raw = pl.col("value"), pl.col("raw")
    of = {kind: entities.filter(pl.col("kind") == kind) for kind in entities["kind"].unique()}
    ways = [_as(entities.filter(pl.col("kind") != "package"), pl.col("kind"), value)]
    if "url" in of:
        bare = r"^[A-Za-z0-9+.-]+://(?:www\.)?"
        written = (raw, value.str.strip_chars_end("/"))
        ways += [_as(of["url"], pl.lit("url"), one) for one in written]
        ways += [_as(of["url"], pl.lit("url"), one.str.replace(bare, "")) for one in (value, *written)]
    if "ip" in of:
        ways.append(_as(of["ip"], pl.lit("ip"), raw))
    if "package" in of:
        names = (value, value.str.replace_all("-", "_", literal=True), raw.str.extract(r"^(@?[\w./-]+)"))
        ways += [_as(of["package"], pl.lit("package"), one) for one in names]
    if "path" in of:
        ways += _paths(of["path"])
    known = pl.concat(ways).filter(pl.col("needle").str.len_chars() > 0)
    return known.group_by("entity", "kind", "needle").agg(pl.col("clears_only").all())


def _as(entities: pl.DataFrame, kind: pl.Expr, needle: pl.Expr, *, clears_only: bool = False) -> pl.DataFrame:
    columns = {"entity": pl.col("entity"), "kind": kind, "needle": needle, "clears_only": pl.lit(clears_only)}
    named = entities.select(**columns).drop_nulls("needle")
    return named.select(pl.col(name).cast(dtype) for name, dtype in NEEDLE_SCHEMA.items())


def _paths(paths: pl.DataFrame) -> list[pl.DataFrame]:
    value, root, kind = pl.col("value"), pl.col("working_directory").str.strip_chars_end("/"), pl.lit("path")
    inside, outside = (paths.filter(pl.col("is_inside").fill_null(value=False) == one) for one in (True, False))
    home = pl.coalesce(root.str.extract(r"^(/home/[^/]+|/Users/[^/]+|/root)"), pl.lit("/root"))
    beneath = value.str.strip_prefix("~")
    at_home = outside.filter(value.str.starts_with("~/"))
    ways = [
        _as(paths, kind, pl.col("raw")),
        _as(inside, kind, pl.concat_str(root, pl.lit("/"), value)),
        _as(inside, pl.lit("name"), value.str.extract(r"([^/]+)$"), clears_only=True),
        *(_as(at_home, kind, pl.concat_str(one, beneath)) for one in (home, pl.lit("$HOME"), pl.lit("${HOME}"))),
    ]
    parent = outside.select("entity", "value")
    for _ in range(_ANCESTORS):
        parent = parent.with_columns(value=value.str.extract(r"^(.*[^/].*/[^/]+)/[^/]+$")).drop_nulls()
        ways.append(_as(parent, kind, value, clears_only=True))
    return ways


def reads_as_named() -> pl.Expr:
    """Whether a mention reads as the thing: a program where a command stands, a plain word as a package's name."""
    before, after, needle = pl.col("before"), pl.col("after"), pl.col("needle")
    command = before.str.contains(_COMMAND_BEFORE) & after.str.contains(_COMMAND_AFTER)
    line = before.str.contains(_PACKAGE_LINE[0]) & after.str.contains(_PACKAGE_LINE[1])
    package = needle.str.contains(_DISTINCTIVE) | before.str.contains(_PACKAGE_BEFORE) | line
    return (
        pl.when(pl.col("kind") == "command")
        .then(command)
        .when(pl.col("kind") == "package")
        .then(package)
        .otherwise(pl.lit(value=True))
    )
