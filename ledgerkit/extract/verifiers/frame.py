"""Verifier results of a ledger's parts: one row for each check and call."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, cast

import msgspec
import polars as pl

from ledgerkit.extract.commands import SHELLS
from ledgerkit.extract.verifiers.model import EXTRACTOR_VERSION, Check, Outcome
from ledgerkit.extract.verifiers.reading import read_output
from ledgerkit.extract.verifiers.recognise import recognise
from ledgerkit.extract.verifiers.tasks import MENTIONS
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.vocabulary import EvidenceKind, Verdict
from ledgerkit.tables import PARSED_CHECKS

VERIFIER_SCHEMA: Final = dict(PARSED_CHECKS.schema)
"""The columns of a verifier result that was parsed. ``message_id`` and ``sequence_no`` are those of the result."""

_CALL: Final = ["session_id", "run_id", "tool_call_id"]
_OUTCOME: Final = (
    "verdict",
    "passed",
    "failed",
    "errors",
    "skipped",
    "failing",
    "error_lines",
    "is_truncated",
    "reason",
)
_MADE: Final = ("kind", "tool", "targets", *_OUTCOME, "hidden_by", "lines")
_RANGE: Final = (
    pl.when(pl.col("lines").is_not_null())
    .then(pl.format("#L{}-L{}", pl.col("lines").arr.first(), pl.col("lines").arr.last()))
    .otherwise(pl.lit(""))
)
_CODES: Final = ("$.exit_code", "$.exitCode", "$.metadata.exit_code", "$.returncode", "$.exit_status")
_SAID_CODE: Final = (
    r"(?m)\A(?:Error: )?(?:Exit code:? |Process exited with code )(-?\d{1,9})\b|^Process exited with code (-?\d{1,9})$"
)
_STOPPED: Final = ("timeout", "permission", "interrupted")
_TIES_STATUS_TO_CODE: Final = ("Bash", "bash")
"""Tools whose results succeed if, and only if, the command exits with 0."""


def verifier_frame(parts: pl.DataFrame) -> pl.DataFrame:
    """Verifier results read from shell calls and their output.

    Args:
        parts: Rows of the view ``parts``.

    Returns:
        One row for each check of each call that has a result, in the order of the results; columns as in
        ``VERIFIER_SCHEMA``. Where an exit code is not recorded, ``exit_code`` in the result's data and the first line
        of its text are where it is looked for; then the status of tools that tie the one to the other.
    """
    calls = _calls(parts)
    lines = calls.select("command").unique(maintain_order=True)
    checks = [recognise(line_of(command)) for command in lines["command"]]
    numbered = lines.with_columns(check=pl.Series([list(range(len(one))) for one in checks], dtype=pl.List(pl.Int64)))
    rows = (
        calls.join(numbered.with_row_index("line"), on="command", how="inner", maintain_order="left")
        .join(_results(parts), on=_CALL, how="inner", maintain_order="left")
        .explode("check", empty_as_null=True)
        .filter(pl.col("check").is_not_null())
    )
    found = _outcomes(rows, checks)
    return (
        rows.join(found, on=["line", "check", "text", "exit_code", "has_ended"], how="inner", nulls_equal=True)
        .join(_references(rows), on="tool_call_id", how="left")
        .sort("session_id", "run_id", "sequence_no", "tool_call_id", "check")
        .with_columns(
            source=pl.lit("parsed"),
            check_no="check",
            extractor_version=pl.lit(EXTRACTOR_VERSION),
            evidence_refs=pl.concat_list(pl.concat_str("reference", _RANGE)),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in VERIFIER_SCHEMA.items())
    )


def _calls(parts: pl.DataFrame) -> pl.DataFrame:
    data = pl.col("data")
    command = pl.coalesce(data.str.json_path_match("$.command"), data.str.json_path_match("$.cmd"))
    return (
        parts.lazy()
        .filter(pl.col("part_type") == "tool_call", pl.col("tool_call_id").is_not_null(), data.str.contains(MENTIONS))
        .select(*_CALL, "step", command=command, call_visibility="part_visibility")
        .filter(pl.col("command").is_not_null())
        .unique(_CALL, keep="first", maintain_order=True)
        .collect()
    )


def _results(parts: pl.DataFrame) -> pl.DataFrame:
    """The first result of each call, its exit code, and whether the command is known to have come to its own end."""
    codes = [pl.col("data").str.json_path_match(path) for path in _CODES]
    said = pl.coalesce(pl.col("text").str.extract(_SAID_CODE, 1), pl.col("text").str.extract(_SAID_CODE, 2))
    recorded = pl.coalesce(*codes, said).cast(pl.Int64, strict=False)
    in_background = (
        pl.col("data").str.contains(r'"(?:backgroundTaskId|returnCodeInterpretation)"').fill_null(value=False)
    )
    ties = pl.col("tool_name").is_in(_TIES_STATUS_TO_CODE) & ~in_background
    by_status = pl.when(ties & (pl.col("status") == "SUCCEEDED")).then(0)
    exit_code = pl.coalesce(recorded, by_status).cast(pl.Int64)
    stopped = pl.col("status").is_in(["CANCELLED", "TIMED_OUT"]) | pl.col("error_category").is_in(_STOPPED)
    has_ended = ~(stopped.fill_null(value=False) | ((pl.col("status") == "FAILED") & exit_code.is_null()))
    return (
        parts.lazy()
        .filter(pl.col("part_type") == "tool_result", pl.col("tool_call_id").is_not_null())
        .sort("sequence_no", "part_index", maintain_order=True)
        .unique(_CALL, keep="first", maintain_order=True)
        .select(
            *_CALL,
            "sequence_no",
            "message_id",
            "part_index",
            text=pl.col("text").fill_null(""),
            exit_code=exit_code,
            has_ended=has_ended.fill_null(value=True),
        )
        .collect()
    )


def line_of(command: str) -> str:
    """The shell line of a call's argument: itself, or that of a list of words in JSON.

    Example:
        >>> line_of('["bash", "-lc", "make test"]'), line_of('["pytest", "a b"]'), line_of("ls")
        ('make test', "pytest 'a b'", 'ls')
    """
    if not command.lstrip().startswith("["):
        return command
    try:
        words = msgspec.json.decode(command, type=list[str])
    except msgspec.DecodeError:
        return command
    if words and words[0].rsplit("/", 1)[-1] in SHELLS:
        return next((line for option, line in pairwise(words) if re.fullmatch(r"-[a-z]*c", option)), shlex.join(words))
    return shlex.join(words)


def _outcomes(rows: pl.DataFrame, checks: Sequence[Sequence[Check]]) -> pl.DataFrame:
    """What each check says, once for each distinct check, text and exit code."""
    keys = ["line", "check", "text", "exit_code", "has_ended"]
    distinct = rows.select(keys).unique(maintain_order=True)
    found = [
        _row(checks[line][number], text, exit_code, has_ended=has_ended)
        for line, number, text, exit_code, has_ended in cast(
            "Iterator[tuple[int, int, str, int | None, bool]]", distinct.iter_rows()
        )
    ]
    schema = {**VERIFIER_SCHEMA, "lines": pl.Array(pl.Int64, 2)}
    return distinct.hstack(pl.DataFrame(found, schema={name: schema[name] for name in _MADE}, orient="row"))


def _row(check: Check, text: str, exit_code: int | None, *, has_ended: bool) -> tuple[object, ...]:
    outcome = read_check(check, text, exit_code, has_ended=has_ended)
    lines = [error._asdict() for error in outcome.error_lines]
    values = {"verdict": outcome.verdict.value, "failing": list(outcome.failing), "error_lines": lines}
    rest = (values[name] if name in values else getattr(outcome, name) for name in _OUTCOME)
    return (check.kind.value, check.tool, check.scope, *rest, check.hidden_by or None, outcome.lines)


def _references(rows: pl.DataFrame) -> pl.DataFrame:
    """The evidence reference of each call."""
    ids = rows["tool_call_id"].unique(maintain_order=True)
    # Ids of logs may be what the protocol refuses elsewhere: they are written as they are, escaped.
    refs = [str(EvidenceRef.model_construct(kind=EvidenceKind.TOOL_CALL, target=target)) for target in ids]
    return pl.DataFrame({"tool_call_id": ids, "reference": refs}, schema_overrides={"reference": pl.String})


def read_check(check: Check, text: str, exit_code: int | None, *, has_ended: bool = True) -> Outcome:
    """What the output of a shell line says about one of its checks.

    Args:
        check: The check, as ``recognise`` found it in the line.
        text: What the line printed.
        exit_code: How the line exited, where that is recorded.
        has_ended: Whether it came to its own end, as far as is known: a call that failed without an exit code may
            have been stopped, refused or never have run.
    """
    printed = [int(code) for code in re.findall(check.printed_code, text, re.MULTILINE)] if check.printed_code else []
    known: bool | None
    if len(printed) == 1:
        exit_code, known = printed[0], True
    elif exit_code is None or not has_ended:
        known = None if check.owns_exit_code else False
    else:
        known = check.is_exit_known(exit_code)
    outcome = read_output(check.tool, text, exit_code, is_exit_known=known, kind=check.kind, shown=check.shown)
    if check.is_repeated:
        outcome = replace(outcome, passed=None, failed=None, errors=None, skipped=None)
        if not known:
            outcome = replace(
                outcome, verdict=Verdict.INCONCLUSIVE, reason=f"the line runs {check.tool} more than once"
            )
    if not has_ended and outcome.verdict is not Verdict.FAILED:
        return replace(outcome, verdict=Verdict.INCONCLUSIVE, reason="it is not known to have come to its end")
    if known is False and check.hidden_by and outcome.verdict is Verdict.INCONCLUSIVE:
        return replace(outcome, reason=f"{outcome.reason} ({check.hidden_by})")
    return outcome
