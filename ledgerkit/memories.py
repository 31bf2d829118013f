"""Memory of runs, sessions and repositories, projected from the ledger; what a model proposes is validated first."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.errors import UnknownNameError
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.memory.summaries import SummaryWriter, WrittenSummary
    from ledgerkit.memory.working import ItemVerdict, RunRecord
    from ledgerkit.protocol.contracts import SpendingLimits
    from ledgerkit.protocol.memory import RepositoryMemory, Summary, WorkingMemory
    from ledgerkit.protocol.messages import AgentMessage, AppendMessageCommand

_OF_RUN: Final = "select * from {} where session_id = $session_id and run_id = $run_id order by all"
_CALLS: Final = """
    select c.*, m.sequence_no as result_sequence_no
    from tool_calls c left join messages m
        on c.session_id = m.session_id and c.run_id = m.run_id and c.result_message_id = m.message_id
    where c.session_id = $session_id and c.run_id = $run_id order by all
"""
_OF_REPOSITORY: Final = """
    select session_id, run_id from runs where repository = $name order by started_at nulls first, session_id, run_id
"""
_OF_SESSION: Final = """
    select session_id, run_id from runs where session_id = $name order by started_at nulls first, run_id
"""
_RUNS: Final = """
    select session_id, run_id from runs where $runs is null or list_contains($runs, run_id) order by all
"""
_SPENT: Final = """
    select count(*) as steps, sum(input_tokens)::bigint as input_tokens, sum(output_tokens)::bigint as output_tokens
    from model_calls where session_id = $session_id and run_id = $run_id and ($step is null or step < $step)
"""
ACTOR: Final = "memory"
"""Who says what became of a proposal."""


class LedgerMemories:
    """Memory as a projection. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage

    if TYPE_CHECKING:  # what the ledger itself brings

        def append(self, command: AppendMessageCommand, *, redact: bool = True) -> AgentMessage: ...  # noqa: D102
        def _resolve(self, given: str) -> tuple[str, str]: ...

    def memory(self, run: str, *, step: int | None = None, limits: SpendingLimits | None = None) -> WorkingMemory:
        """The working memory of a run: goal, plan, changed files, facts, problems, blockers, failures, budget left.

        Args:
            run: Its id, as :meth:`Ledger.run` takes it.
            step: What the context of this step could have known; the whole run if not given.
            limits: What the run may spend, if that is known: a log does not say.

        Raises:
            UnknownNameError: If no run or more than one fits.
        """
        from ledgerkit.memory.working import working_memory

        keys = self._resolve(run)
        return working_memory(self._record_of(*keys), step=step, limits=limits, spent=self._spent(*keys, step))

    def propose(self, run: str, update: Summary) -> list[ItemVerdict]:
        """Validates what a model wants to have remembered, and keeps every item with its verdict as a message.

        An accepted item is part of the run's memory from then on; a rejected one never is.

        Args:
            run: Id of the run.
            update: Facts, decisions and open problems, each with its evidence.

        Returns:
            One verdict an item, in the order of facts, decisions and open problems.

        Raises:
            UnknownNameError: If no run or more than one fits.
        """
        from ledgerkit.memory.working import judge_update
        from ledgerkit.protocol.messages import AppendMessageCommand

        session_id, run_id = self._resolve(run)
        verdicts = judge_update(self._record_of(session_id, run_id), update)
        for verdict in verdicts:
            part = {
                "type": "json",
                "data": verdict.as_data(),
                "trust_level": verdict.item.trust_level.value,
                "visibility": "AUDIT_ONLY",
            }
            fields = {
                "session_id": session_id,
                "run_id": run_id,
                "kind": "RUN_SUMMARY",
                "actor": ACTOR,
                "parts": [part],
            }
            self.append(AppendMessageCommand.model_validate(fields))
        return verdicts

    def evidence(self, runs: Collection[str] | None = None) -> pl.DataFrame:
        """Which messages the memory of runs rests on, step by step: what ``strategies.EvidenceFirst`` spares.

        Args:
            runs: Ids of runs; all runs if not given.

        Returns:
            ``session_id``, ``run_id``, ``message_id``, ``from_step``, ``to_step`` (null: to the end of the run).
        """
        from ledgerkit.memory.working.spans import SPAN_SCHEMA, evidence_spans

        wanted = None if runs is None else sorted(set(runs))
        there = self._storage.database.frame(_RUNS, {"runs": wanted}).rows()
        spans = [evidence_spans(session_id, self._record_of(session_id, run_id)) for session_id, run_id in there]
        return pl.concat(spans) if spans else pl.DataFrame(schema=SPAN_SCHEMA)

    def summarise(self, run: str, *, step: int | None = None) -> Summary:
        """A summary of a run by the schema of specification §17, made from the ledger without a model.

        Args:
            run: Id of the run.
            step: Up to which step; the whole run if not given.

        Raises:
            UnknownNameError: If no run or more than one fits.
        """
        from ledgerkit.memory.summaries import EvidenceBoundSummarizer

        return EvidenceBoundSummarizer().summarise(self._record_of(*self._resolve(run)), step)

    def write_summary(self, run: str, writer: SummaryWriter, *, step: int | None = None) -> WrittenSummary:
        """Has a model write a summary of a run, and validates it item by item: repaired, or rejected as a whole.

        Args:
            run: Id of the run.
            writer: A callable that is given what may be cited (``memory.summaries.SummaryRequest``), and answers with
                a JSON object by the schema of a summary. What it is shown is data, and may hold attacks.
            step: Up to which step; the whole run if not given.

        Returns:
            The summary, with what was discarded and why; nothing is stored.

        Raises:
            UnknownNameError: If no run or more than one fits.
        """
        from ledgerkit.memory.summaries import write_summary

        return write_summary(self._record_of(*self._resolve(run)), writer, step=step)

    def check_summary(self, run: str, summary: Summary, *, step: int | None = None) -> pl.DataFrame:
        """What a summary of a run invents, hides or loses.

        Args:
            run: Id of the run.
            summary: The summary, whoever wrote it.
            step: The step up to which it covers the run; the whole run if not given.

        Returns:
            One row a finding: ``problem`` (``invented``, ``hidden``, ``lost``, ``silent``), ``item_kind``, ``item``,
            ``rule``, ``verdict``, ``why``, ``evidence``.

        Raises:
            UnknownNameError: If no run or more than one fits.
        """
        from ledgerkit.memory.summaries import check_summary

        return check_summary(self._record_of(*self._resolve(run)), summary, step=step)

    def session_summary(self, session_id: str) -> Summary:
        """A summary of all runs of a session, made from the ledger.

        Raises:
            UnknownNameError: If there is no such session.
        """
        from ledgerkit.memory.summaries import EvidenceBoundSummarizer
        from ledgerkit.memory.summaries.joining import joined

        runs = self._storage.database.frame(_OF_SESSION, {"name": session_id}).rows()
        if not runs:
            raise UnknownNameError(f"No session {session_id!r}. List runs with: ledgerkit runs", name=session_id)
        return joined([EvidenceBoundSummarizer().summarise(self._record_of(*run)) for run in runs])

    def repository_memory(self, repository: str) -> RepositoryMemory:
        """What the runs of one repository show about it. It holds nothing of any other.

        Raises:
            UnknownNameError: If no run names the repository.
        """
        from ledgerkit.memory.repository import repository_memory

        runs = self._storage.database.frame(_OF_REPOSITORY, {"name": repository}).rows()
        if not runs:
            raise UnknownNameError(f"No run names the repository {repository!r}.", name=repository)
        return repository_memory(repository, [self._record_of(*run) for run in runs])

    def _record_of(self, session_id: str, run_id: str) -> RunRecord:
        from ledgerkit.memory.working import RunRecord

        keys = {"session_id": session_id, "run_id": run_id}
        views = ("parts", "verifier_results", "file_changes")
        parts, results, changes = (self._storage.database.frame(_OF_RUN.format(view), keys) for view in views)
        calls = self._storage.database.frame(_CALLS, keys)
        ordered = parts.sort("sequence_no", "part_index")
        return RunRecord(run_id, ordered, calls.sort("sequence_no", "tool_call_id"), results, changes)

    def _spent(self, session_id: str, run_id: str, step: int | None) -> SpendingLimits:
        from ledgerkit.protocol.contracts import SpendingLimits

        keys = {"session_id": session_id, "run_id": run_id, "step": step}
        row = self._storage.database.frame(_SPENT, keys).row(0, named=True)
        return SpendingLimits(**{name: value for name, value in row.items() if value is not None})
