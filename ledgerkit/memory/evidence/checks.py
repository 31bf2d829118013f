"""Checks that a run executed, with how far each one reached and the numbers that its output says."""

from __future__ import annotations

import re
from typing import Final

import polars as pl

from ledgerkit.extract.words import words
from ledgerkit.memory.evidence.late import late_results

ALL, PART, UNKNOWN = "all", "part", "unknown"
"""How far a check reached: all that its tool takes, a part that was chosen, or cannot be told."""
_RUNNERS: Final = frozenset(words("npm pnpm yarn bun make just task mise tox nox turbo nx poe rake gradle"))
_WHOLE: Final = re.compile(
    r"(?:\.|\./?|\./\.\.\.|\*|all|\.\./?|src/?|lib/?|tests?/?|spec/?|app/?|\./(?:src|tests?|lib)/?|--all|--workspace|-r|-x|--exitfirst)"
)
_CHOOSES: Final = re.compile(
    r"^(?:-k|-run|-t|-g|-e|-m|--grep|--filter|--only|--lf|--last-failed|--ff|--deselect|--ignore|-p|--package|--test|--lib|--bin|"
    r"--testNamePattern|--testPathPattern|--related|--changed\w*|--include|--tests|-Dtest|--example|--shard)(?:=|$)|-run=|::|\.[a-z]{1,4}(?::\d+)?$|\|"
)
_WHOLE_TASK: Final = re.compile(
    r"(?:[\w-]*[:-])?(?:test|tests|check|checks|lint|build|ci|all|verify|typecheck|types)(?::(?:ci|all|run))?"
)
_UMBRELLA: Final = re.compile(
    r"(?:[\w-]*:)?(?:check|checks|ci|verify|validate|quality|precommit|pre-commit|all)(?::\w+)?"
)
_COUNT: Final = (
    r"(\d{1,7})\s*(?:\x1b\[[0-9;]*m)?\s*(?:tests?|doctests?|examples?|specs?|passed|passing|pass|failed|"
    r"failures?|failing|errors?|total|assertions)\b"
)

_SILENT: Final = (
    (pl.col("kind") == "test")
    & (pl.col("verdict") == "passed")
    & (pl.col("text").str.strip_chars() == "").fill_null(value=False)
)
"""Tests say how many they were; a run of tests that printed nothing proves nothing."""


def reach(tool: str, scope: str) -> str:
    """How far a check with a scope reaches.

    Example:
        >>> [reach("pytest", ""), reach("pytest", "-k login"), reach("go-test", "./..."), reach("mise", "test:unit")]
        ['all', 'part', 'all', 'part']
    """
    pieces = scope.split()
    if tool in _RUNNERS:
        if not pieces or (_WHOLE_TASK.fullmatch(pieces[0]) and len(pieces) == 1):
            return ALL
        return PART if len(pieces) > 1 or ":" in pieces[0] else UNKNOWN
    if any(_CHOOSES.search(piece) for piece in pieces):
        return PART
    rest = [piece for piece in pieces if not _WHOLE.fullmatch(piece)]
    if not rest:
        return ALL
    return PART if all(piece.strip("./").count("/") >= 1 for piece in rest) and "…" not in scope else UNKNOWN


def checks_frame(verifier_results: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Checks in one form.

    Args:
        verifier_results: Parsed results, as ``ledgerkit.extract.verifiers.verifier_frame`` gives them.
        calls: As ``calls_frame`` gives them.

    Returns:
        One row a check: its keys, ``seen_at``, ``kind, tool, check_scope, verdict, reason, passed, failed``, and

        - ``reach``: ``all``, ``part`` or ``unknown``;
        - ``is_umbrella``: whether it is a task such as ``check`` that may stand for checks of any kind;
        - ``said``: the numbers that its output says of tests, with the sum of tests and doctests;
        - ``is_exact``: whether the number of tests that passed is known;
        - ``is_hidden``: whether its summary says that it passed, but not its exit code.
    """
    verifier_results = pl.concat([verifier_results, late_results(verifier_results, calls)], how="vertical_relaxed")
    scopes = verifier_results.select("tool", "targets").unique(maintain_order=True)
    reached = [reach(tool, scope or "") for tool, scope in scopes.iter_rows()]
    umbrella = [
        tool in _RUNNERS and bool(_UMBRELLA.fullmatch((scope or "").split(" ")[0]))
        for tool, scope in scopes.iter_rows()
    ]
    table = scopes.with_columns(
        reach=pl.Series(reached, dtype=pl.String), is_umbrella=pl.Series(umbrella, dtype=pl.Boolean)
    )
    texts = calls.select("session_id", "run_id", "tool_call_id", "text", "reference", line="command").unique(
        ["session_id", "run_id", "tool_call_id"], keep="first", maintain_order=True
    )
    numbers = (
        pl.col("text")
        .str.tail(20_000)
        .str.extract_all(_COUNT)
        .list.eval(pl.element().str.extract(r"(\d+)", 1).cast(pl.Int64, strict=False))
    )
    both = [
        pl.col("text").str.extract(r"(\d{1,6}) doctests?, \d{1,6} tests?", 1).cast(pl.Int64),
        pl.col("text").str.extract(r"\d{1,6} doctests?, (\d{1,6}) tests?", 1).cast(pl.Int64),
    ]
    structured = pl.concat_list(
        *(pl.col(name) for name in ("passed", "failed", "errors")),
        pl.col("passed") + pl.col("failed"),
        pl.col("passed") + pl.col("skipped"),
        pl.col("passed") + pl.col("failed") + pl.col("errors") + pl.col("skipped"),
        both[0] + both[1],
    )
    return (
        verifier_results.join(table, on=["tool", "targets"], how="left", nulls_equal=True, maintain_order="left")
        .join(texts, on=["session_id", "run_id", "tool_call_id"], how="left", maintain_order="left")
        .with_row_index("check_id")
        .with_columns(
            verdict=pl.when(_SILENT).then(pl.lit("inconclusive")).otherwise("verdict"),
            reason=pl.when(_SILENT).then(pl.lit("it printed nothing")).otherwise("reason"),
        )
        .select(
            "session_id",
            "run_id",
            "check_id",
            "tool_call_id",
            "kind",
            "tool",
            "verdict",
            "reason",
            "passed",
            "failed",
            "failing",
            "reach",
            "is_umbrella",
            seen_at="sequence_no",
            command=pl.coalesce("line", "command"),
            check_scope=pl.col("targets").fill_null(""),
            said=pl.concat_list(numbers.fill_null([]), structured).list.drop_nulls().list.unique().list.sort(),
            is_exact=pl.col("passed").is_not_null(),
            is_hidden=(pl.col("verdict") == "inconclusive")
            & (pl.col("passed").fill_null(0) > 0)
            & (pl.col("failed").fill_null(0) == 0)
            & pl.col("reason").str.contains("summary says passed").fill_null(value=False),
            reference="reference",
        )
        .sort("session_id", "run_id", "seen_at", "check_id")
    )
