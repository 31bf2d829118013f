"""Actions that untrusted text suggested: what a call's arguments name, traced to who named it first.

Findings are a pure function of the parts: joins and groups over all runs at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from ledgerkit.safety.inert import inert_terminal
from ledgerkit.safety.taint import known
from ledgerkit.safety.taint.arguments import CALL, RUN, argument_entities, tool_calls
from ledgerkit.safety.taint.sources import first_mentions, origin, spoken

RULE: Final = "untrusted-influenced-action"
"""The rule's name, as findings give it."""
TRACE_SCHEMA: Final = {
    "session_id": pl.String,
    "run_id": pl.String,
    "sequence_no": pl.Int64,
    "message_id": pl.String,
    "tool_call_id": pl.String,
    "tool_name": pl.String,
    "sink": pl.String,
    "severity": pl.String,
    "kind": pl.String,
    "value": pl.String,
    "origin": pl.String,
    "argument": pl.String,
    "argument_excerpt": pl.String,
    "is_verbatim": pl.Boolean,
    "source_sequence_no": pl.Int64,
    "source_message_id": pl.String,
    "source_part_id": pl.String,
    "source_kind": pl.String,
    "source_trust_level": pl.String,
    "source_excerpt": pl.String,
}
"""Columns of ``trace_arguments``: one row for each thing that a call names and each origin of it."""
FINDING_SCHEMA: Final = {"rule": pl.String, **{n: t for n, t in TRACE_SCHEMA.items() if n != "origin"}}
"""Columns of ``find_tainted_actions``: a trace without its origin, which is untrusted in all of them."""
_AROUND: Final = 60
_NEEDED: Final = (
    *(name for name in CALL),
    *("kind", "part_type", "part_trust_level", "part_id", "path", "status", "text", "data", "summary"),
)


def find_tainted_actions(
    parts: pl.DataFrame | pl.LazyFrame,
    tool_classes: Mapping[str, str] | None = None,
    *,
    runs: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The tool calls with an argument that only untrusted text had named before.

    Args:
        parts: Rows of the ``parts`` view, of any number of runs. What an ancestor of a run gave it is not known
            here; give its parts under the run's ids, with numbers below its first, to have them count.
        tool_classes: Class of some tools (``network``, ``exec``, ``write``, ``read``, ``other``, ``none``), by name;
            others are told by ``known.TOOL_SINKS``.
        runs: Columns ``session_id``, ``run_id``, ``working_directory``; without it every absolute path is outside.

    Returns:
        One row for each call and entity, ``FINDING_SCHEMA``, by run and place, the gravest first. Excerpts are inert.
        No row means that no rule found anything, not that a run is clean.

    Example:
        >>> find_tainted_actions(pl.DataFrame(schema=dict.fromkeys(PART_COLUMNS, pl.String))).height
        0
    """
    traced = trace_arguments(parts, tool_classes, runs=runs).filter(pl.col("origin") == "untrusted")
    return traced.select(pl.lit(RULE).alias("rule"), *(name for name in FINDING_SCHEMA if name != "rule"))


def count_origins(traced: pl.DataFrame) -> pl.DataFrame:
    """How many traced arguments each run has of each origin: columns ``trusted``, ``untrusted`` and ``model``."""
    counts = [(pl.col("origin") == name).sum().cast(pl.Int64).alias(name) for name in ("trusted", "untrusted", "model")]
    return traced.group_by(RUN).agg(counts).sort(RUN)


def trace_arguments(
    parts: pl.DataFrame | pl.LazyFrame,
    tool_classes: Mapping[str, str] | None = None,
    *,
    runs: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Every argument worth tracing with its origin: ``trusted``, ``untrusted`` or ``model`` (only the model named it).

    Takes what :func:`find_tainted_actions` takes, and gives ``TRACE_SCHEMA``; sources are those of untrusted ones.
    """
    given = parts.lazy().select(_NEEDED).with_columns(pl.col("sequence_no", "part_index").cast(pl.Int64)).collect()
    calls = tool_calls(given, tool_classes, runs)
    arguments = argument_entities(calls)
    keyed = arguments.join(calls.select("call", *CALL), on="call", how="left", maintain_order="left")
    keys = [*RUN, "kind", "value", "own_path"]
    entities = (
        keyed.sort(*keys, "raw", nulls_last=True)
        .group_by(keys, maintain_order=True)
        .agg(pl.col("raw").first(), pl.col("is_inside").first(), pl.col("working_directory").first())
        .with_row_index("entity")
    )
    until = keyed.group_by(RUN).agg(pl.col("sequence_no").max().alias("last"))
    firsts = first_mentions(entities, spoken(given, until))
    traced = keyed.join(firsts.drop("raw", "is_inside", "working_directory"), on=keys, how="left", nulls_equal=True)
    return _finished(_without_loose_companions(traced.with_columns(origin=origin())))


def _without_loose_companions(traced: pl.DataFrame) -> pl.DataFrame:
    """A file in the workspace that a redirection writes counts only beside a tainted program of its command."""
    tainted = traced.filter((pl.col("kind") == "command") & (pl.col("origin") == "untrusted"))
    commands = tainted.select("call", "program").unique()
    return pl.concat(
        [
            traced.filter(~pl.col("is_companion")),
            traced.filter(pl.col("is_companion")).join(commands, on=["call", "program"], how="semi"),
        ]
    )


def _finished(traced: pl.DataFrame) -> pl.DataFrame:
    is_named = pl.col("origin") == "untrusted"
    shown = traced.with_columns(rank=_rank_beside_hosts(traced)).with_columns(
        source_sequence_no=pl.col("untrusted_at"),
        argument_excerpt=_excerpt("text", "start", "end"),
        source_excerpt=pl.when(is_named).then(_excerpt("source_text", "source_start", "source_end")),
        is_verbatim=pl.when(is_named).then(_stands_in_source()),
        severity=pl.col("rank").replace_strict(dict(enumerate(known.SEVERITIES)), return_dtype=pl.String),
    )
    sources = [name for name in TRACE_SCHEMA if name.startswith("source_")]
    return (
        shown.with_columns(pl.when(is_named).then(pl.col(name)).alias(name) for name in sources)
        .with_columns(_inert(shown, name) for name in ("argument_excerpt", "source_excerpt", "value"))
        .sort(*RUN, "sequence_no", "part_index", -pl.col("rank"), "kind", "value", nulls_last=True)
        .select(pl.col(name).cast(dtype) for name, dtype in TRACE_SCHEMA.items())
    )


def _rank_beside_hosts(traced: pl.DataFrame) -> pl.Series:
    """Severity, one less for a URL on a host that a trusted part named."""
    hosts = traced.filter((pl.col("kind") == "host") & (pl.col("origin") == "trusted"))
    trusted = hosts.select("call", pl.col("value").alias("host"), pl.lit(value=True).alias("is_trusted"))
    host = pl.col("value").str.extract(r"^[^:]+://(?:[^/@]*@)?([^/:?]+)")
    beside = traced.with_columns(host=host).join(
        trusted.unique(["call", "host"]), on=["call", "host"], how="left", maintain_order="left"
    )
    lowered = (pl.col("kind") == "url") & pl.col("is_trusted").fill_null(value=False)
    return beside.select(pl.max_horizontal(pl.col("rank") - lowered.cast(pl.Int64), 0)).to_series()


def _stands_in_source() -> pl.Expr:
    """Whether the source holds the whole argument, word for word: not only what it names."""
    words = pl.col("text").str.strip_chars()
    return words.str.contains(r"\s") & pl.col("source_text").str.contains(words, literal=True)


def _excerpt(text: str, start: str, end: str) -> pl.Expr:
    first = pl.max_horizontal(pl.col(start) - _AROUND, 0)
    length = pl.col(end) - first + _AROUND
    return pl.col(text).str.slice(first, length.cast(pl.UInt64, strict=False))


def _inert(frame: pl.DataFrame, name: str) -> pl.Expr:
    shown = frame[name].drop_nulls().unique()
    inert = {one: safe for one in shown if (safe := inert_terminal(one)) != one}
    return pl.col(name).replace(inert) if inert else pl.col(name)


PART_COLUMNS: Final = _NEEDED
"""The columns of parts that are read."""
