"""What an auditor asks of runs: the anti-patterns in them, and the ten questions of the audit report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.contexts import CONTEXT_TEXTS
from ledgerkit.errors import UnknownNameError
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.cost.attribution import Attribution
    from ledgerkit.judges.material import Material
    from ledgerkit.protocol.vocabulary import Audience
    from ledgerkit.reports.audit_input import AuditInput
    from ledgerkit.reports.audit_report import AuditReport
    from ledgerkit.safety.redaction import SecretRedactor

_BATCH_PARTS: Final = 50_000
_BARE: Final = """
    select message_id, part_index::int as part_index from current_history
    where list_contains($runs, run_id) and kind = 'RUN_SUMMARY' and part_trust_level = 'MODEL_GENERATED'
        and part_visibility in ('MODEL_VISIBLE', 'REDACTED') and coalesce(len(evidence_refs), 0) = 0
"""
_CALLS: Final = """
    select session_id, run_id, tool_call_id, message_id, result_count from tool_calls
    where list_contains($runs, run_id) order by session_id, run_id, sequence_no, tool_call_id
"""
_LOOSE: Final = """
    select r.session_id, r.run_id, r.message_id from current_history r
        left join (select distinct session_id, run_id, tool_call_id from tool_calls) c
        on r.session_id = c.session_id and r.run_id = c.run_id and r.tool_call_id = c.tool_call_id
    where list_contains($runs, r.run_id) and r.part_type = 'tool_result' and c.tool_call_id is null
    order by r.session_id, r.run_id, r.sequence_no, r.part_index
"""
_MODEL_CALLS: Final = "select * from model_calls where list_contains($runs, run_id) and step is not null"
_FOLDERS: Final = "select session_id, run_id, working_directory from latest_runs where list_contains($runs, run_id)"
_REDACTIONS: Final = "select * from redactions where session_id = $session and run_id = $run order by all"
_CHILDREN: Final = "select * from runs where parent_run_id = $run order by started_at, run_id"


class LedgerInspections:
    """Anti-patterns and audit reports. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    _clock: Callable[[], datetime]

    if TYPE_CHECKING:  # what the ledger itself brings

        @property
        def redactor(self) -> SecretRedactor: ...  # noqa: D102
        def _run_batches(self, runs: Collection[str] | None, parts: int = 300_000) -> Iterator[list[str]]: ...
        def attributions(self, runs: Collection[str] | None = None) -> Iterator[Attribution]: ...  # noqa: D102
        def _resolve(self, given: str) -> tuple[str, str]: ...
        def _count_excerpts(self, rows: pl.DataFrame, keep: int) -> pl.Series: ...
        def _material(self, runs: list[str]) -> Material: ...
        def judgements(  # noqa: D102
            self, *, runs: Collection[str] | None = None, judge: str | None = None, kind: str | None = None
        ) -> pl.DataFrame: ...
        def annotations(  # noqa: D102
            self, *, runs: Collection[str] | None = None, by: str | None = None
        ) -> pl.DataFrame: ...
        def calibrations(self) -> pl.DataFrame: ...  # noqa: D102
        def check_compactions(self, runs: Collection[str] | None = None) -> pl.DataFrame: ...  # noqa: D102
        def injection_markers(  # noqa: D102
            self, *, rules: Collection[str] | None = None, runs: str | Sequence[str] = (), everything: bool = False
        ) -> pl.DataFrame: ...

    def anti_patterns(
        self,
        patterns: str | Sequence[str] | None = None,
        *,
        runs: Collection[str] | None = None,
        output_tokens: int = 2_000,
        least_steps: int = 20,
        history_tokens: int = 20_000,
    ) -> pl.DataFrame:
        """The anti-patterns of specification §22 in recorded runs, with what each cost.

        Args:
            patterns: Of ``whole_history_resent``, ``raw_tool_output``, ``repository_text_instructs``,
                ``memory_without_evidence``, ``uncorrelated_calls``; all if not given.
            runs: Ids of runs; all runs if not given.
            output_tokens: Shorter outputs of tools are no finding.
            least_steps: Runs of fewer model calls resend no history worth a finding.
            history_tokens: Nor do runs of fewer tokens.

        Returns:
            The columns of ``judges.patterns.FINDINGS``, one row a run and pattern, the gravest first. Costs of
            different patterns overlap: do not add them up. What a log does not say (a system prompt, whether a text
            stood in a boundary) is in no finding.

        Raises:
            UnknownNameError: If there is no such pattern or run.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> ledger.anti_patterns().height
            0
        """
        from ledgerkit.judges import patterns as found_by

        wanted = [patterns] if isinstance(patterns, str) else list(patterns or found_by.Pattern)
        for name in wanted:
            if name not in [*found_by.Pattern]:
                raise UnknownNameError.among("anti-pattern", name, [*found_by.Pattern])
        tables = list[pl.DataFrame]()
        for batch in self._run_batches(runs, _BATCH_PARTS):
            pieces = [found_by.sent_parts(one) for one in self.attributions(batch)]
            sent = pl.concat([found_by.no_sent_parts(), *pieces])
            tables += [
                found_by.whole_history(sent, least_steps=least_steps, least_tokens=history_tokens),
                found_by.raw_outputs(sent, least_tokens=output_tokens),
                found_by.repository_instructs(sent),
                *self._of_memory(batch, sent, wanted),
                *self._of_calls(batch, sent, wanted),
            ]
        return found_by.in_order([one.filter(pl.col("pattern").is_in(wanted)) for one in tables])

    def _of_memory(self, batch: list[str], sent: pl.DataFrame, wanted: Sequence[str]) -> list[pl.DataFrame]:
        from ledgerkit.judges import patterns as found_by

        if found_by.Pattern.MODEL_MEMORY not in wanted:
            return []
        bare = self._storage.database.frame(_BARE, {"runs": batch})
        edited = self.injection_markers(rules=["instruction-file-change"], runs=batch)
        return [found_by.model_memory(sent, bare, self.check_compactions(batch), edited)]

    def _of_calls(self, batch: list[str], sent: pl.DataFrame, wanted: Sequence[str]) -> list[pl.DataFrame]:
        from ledgerkit.judges import patterns as found_by

        if found_by.Pattern.UNCORRELATED not in wanted:
            return []
        calls = self._storage.database.frame(_CALLS, {"runs": batch})
        loose = self._storage.database.frame(_LOOSE, {"runs": batch})
        return [found_by.uncorrelated(calls, loose, sent)]

    def audit_report(
        self,
        run: str,
        *,
        generated_at: datetime | None = None,
        audience: Audience | None = None,
        allow: Collection[str] = (),
    ) -> AuditReport:
        """The ten questions of specification §1 about a run, each answered with evidence or *not recorded*.

        With it come its anti-patterns, and what judges and people say of it; of every judge, whether it was
        calibrated.

        Args:
            run: Its id, as :meth:`ledgerkit.Ledger.run` takes it.
            generated_at: Time to print on it; the clock's if not given. With it, the same run gives the same bytes.
            audience: Whose eyes; an audit's if not given. What this audience may not see is withheld, and counted.
            allow: Findings of the last scan for secrets that may pass, by name, or ``all``.

        Returns:
            The report: ``str`` for a terminal, ``to_html()``, ``to_markdown()``, ``to_json()``.

        Raises:
            UnknownNameError: If no run or more than one fits.
            OutputBlockedError: If it holds what looks like a secret.
        """
        from ledgerkit.protocol.vocabulary import Audience
        from ledgerkit.reports.audit_report import audit_report
        from ledgerkit.safety.gate import check_output

        given = self._audited(*self._resolve(run))
        made = audit_report(given, generated_at=generated_at or self._clock(), audience=audience or Audience.AUDIT)
        check_output("The audit report", made.to_json(), self.redactor, allow=allow)
        return made

    def _audited(self, session_id: str, run_id: str) -> AuditInput:
        from ledgerkit.reports.audit_input import AuditInput

        ask = self._storage.database.frame
        return AuditInput(
            material=self._material([run_id]).of_session(session_id),
            uses=self._uses(run_id).filter(pl.col("session_id") == session_id),
            redactions=ask(_REDACTIONS, {"session": session_id, "run": run_id}),
            children=ask(_CHILDREN, {"run": run_id}),
            judgements=self.judgements(runs=[run_id]).filter("is_current"),
            calibrations=self.calibrations(),
            annotations=self.annotations(runs=[run_id]).filter("is_current"),
            patterns=self.anti_patterns(runs=[run_id]),
            withheld=pl.DataFrame(schema={"visibility": pl.String, "withheld": pl.Int64}),
        )

    def _uses(self, run_id: str) -> pl.DataFrame:
        """What the calls of a run took from what stood before them: the newest source of everything that they name."""
        from ledgerkit.evaluation.material import VERDICTS, Material
        from ledgerkit.evaluation.needs import find_needs
        from ledgerkit.strategies import run_frames

        ids, ask = {"runs": [run_id]}, self._storage.database.frame
        contents = ask(CONTEXT_TEXTS, ids)
        frames = run_frames(contents, ask(_MODEL_CALLS, ids), self._count_excerpts)
        said = contents.select("session_id", "run_id", "message_id", "part_index", "inherited", "text", "data", "path")
        none = pl.DataFrame()
        rows = Material(frames, said, ask(_FOLDERS, ids), pl.DataFrame(schema=VERDICTS), none, none)
        found = find_needs(frames.parts, frames.runs, rows.texts, rows.said)
        named = frames.parts.select("message_id", source="part")
        return (
            found.needs.join(found.keys.select("key", "type", "value"), on="key", how="left", maintain_order="left")
            .join(named, on="source", how="left", maintain_order="left")
            .join(frames.runs.select("run", "session_id", "run_id"), on="run", how="left", maintain_order="left")
            .select("session_id", "run_id", "step", "type", "value", "message_id")
            .sort("step", "type", "value")
        )
