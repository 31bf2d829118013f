"""What a recorded call that only reads could give again, and how often such calls were repeated."""

from __future__ import annotations

import re
from typing import Final

import msgspec
import numpy as np
import polars as pl

from ledgerkit.evaluation.material import Material
from ledgerkit.evaluation.presence import STRIDE, Flags
from ledgerkit.extract.arguments import FORM_OF_ARGUMENT
from ledgerkit.extract.words import words
from ledgerkit.strategies.grid import Ints, ints

READING_TOOLS: Final = frozenset(
    words(
        "read glob grep ls notebookread read_file read_many_files list_directory glob_files search_files grep_search "
        "search_file_content file_search codebase_search list_files list_code_definition_names view view_file open "
        "find_file search_dir search_file read_text_file get_file_contents"
    )
)
"""Names of tools that only read files, in small letters."""
READING_PROGRAMS: Final = frozenset(
    words("cat head tail less ls find grep egrep fgrep rg ag fd tree wc stat file nl pwd cd echo sort uniq cut which")
)
"""Programs of which a shell line may consist and still only read; ``git`` and ``sed`` by what they are told."""
_READING_GIT: Final = frozenset(words("status log diff show blame grep ls-files rev-parse branch"))
_SPLIT: Final = re.compile(r"\s*(?:&&|\|\||[;|\n])\s*")
_WRITES: Final = re.compile(r"(?<![0-9&])>|[0-9]>(?!&|/dev/null)|&>|`|\$\(|-delete\b|-exec\b|\btee\b|-i\b")


def only_reads(tool: str | None, data: str | None) -> bool:
    """Whether a call only reads, as far as its name and command line say.

    Example:
        >>> only_reads("Read", "{}"), only_reads("Bash", '{"command": "cat a | head"}')
        (True, True)
        >>> only_reads("Bash", '{"command": "cat a > b"}'), only_reads("Edit", "{}")
        (False, False)
    """
    if (tool or "").lower() in READING_TOOLS:
        return True
    line = _command(data or "")
    if line is None or _WRITES.search(line.replace("2>&1", "").replace("2>/dev/null", "")):
        return False
    return all(_reads(one.split()) for one in _SPLIT.split(line.strip()) if one)


def _command(data: str) -> str | None:
    try:
        decoded: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(decoded, dict):
        return None
    lines = [str(v) for k, v in decoded.items() if FORM_OF_ARGUMENT.get(str(k).lower()) == "shell"]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return lines[0] if len(lines) == 1 else None


def _reads(line: list[str]) -> bool:
    program = line[0].rsplit("/", 1)[-1] if line else ""
    if program == "git":
        return len(line) > 1 and line[1] in _READING_GIT
    return program in READING_PROGRAMS or (program == "sed" and len(line) > 1 and line[1] == "-n")


def reading_calls(material: Material) -> Flags:
    """For each part, whether it is a call that only reads; shape (parts,)."""
    parts = material.frames.parts.select("part", "part_type", "tool_name")
    asked = parts.join(material.texts.select("part", "data"), on="part", how="left", maintain_order="left")
    calls = asked.filter(pl.col("part_type") == "tool_call").select("tool_name", "data").unique(maintain_order=True)
    known = calls.with_columns(
        pl.Series("reads", [only_reads(tool, data) for tool, data in calls.iter_rows()], dtype=pl.Boolean)
    )
    found = asked.join(known, on=["tool_name", "data"], how="left", nulls_equal=True, maintain_order="left")
    return (found["reads"].fill_null(value=False) & (found["part_type"] == "tool_call")).to_numpy()


def refetchable(material: Material, source: Ints, step: Ints) -> Ints:
    """Tokens of reading some sources again.

    Args:
        material: The runs.
        source: Parts.
        step: The step at which each would be read again.

    Returns:
        Tokens of each part, -1 where it is no result of a call that only reads, or its file was deleted since.
    """
    frames = material.frames
    if not source.size:
        return np.zeros(0, np.int64)
    reads = reading_calls(material)
    unit = frames.first_part[frames.column("run")] + frames.column("unit")
    by_unit = np.zeros(frames.parts.height, np.bool_)
    np.logical_or.at(by_unit, unit, reads)
    can = by_unit[unit][source] & (frames.column("is_result")[source] == 1)
    gone = _deleted_at(material)[source]
    return np.where(can & (gone > step), frames.column("tokens")[source], -1)


def _deleted_at(material: Material) -> Ints:
    """For each part, the step from which its file is known to be deleted; far away if it is not."""
    never = np.full(material.frames.parts.height, STRIDE, np.int64)
    parts = material.frames.parts.select("part", "part_type", "visible_from")
    texts = material.texts.select("run", "part", "path", "data").join(parts, on="part")
    gone = texts.filter(
        pl.col("part_type") == "diff", pl.col("data").str.json_path_match("$.change") == "deleted"
    ).select("run", "path", deleted="part", at="visible_from")
    if not gone.height:
        return never
    pairs = texts.select("run", "path", "part").drop_nulls("path").join(gone, on=["run", "path"])
    first = pairs.filter(pl.col("deleted") > pl.col("part")).group_by("part").agg(pl.col("at").min())
    never[ints(first["part"])] = ints(first["at"])
    return never


def repeated_reads(material: Material) -> Ints:
    """Calls of each run that only read and were made before with the same arguments; shape (runs,)."""
    parts = material.frames.parts.select("part", "tool_name", "step")
    texts = material.texts.select("run", "part", "data", "is_own").join(parts, on="part", maintain_order="left")
    calls = texts.filter(pl.Series(reading_calls(material)), "is_own", pl.col("step").is_not_null())
    again = calls.filter(~pl.struct("run", "tool_name", "data").is_first_distinct())
    return np.bincount(ints(again["run"]), minlength=material.frames.runs.height).astype(np.int64)
