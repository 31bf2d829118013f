"""Typed tokens in the arguments of tool calls: what an action may depend on.

A token is claimed by one type: what is part of a URL or a path is no identifier. Text in quotes counts as a whole, and
what stands in it counts for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, cast

import msgspec
import polars as pl

from ledgerkit.extract import patterns
from ledgerkit.extract.arguments import FORM_OF_ARGUMENT
from ledgerkit.extract.lines import is_path
from ledgerkit.extract.paths import normalise_path
from ledgerkit.extract.spans import spans

TYPES: Final = ("path", "line", "identifier", "error_code", "hash", "url", "quoted", "number")
"""Types of needs, as ``reference`` pages name them."""
TOKEN_SCHEMA: Final = {"call": pl.Int64, "type": pl.String, "value": pl.String}

_LEXEME: Final = r"(^|[^\w.:-])([A-Za-z0-9_](?:[\w:.-]*\w)?)"
_CLASSES: Final = {
    "hash": r"^(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{7,64})$",
    "error_code": (
        r"^(?:[A-Z]{1,6}[0-9]{2,6}|[A-Z]{2,10}-[0-9]{2,8}|E(?:NOENT|ACCES|PERM|EXIST|CONNREFUSED|CONNRESET|TIMEDOUT"
        r"|ADDRINUSE|NOTDIR|ISDIR|NOTEMPTY|INVAL|PIPE|MFILE|NOMEM|NOSPC|ROFS|LOOP|AGAIN|IO|NOTFOUND|RESOLVE))$"
    ),
    "number": r"^[0-9]{4,}(?:\.[0-9]+)?$",
    "identifier": r"^[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+$",
}
_IS_HASH: Final = r"[0-9].*[a-fA-F]|[a-fA-F].*[0-9]"
_LINE: Final = r"(^|[^\w.@+~%/-])([\w.@+~%/-]*\.[A-Za-z][A-Za-z0-9]*:[0-9]+)"
_WITH_SLASH: Final = r"[\w.@+~%-]*/[\w.@+~%/-]*(?::[0-9]+)?"
_QUOTED: Final = tuple(rf"((?:^|[\s(\[{{=,:]){q})([^\s{q}][^{q}\n]{{6,198}}[^\s{q}])({q})" for q in ('"', "'", "`"))
_SHORTEST_IDENTIFIER: Final = 4
_TRAILING: Final = r"[.,;:!?]+$"
_MOST_LEAVES: Final = 1_000
_MOST_CHARACTERS: Final = 262_144
_DEPTH: Final = 32
_NO_PATH: Final = ("", ".", "..", "~", "/", "*")


def leaves(data: str) -> Iterator[tuple[str, str]]:
    """Name and text of each string and number in the arguments of a call; what is no JSON is one text.

    Example:
        >>> list(leaves('{"path": "a.py", "edits": [{"old": "x"}], "limit": 2000, "all": true}'))
        [('path', 'a.py'), ('old', 'x'), ('limit', '2000')]
    """
    try:
        decoded: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        decoded = data
    yield from islice(_walk("value", decoded, 0), _MOST_LEAVES)


def _walk(name: str, value: object, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value[:_MOST_CHARACTERS]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, str(value)
    elif isinstance(value, dict) and depth < _DEPTH:
        for key, one in cast("dict[str, object]", value).items():
            yield from _walk(key, one, depth + 1)
    elif isinstance(value, list) and depth < _DEPTH:
        for one in cast("list[object]", value):
            yield from _walk(name, one, depth + 1)


def argument_text(data: str) -> str:
    """All that the arguments of a call say, one value a line: what a mention in them is looked for in."""
    return "\n".join(value for _, value in leaves(data))


def find_tokens(calls: pl.DataFrame) -> pl.DataFrame:
    """Typed tokens of the arguments of some calls.

    Args:
        calls: ``call`` (distinct numbers), ``data`` (arguments as JSON) and ``root`` (the run's working directory, null
            where unknown).

    Returns:
        ``call``, ``type`` (one of ``TYPES``) and ``value`` (in normal form), distinct and sorted.

    Example:
        >>> made = pl.DataFrame({"call": [0], "data": ['{"command": "pytest /w/a.py::test_x --seed=1234"}'],
        ...                      "root": ["/w"]})
        >>> find_tokens(made).select("type", "value").rows()
        [('number', '1234'), ('path', 'a.py')]
    """
    distinct = calls.select("data").drop_nulls().unique(maintain_order=True).with_row_index("number")
    read = [
        (number, FORM_OF_ARGUMENT.get(name.lower(), "text") == "path", value)
        for number, data in distinct.iter_rows()
        for name, value in leaves(data)
    ]
    schema = {"number": pl.UInt32, "is_path": pl.Boolean, "text": pl.String}
    texts = pl.DataFrame(read, schema=schema, orient="row").with_row_index("key")
    texts = texts.with_columns(pl.col("text").str.normalize("NFC"))
    found = _tokens(texts).join(texts.select("key", "number"), on="key")
    placed = calls.join(distinct, on="data", how="inner").join(found, on="number", how="inner")
    named = _normal(placed)
    return named.select(pl.col(n).cast(t) for n, t in TOKEN_SCHEMA.items()).unique().sort("call", "type", "value")


def _tokens(texts: pl.DataFrame) -> pl.DataFrame:
    """``key``, ``type`` and ``raw`` of all tokens; what one type has claimed, later ones do not see."""
    prose = texts.select("key", "text", "is_path")
    whole = prose.filter("is_path", ~pl.col("text").str.contains(r"\n|://"))
    found = [_typed(whole.select("key", raw="text"), "path")]
    found += [_typed(spans(prose, pattern), "quoted") for pattern in _QUOTED]
    prose = prose.join(whole.select("key"), on="key", how="anti")
    urls = spans(prose, patterns.URL).with_columns(pl.col("raw").str.replace(r"[.,;:!?*_)\]]+$", ""))
    found.append(_typed(urls, "url"))
    prose = prose.with_columns(pl.col("text").str.replace_all(patterns.URL, "${1} "))
    found.append(_typed(spans(prose, _LINE), "line"))
    paths = spans(prose, patterns.PATH).with_columns(kind=pl.lit("path"), role=pl.lit(None, pl.String))
    found.append(_typed(paths.filter(is_path()), "path"))
    prose = prose.with_columns(pl.col("text").str.replace_all(_WITH_SLASH, " "))
    lexemes = spans(prose, _LEXEME).with_columns(pl.col("raw").str.replace(_TRAILING, ""))
    known = pl.concat([paths.filter(is_path()).select("key", "raw"), spans(prose, _LINE).select("key", "raw")])
    lexemes = lexemes.join(known, on=["key", "raw"], how="anti")
    return pl.concat([*found, *_classified(lexemes)])


def _classified(lexemes: pl.DataFrame) -> Iterator[pl.DataFrame]:
    left = lexemes
    for kind, pattern in _CLASSES.items():
        is_one = pl.col("raw").str.contains(pattern)
        if kind == "hash":
            is_one &= pl.col("raw").str.contains(_IS_HASH)
        if kind == "identifier":
            is_one &= pl.col("raw").str.len_chars() >= _SHORTEST_IDENTIFIER
        yield _typed(left.filter(is_one), kind)
        left = left.filter(~is_one)


def _typed(found: pl.DataFrame, kind: str) -> pl.DataFrame:
    return found.select("key", pl.lit(kind).alias("type"), "raw")


def _normal(tokens: pl.DataFrame) -> pl.DataFrame:
    """Adds ``value``: paths as they lie in the workspace, all else as it stands."""
    is_path_like = pl.col("type").is_in(["path", "line"])
    split = tokens.with_columns(
        file=pl.when(pl.col("type") == "line").then(pl.col("raw").str.replace(r":[0-9]+$", "")).otherwise("raw"),
        at=pl.when(pl.col("type") == "line").then(pl.col("raw").str.extract(r"(:[0-9]+)$")).otherwise(pl.lit("")),
    )
    files = split.filter(is_path_like).select("file", "root").unique(maintain_order=True)
    names = [normalise_path(file, root).value for file, root in files.iter_rows()]
    placed = files.with_columns(name=pl.Series(names, dtype=pl.String))
    joined = split.join(placed, on=["file", "root"], how="left", nulls_equal=True)
    value = pl.when(is_path_like).then(pl.col("name") + pl.col("at")).otherwise("raw")
    return joined.with_columns(value=value.str.strip_chars_end("/")).filter(
        ~(is_path_like & pl.col("name").is_in(_NO_PATH)) & (pl.col("value") != "")
    )
