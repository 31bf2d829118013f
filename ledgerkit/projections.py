"""Contexts of single steps, rendered: what a model is given at a step of a run, and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import polars as pl

from ledgerkit.errors import LedgerError, ProtocolError
from ledgerkit.safety.gate import check_output
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.memory.working import RunRecord
    from ledgerkit.projection import Context, ContextSetup, Supplied
    from ledgerkit.projection.projector import Material
    from ledgerkit.protocol.budget import TokenBudget
    from ledgerkit.protocol.capabilities import ProviderInterface
    from ledgerkit.protocol.contracts import PermissionProfile
    from ledgerkit.protocol.memory import WorkingMemory
    from ledgerkit.safety.redaction import SecretRedactor
    from ledgerkit.strategies import RunFrames, Strategy

_KEPT_RUNS: Final = 4
_KEPT_STEPS: Final = 4
T = TypeVar("T")
_SETUPS: Final = """
    select run_id, data from parts where list_contains($runs, run_id) and kind = 'SYSTEM_INSTRUCTION'
        and part_trust_level = 'PLATFORM_TRUSTED' and contains(data, '"agent setup"')
    order by run_id, sequence_no, part_index
"""
_SAID: Final = (
    "message_id", "part_index", "text", "lines", "data", "tool_call_id", "status", "path", "content_type",
    "artifact_refs", "part_visibility",
)  # fmt: skip


class LedgerProjections:
    """The context projector over a ledger. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    _context_materials: dict[tuple[str, str, str], Material]

    if TYPE_CHECKING:  # what the ledger itself brings

        @property
        def redactor(self) -> SecretRedactor: ...  # noqa: D102
        def _resolve(self, given: str) -> tuple[str, str]: ...
        def _record_of(self, session_id: str, run_id: str) -> RunRecord: ...
        def _whole_run(self, run: str) -> tuple[RunFrames, pl.DataFrame]: ...

    def project(
        self,
        run: str,
        step: int | None = None,
        strategy: Strategy | None = None,
        budget: TokenBudget | int | None = None,
        *,
        provider: ProviderInterface | str | None = None,
        supplied: Supplied | None = None,
        allow: Collection[str] = (),
    ) -> Context:
        """The context of one step of a run under a strategy: a request, with an account of every part of the ledger.

        Without a budget it is the conversation that the strategy leaves, in its order. With one it has the layout of
        specification §13: sections in a fixed order, each within its share, with working memory and repository map.

        Args:
            run: Id of the run, as :meth:`Ledger.run` takes it.
            step: The step; the number of steps stands for the one that comes next, which is also the default.
            strategy: What stands where; ``strategies.AsRecorded()`` if not given.
            budget: How the context window is divided, or the tokens of a window divided as usual.
            provider: Refuse the context if this interface could not take it. ``context.payload(…)`` gives its form.
            supplied: Policies, profile, task contract, tools and response contract, which logs seldom hold.
            allow: Findings of the last scan for secrets that may pass, by name, or ``all``.

        Raises:
            UnknownNameError: If no run or more than one fits, or the run has no such step.
            ContextError: If what must stand whole does not fit the window.
            OutputBlockedError: If the context holds what looks like a secret.
            ProtocolError: If a text would leave its section, or the provider could not take the request.

        Example:
            >>> import json, tempfile, ledgerkit as lk
            >>> from pathlib import Path
            >>> log = Path(tempfile.mkdtemp(), "chat.jsonl")
            >>> said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
            >>> _ = log.write_text(json.dumps({"messages": said}))
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> _ = ledger.import_logs(log)
            >>> [message["text"] for message in ledger.project(ledger.runs()["run_id"][0], 0).recorded_messages()]
            ['Hi']
        """
        from ledgerkit.projection import ContextProjector, Supplied
        from ledgerkit.protocol.budget import TokenBudget
        from ledgerkit.strategies import AsRecorded
        from ledgerkit.tokens import TokenCounter

        session_id, run_id = self._resolve(run)
        material = self._context_material(session_id, run_id)
        shares = TokenBudget(context_window=budget) if isinstance(budget, int) else budget
        projector = ContextProjector(
            strategy if strategy is not None else AsRecorded(),
            TokenCounter().count_many,
            shares,
            supplied or Supplied(),
        )
        wanted = int(material.frames.runs["steps"][0]) - 1 if step is None else step
        context = projector.project(material, wanted)
        check_output("The context", context.to_json(), self.redactor, allow=allow)
        if provider is not None:
            context.payload(provider)
        return context

    def recorded_context(self, run: str, step: int) -> Context:
        """The context that a recorded run had at a step, projected again from the ledger alone.

        For runs of an agent that records what its contexts are projected with, as ledgerkit's own does. The digest
        is the ``request_digest`` in the metadata of the step's answer, if the ledger still says what it said.

        Args:
            run: Id of the run.
            step: The step.

        Raises:
            UnknownNameError: If no run or more than one fits, or it has no such step.
            LedgerError: If the run does not hold its set-up.
        """
        _, run_id = self._resolve(run)
        setup = self._recorded_setups([run_id]).get(run_id)
        if setup is None:
            raise LedgerError(f"The run {run_id!r} does not hold what its contexts were projected with.")
        return self.project(run_id, step, *setup.arguments, supplied=setup.supplied)

    def _recorded_setups(self, runs: Sequence[str]) -> Mapping[str, ContextSetup]:
        """What the contexts of runs were projected with, by run, of those that say."""
        said = self._storage.database.frame(_SETUPS, {"runs": list(runs)})
        found = {run: _recorded_setup(data) for run, data in said.iter_rows()}
        return {run: setup for run, setup in found.items() if setup is not None}

    def _context_material(self, session_id: str, run_id: str) -> Material:
        """What a run's contexts are made of; kept for the last runs that were asked for, while nothing is written."""
        from ledgerkit.projection.projector import Material

        key = (session_id, run_id, repr(self._storage.database.state()))
        if (known := self._context_materials.pop(key, None)) is not None:
            self._context_materials[key] = known
            return known
        frames, contents = self._whole_run(run_id)
        at = frames.steps["created_at"].drop_nulls().max()

        @cache
        def record() -> RunRecord:
            return self._record_of(session_id, run_id)

        material = Material(
            session_id,
            run_id,
            frames,
            contents.select(*_SAID),
            permissions=_of_last_steps(
                lambda step: _permissions(
                    contents.filter(pl.col("visible_from") <= step),
                    (session_id, run_id),
                    at if isinstance(at, datetime) else None,
                )
            ),
            memory=_of_last_steps(lambda step: _memory(record(), step)),
            files=_of_last_steps(lambda step: _files(record(), step)),
            summaries=lambda step, tokens: _summary(record(), step, tokens),
        )
        while len(self._context_materials) >= _KEPT_RUNS:
            del self._context_materials[next(iter(self._context_materials))]
        self._context_materials[key] = material
        return material


def _of_last_steps(made: Callable[[int], T]) -> Callable[[int], T]:
    """The same, kept for the steps that were asked for last: one step is looked at under many strategies."""
    return lru_cache(_KEPT_STEPS)(made)


def _recorded_setup(text: str) -> ContextSetup | None:
    """A set-up from the data of a part; ``None`` if it is none."""
    from ledgerkit.projection.recorded import NOTE, ContextSetup

    data = json.loads(text)
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("note") != NOTE:
        return None
    try:
        return ContextSetup.of_data(cast("dict[str, Any]", data))
    except (ProtocolError, KeyError, ValueError, TypeError, AttributeError):  # another program's data of that name
        return None


def _permissions(
    parts: pl.DataFrame, run: tuple[str, str], at: datetime | None
) -> tuple[PermissionProfile | None, frozenset[str]]:
    """What the parts of a run state of its permissions: the last profile, and tools that were approved."""
    from ledgerkit.safety.permissions.recorded import Limits, approved_tools, stated_limits

    limits = stated_limits(parts).get(run, Limits())
    profile = None if limits.profile is None else limits.profile[0]
    return profile, approved_tools(parts, limits.approvals, at)


def _memory(record: RunRecord, step: int) -> WorkingMemory:
    from ledgerkit.memory.working import working_memory

    return working_memory(record, step=step)


def _files(record: RunRecord, step: int) -> pl.DataFrame:
    """Files that a run saw or changed up to a step."""
    seen = record.up_to(step)
    lines = pl.col("data").str.json_path_match("$.total_lines").cast(pl.Int64, strict=False)
    read = (
        seen.parts.filter(pl.col("kind") == "FILE_OBSERVATION", pl.col("path").is_not_null())
        .group_by("path")
        .agg(lines=lines.drop_nulls().last(), read_at=pl.col("sequence_no").max())
    )
    changed = (
        seen.file_changes.filter(pl.col("path").is_not_null())
        .group_by("path")
        .agg(changed_at=pl.col("sequence_no").max())
    )
    return read.join(changed, on="path", how="full", coalesce=True).sort("path")


def _summary(record: RunRecord, step: int, tokens: int) -> str:
    """A summary from the ledger in place of the one that a strategy only assumed, cut to its tokens by lines."""
    from ledgerkit.memory.summaries import EvidenceBoundSummarizer
    from ledgerkit.projection.written import summary_text
    from ledgerkit.tokens import count_many

    return summary_text(EvidenceBoundSummarizer().summarise(record, step), tokens, count_many)
