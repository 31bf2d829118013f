"""Entities of the arguments of tool calls.

Arguments are JSON: every string in them is read in the form that its name suggests (a command line, a path, an
address, a file's content, else running text).  Each distinct JSON text is decoded once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import islice
from typing import Final, cast

import msgspec
import polars as pl

from ledgerkit.extract.commands import SHELLS
from ledgerkit.extract.entities import ENTITY_SCHEMA, extract_entities
from ledgerkit.extract.words import words

FORM_OF_ARGUMENT: Final[dict[str, str]] = {
    **dict.fromkeys(words("command cmd commands script shell_command commandline command_line"), "shell"),
    **dict.fromkeys(
        words(
            "file_path filepath path paths notebook_path filename file file_name files target_file absolutepath "
            "abs_path directory dir dir_path directory_path folder cwd workdir working_directory dest destination "
            "old_path new_path relative_workspace_path targetfile searchpath directorypath"
        ),
        "path",
    ),
    **dict.fromkeys(
        words("url urls uri host hostname domain endpoint href base_url server address link"),
        "address",
    ),
    **dict.fromkeys(
        words(
            "content contents new_string newstring new_str newstr file_text text_content patch diff insert_text "
            "code new_source code_edit codecontent replacementcontent replace new_text input"
        ),
        "content",
    ),
    **dict.fromkeys(
        words(
            "old_string oldstring old_str oldstr old_source old_text search pattern glob regex regexp include "
            "exclude description explanation thought thoughts thinking reason rationale title activeform "
            "justification"
        ),
        "",
    ),
}
"""How a string argument is read, by its name in small letters; an empty form is not read at all: what is looked for,
and talk about the call, do nothing."""
ARGUMENT_SCHEMA: Final = {**ENTITY_SCHEMA, "argument": pl.String, "form": pl.String, "text": pl.String}

_MAX_LEAVES: Final = 1_000
_MAX_DEPTH: Final = 32
_MAX_CHARACTERS: Final = 262_144
_MAX_PATH: Final = 1_024
_SHELL_OPTION: Final = re.compile(r"-[a-z]*c")
_Container = list[object] | dict[str, object]
_LEAVES: Final = {"number": pl.UInt32, "argument": pl.String, "form": pl.String, "text": pl.String}


def extract_argument_entities(calls: pl.DataFrame) -> pl.DataFrame:
    """The entities of the arguments of some tool calls.

    Args:
        calls: Columns ``id`` (distinct) and ``data`` (the arguments as JSON; any other text counts as one argument
            named ``value``); where they are there, ``form`` (how that one text is read, ``text`` if null) and
            ``working_directory``.

    Returns:
        What ``extract_entities`` gives, with ``argument`` (the path of its name, such as ``edits.0.file_path``),
        ``form`` (how it was read) and ``text`` (its value, in which ``start`` and ``end`` count).

    Example:
        >>> calls = pl.DataFrame({"id": ["c"], "data": ['{"command": "curl https://a.example"}']})
        >>> extract_argument_entities(calls).select("kind", "value", "argument").rows()[1:]
        [('url', 'https://a.example', 'command'), ('host', 'a.example', 'command')]
    """
    rows = calls.select(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("order"),
        pl.col("id").cast(pl.String),
        "data",
        (pl.col("form") if "form" in calls.columns else pl.lit(None, pl.String)).alias("whole_form"),
        (pl.col("working_directory") if "working_directory" in calls.columns else pl.lit(None, pl.String)).alias(
            "working_directory"
        ),
    )
    distinct = rows.select("data").drop_nulls().unique(maintain_order=True).with_row_index("number")
    read = [(number, *leaf) for number, data in distinct.iter_rows() for leaf in _leaves(data)]
    leaves = pl.DataFrame(read, schema=_LEAVES, orient="row")
    is_whole = pl.col("argument") == "value"
    places = (
        rows.join(distinct, on="data", how="inner", maintain_order="left")
        .drop("data")
        .join(leaves, on="number", how="inner", maintain_order="left_right")
        .with_columns(form=pl.when(is_whole).then(pl.coalesce("whole_form", "form")).otherwise("form"))
        .filter(pl.col("form") != "")
        .rename({"id": "call"})
        .with_row_index("place")
        .with_columns(pl.col("place").cast(pl.String).alias("id"))
    )
    distinct_texts = places.select("text", "form", "working_directory").unique(maintain_order=True)
    distinct_texts = distinct_texts.with_row_index("id").with_columns(pl.col("id").cast(pl.String))
    found = extract_entities(distinct_texts).rename({"id": "found_in"})
    keyed = places.join(
        distinct_texts.rename({"id": "found_in"}),
        on=["text", "form", "working_directory"],
        nulls_equal=True,
        maintain_order="left",
    )
    whole = keyed.join(found, on="found_in", how="inner", maintain_order="left_right")
    return whole.drop("id").rename({"call": "id"}).select(pl.col(n).cast(t) for n, t in ARGUMENT_SCHEMA.items())


def _leaves(data: str) -> Iterator[tuple[str, str, str]]:
    """Name, form and value of each string in some arguments."""
    try:
        decoded: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        decoded = data
    if not isinstance(decoded, dict):
        decoded = {"value": decoded}
    for name, form, value in islice(_walk(cast("dict[str, object]", decoded)), _MAX_LEAVES):
        yield name, form, value[:_MAX_CHARACTERS]


def _walk(whole: dict[str, object]) -> Iterator[tuple[str, str, str]]:
    stack: list[tuple[str, str, object, int]] = [(name, name, value, 0) for name, value in reversed(whole.items())]
    while stack:
        path, name, value, depth = stack.pop()
        if isinstance(value, str):
            yield path, _form_of(name, value), value
        elif isinstance(value, list) and FORM_OF_ARGUMENT.get(name.lower()) == "shell":
            yield path, "shell", _line_of(cast("list[object]", value))
        elif isinstance(value, list | dict) and depth < _MAX_DEPTH:
            stack += [
                (f"{path}.{key}", inner, one, depth + 1)
                for key, inner, one in reversed(_children(name, cast("_Container", value)))
            ]


def _children(name: str, value: _Container) -> list[tuple[str, str, object]]:
    if isinstance(value, dict):
        return [(key, key, one) for key, one in value.items()]
    return [(str(index), name, one) for index, one in enumerate(value)]


def _form_of(name: str, value: str) -> str:
    form = FORM_OF_ARGUMENT.get(name.lower(), "text")
    is_one_path = len(value) <= _MAX_PATH and "\n" not in value and "://" not in value
    return "text" if form == "path" and not is_one_path else form


def _line_of(arguments: list[object]) -> str:
    """The command line of an argument vector; of ``bash -lc LINE``, the line."""
    words = [one for one in arguments if isinstance(one, str)]
    is_line = len(words) == 3 and words[0].rsplit("/", 1)[-1] in SHELLS and _SHELL_OPTION.fullmatch(words[1])
    return words[2] if is_line else shlex.join(words)
