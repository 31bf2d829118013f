"""A run: one execution of an agent, as a noun. Every method is one look at its rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from ledgerkit import cost
from ledgerkit.displays import Displayed
from ledgerkit.protocol.vocabulary import Audience
from ledgerkit.replay import Replay
from ledgerkit.safety.gate import check_output, visible_to
from ledgerkit.store.database import Database

if TYPE_CHECKING:
    from ledgerkit.projection import Context, Supplied
    from ledgerkit.protocol.budget import TokenBudget
    from ledgerkit.protocol.capabilities import ProviderInterface
    from ledgerkit.protocol.messages import AgentMessage, MessageRange
    from ledgerkit.reports.audit_report import AuditReport
    from ledgerkit.safety.redaction import SecretRedactor
    from ledgerkit.strategies import RunFrames, Strategy

_ANCESTORS = """
    with recursive line as (
        select run_id, parent_run_id, forked_at, relation, 0 as depth from latest_runs where run_id = $run_id
        union all
        select r.run_id, r.parent_run_id, r.forked_at, r.relation, depth + 1
        from latest_runs r join line on r.run_id = line.parent_run_id
        where line.relation in ('rewind', 'fork', 'retry') and depth < 1000
    )
    select p.* from line join parts p on p.run_id = line.parent_run_id
        join parts f on f.message_id = line.forked_at and f.part_index = 0 and f.run_id = p.run_id
    where line.relation in ('rewind', 'fork', 'retry') and p.sequence_no <= f.sequence_no
    order by depth desc, p.sequence_no, p.part_index
"""
_BRANCHED = """
    select 1 from latest_runs where run_id = $run_id and relation in ('rewind', 'fork', 'retry') limit 1
"""
_CALLS_OF = "select * from model_calls where list_contains($runs, run_id)"


@dataclass(frozen=True)
class Run(Displayed):
    """One run of a ledger. Get it from :meth:`ledgerkit.Ledger.run`.

    Attributes:
        session_id: Its session.
        run_id: Its id.
    """

    session_id: str
    run_id: str
    _database: Database = field(repr=False)
    _priced: Callable[[pl.DataFrame], pl.DataFrame] = field(repr=False)
    _clock: Callable[[], datetime] = field(repr=False)
    _redactor: Callable[[], SecretRedactor] = field(repr=False)
    _project: Callable[..., Context] = field(repr=False)
    _frames: Callable[[Collection[str]], RunFrames] = field(repr=False)
    _audit: Callable[..., AuditReport] = field(repr=False)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Its row of the ``runs`` view, with its ``cost`` and ``unpriced_calls``."""
        row = self._own("runs").to_dicts()[0]
        total = cost.totals(self.calls())
        return {**row, "cost": total["cost"].item(), "unpriced_calls": total["unpriced_calls"].item()}

    def messages(self, message_range: MessageRange | None = None) -> list[AgentMessage]:
        """Its messages in order, all of them or a range by sequence number."""
        from ledgerkit.store import reading

        return reading.list_messages(self._database, self.session_id, self.run_id, message_range)

    def parts(self) -> pl.DataFrame:
        """Its parts in order: the rows of the ``parts`` view."""
        return self._own("parts").sort("sequence_no", "part_index")

    def tool_calls(self) -> pl.DataFrame:
        """Its tool calls in order: the rows of the ``tool_calls`` view."""
        return self._own("tool_calls").sort("sequence_no", "tool_call_id")

    def calls(self) -> pl.DataFrame:
        """Its model calls in order, priced: the rows of ``model_calls`` and the columns of ``cost.price_calls``."""
        return self._priced(self._own("model_calls")).sort("step", "created_at", "call_id", nulls_last=True)

    def file_changes(self) -> pl.DataFrame:
        """Recorded changes of files, in order."""
        return self._own("file_changes").sort("sequence_no")

    def verifier_results(self) -> pl.DataFrame:
        """Verdicts on its work, in order: recorded ones and those read from what calls printed (``source``)."""
        return self._own("verifier_results").sort("sequence_no", "check_no", "part_id")

    def children(self) -> pl.DataFrame:
        """Runs that came from it: its subagents, rewinds and compactions."""
        return self._database.frame(
            "select * from runs where parent_run_id = $run_id order by started_at, run_id", {"run_id": self.run_id}
        )

    def replay(self, audience: Audience = Audience.PEOPLE, *, strategies: Sequence[Strategy | str] = ()) -> Replay:
        """Steps through the run; in a notebook, with a widget: its history beside the contexts of strategies.

        Args:
            audience: Whose eyes: parts that this audience may not see are left out.
            strategies: Strategies, or their names, to switch between; what was recorded and a few others if not given.
        """
        chosen: list[Strategy] = []
        if strategies:
            from ledgerkit.strategies import parse_strategy

            chosen = [parse_strategy(one) if isinstance(one, str) else one for one in strategies]
        inherited = None
        if self._database.frame(_BRANCHED, {"run_id": self.run_id}).height:  # most did not, and the walk back is dear
            inherited, _ = visible_to(self._database.frame(_ANCESTORS, {"run_id": self.run_id}), audience)
        parts, _ = visible_to(self.parts(), audience)
        verdicts, _ = visible_to(self.verifier_results(), audience)
        return Replay(
            parts,
            self.calls(),
            inherited,
            verdicts,
            facts=lambda: self.facts,
            frames=lambda: self._frames([self.run_id]),
            strategies=chosen,
        )

    def project(
        self,
        step: int | None = None,
        strategy: Strategy | None = None,
        budget: TokenBudget | int | None = None,
        *,
        provider: ProviderInterface | str | None = None,
        supplied: Supplied | None = None,
        allow: Collection[str] = (),
    ) -> Context:
        """The context of one step under a strategy, rendered: :meth:`ledgerkit.Ledger.project` of this run."""
        return self._project(self.run_id, step, strategy, budget, provider=provider, supplied=supplied, allow=allow)

    def report(
        self,
        *,
        generated_at: datetime | None = None,
        audience: Audience = Audience.PEOPLE,
        allow: Collection[str] = (),
    ) -> str:
        """A self-contained HTML page about the run.

        Args:
            generated_at: Time to print on it; the clock's if not given. With it, the same run gives the same bytes.
            audience: Whose eyes: what this audience may not see is withheld, and counted on the page.
            allow: Findings of the last scan for secrets that may pass, by name, or ``all``.

        Raises:
            OutputBlockedError: If the page holds what looks like a secret.
        """
        from ledgerkit import reports

        children = self.children()
        costs = self._priced(self._database.frame(_CALLS_OF, {"runs": children["run_id"].to_list()}))
        by_run = cost.group_costs(costs, ["run_id"]).select("run_id", "cost")
        page = reports.run_report(
            reports.RunReportInput(
                run=self._own("runs"),
                parts=self.parts(),
                tool_calls=self.tool_calls(),
                calls=self.calls(),
                children=children.join(by_run, on="run_id", how="left", maintain_order="left"),
                file_changes=self.file_changes(),
                verifier_results=self.verifier_results(),
            ),
            generated_at=generated_at or self._clock(),
            audience=audience,
        )
        check_output("The report", page, self._redactor(), allow=allow)
        return page

    def audit_report(
        self,
        *,
        generated_at: datetime | None = None,
        audience: Audience = Audience.AUDIT,
        allow: Collection[str] = (),
    ) -> AuditReport:
        """The ten questions of an audit, answered from the record: see :meth:`ledgerkit.Ledger.audit_report`."""
        return self._audit(self.run_id, generated_at=generated_at, audience=audience, allow=allow)

    def _own(self, view: str) -> pl.DataFrame:
        return self._database.frame(
            f"select * from {view} where session_id = $session_id and run_id = $run_id",  # noqa: S608
            {"session_id": self.session_id, "run_id": self.run_id},
        )
