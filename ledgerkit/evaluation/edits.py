"""Edit support: whether the lines that a recorded edit had to quote stood in its context, word for word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.evaluation.lexemes import leaves
from ledgerkit.evaluation.material import Material, Placed
from ledgerkit.evaluation.mentions import find_mentions
from ledgerkit.evaluation.presence import Flags, Floats, Spans, ratio
from ledgerkit.strategies.grid import Ints, StepGrid, ints

_OLD: Final = frozenset(("old_string", "oldstring", "old_str", "oldstr", "old_text", "old_source"))
_FEWEST: Final = 4
"""Characters of a line that says enough to be looked for."""
_SEARCH, _DIVIDER = "<<<<<<< SEARCH", "======="


def quoted_lines(data: str) -> list[str]:
    r"""The lines that an edit quotes from a file, but for very short ones; without blanks at their ends.

    Of arguments that name the old text, of unified diffs and patches (context and removed lines), and of blocks that
    search and replace.

    Example:
        >>> quoted_lines('{"file_path": "a.py", "old_string": "x = 1  \\n}\\ny = 2", "new_string": "x = 3"}')
        ['x = 1', 'y = 2']
        >>> quoted_lines('{"patch": "*** Begin Patch\\n*** Update File: a\\n@@\\n first\\n-second\\n+third"}')
        ['first', 'second']
    """
    found: list[str] = []
    for name, text in leaves(data):
        found += text.split("\n") if name.lower() in _OLD else _of_patch(text)
    return list(dict.fromkeys(line.rstrip() for line in found if len(line.strip()) >= _FEWEST))


def _of_patch(text: str) -> Iterator[str]:
    is_patch = "*** Begin Patch" in text or ("\n@@" in text and "--- " in text)
    inside = searching = False
    for line in text.split("\n"):
        if line.startswith(_SEARCH):
            searching = True
        elif searching and line.startswith(_DIVIDER):
            searching = False
        elif searching:
            yield line
        elif is_patch and line.startswith("@@"):
            inside = True
        elif is_patch and line.startswith(("*** ", "--- ", "+++ ", "diff ")):
            inside = line.startswith("*** Update File")
        elif inside and line[:1] in (" ", "-"):
            yield line[1:]


@dataclass(frozen=True)
class Edits:
    """Lines that edits quote, and where they stand.

    Attributes:
        lines: ``run``, ``step``, ``key``, by run, step and key.
        mentions: ``key`` and ``part``: which parts hold a line, by part and key.
        keys: ``run``, ``key``, ``line``.
    """

    lines: pl.DataFrame
    mentions: pl.DataFrame
    keys: pl.DataFrame

    @classmethod
    def of(cls, material: Material) -> Edits:
        """Finds the lines that recorded edits quote."""
        steps = material.frames.parts.filter(pl.col("part_type") == "tool_call", pl.col("step").is_not_null())
        calls = material.texts.filter("is_own").join(steps.select("part", "step"), on="part").drop_nulls("data")
        distinct = calls.select("data").unique(maintain_order=True)
        quoted = distinct.with_columns(
            pl.Series("line", [quoted_lines(data) for data in distinct["data"]], dtype=pl.List(pl.String))
        )
        quoted = quoted.explode("line", empty_as_null=True).drop_nulls("line")
        lines = calls.select("run", "step", "data").join(quoted, on="data").select("run", "step", "line").unique()
        keys = lines.select("run", "line").unique().sort("run", "line").with_row_index("key")
        keys = keys.with_columns(pl.col("key").cast(pl.Int64))
        mentions = find_mentions(material.said, _wanted(keys))
        placed = lines.join(keys, on=["run", "line"]).select("run", "step", "key").sort("run", "step", "key")
        return cls(placed, mentions, keys)

    def held(self, placed: Placed) -> Flags:
        """Whether each line stood in the context of its edit."""
        mentions = self.mentions
        whole = placed.of_keys(placed.is_full, ints(mentions["part"]), ints(mentions["key"]))
        if placed.is_excerpt.any():
            shown = find_mentions(placed.excerpts(ints(mentions["part"].unique())), _wanted(self.keys))
            cut = placed.of_keys(placed.is_excerpt, ints(shown["part"]), ints(shown["key"]))
            fields = zip((whole.key, whole.start, whole.end), (cut.key, cut.start, cut.end), strict=True)
            whole = Spans(*(np.concatenate(pair) for pair in fields))
        return whole.cover(ints(self.lines["key"]), ints(self.lines["step"]))

    def steps(self, grid: StepGrid, held: Flags) -> dict[str, Floats | Ints]:
        """By slot: ``edit_lines``, ``edit_lines_held`` and ``edit_support`` (NaN where nothing was quoted)."""
        slots = grid.slots(ints(self.lines["run"]), ints(self.lines["step"]))
        wanted = np.bincount(slots, minlength=grid.size).astype(np.int64)
        kept = np.bincount(slots[held], minlength=grid.size).astype(np.int64)
        return {"edit_lines": wanted, "edit_lines_held": kept, "edit_support": ratio(kept, wanted)}


def _wanted(keys: pl.DataFrame) -> pl.DataFrame:
    return keys.select("run", "key", pl.lit("verbatim").alias("type"), value="line")
