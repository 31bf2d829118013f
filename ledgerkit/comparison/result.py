"""The result of a comparison: frames, and nothing in any report that does not stand in one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import polars as pl

from ledgerkit.comparison.gates import Gates
from ledgerkit.comparison.metrics import METRICS
from ledgerkit.comparison.verdicts import FEWEST_FOR_EQUIVALENCE
from ledgerkit.errors import UnknownNameError

COMPARISON_VERSION: Final = 1
"""Version of the rules and of the JSON form."""
Status = Literal["passed", "regressed", "inconclusive"]
EXIT_CODES: Final[Mapping[Status, int]] = {"passed": 0, "regressed": 1, "inconclusive": 2}
CAVEATS: Final = (
    "Runs were chosen by somebody. What holds for these tasks holds for others only as far as these stand for them.",
    "“inconclusive” says that these runs show neither a difference nor its absence; it is not “no regression”.",
    "“equivalent” needs the whole interval within the margin and at least "
    f"{FEWEST_FOR_EQUIVALENCE} tasks; p-values of differences are corrected within their family.",
    "Claims, injection markers and checks are found by rules: what no rule knows is not counted.",
    "Cost, tokens, steps and time of a side are geometric means over tasks, so that a few large tasks do not decide; "
    "arithmetic means and medians stand in frame('amounts').",
    "Costs are recorded tokens at dated list prices; a trial with a call of unknown price has no cost.",
)
"""What the figures cannot say."""


@dataclass(frozen=True, eq=False, repr=False)
class Compared:
    """Two sets of runs, compared.

    Attributes:
        frames: The tables by name.
        gates: What had to hold, and how it was tested.
        caveats: What the figures cannot say.
    """

    frames: Mapping[str, pl.DataFrame]
    gates: Gates
    caveats: tuple[str, ...] = CAVEATS

    def frame(self, name: str = "metrics", *, metric: str | None = None) -> pl.DataFrame:
        """The rows behind any number of any report.

        Args:
            name: ``metrics``, ``gates``, ``tasks``, ``trials``, ``runs``, ``unmatched``, ``missing``, ``flips``,
                ``pass_k``, ``flakiness``, ``slices``, ``amounts`` or ``sets``.
            metric: Only rows of this metric.

        Raises:
            UnknownNameError: If there is no such table or metric, or the table does not tell metrics apart.
        """
        if name not in self.frames:
            raise UnknownNameError.among("table of a comparison", name, self.frames)
        table = self.frames[name]
        if metric is None:
            return table
        if metric not in METRICS:
            raise UnknownNameError.among("metric", metric, METRICS)
        if "metric" not in table.columns:
            telling = [one for one, rows in self.frames.items() if "metric" in rows.columns]
            raise UnknownNameError.among("table by metric", name, telling)
        return table.filter(pl.col("metric") == metric)

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each metric."""
        return dict(self.frame("metrics").select("metric", "verdict").iter_rows())

    @property
    def status(self) -> Status:
        """Of all gates: regressed if one failed; inconclusive if one is and that was declared to count; else passed."""
        found = set(self.frame("gates")["status"])
        if "failed" in found:
            return "regressed"
        return "inconclusive" if "inconclusive" in found and self.gates.inconclusive == "fail" else "passed"

    @property
    def exit_code(self) -> int:
        """The status for a shell: 0 passed, 1 regressed, 2 inconclusive."""
        return EXIT_CODES[self.status]

    def as_data(self) -> dict[str, Any]:
        """The whole comparison as plain data; docs/schemas/comparison.json describes it."""
        gates = self.gates
        return {
            "version": COMPARISON_VERSION,
            "status": self.status,
            "exit_code": self.exit_code,
            "settings": {
                "alpha": gates.alpha,
                "inconclusive": gates.inconclusive,
                "pair_by": gates.pair_by,
                "seed": gates.seed,
                "draws": gates.draws,
                "slices": list(gates.slices),
                "margins": dict(gates.margins),
            },
            "caveats": list(self.caveats),
            **{name: self.frame(name).to_dicts() for name in _IN_JSON},
        }


_IN_JSON: Final = (
    "sets", "missing", "unmatched", "gates", "metrics", "amounts", "flips", "pass_k", "flakiness", "slices", "tasks",
    "trials",
)  # fmt: skip
