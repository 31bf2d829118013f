"""What of a ledger can be cited, and what kind of evidence each of it is."""

from __future__ import annotations

from typing import Final

import polars as pl

_KIND_OF_MESSAGE: Final = {
    "VERIFIER_RESULT": "verifier",
    "TOOL_CALL_RESULT": "tool",
    "FILE_OBSERVATION": "file",
    "REPOSITORY_INSTRUCTION": "file",
    "DIFF_OBSERVATION": "change",
    "USER_TASK": "user",
    "APPROVAL_DECISION": "user",
    "SYSTEM_INSTRUCTION": "contract",
    "ORG_POLICY": "contract",
    "DEVELOPER_INSTRUCTION": "contract",
}


def citable(parts: pl.DataFrame, verifier_results: pl.DataFrame | None, changes: pl.DataFrame | None) -> pl.DataFrame:
    """Everything that can be cited: by message, by call, by file, by artifact, by section of the task."""
    kind = pl.col("kind").replace_strict(_KIND_OF_MESSAGE, default="assistant", return_dtype=pl.String)
    rows = parts.sort("run_id", "sequence_no", "part_index").select(
        "kind", "message_id", "tool_call_id", "part_type", "tool_name", "path", "artifact_refs",
        ref_run_id="run_id", ref_sequence_no="sequence_no", ref_part_id="part_id", ref_kind=kind,
        ref_trust_level="part_trust_level",
        whole_text=pl.col("text").fill_null(""),
    )  # fmt: skip
    columns = [
        "said_kind",
        "target",
        "ref_run_id",
        "ref_sequence_no",
        "ref_part_id",
        "ref_kind",
        "ref_trust_level",
        "whole_text",
    ]
    first = [pl.col(name).first() for name in columns[3:7]]
    text = pl.col("whole_text").str.join("\n")
    messages = (
        rows.group_by("ref_run_id", target="message_id", maintain_order=True)
        .agg(*first, text)
        .with_columns(said_kind=pl.lit("message"))
    )
    results = rows.filter(pl.col("part_type") == "tool_result", pl.col("tool_call_id").is_not_null())
    calls = (
        results.group_by("ref_run_id", target="tool_call_id", maintain_order=True)
        .agg(*first, text, tool=pl.col("tool_name").first())
        .with_columns(said_kind=pl.lit("tool-call"))
    )
    calls = _with_kinds(calls, verifier_results, changes).drop("tool")
    # A call without a result is there, but is only what a model asked for: it supports no fact.
    unanswered = (
        rows.filter(pl.col("part_type") == "tool_call", pl.col("tool_call_id").is_not_null())
        .join(results.select("ref_run_id", "tool_call_id").unique(), on=["ref_run_id", "tool_call_id"], how="anti")
        .with_columns(said_kind=pl.lit("tool-call"), target="tool_call_id", ref_kind=pl.lit("assistant"))
        .unique(["ref_run_id", "target"], keep="first", maintain_order=True)
    )
    files = rows.filter(pl.col("path").is_not_null()).with_columns(
        said_kind=pl.lit("file"), target="path", ref_kind=pl.lit("file")
    )
    artifacts = (
        rows.explode("artifact_refs", empty_as_null=True)
        .filter(pl.col("artifact_refs").is_not_null())
        .with_columns(
            said_kind=pl.lit("artifact"), target=pl.col("artifact_refs").str.strip_prefix("artifact:"),
            ref_kind=pl.lit("artifact"),
            whole_text=pl.lit(None, pl.String),
        )
    )  # fmt: skip
    tasks = rows.filter(pl.col("kind") == "USER_TASK").with_columns(said_kind=pl.lit("task"), ref_kind=pl.lit("user"))
    sections = tasks.join(pl.DataFrame({"target": ["goal", "scope", "task", "constraints"]}), how="cross")
    return pl.concat([frame.select(columns) for frame in (messages, calls, unanswered, files, artifacts, sections)])


def _with_kinds(
    calls: pl.DataFrame, verifier_results: pl.DataFrame | None, changes: pl.DataFrame | None
) -> pl.DataFrame:
    """Calls as what they are: a check, a change of a file, a command, another tool."""
    kinds: list[pl.Expr] = []
    for name, frame in (("verifier", verifier_results), ("change", changes)):
        if frame is not None:
            ids = frame.select(ref_run_id="run_id", target="tool_call_id").drop_nulls().unique()
            calls = calls.join(
                ids.with_columns(pl.lit(name).alias(name)),
                on=["ref_run_id", "target"],
                how="left",
                maintain_order="left",
            )
            kinds.append(pl.col(name))
    shell = pl.when(
        pl.col("tool")
        .str.to_lowercase()
        .is_in(["bash", "shell", "exec_command", "execute_bash", "run_shell_command", "terminal"])
    )
    return calls.with_columns(ref_kind=pl.coalesce(*kinds, shell.then(pl.lit("command")), pl.lit("tool")))
