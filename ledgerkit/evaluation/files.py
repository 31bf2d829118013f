"""Staleness: content of files in contexts that was changed since, and content that contradicts other content there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ledgerkit.evaluation.material import Material, Placed
from ledgerkit.evaluation.presence import STRIDE, Floats, Spans, ratio, standing
from ledgerkit.extract.paths import normalise_path
from ledgerkit.strategies.grid import Ints, ints


@dataclass(frozen=True)
class Files:
    """Parts that show content of files.

    Attributes:
        is_file: Whether a part does, shape (parts,).
        stale_from: The step from which it is known that its file was changed since, shape (parts,); ``STRIDE`` if none.
        ranges: Of parts that show the same lines of a file as another does, with other content: ``part``, ``range``
            (number of the file and lines in its run) and ``content`` (number of the content), by part.
        run_of_content: Run of each content, by number.
        range_of_content: Range of each content.
    """

    is_file: Ints
    stale_from: Ints
    ranges: pl.DataFrame
    run_of_content: Ints
    range_of_content: Ints

    @classmethod
    def of(cls, material: Material) -> Files:
        """Finds content of files and its changes."""
        parts = material.frames.parts.select("part", "kind", "part_type", "visible_from")
        texts = material.texts.join(parts, on="part", maintain_order="left").pipe(_with_files)
        shows = (pl.col("part_type") == "file_snippet") | (
            (pl.col("kind") == "FILE_OBSERVATION") & (pl.col("part_type") == "tool_result")
        )
        seen = texts.filter(shows, pl.col("file").is_not_null(), pl.col("text").is_not_null())
        changes = texts.filter(pl.col("part_type") == "diff", pl.col("file").is_not_null())
        is_file = np.zeros(parts.height, np.int64)
        is_file[ints(seen["part"])] = 1
        stale = np.full(parts.height, STRIDE, np.int64)
        pairs = seen.select("run", "file", "part").join(
            changes.select("run", "file", changed="part", at="visible_from"), on=["run", "file"]
        )
        # The first change behind it counts: a step that sees that one knows a newer version.
        first = pairs.filter(pl.col("changed") > pl.col("part")).group_by("part").agg(pl.col("at").min())
        stale[ints(first["part"])] = ints(first["at"])
        return cls(is_file, stale, *_ranges(seen))

    def steps(self, placed: Placed) -> dict[str, Floats | Ints]:
        """By slot.

        Returns:
            ``file_tokens``, ``stale_tokens``, ``staleness`` (NaN where no file's content stands), and
            ``contradictions`` (lines of a file that stand with two contents).
        """
        grid = placed.material.frames.grid
        shown = np.flatnonzero(placed.is_full | placed.is_excerpt)
        shown = shown[self.is_file[placed.part[shown]] == 1]
        run, start, end = placed.run[shown], placed.start[shown], placed.end[shown]
        tokens = placed.tokens[shown]
        whole = standing(grid, run, start, end, tokens)
        stale = standing(grid, run, np.maximum(start, self.stale_from[placed.part[shown]]), end, tokens)
        return {
            "file_tokens": whole,
            "stale_tokens": stale,
            "staleness": ratio(stale, whole),
            "contradictions": self._contradictions(placed),
        }

    def _contradictions(self, placed: Placed) -> Ints:
        grid = placed.material.frames.grid
        contents = placed.of_keys(placed.is_full, ints(self.ranges["part"]), ints(self.ranges["content"])).union()
        # Steps of a range with two contents or more: where what its contents hold together exceeds what either does.
        of_range = Spans(self.range_of_content[contents.key], contents.start, contents.end)
        run = self.run_of_content[contents.key]
        return _doubled(of_range, run, grid.size, grid.first)


def _doubled(spans: Spans, run: Ints, size: int, first: Ints) -> Ints:
    """How many keys hold at each slot with two intervals or more."""
    if not spans.key.size:
        return np.zeros(size, np.int64)
    key = np.concatenate((spans.key, spans.key))
    step = np.concatenate((spans.start, spans.end))
    change = np.repeat(np.array([1, -1], np.int64), spans.key.size)
    owner = np.concatenate((run, run))
    order = np.lexsort((-change, step, key))
    key, step, owner = key[order], step[order], owner[order]
    live = np.cumsum(change[order])  # the intervals of a key begin and end within it
    goes_on = np.concatenate((key[1:] == key[:-1], [False]))
    until = np.where(goes_on, np.concatenate((step[1:], [0])), step)
    rows = (live >= 2) & (until > step)
    total = np.zeros(size + 1, np.int64)
    np.add.at(total, first[owner[rows]] + step[rows], 1)
    np.add.at(total, first[owner[rows]] + until[rows], -1)
    return np.cumsum(total)[:-1]


def _with_files(texts: pl.DataFrame) -> pl.DataFrame:
    """Adds ``file``: the path in the form in which two ways to write it are equal."""
    distinct = texts.select("path", "root").drop_nulls("path").unique(maintain_order=True)
    names = [normalise_path(path, root).value for path, root in distinct.iter_rows()]
    named = distinct.with_columns(file=pl.Series(names, dtype=pl.String))
    return texts.join(named, on=["path", "root"], how="left", nulls_equal=True, maintain_order="left")


def _ranges(seen: pl.DataFrame) -> tuple[pl.DataFrame, Ints, Ints]:
    lines = seen.filter(pl.col("part_type") == "file_snippet").select(
        "run", "part", "file", "text",
        first=pl.col("data").str.json_path_match("$.start_line"),
        last=pl.col("data").str.json_path_match("$.end_line"),
    )  # fmt: skip
    where = ["run", "file", "first", "last"]
    several = lines.filter(pl.col("text").n_unique().over(where) > 1)
    contents = several.select(*where, "text").unique().sort(*where, "text", nulls_last=True)
    contents = contents.with_row_index("content").with_columns(range=pl.struct(where).rank("dense").cast(pl.Int64))
    found = several.join(contents, on=[*where, "text"], nulls_equal=True).select("part", "range", "content")
    return found.sort("part"), ints(contents["run"]), ints(contents["range"])
