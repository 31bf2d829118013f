"""Results that came late: a check that went to the background, and the call that later fetched what it printed."""

from __future__ import annotations

from typing import Final, cast

import polars as pl

from ledgerkit.extract.verifiers import read_check, recognise
from ledgerkit.extract.verifiers.frame import line_of

_SENT_AWAY: Final = r"running in (?:the )?background with ID: ([\w-]+)"
_FETCHES: Final = ("TaskOutput", "BashOutput", "AgentOutputTool")
_ENDED: Final = r"<status>\s*(?:completed|failed|killed)\s*</status>|<exit_code>"
_EXIT: Final = r"<exit_code>\s*(-?\d{1,4})\s*</exit_code>"
_PRINTED: Final = r"(?s)<(?:output|stdout)>(.*?)</(?:output|stdout)>"


def late_results(verifier_results: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Verifier results of checks whose output was fetched by another call, once they had come to their end.

    Args:
        verifier_results: Parsed results; those of calls that went to the background are the ones looked at.
        calls: As ``calls_frame`` gives them.

    Returns:
        Rows like those of ``verifier_results``, with the call that fetched the output and its place.
    """
    keys = ["session_id", "run_id"]
    away = calls.select(*keys, "tool_call_id", task=pl.col("text").str.extract(_SENT_AWAY, 1)).drop_nulls("task")
    sent = verifier_results.join(away, on=[*keys, "tool_call_id"], how="inner")
    named = pl.coalesce(
        *(pl.col("arguments").str.json_path_match(f"$.{name}") for name in ("task_id", "bash_id", "agentId"))
    )
    fetched = calls.filter(pl.col("tool_name").is_in(_FETCHES), pl.col("text").str.contains(_ENDED)).select(
        *keys,
        task=named,
        fetched_at="seen_at",
        fetched_by="tool_call_id",
        printed=pl.coalesce(pl.col("text").str.extract(_PRINTED, 1), "text"),
        code=pl.col("text").str.extract(_EXIT, 1).cast(pl.Int64),
    )
    rows = sent.join(fetched, on=[*keys, "task"], how="inner").filter(pl.col("fetched_at") > pl.col("sequence_no"))
    read = [
        _read(*cast("tuple[str, str, str, str, int | None]", row))
        for row in rows.select("command", "kind", "tool", "printed", "code").iter_rows()
    ]
    schema = {
        name: verifier_results.schema[name] for name in ("verdict", "passed", "failed", "errors", "skipped", "reason")
    }
    outcomes = pl.DataFrame(read, schema=schema, orient="row")
    return (
        rows.drop(*schema, "tool_call_id", "sequence_no", "task", "printed", "code")
        .hstack(outcomes)
        .rename({"fetched_at": "sequence_no", "fetched_by": "tool_call_id"})
        .select(verifier_results.columns)
    )


def _read(command: str, kind: str, tool: str, printed: str, code: int | None) -> tuple[object, ...]:
    checks = [one for one in recognise(line_of(command)) if (one.kind.value, one.tool) == (kind, tool)]
    found = read_check(checks[0], printed, code)
    return (found.verdict.value, found.passed, found.failed, found.errors, found.skipped, found.reason)
