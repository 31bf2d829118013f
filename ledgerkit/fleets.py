"""The fleet: many runs over weeks, in trends, reasons, drivers and claims."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from ledgerkit import cost
from ledgerkit.errors import UnknownNameError
from ledgerkit.protocol.moments import Moment
from ledgerkit.safety.gate import check_output
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from rich.console import Group

    from ledgerkit.run_sets import RunSet
    from ledgerkit.safety.redaction import SecretRedactor

_PERIODS: Final = ("day", "week", "month")
_DRIVERS: Final = ("model", "repository", "agent", "task_id")
_REASONS: Final = """
    with checks as (
        select run_id, scope, arg_max(verdict, sequence_no) as verdict, arg_max(failing, sequence_no) as failing
        from verifier_results where list_contains($runs, run_id) and scope is distinct from 'run'
            and superseded_by is null and verdict in ('passed', 'failed') group by all
    )
    select run_id, 'check' as kind, scope as reason from checks where verdict = 'failed'
    union
    select run_id, 'failing test' as kind, unnest(failing) as reason from checks where verdict = 'failed'
    union
    select run_id, 'tool error' as kind, coalesce(tool_name, 'a tool') || ': ' || coalesce(error_category, status)
        as reason
    from tool_calls where list_contains($runs, run_id) and status in ('FAILED', 'TIMED_OUT')
    union
    select run_id, 'error' as kind, error_category as reason from parts
    where list_contains($runs, run_id) and kind = 'ERROR_EVENT' and error_category <> 'unknown_record'
    order by all
"""


@dataclass(frozen=True, eq=False, repr=False)
class Fleet:
    """Many runs, seen together. Get it from :meth:`ledgerkit.Ledger.fleet`.

    Attributes:
        by: The period: ``day``, ``week`` or ``month``.
        frames: The tables by name.
    """

    by: str
    frames: Mapping[str, pl.DataFrame]
    _name: str
    _clock: Callable[[], datetime]
    _redactor: Callable[[], SecretRedactor]

    def frame(self, name: str = "trends") -> pl.DataFrame:
        """The rows behind every figure: ``trends``, ``failures``, ``cost_drivers``, ``claims`` or ``runs``.

        Raises:
            UnknownNameError: If there is no such table.
        """
        if name not in self.frames:
            raise UnknownNameError.among("table of a fleet", name, self.frames)
        return self.frames[name]

    def report(self, *, generated_at: datetime | None = None, allow: Collection[str] = ()) -> str:
        """A self-contained HTML page: no network, no script, printable.

        Args:
            generated_at: Time to print on it; the clock's if not given.
            allow: Findings of the last scan for secrets that may pass, by name, or ``all``.

        Raises:
            OutputBlockedError: If the page holds what looks like a secret.
        """
        from ledgerkit import reports

        page = reports.fleet_report(self._name, self.by, self.frames, generated_at=generated_at or self._clock())
        check_output("The report", page, self._redactor(), allow=allow)
        return page

    def __rich__(self) -> Group:
        """The fleet for a terminal."""
        from ledgerkit import reports

        return reports.fleet_terminal(self.by, self.frames)

    def __repr__(self) -> str:
        return f"Fleet({self.frame('runs').height} runs by {self.by})"


class LedgerFleets:
    """The fleet view. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    _clock: Callable[[], datetime]

    if TYPE_CHECKING:  # what the ledger itself brings

        @property
        def path(self) -> Path: ...  # noqa: D102
        @property
        def redactor(self) -> SecretRedactor: ...  # noqa: D102
        def where(self, **conditions: Any) -> RunSet: ...  # noqa: ANN401, D102 - its conditions stand there
        def calls(  # noqa: D102
            self,
            *,
            runs: Collection[str] | None = None,
            since: Moment | None = None,
            until: Moment | None = None,
            priced_as: str | None = None,
        ) -> pl.DataFrame: ...
        def attribute_cost(  # noqa: D102
            self, by: str | Sequence[str] = "tool_name", *, runs: Collection[str] | None = None
        ) -> pl.DataFrame: ...

    def fleet(
        self,
        by: str = "week",
        *,
        runs: RunSet | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        top: int = 10,
    ) -> Fleet:
        """Many runs over time: trends, top reasons of failures, top cost drivers, claims by version of the agent.

        Args:
            by: Period of the trends: ``day``, ``week`` (from Monday) or ``month``, all in UTC.
            runs: Only these runs; all if not given.
            since: Only runs that began at this moment or later.
            until: Only runs that began before this moment.
            top: Reasons and drivers of each kind.

        Returns:
            Tables by name (``frame``), and a page about them (``report``).

        Raises:
            UnknownNameError: If there is no such period.
            MissingExtraError: If the extra ``stats`` is not installed.
        """
        from ledgerkit.comparison import fleet

        if by not in _PERIODS:
            raise UnknownNameError.among("period", by, _PERIODS)
        chosen = self.where(since=since, until=until)
        if runs is not None:
            chosen = chosen & runs
        observed = chosen.observations()
        ids = observed["run_id"].to_list()
        reasons = self._storage.database.frame(_REASONS, {"runs": ids}).drop_nulls("reason")
        frames = {
            "trends": fleet.trends(observed, by),
            "failures": fleet.failure_reasons(observed, reasons, top),
            "cost_drivers": self._drivers(ids, top),
            "claims": fleet.claims_by_version(observed),
            "runs": observed,
        }
        return Fleet(by, frames, self.path.name, self._clock, lambda: self.redactor)

    def _drivers(self, ids: list[str], top: int) -> pl.DataFrame:
        """The dearest names of each kind: ``label``, ``name``, ``cost`` and its ``share`` of all that has a price."""
        members = self._members(ids)
        calls = self.calls(runs=members)
        total = calls["cost"].sum()
        tables = [_named(cost.group_costs(calls, [label]), label) for label in _DRIVERS]
        if members:
            tools = self.attribute_cost("tool_name", runs=members).filter(pl.col("line").is_null())
            tables.append(_named(tools, "tool_name"))
        ordered = pl.concat(tables).sort("label", "cost", "name", descending=[False, True, False], nulls_last=True)
        first = ordered.drop_nulls("cost").group_by("label", maintain_order=True).head(top)
        share = (pl.col("cost") / float(total)).round(9) if total else pl.lit(None, pl.Float64)
        return first.with_columns(share=share)

    def _members(self, ids: list[str]) -> list[str]:
        """Runs and the subagents below them."""
        from ledgerkit.run_sets import LINE

        return self._storage.database.frame(LINE, {"runs": ids})["run_id"].unique().sort().to_list()


def _named(costs: pl.DataFrame, label: str) -> pl.DataFrame:
    name = pl.col(label).cast(pl.String).fill_null("no tool" if label == "tool_name" else "not recorded")
    return costs.select(pl.lit(label).alias("label"), name.alias("name"), pl.col("cost").cast(pl.Float64))
