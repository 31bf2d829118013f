"""Files that instruct agents, changed by the run itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

import polars as pl

from ledgerkit.safety.injection.marks import MAX_MARKS, for_polars

_EDITORS: Final = "cursor|windsurf|cline|clinerules|roo|continue|kiro|amazonq|trae|augment"
_FILE: Final = (
    r"(?:[\w.~-]*[\\/])*(?:"
    r"agents?(?:\.override)?\.md|claude(?:\.local)?\.md|gemini\.md|qwen\.md|codex\.md|warp\.md|skill\.md|"
    r"copilot-instructions\.md|[\w-]+\.instructions\.md|[\w-]+\.(?:prompt|chatmode)\.md|"
    r"\.(?:cursor|windsurf|cline|roo|goose|kilocode|augment)(?:rules|hints)(?:-[\w-]+)?|"
    r"\.?mcp(?:_config|-config|_settings|\.local)?\.json|claude_desktop_config\.json|cline_mcp_settings\.json|"
    r"\.junie[\\/]guidelines\.md|\.aider\.conf\.ya?ml|"
    rf"\.(?:{_EDITORS})[\\/](?:rules|steering|prompts)[\\/][\w./\\-]+|\.clinerules[\\/][\w./\\-]+|"
    r"\.(?:claude|codex|gemini|opencode)[\\/](?:commands|agents|skills|prompts|hooks|output-styles)[\\/][\w./\\-]+|"
    r"\.(?:claude|gemini|codex)[\\/](?:settings(?:\.local)?\.json|config\.toml))"
)
_ENDS: Final = r"(?:$|[\s\"'`;|&)<>,:\\])"
INSTRUCTION_FILE: Final = rf"(?i)(?:^|[\s\"'=:>(`])({_FILE}){_ENDS}"
"""Names of files that instruct agents; the first group is the file."""

_CHANGES: Final = (
    r"(?i)(?:(?:>{1,2}|\btee(?: -a)?) *[\"'\\]{0,4}|"
    r"(?:\bsed -i|\bperl -p?i|\b(?:cp|mv|rm|ln|install|truncate) |\*\*\* (?:update|add|delete) file: )"
    rf"(?:[^;|&\n]{{0,300}}?[\s\"'(\\])??)({_FILE}){_ENDS}"
    rf"|\b(?:open|path)\([\"'\\ ]{{1,4}}({_FILE})[\"'\\ ]{{1,4}}"
    r"(?:, *(?:mode *= *)?[\"'\\]{1,4}[wax]|\) *\.(?:write|unlink|touch|rename|replace|open\([\"'\\]{1,4}[wax]))"
)
_NAMED: Final = rf"(?i)\"(?:file_?path|path|file|target_file|filename|relative_path)\" *: *\"({_FILE})\""
_WRITES: Final = r"(?i)write|edit|create|update|delete|remove|move|rename|copy|patch|replace|insert|append|save|undo"
_RUNS: Final = r"(?i)bash|shell|exec|terminal|command|cmd|^run|python|powershell"
_LOOKS: Final = r'"command"\s*:\s*"(?:view|undo_view)"'
_PLACES: Final = {
    "path": re.compile(INSTRUCTION_FILE),
    "change": re.compile(_CHANGES),
    "name": re.compile(_NAMED),
}
_FOUND: Final = {"row": pl.UInt32, "field": pl.String, "start": pl.Int64, "end": pl.Int64}


def changed_instruction_files(parts: pl.DataFrame) -> pl.DataFrame:
    """Calls and diffs that change a file that instructs agents.

    A diff whose call is there is not listed a second time.

    Args:
        parts: Columns ``row``, ``part_type``, ``tool_name``, ``tool_call_id``, ``path`` and ``spaced`` (``data`` with
            blanks for escapes).

    Returns:
        Columns ``row``, ``field`` (in which the file is named), ``start``, ``end``.
    """
    is_call = pl.col("part_type") == "tool_call"
    tool, data = pl.col("tool_name").fill_null(""), pl.col("spaced").fill_null("")
    writes = is_call & tool.str.contains(_WRITES) & ~data.str.contains(_LOOKS)
    by_path = (writes | (pl.col("part_type") == "diff")) & pl.col("path").str.contains(for_polars(INSTRUCTION_FILE))
    changes = is_call & (writes | tool.str.contains(_RUNS)) & data.str.contains(for_polars(_CHANGES))
    named = writes & pl.col("path").is_null() & data.str.contains(_NAMED)
    way = pl.when(by_path).then(pl.lit("path")).when(changes).then(pl.lit("change")).when(named).then(pl.lit("name"))
    found = parts.with_columns(way=way).drop_nulls("way")
    calls = found.filter(is_call).drop_nulls("tool_call_id")["tool_call_id"]
    is_told = (pl.col("part_type") == "diff") & pl.col("tool_call_id").is_in(calls.implode())
    given = found.filter(~is_told.fill_null(value=False)).select("row", "way", "path", "spaced")
    rows = [place for row, way, path, data in given.iter_rows() for place in _placed(row, way, path, data)]
    return pl.DataFrame(rows, schema=_FOUND, orient="row")


def _placed(row: int, way: str, path: str, data: str) -> Iterator[tuple[int, str, int, int]]:
    field, text = ("path", path) if way == "path" else ("data", data)
    for found in islice(_PLACES[way].finditer(text), MAX_MARKS):
        group = found.lastindex or 0
        yield row, field, found.start(group), found.end(group)
