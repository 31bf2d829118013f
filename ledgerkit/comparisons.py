"""Comparing two sets of runs: the result that a user holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import polars as pl

from ledgerkit.comparison import Compared, Gates, compare_runs, read_gates
from ledgerkit.errors import ComparisonError
from ledgerkit.run_sets import RunSet, RunSource
from ledgerkit.safety.gate import check_output

if TYPE_CHECKING:
    from rich.console import Group

_WIDTH: Final = 160
"""Columns of the text form, which has no terminal to ask."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Compared):
    """Two sets of runs, compared; see :func:`ledgerkit.compare`.

    Attributes:
        baseline: The set that was there before.
        candidate: The set that it is held against.
    """

    baseline: RunSet | None = None
    candidate: RunSet | None = None

    def report(self, *, generated_at: datetime | None = None, allow: Collection[str] = ()) -> str:
        """A self-contained HTML page: no network, no script, printable.

        Args:
            generated_at: Time to print on it; the clock's if not given. With it, the same sets give the same bytes.
            allow: Findings of the last scan for secrets that may pass, by name, or ``all``.

        Raises:
            OutputBlockedError: If the page holds what looks like a secret.
        """
        from ledgerkit import reports

        source = self._source()
        page = reports.comparison_report(self, generated_at=generated_at or source.clock(), manifests=self.manifests())
        check_output("The report", page, source.redactor(), allow=allow)
        return page

    def markdown(self, *, allow: Collection[str] = ()) -> str:
        """The comparison for a pull request.

        Raises:
            OutputBlockedError: If it holds what looks like a secret.
        """
        from ledgerkit import reports

        text = reports.comparison_markdown(self, manifests=self.manifests())
        check_output("The report", text, self._source().redactor(), allow=allow)
        return text

    def __rich__(self) -> Group:
        """The comparison for a terminal."""
        from ledgerkit import reports

        return reports.comparison_terminal(self)

    def as_data(self) -> dict[str, Any]:
        """The whole comparison as plain data, with the manifests of both sets (docs/schemas/comparison.json)."""
        return super().as_data() | {"manifests": self.manifests()}

    def manifests(self) -> dict[str, Any]:
        """The manifests of both sets, so that the comparison can be made again."""
        sides = {"baseline": self.baseline, "candidate": self.candidate}
        return {name: None if side is None else side.manifest() for name, side in sides.items()}

    def _source(self) -> RunSource:
        if self.candidate is None:
            raise ComparisonError("This comparison has no run sets. Make it with ledgerkit.compare.")
        return self.candidate.source

    def __repr__(self) -> str:
        from rich.console import Console

        file = StringIO()
        Console(file=file, width=_WIDTH, color_system=None, markup=False, highlight=False, emoji=False).print(self)
        return file.getvalue().rstrip()

    def _repr_html_(self) -> str:
        from ledgerkit import reports

        return reports.comparison_fragment(self)


def compare(
    baseline: RunSet,
    candidate: RunSet,
    pair_by: str | None = None,
    *,
    gates: Gates | Sequence[str] | str | Path | None = None,
    slices: Sequence[str] | None = None,
    seed: int | None = None,
) -> Comparison:
    """Compares two sets of runs, task by task.

    Args:
        baseline: The runs that were there before.
        candidate: The runs that are held against them.
        pair_by: The column that says which task a run is about: ``task_id`` if nobody says otherwise.
        gates: What must hold: a :class:`ledgerkit.comparison.Gates`, names of metrics, or a gates file.
        slices: Columns whose values are looked at one by one.
        seed: Draws the samples of the bootstrap and the exchanges of the permutation test.

    Returns:
        Verdicts by metric, and every table behind them (``frame``).

    Raises:
        ComparisonError: If a side is empty, or no task is on both.
        UnknownNameError: If there is no such column or metric.
        MissingExtraError: If the extra ``stats`` is not installed.
    """
    declared = _gates(gates)
    given = {"pair_by": pair_by, "slices": None if slices is None else tuple(slices), "seed": seed}
    chosen = replace(declared, **cast("dict[str, Any]", {n: v for n, v in given.items() if v is not None}))
    for side, runs in (("baseline", baseline), ("candidate", candidate)):
        if not runs:
            why = runs.why_empty() or "List runs with: ledgerkit runs"
            raise ComparisonError(f"The {side} has no runs: nothing fits {runs.name}. {why}")
    found = compare_runs(*_observed(baseline, candidate), chosen, names=(baseline.name, candidate.name))
    return Comparison(found.frames, found.gates, found.caveats, baseline, candidate)


def _observed(baseline: RunSet, candidate: RunSet) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What is observed of both sets, looked at once where they are of one ledger."""
    sides = (baseline, candidate)
    if baseline.place != candidate.place:
        return baseline.observations(), candidate.observations()
    rows = (baseline | candidate).observations()
    before, after = (rows.filter(pl.col("run_id").is_in(list(side.ids))) for side in sides)
    return before, after


def _gates(given: Gates | Sequence[str] | str | Path | None) -> Gates:
    if given is None:
        return Gates()
    if isinstance(given, Gates):
        return given
    return read_gates(given) if isinstance(given, str | Path) else Gates.of(list(given))
