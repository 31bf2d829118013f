"""Where known tokens stand in the texts of their own runs: boundary-aware, in texts of normal form.

A token is looked for in whole batches of texts by one automaton; what stands before and behind each hit then decides
whether the token ends there. A character beyond ASCII ends any token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from ledgerkit.strategies.grid import Ints, ints

_WORD: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
_BATCH_BYTES: Final = 4 << 20
_HOME: Final = re.compile(r"(/home/[^/]+|/Users/[^/]+|/root)(?:/|$)")


@dataclass(frozen=True)
class _Bounds:
    """What goes on with a token: before it, behind it, behind it if a word follows, behind it if it is doubled."""

    before: str
    behind: str = _WORD
    joins: str = ""
    doubles: str = ""


_BOUNDS: Final = {
    "path": _Bounds(_WORD + "/.~@+%-", joins="/.~@+%-"),
    "line": _Bounds(_WORD + "/.~@+%-", joins=".-"),
    "identifier": _Bounds(_WORD + ".", joins=".", doubles=":"),
    "error_code": _Bounds(_WORD + "-", joins="-"),
    "hash": _Bounds(_WORD + "-", joins="-"),
    "url": _Bounds(_WORD, joins="/%?=&#~+@.-:"),
    "number": _Bounds(_WORD + ".", joins="."),
}
"""``quoted`` has none of its own: where it begins or ends with a word, the word has to end there. ``verbatim`` may
stand in the middle of anything."""


def normal_texts(texts: pl.DataFrame) -> pl.DataFrame:
    """Texts in the form in which tokens are looked for.

    Unicode NFC; paths as they lie in the run's workspace: without its root, with ``~`` for the home folder, without
    ``./``, and without the ``a/`` and ``b/`` of a diff's file lines.

    Args:
        texts: ``text`` and ``root`` (the working directory, null where unknown), and other columns.

    Example:
        >>> made = pl.DataFrame({"text": ["open /home/me/w/src/a.py and ./b.py"], "root": ["/home/me/w"]})
        >>> normal_texts(made)["text"].to_list()
        ['open src/a.py and b.py']
    """
    groups = texts.with_row_index("_place").partition_by("root", maintain_order=True)
    made = [group.with_columns(_normal(pl.col("text"), group["root"][0])) for group in groups]
    return pl.concat(made).sort("_place").drop("_place") if made else texts


def _normal(text: pl.Expr, root: str | None) -> pl.Expr:
    text = text.str.normalize("NFC").str.replace_all(r"(?m)^(\+\+\+ |--- )[ab]/", "${1}")
    if root and root.strip("/"):
        text = text.str.replace_all(rf"(^|[^\w./~-]){re.escape(root.rstrip('/'))}/", "${1}")
        if home := _HOME.match(root):
            text = text.str.replace_all(rf"(^|[^\w./~-]){re.escape(home[1])}/", "${1}~/")
    return text.str.replace_all(r"(^|[^\w./])(?:\./)+", "${1}")


def find_mentions(texts: pl.DataFrame, wanted: pl.DataFrame) -> pl.DataFrame:
    """Which texts of a run mention what is wanted in that run.

    Args:
        texts: ``run``, ``part`` (distinct numbers) and ``text`` in normal form.
        wanted: ``run``, ``key``, ``type`` and ``value``.

    Returns:
        ``key`` and ``part``, distinct, sorted by part and key.

    Example:
        >>> texts = pl.DataFrame({"run": [0, 0], "part": [4, 5], "text": ["see src/a.py, line 3", "src/a.pyc"]})
        >>> wanted = pl.DataFrame({"run": [0], "key": [9], "type": ["path"], "value": ["src/a.py"]})
        >>> find_mentions(texts, wanted).rows()
        [(9, 4)]
    """
    found = [_mentions(batch, wanted) for batch in _batches(texts.filter(pl.col("text") != ""))]
    schema = {"key": pl.Int64, "part": pl.Int64}
    return pl.concat([pl.DataFrame(schema=schema), *found]).unique().sort("part", "key")


def _batches(texts: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Texts of whole runs together up to some size, so that one automaton looks for the tokens of few runs."""
    ordered = texts.select("run", "part", "text").sort("run", "part")
    before = pl.col("text").str.len_bytes().cast(pl.Int64).cum_sum().first().over("run") // _BATCH_BYTES
    yield from ordered.with_columns(_batch=before).partition_by("_batch", maintain_order=True, include_key=False)


def _mentions(texts: pl.DataFrame, wanted: pl.DataFrame) -> pl.DataFrame:
    known = wanted.join(texts.select("run").unique(), on="run", how="semi")
    needles = known["value"].unique().sort()
    schema = {"key": pl.Int64, "part": pl.Int64}
    if not needles.len():
        return pl.DataFrame(schema=schema)
    sizes = texts["text"].str.len_bytes().cast(pl.Int64)
    # Two zero bytes stand before, between and behind the texts, so that every hit has neighbours.
    buffer = np.frombuffer(b"\0\0" + b"\0\0".join(t.encode() for t in texts["text"]) + b"\0\0\0", np.uint8)
    hits = (
        texts.lazy()
        .with_columns(begins=(sizes.cum_sum() - sizes + 2 * pl.int_range(pl.len()) + 2))
        .with_columns(at=pl.col("text").str.find_many(needles.implode(), overlapping=True))
        .filter(pl.col("at").list.len() > 0)
        .with_columns(value=pl.col("text").str.extract_many(needles.implode(), overlapping=True))
        .select("run", "part", "begins", "at", "value")
        .explode("at", "value")
        .join(known.lazy().select("run", "key", "type", "value"), on=["run", "value"], how="inner")
        .with_columns(start=pl.col("begins") + pl.col("at").cast(pl.Int64))
        .with_columns(end=pl.col("start") + pl.col("value").str.len_bytes().cast(pl.Int64))
        .collect()
    )
    keep = _is_bounded(buffer, ints(hits["start"]), ints(hits["end"]), hits["type"])
    return hits.filter(pl.Series(keep, dtype=pl.Boolean)).select(pl.col(n).cast(t) for n, t in schema.items())


def _is_bounded(buffer: npt.NDArray[np.uint8], start: Ints, end: Ints, types: pl.Series) -> npt.NDArray[np.bool_]:
    before, behind, second = buffer[start - 1], buffer[end], buffer[end + 1]
    first, last = buffer[start], buffer[end - 1]
    is_word = _table(_WORD)
    good = ~(is_word[before] & is_word[first]) & ~(is_word[behind] & is_word[last])
    for name, bounds in _BOUNDS.items():
        goes_on = (
            _table(bounds.before)[before]
            | _table(bounds.behind)[behind]
            | (_table(bounds.joins)[behind] & is_word[second])
            | (_table(bounds.doubles)[behind] & (second == behind))
        )
        good = np.where((types == name).to_numpy(), ~goes_on, good)
    return good | (types == "verbatim").to_numpy()


def _table(characters: str) -> npt.NDArray[np.bool_]:
    table = np.zeros(256, np.bool_)
    table[np.frombuffer(characters.encode(), np.uint8)] = True
    return table
