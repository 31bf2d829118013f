"""How a run ended, where a verdict is recorded and where none is.

What somebody who may judge recorded counts. Without a verdict, the record of how the run broke off decides: a limit of
time, steps or money is a failure of the agent, a failing service is not. All else is unknown, and never a guess.
"""

from __future__ import annotations

from typing import Final

import polars as pl

PASSED: Final = "passed"
FAILED: Final = "failed"
TIMED_OUT: Final = "timed_out"
INFRASTRUCTURE: Final = "infrastructure"
UNKNOWN: Final = "unknown"
STATES: Final = (PASSED, FAILED, TIMED_OUT, INFRASTRUCTURE, UNKNOWN)
"""How a run, and a trial, may have ended."""

_LIMITS: Final = (
    r"time.?d?.?out|deadline|limits?.?exceeded|max.?(steps|turns|iterations|tokens)|exit_(cost|context|forfeit)"
    r"|execution_time|cost.?limit|budget"
)
_BROKEN: Final = (
    r"api.?error|overload|rate.?limit|connection|network|model_unavailable|server.?error|service.?unavailable"
    r"|environment.?(error|failed)|infrastructure|quota|credit|authentication|exit_(api|environment_error)|docker"
)


def run_states(runs: pl.DataFrame, endings: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The state of each run, and the rule that decided.

    Args:
        runs: ``session_id``, ``run_id``, ``outcome``.
        endings: ``session_id``, ``run_id``, ``broke_off`` (category of an error after which the model said no more)
            and ``exit_status``, as recorded.
        labels: ``session_id``, ``run_id``, ``failure``: a person's word for why a run does not count or failed
            (``infrastructure`` or ``timeout``), which goes before any verdict.

    Returns:
        ``session_id``, ``run_id``, ``state`` and ``state_reason``, in the order of ``runs``.
    """
    keys = ["session_id", "run_id"]
    known = runs.select(*keys, "outcome").join(endings, on=keys, how="left", maintain_order="left")
    known = known.join(labels, on=keys, how="left", maintain_order="left")
    said = pl.col("failure").str.to_lowercase().fill_null("")
    broke = pl.col("broke_off").str.to_lowercase().fill_null("")
    status = pl.col("exit_status").str.to_lowercase().fill_null("")
    rules = (
        (said.str.contains(r"^infra"), INFRASTRUCTURE, pl.lit("label")),
        (said.str.contains(r"^time"), TIMED_OUT, pl.lit("label")),
        (pl.col("outcome") == PASSED, PASSED, pl.lit("recorded outcome")),
        (pl.col("outcome") == FAILED, FAILED, pl.lit("recorded outcome")),
        (status.str.contains(_LIMITS), TIMED_OUT, pl.lit("exit status ") + pl.col("exit_status")),
        (status.str.contains(_BROKEN), INFRASTRUCTURE, pl.lit("exit status ") + pl.col("exit_status")),
        (broke.str.contains(_LIMITS), TIMED_OUT, pl.lit("broke off: ") + pl.col("broke_off")),
        (broke.str.contains(_BROKEN), INFRASTRUCTURE, pl.lit("broke off: ") + pl.col("broke_off")),
    )
    state, reason = pl.lit(UNKNOWN), pl.lit("no verdict recorded")
    for holds, name, why in reversed(rules):
        holds_here = holds.fill_null(value=False)
        state = pl.when(holds_here).then(pl.lit(name)).otherwise(state)
        reason = pl.when(holds_here).then(why).otherwise(reason)
    return known.select(*keys, state.alias("state"), reason.alias("state_reason"))
