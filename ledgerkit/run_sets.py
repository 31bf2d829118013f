"""Sets of runs: chosen once, set against each other, written down so that the same runs can be had again."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from ledgerkit.errors import ComparisonError, UnknownNameError
from ledgerkit.safety.inert import inert_terminal

if TYPE_CHECKING:
    from ledgerkit.safety.redaction import SecretRedactor

MANIFEST_VERSION: Final = 1
"""Version of the form of manifests."""
NAMED: Final = ("label", "model", "agent", "agent_version", "repository", "branch", "task")
"""Conditions whose values are names."""
LINE: Final = """
    with recursive line as (
        select run_id, run_id as root, session_id as root_session from latest_runs where list_contains($runs, run_id)
        union
        select r.run_id, l.root, l.root_session from latest_runs r join line l on r.parent_run_id = l.run_id
        where r.relation = 'subagent'
    )
    select * from line order by all
"""
"""Runs and the subagents below them, each with the run that it counts in."""
LABELS: Final = """
    with said as (
        select session_id, run_id, sequence_no,
            unnest(map_entries(try_cast(data->'$.labels' as map(varchar, json)))) as label from current_history
        where kind = 'JUDGE_RESULT' and part_type = 'json' and data like '%"labels"%'
            and part_trust_level in ('PLATFORM_TRUSTED', 'ORG_TRUSTED', 'USER_TRUSTED', 'TOOL_TRUSTED')
    )
    select session_id, run_id, label.key as name, arg_max(label.value->>'$', sequence_no) as value from said
    group by all having value is not null order by all
"""
"""Labels of runs that somebody who may judge gave: of each name the last."""


def with_given_tasks(runs: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Runs with the task that a label names, where somebody gave one: many logs name none.

    Args:
        runs: ``session_id``, ``run_id``, ``task_id`` and others.
        labels: Rows of ``LABELS``.
    """
    keys = ["session_id", "run_id"]
    given = labels.filter(pl.col("name") == "task_id").select(*keys, given="value")
    return runs.join(given, on=keys, how="left").with_columns(task_id=pl.coalesce("given", "task_id")).drop("given")


@dataclass(frozen=True)
class RunSource:
    """What a ledger does for its run sets.

    Attributes:
        place: Where the ledger is.
        rows: Rows of ``ledger.runs()`` for ids of runs.
        observe: What a comparison looks at, a row a run.
        known: Values of a condition that some run has, such as of ``model``.
        pin: The ledger's checkpoint and the state of each run, as a manifest says them.
        clock: The time.
        redactor: Looks for secrets in what leaves.
    """

    place: str
    rows: Callable[[tuple[str, ...]], pl.DataFrame]
    observe: Callable[[tuple[str, ...]], pl.DataFrame]
    known: Callable[[str], list[str]]
    pin: Callable[[tuple[str, ...]], dict[str, Any]]
    clock: Callable[[], datetime]
    redactor: Callable[[], SecretRedactor]


@dataclass(frozen=True, repr=False)
class RunSet:
    """Runs of one ledger. Get it from :meth:`ledgerkit.Ledger.where`.

    Sets have a length and can be united (``|``), intersected (``&``) and taken from each other (``-``). Subagents are
    not counted: what they did is part of the run that started them.

    Attributes:
        name: How it was chosen, in a line.
        ids: Ids of its runs, in order.
        selection: How it was chosen, as data.
        source: The ledger, as far as run sets ask it.
    """

    name: str = field(compare=False)
    ids: tuple[str, ...]
    selection: Mapping[str, Any] = field(compare=False)
    source: RunSource = field(compare=False)

    @property
    def place(self) -> str:
        """Where its ledger is."""
        return self.source.place

    def __len__(self) -> int:
        return len(self.ids)

    def __bool__(self) -> bool:
        return bool(self.ids)

    def __contains__(self, run_id: object) -> bool:
        return run_id in set(self.ids)

    def named(self, name: str) -> RunSet:
        """The same runs under a name of your own, for reports."""
        return replace(self, name=name)

    def frame(self) -> pl.DataFrame:
        """Its rows of :meth:`ledgerkit.Ledger.runs`."""
        return self.source.rows(self.ids)

    def observations(self) -> pl.DataFrame:
        """What a comparison looks at: a row a run, its subagents counted in (``comparison.OBSERVATIONS``)."""
        return self.source.observe(self.ids)

    def why_empty(self) -> str:
        """Which condition names what no run has, and what there is instead; empty if each names something."""
        for name, value in self.selection.items():
            known = self.source.known(name) if name in NAMED else []
            for one in [value] if isinstance(value, str) else value:
                if known and one not in known:
                    return str(UnknownNameError.among(name, one, known))
        return ""

    def manifest(self) -> dict[str, Any]:
        """What it takes to have exactly these runs again: plain data, to be written as JSON.

        It names the ledger's checkpoint and, of each run, its revision, its number of messages, the hash of its last
        message and that of its facts. :meth:`ledgerkit.Ledger.run_set` opens it. What journals hold of the runs is
        sealed first.

        Raises:
            ComparisonError: If this is an earlier state of a ledger without a checkpoint.
        """
        return {"version": MANIFEST_VERSION, "name": self.name, "selection": dict(self.selection)} | self.source.pin(
            self.ids
        )

    def __or__(self, other: RunSet) -> RunSet:
        return self._combined(other, "or", set(self.ids) | set(other.ids))

    def __and__(self, other: RunSet) -> RunSet:
        return self._combined(other, "and", set(self.ids) & set(other.ids))

    def __sub__(self, other: RunSet) -> RunSet:
        return self._combined(other, "without", set(self.ids) - set(other.ids))

    def _combined(self, other: RunSet, word: str, ids: set[str]) -> RunSet:
        if self.place != other.place:
            raise ComparisonError(
                "These sets are of two ledgers. Import the logs into one, or compare the sets as they are."
            )
        selection = {word: [dict(self.selection), dict(other.selection)]}
        return RunSet(f"({self.name}) {word} ({other.name})", tuple(sorted(ids)), selection, self.source)

    def __repr__(self) -> str:
        return f"RunSet({inert_terminal(self.name)!r}, {len(self.ids)} runs)"

    def _repr_html_(self) -> str:
        rows = self.frame()
        facts = {
            "runs": f"{rows.height:,}",
            "tasks": f"{rows['task_id'].drop_nulls().n_unique():,}",
            "passed": f"{(rows['outcome'] == 'passed').sum():,}",
            "failed": f"{(rows['outcome'] == 'failed').sum():,}",
            "no verdict": f"{(~rows['outcome'].is_in(['passed', 'failed']).fill_null(value=False)).sum():,}",
        }
        heads = "".join(f"<th>{name}</th>" for name in facts)
        cells = "".join(f"<td>{value}</td>" for value in facts.values())
        title = html.escape(inert_terminal(self.name))
        return f"<p><b>{title}</b></p><table><thead><tr>{heads}</tr></thead><tbody><tr>{cells}</tr></tbody></table>"
