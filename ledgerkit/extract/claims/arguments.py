"""What models say inside tool calls: messages of commits and pull requests, and last words of tools that end a run."""

from __future__ import annotations

import json
import re
from typing import Final, cast

import polars as pl

from ledgerkit.extract.verifiers.frame import line_of

SPEAKING_TOOLS: Final = (
    r"(?i)(?:^|_)(?:finish|submit\w*|attempt_completion|task_complete|complete_task|final_answer)$|"
    r"(?:create|update|edit)_(?:pull|merge)_request$"
)
"""Names of tools whose arguments speak to people."""
SPEAKING_LINES: Final = (
    r"\bgit\b[^|;&\n]{0,200}\bcommit\b|\bgh\s+pr\s+(?:create|edit|comment)\b|\bglab\s+mr\s+(?:create|update)\b"
)
"""Shell lines that carry words for people."""
_FIELDS: Final = ("title", "message", "text", "summary", "result", "body", "description", "answer", "output")
_LINE: Final = re.compile(SPEAKING_LINES)
_WORDS: Final = re.compile(
    r"\$\(cat\s+<<-?\s*(['\"]?)(\w+)\1\n(?P<document>.*?)\n[ \t]*\2[ \t]*(?:\n|\)|$)"
    r"|(?:(?<=\s)-(?:m|am|t|b)|--(?:message|title|body))(?:\s+|=)"
    r"(?:\"(?!\$\(cat)(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>[^']*)')",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\([\"\\$`])")


def spoken_parts(parts: pl.DataFrame) -> pl.DataFrame:
    """The parts that may hold claims, and beside them the words inside tool calls as texts of the same parts.

    Args:
        parts: Rows of the view ``parts``; without the columns ``tool_name``, ``tool_call_id``, ``data`` and
            ``part_type`` nothing is added.

    Returns:
        The rows, with ``tool_call_id`` only where the words stand in the arguments of that call.
    """
    if not {"tool_name", "tool_call_id", "data", "part_type"} <= set(parts.columns):
        return parts.with_columns(tool_call_id=pl.lit(None, pl.String))
    called = parts.filter(
        pl.col("part_type") == "tool_call",
        pl.col("part_trust_level") == "MODEL_GENERATED",
        pl.col("tool_name").str.contains(SPEAKING_TOOLS) | pl.col("data").str.contains(SPEAKING_LINES),
    )
    read = {
        (name, data): words_of(name, data) for name, data in called.select("tool_name", "data").unique().iter_rows()
    }
    said = pl.Series([read[key] for key in called.select("tool_name", "data").iter_rows()], dtype=pl.String)
    speaking = called.with_columns(text=said, kind=pl.lit("ASSISTANT_RESPONSE")).filter(pl.col("text").is_not_null())
    others = parts.filter(pl.col("part_type").is_null() | (pl.col("part_type") != "tool_call"))
    return pl.concat([others.with_columns(tool_call_id=pl.lit(None, pl.String)), speaking.select(others.columns)])


def words_of(tool: str | None, data: str | None) -> str | None:
    r"""The words for people in the arguments of a call; ``None`` if there are none.

    Example:
        >>> words_of("Bash", '{"command": "git commit -am \'Mend total()\' -m \'All tests pass.\'"}')
        'Mend total()\n\nAll tests pass.'
        >>> words_of("submit", '{"message": "Done."}'), words_of("Read", '{"path": "a.py"}')
        ('Done.', None)
    """
    given = _arguments(data)
    if tool is not None and re.search(SPEAKING_TOOLS, tool):
        texts = [text for name in _FIELDS if isinstance(text := given.get(name), str)]
    else:
        command = given.get("command", given.get("cmd"))
        line = line_of(command if isinstance(command, str) else json.dumps(command))
        texts = _of_line(line) if _LINE.search(line) else []
    return "\n\n".join(text for text in texts if text.strip()) or None


def _arguments(data: str | None) -> dict[str, object]:
    try:
        given: object = json.loads(data or "")
    except ValueError:  # arguments that are no JSON say nothing that could be read
        return {}
    return cast("dict[str, object]", given) if isinstance(given, dict) else {}


def _of_line(line: str) -> list[str]:
    found = list[str]()
    for words in _WORDS.finditer(line):
        double = words["double"]
        text = words["document"] or words["single"] or (_ESCAPED.sub(r"\1", double) if double else "")
        found.append(text)
    return found
