"""How well contexts can be rebuilt: recorded runs against what their providers reported."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.errors import ContextError, ProtocolError
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.projection import Context, ContextSetup, Supplied
    from ledgerkit.protocol.budget import TokenBudget
    from ledgerkit.replay.divergence import Divergence
    from ledgerkit.strategies import RunFrames, Strategy

_UNSEEN: Final = """
    select session_id, run_id,
        min(visible_from) filter (kind = 'AGENT_THOUGHT_SUMMARY' and data like '%"hidden_reasoning"%')::integer
            as reasoning_from,
        min(visible_from) filter (
            kind = 'RUN_SUMMARY' and part_visibility in ('MODEL_VISIBLE', 'REDACTED') and text is null
            and coalesce(len(artifact_refs), 0) = 0 and data->>'$.note' = 'compaction'
        )::integer as sealed_from
    from parts where list_contains($runs, run_id) group by all
"""
_CALLS: Final = """
    select session_id, run_id, step, input_tokens from model_calls
    where list_contains($runs, run_id) and step is not null order by all
"""
_FORMATS: Final = "select run_id, any_value(source_format) as source_format from latest_runs group by run_id"
_PARTS: Final = """
    select * from parts where session_id = $session_id and run_id = $run_id order by sequence_no, part_index
"""
_RECORDED: Final = """
    select run_id, step, metadata->>'$.request_digest' as recorded from messages
    where list_contains($runs, run_id) and step is not null and contains(metadata, '"request_digest"')
    order by run_id, step
"""
_DIGESTS: Final = pl.Schema(
    {"run_id": pl.String(), "step": pl.Int32(), "recorded": pl.String(), "rebuilt": pl.String()}
)
_NOT_REBUILT: Final = ""


class LedgerReplays:
    """Replay checked against the record. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage

    if TYPE_CHECKING:  # what the ledger itself brings

        def frame_batches(  # noqa: D102
            self, runs: Collection[str] | None = None, *, parts: int = 300_000
        ) -> Iterator[RunFrames]: ...
        def project(  # noqa: D102
            self,
            run: str,
            step: int | None = None,
            strategy: Strategy | None = None,
            budget: TokenBudget | int | None = None,
            *,
            supplied: Supplied | None = None,
            allow: Collection[str] = (),
        ) -> Context: ...
        def _recorded_setups(self, runs: Sequence[str]) -> Mapping[str, ContextSetup]: ...
        def _resolve(self, given: str) -> tuple[str, str]: ...

    def verify_replay(self, runs: Collection[str] | None = None) -> pl.DataFrame:
        """How true the rebuilt context of every step is, and how its tokens compare with the reported ones.

        Contexts are those of ``strategies.AsRecorded()``. Their tokens are o200k_base tokens of the parts alone,
        without tool schemas and a provider's framing; what a provider reports differs by those, and by its tokenizer.
        ``scale`` and ``offset`` estimate both for a run.

        Args:
            runs: Ids of runs; all runs if not given.

        Returns:
            One row per step: ``session_id``, ``run_id``, ``step``, ``rebuilt_tokens``, ``reported_tokens``,
            ``difference``, ``scale``, ``offset``, ``residual``, ``fidelity`` (``exact``, ``client_exact`` or
            ``opaque``) and ``reason`` (columns of ``replay.fidelity.verify``).

        Raises:
            UnknownNameError: If there is no such run.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> ledger.verify_replay().height
            0
        """
        from ledgerkit.replay.fidelity import FACTS, STEPS, verify
        from ledgerkit.strategies import AsRecorded, measure, project

        tables = [pl.DataFrame(schema=STEPS)]
        for frames in self.frame_batches(runs):
            ids = {"runs": frames.runs["run_id"].to_list()}
            instructed = (
                frames.parts.filter("is_eligible", kind="SYSTEM_INSTRUCTION")
                .group_by("run")
                .agg(instructed_from=pl.col("visible_from").min())
            )
            facts = (
                frames.runs.join(instructed, on="run", how="left")
                .join(self._storage.database.frame(_UNSEEN, ids), on=["session_id", "run_id"], how="left")
                .select(*FACTS)
            )
            measures = measure(frames, project(frames, AsRecorded()))
            calls = self._storage.database.frame(_CALLS, ids)
            tables.append(verify(measures, calls, facts, self._digests(ids["runs"])))
        return pl.concat(tables).sort("session_id", "run_id", "step")

    def _digests(self, runs: list[str]) -> pl.DataFrame:
        """Digests of requests as recorded, and of the same requests rebuilt from the ledger alone."""
        recorded = self._storage.database.frame(_RECORDED, {"runs": runs})
        setups = self._recorded_setups(recorded["run_id"].unique().to_list())
        rows = [
            (run, step, digest, self._rebuilt_digest(run, step, setups[run]))
            for run, step, digest in recorded.iter_rows()
            if run in setups
        ]
        return pl.DataFrame(rows, schema=_DIGESTS, orient="row").unique(["run_id", "step"], keep="last")

    def _rebuilt_digest(self, run: str, step: int, setup: ContextSetup) -> str:
        try:
            return self.project(run, step, *setup.arguments, supplied=setup.supplied, allow="all").digest
        except (ContextError, ProtocolError):
            return _NOT_REBUILT

    def replay_fidelity(self, runs: Collection[str] | None = None) -> pl.DataFrame:
        """The same by log format: steps by fidelity, percentiles of the differences (``replay.fidelity.by_format``).

        Args:
            runs: Ids of runs; all runs if not given.

        Raises:
            UnknownNameError: If there is no such run.
        """
        from ledgerkit.replay.fidelity import by_format

        return by_format(self.verify_replay(runs), self._storage.database.frame(_FORMATS))

    def first_divergence(self, a: str, b: str) -> Divergence:
        """Where two runs part: the first task, call or result that differs. ``print`` its ``sentence``.

        Args:
            a: Id of a run.
            b: Id of another: of the same task, its retry, what it was forked from.

        Raises:
            UnknownNameError: If no run or more than one fits.
        """
        from ledgerkit.replay.divergence import first_divergence

        one, other = (
            self._storage.database.frame(_PARTS, dict(zip(("session_id", "run_id"), self._resolve(run), strict=True)))
            for run in (a, b)
        )
        return first_divergence(one, other)

    def first_difference(self, a: Strategy, b: Strategy, runs: Collection[str] | None = None) -> pl.DataFrame:
        """The first step of each run whose context two strategies fill differently.

        Args:
            a: One strategy.
            b: The other.
            runs: Ids of runs; all runs if not given.

        Returns:
            One row per run that has one: ``session_id``, ``run_id``, ``step``, ``only_a``, ``only_b``, ``tokens_a``,
            ``tokens_b``. :meth:`Ledger.project` shows both contexts.

        Raises:
            UnknownNameError: If there is no such run.
        """
        from ledgerkit.replay.divergence import first_difference
        from ledgerkit.strategies import project

        tables = [first_difference(f, project(f, a), project(f, b)) for f in self.frame_batches(runs)]
        return pl.concat(tables).sort("session_id", "run_id") if tables else pl.DataFrame()
