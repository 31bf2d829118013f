"""Which arguments of tool calls are worth tracing, and what they would do.

The rules are in docs/taint.md; what they know about names is in ``known``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from ledgerkit.extract.arguments import extract_argument_entities
from ledgerkit.safety.taint import known
from ledgerkit.safety.taint.known import SinkClass

RUN: Final = ("session_id", "run_id")
MAX_ENTITIES: Final = 1_000
"""Entities of one call that are traced: the gravest."""
CALL: Final = (*RUN, "sequence_no", "part_index", "message_id", "tool_call_id", "tool_name")


def tool_calls(parts: pl.DataFrame, tool_classes: Mapping[str, str] | None, runs: pl.DataFrame | None) -> pl.DataFrame:
    """The calls to trace, numbered (``call``), with the class of their tool (``tool_sink``) and their workspace."""
    calls = parts.filter(pl.col("part_type") == "tool_call")
    data = pl.when(pl.col("data").fill_null("") == "").then(pl.col("text")).otherwise(pl.col("data"))
    calls = calls.select(*CALL, "path", data=data).unique(maintain_order=True)
    sinks = sinks_of(calls["tool_name"].unique(), tool_classes or {})
    roots = _working_directories(runs)
    return (
        calls.join(sinks, on="tool_name", how="left", nulls_equal=True, maintain_order="left")
        .filter(pl.col("tool_sink") != SinkClass.NONE.value)
        .join(roots, on=RUN, how="left", maintain_order="left")
        .with_row_index("call")
    )


def sinks_of(names: pl.Series, overrides: Mapping[str, str]) -> pl.DataFrame:
    """The class of each tool, by the table where none is given: columns ``tool_name`` and ``tool_sink``."""
    low = pl.col("tool_name").fill_null("").str.to_lowercase()
    found = pl.lit(SinkClass.OTHER.value)
    for pattern, sink in reversed(known.TOOL_SINKS):
        found = pl.when(low.str.contains(pattern)).then(pl.lit(sink.value)).otherwise(found)
    given = {name: SinkClass(sink).value for name, sink in overrides.items()}
    if given:
        found = pl.col("tool_name").replace_strict(given, default=found, return_dtype=pl.String)
    return names.to_frame("tool_name").with_columns(tool_sink=found)


def _working_directories(runs: pl.DataFrame | None) -> pl.DataFrame:
    if runs is None:
        return pl.DataFrame(schema=dict.fromkeys((*RUN, "working_directory"), pl.String))
    return runs.select(*RUN, "working_directory").unique(RUN, keep="first", maintain_order=True)


def argument_entities(calls: pl.DataFrame) -> pl.DataFrame:
    """The entities of the calls' arguments that are worth tracing, with their sink, severity and rank.

    One row for each call, kind and value: of several places the one of the highest severity, then the first.
    """
    whole = pl.when(pl.col("tool_sink") == SinkClass.EXEC.value).then(pl.lit("shell")).otherwise(pl.lit("content"))
    asked = calls.select(pl.col("call").cast(pl.String).alias("id"), "data", "working_directory", form=whole)
    found = extract_argument_entities(asked).with_columns(pl.col("id").cast(pl.UInt32).alias("call")).drop("id")
    found = found.join(
        calls.select("call", "tool_sink", "path", "working_directory"), on="call", how="left", maintain_order="left"
    )
    judged = found.with_columns(sink=sink_of_argument()).filter(_is_worth_tracing()).with_columns(rank=_rank())
    return (
        judged.with_columns(
            own_path=pl.when(pl.col("form") == "content").then(pl.col("path")),
            is_companion=(pl.col("kind") == "path") & pl.col("is_inside").fill_null(value=False) & ~_runs_by_itself(),
        )
        .sort("call", "kind", "value", -pl.col("rank"), "argument", "start", nulls_last=True)
        .unique(["call", "kind", "value"], keep="first", maintain_order=True)
        .sort("call", -pl.col("rank"), "kind", "value", maintain_order=True)
        .filter(pl.int_range(pl.len()).over("call") < MAX_ENTITIES)
    )


def sink_of_argument() -> pl.Expr:
    """Of an argument of a command line the class of its program, else the class of the tool."""
    programs = {name: sink.value for name, sink in known.PROGRAM_SINKS.items()}
    of_program = pl.col("program").replace_strict(programs, default=SinkClass.EXEC.value, return_dtype=pl.String)
    return (
        pl.when(pl.col("kind") == "package")
        .then(pl.lit(SinkClass.EXEC.value))
        .when(pl.col("role").is_in(["target"]) & (pl.col("kind") == "path"))
        .then(pl.lit(SinkClass.WRITE.value))
        .when((pl.col("role") == "program") & (pl.col("kind") == "path"))
        .then(pl.lit(SinkClass.EXEC.value))
        .when((pl.col("form") == "shell") & pl.col("program").is_not_null())
        .then(of_program)
        .otherwise(pl.col("tool_sink"))
    )


def _is_worth_tracing() -> pl.Expr:
    kind, value, sink = pl.col("kind"), pl.col("value"), pl.col("sink")
    reads = sink == SinkClass.READ.value
    outside = (
        ~value.str.contains(known.ORDINARY_PATHS)
        & ~(reads & value.str.contains(known.ORDINARY_TO_READ))
        & ~_holds_root()
    )
    inside = ~reads & (_runs_by_itself() | (pl.col("role") == "target").fill_null(value=False))
    path = pl.when(pl.col("is_inside").fill_null(value=False)).then(inside).otherwise(outside)
    return (
        pl.when(kind == "path")
        .then(path)
        .when(kind == "command")
        .then(~value.is_in(sorted(known.ORDINARY_COMMANDS)) & ~_is_path_program())
        .when(kind == "package")
        .then(~value.is_in(sorted(known.ORDINARY_COMMANDS)))
        .when(kind.is_in(["host", "ip"]))
        .then(~value.str.contains(known.ORDINARY_HOSTS))
        .when(kind == "url")
        .then(~value.str.contains(known.ORDINARY_URLS))
        .otherwise(pl.lit(value=True))
    )


def _is_path_program() -> pl.Expr:
    """A program given by its path is traced as a path."""
    return pl.col("raw").str.contains("/", literal=True)


def _holds_root() -> pl.Expr:
    """A folder above the workspace: naming it says nothing."""
    root = pl.col("working_directory").fill_null("")
    return root.str.starts_with(pl.concat_str(pl.col("raw").str.strip_chars_end("/"), pl.lit("/")))


def _runs_by_itself() -> pl.Expr:
    """A path in the workspace that is run now, that starts something later, or that instructs agents."""
    value, sink = pl.col("value"), pl.col("sink")
    executed = pl.col("role").is_in(["program"]) | (
        (pl.col("role") == "script") & value.str.contains(r"(?i)\.(sh|bash|zsh|fish|ps1|bat|cmd)$")
    )
    written = (sink == SinkClass.WRITE.value) & (
        value.str.contains(known.INSTRUCTION_FILES) | value.str.contains(known.STARTED_LATER)
    )
    return (executed.fill_null(value=False) & (sink == SinkClass.EXEC.value)) | written


def _rank() -> pl.Expr:
    ranks = {name: rank for rank, name in enumerate(known.SEVERITIES)}
    table = {f"{sink.value}/{kind}": ranks[risk.value] for (sink, kind), risk in known.SEVERITY.items()}
    base = pl.concat_str("sink", pl.lit("/"), "kind").replace_strict(table, default=1, return_dtype=pl.Int64)
    value, kind = pl.col("value"), pl.col("kind")
    sensitive = ((kind == "path") & value.str.contains(known.SENSITIVE_PATHS)) | (
        (kind == "command") & value.is_in(sorted(known.DISCLOSING_COMMANDS))
    )
    return pl.min_horizontal(base + sensitive.cast(pl.Int64), len(known.SEVERITIES) - 1)
