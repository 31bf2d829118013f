"""A ledger: the noun a user holds, and the only place that joins storage and logic. Every method is one call.

What only some methods need (importers, protocol models) is loaded by them, so that importing ledgerkit stays cheap.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import polars as pl

from ledgerkit import cost, tables, tokens
from ledgerkit.annotating import LedgerAnnotations
from ledgerkit.asking import LedgerAsking
from ledgerkit.audits import LedgerAudits
from ledgerkit.care import LedgerCare
from ledgerkit.claims import LedgerClaims
from ledgerkit.compactions import LedgerCompactions
from ledgerkit.contexts import LedgerContexts
from ledgerkit.costs import LedgerCosts
from ledgerkit.displays import Displayed
from ledgerkit.evaluations import LedgerEvaluations
from ledgerkit.exports import LedgerExports
from ledgerkit.fleets import LedgerFleets
from ledgerkit.following import LedgerFollowing
from ledgerkit.inspecting import LedgerInspections
from ledgerkit.judging import LedgerJudging
from ledgerkit.memories import LedgerMemories
from ledgerkit.projections import LedgerProjections
from ledgerkit.protocol.vocabulary import Audience
from ledgerkit.recording import LedgerRecording
from ledgerkit.replays import LedgerReplays
from ledgerkit.run import Run
from ledgerkit.run_names import resolve_run
from ledgerkit.safety.gate import check_output
from ledgerkit.selections import LedgerSelections
from ledgerkit.snapshots import LedgerSnapshots
from ledgerkit.spending import LedgerSpending
from ledgerkit.store.place import place_of
from ledgerkit.store.storage import Storage, open_storage

if TYPE_CHECKING:
    pass

_LABELS = """
    select kind, part_trust_level, part_visibility, count(*) as parts, sum(token_count)::bigint as tokens
    from parts group by all order by all
"""


def _read_checks(parts: pl.DataFrame) -> pl.DataFrame:
    """Loaded when a query needs it."""
    from ledgerkit.extract.verifiers import verifier_frame

    return verifier_frame(parts)


def open(
    path: str | os.PathLike[str],
    *,
    create: bool = True,
    key: bytes | None = None,
    as_of: datetime | int | None = None,
) -> Ledger:
    """Opens a ledger, or creates one.

    Args:
        path: Its folder, or its URL in an object store (``s3://bucket/runs.ledger``; see docs/ledger-format.md).
        create: Create it if it is not there.
        key: Key of the content ids of a new ledger; random if not given.
        as_of: Open the state that the ledger had at a moment, or at a version of ``history`` (see
            ``Ledger.commits``), to read. What stands in journals is left out.

    Raises:
        LedgerNotFoundError: If it is not there and ``create`` is false.
        LedgerFormatError: If there is something else.
        LedgerError: If it had no state like ``as_of``, or has lost it.

    Example:
        >>> import tempfile, ledgerkit as lk
        >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
        >>> ledger.runs().height
        0
    """
    if as_of is not None:
        from ledgerkit.store.timetravel import open_storage_at

        return Ledger(open_storage_at(place_of(path), as_of))
    count = tokens.TokenCounter().count_many
    return Ledger(open_storage(place_of(path), create=create, key=key, count_tokens=count))


class Ledger(
    Displayed,
    LedgerAnnotations,
    LedgerAsking,
    LedgerCare,
    LedgerContexts,
    LedgerCosts,
    LedgerSpending,
    LedgerAudits,
    LedgerClaims,
    LedgerCompactions,
    LedgerEvaluations,
    LedgerExports,
    LedgerFleets,
    LedgerFollowing,
    LedgerInspections,
    LedgerJudging,
    LedgerMemories,
    LedgerProjections,
    LedgerRecording,
    LedgerReplays,
    LedgerSelections,
    LedgerSnapshots,
):
    """A ledger on disk. Open one with :func:`ledgerkit.open`.

    Attributes:
        prices: Where prices come from; a custom :class:`ledgerkit.cost.PriceBook` may be set.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._random = random
        self.prices: cost.PriceBook | None = None
        storage.database.derived.serve({tables.PARSED_CHECKS.name: _read_checks})
        self._redactor = None
        self._context_materials = {}

    @property
    def path(self) -> Path:
        """The ledger's folder; of a ledger in an object store the one that mirrors it."""
        return self._storage.layout.root

    def run(self, run_id: str) -> Run:
        """A run by its id, by its session's id (then the main run), or by the beginning or end of either.

        A beginning of the last eight characters, which tables show, is enough too; four characters are needed.

        Raises:
            UnknownNameError: If no run or more than one fits.
        """
        session, run = self._resolve(run_id)
        asked = (self._storage.database, self._price, self._clock, lambda: self.redactor, self.project, self.frames)
        return Run(session, run, *asked, self.audit_report)

    def report(
        self,
        *,
        generated_at: datetime | None = None,
        audience: Audience = Audience.PEOPLE,
        allow: Collection[str] = (),
    ) -> str:
        """A self-contained HTML page about the whole ledger.

        Args:
            generated_at: Time to print on it; the clock's if not given. With it, the same ledger gives the same bytes.
            audience: Whose eyes: what this audience may not see is withheld, and counted on the page.
            allow: Findings of the last scan for secrets that may pass, by name, or ``all``.

        Raises:
            OutputBlockedError: If the page holds what looks like a secret.
        """
        from ledgerkit import reports

        frame = self._storage.database.frame
        page = reports.ledger_report(
            reports.LedgerReportInput(
                name=self.path.name,
                runs=self.runs(),
                calls=self.calls(),
                tool_calls=frame("select run_id, tool_name, status, duration_s from tool_calls"),
                labels=frame(_LABELS),
                import_files=frame("select * from import_files order by path"),
            ),
            generated_at=generated_at or self._clock(),
            audience=audience,
        )
        check_output("The report", page, self.redactor, allow=allow)
        return page

    def _price(self, calls: pl.DataFrame) -> pl.DataFrame:
        return cost.price_calls(calls, self.prices)

    def _resolve(self, given: str) -> tuple[str, str]:
        return resolve_run(self._storage.database, given)

    def close(self) -> None:
        """Closes the ledger's connection."""
        self._storage.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._storage.layout.place.uri('').rstrip('/')!r})"
