"""How a run ended: a verdict first, then how it broke off, and no guess."""

from __future__ import annotations

import polars as pl
import pytest

from ledgerkit.comparison.outcomes import run_states

KEYS = {"session_id": "s", "run_id": "r"}
TEXT = dict.fromkeys((*KEYS, "outcome", "broke_off", "exit_status", "failure"), pl.String)


def _state(
    outcome: str | None = None, broke_off: str | None = None, exit_status: str | None = None, failure: str | None = None
) -> str:
    def frame(**said: str | None) -> pl.DataFrame:
        return pl.DataFrame([KEYS | said], schema=dict.fromkeys((*KEYS, *said), pl.String))

    endings = frame(broke_off=broke_off, exit_status=exit_status)
    return run_states(frame(outcome=outcome), endings, frame(failure=failure))["state"][0]


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ({}, "unknown"),
        ({"outcome": "inconclusive"}, "unknown"),
        ({"outcome": "passed", "broke_off": "api_error"}, "passed"),
        ({"outcome": "failed", "exit_status": "exit_environment_error"}, "failed"),
        ({"outcome": "failed", "failure": "infrastructure"}, "infrastructure"),
        ({"outcome": "failed", "failure": "Timeout"}, "timed_out"),
        ({"exit_status": "submitted"}, "unknown"),
        ({"exit_status": "LimitsExceeded"}, "timed_out"),
        ({"exit_status": "submitted (exit_cost)"}, "timed_out"),
        ({"exit_status": "exit_command_timeout"}, "timed_out"),
        ({"exit_status": "exit_environment_error"}, "infrastructure"),
        ({"broke_off": "model_unavailable"}, "infrastructure"),
        ({"broke_off": "rate_limit_error"}, "infrastructure"),
        ({"broke_off": "result_lost"}, "unknown"),
        ({"broke_off": "timeout"}, "timed_out"),
    ],
)
def test_how_a_run_ended(said: dict[str, str], state: str) -> None:
    assert _state(**said) == state
