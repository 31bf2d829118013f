"""A ledger: the noun a user holds, and the only place that joins storage and logic. Every method is one call.

What only some methods need (importers, protocol models) is loaded by them, so that importing ledgerkit stays cheap.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import polars as pl

from ledgerkit import cost, errors, tables, tokens
from ledgerkit.annotating import LedgerAnnotations
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
from ledgerkit.protocol.identifiers import uuid7
from ledgerkit.protocol.vocabulary import ArtifactLabel, Audience, MessageKind
from ledgerkit.replays import LedgerReplays
from ledgerkit.run import Run
from ledgerkit.safety.gate import check_output
from ledgerkit.search import search_parts
from ledgerkit.selections import LedgerSelections
from ledgerkit.snapshots import LedgerSnapshots
from ledgerkit.spending import LedgerSpending
from ledgerkit.store.place import place_of
from ledgerkit.store.storage import Storage, open_storage

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from typing import Unpack

    from ledgerkit.ingest.account import ImportAccount
    from ledgerkit.ingest.importing import Progress
    from ledgerkit.ingest.labels import LabelAccount
    from ledgerkit.protocol.messages import AgentMessage, AppendMessageCommand, MessageRange
    from ledgerkit.safety.redaction.messages import CommandRedactor
    from ledgerkit.store.facts import RecordedFacts
    from ledgerkit.store.recorder import Recorder

# Of checks that ran at once, the worst counts. A recorded verdict that says nothing is no check (a hook, often).
_LAST_CHECKS = """
    select session_id, run_id, arg_max(verdict, (sequence_no, list_position(['passed', 'inconclusive', 'failed'],
        verdict))) as last_check
    from verifier_results
    where scope is distinct from 'run' and superseded_by is null and (source = 'parsed' or verdict <> 'inconclusive')
    group by session_id, run_id
"""
_LABELS = """
    select kind, part_trust_level, part_visibility, count(*) as parts, sum(token_count)::bigint as tokens
    from parts group by all order by all
"""
_SHORTEST_PREFIX = 4
_SHOWN = 8
"""Characters at the end of an id that tables show, and that one may begin to type."""
_THERE = """
    select h.session_id, h.run_id, relation from current_history h left join latest_runs r
        on h.session_id = r.session_id and h.run_id = r.run_id
    where h.sequence_no = 0 and h.part_index = 0 order by all
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

    # Writing

    def import_logs(
        self,
        *paths: str | os.PathLike[str],
        keep_reasoning: bool = False,
        redact: str = "on",
        count_tokens: bool = True,
        jobs: int | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
        now: datetime | None = None,
    ) -> ImportAccount:
        """Imports agent logs: every file at and below some paths whose format is known by its content.

        Importing again adds nothing; a file that has grown continues where it ended.

        Args:
            paths: Files and folders.
            keep_reasoning: Keep hidden reasoning, as restricted artifacts that are never projected. Without it only
                its size and hash are stored.
            redact: ``on`` replaces secrets before anything is written (see docs/redaction.md), ``audit`` counts them
                and lets them in, ``off`` does not look.
            count_tokens: Count the tokens of every part. Without it they stay unknown (null), and so does all that
                is computed from them; nothing fills them in later.
            jobs: Worker processes that read files and make rows, one for each usable core (two at most) if not
                given. A small import needs none. Rows, ids and hashes do not depend on it.
            executor: Does that work instead: any :class:`concurrent.futures.Executor` whose workers see the files
                (Dask: ``Client(...).get_executor()``). Texts travel to its workers as they stand in the logs.
            progress: Called after each file with bytes done, bytes in all and the file.
            now: Time of the import; the clock's if not given.

        Returns:
            What became of every record of the files.

        Raises:
            ImportSourceError: If there is nothing at a path.
            ImportWorkerError: If a worker process was lost; nothing of the batch that it worked on was written.
            UnknownNameError: If there is no such mode of redaction.
        """
        from ledgerkit.ingest.importing import ImportOptions, import_files
        from ledgerkit.ingest.redacting import RedactionMode

        if redact not in (modes := [mode.value for mode in RedactionMode]):
            raise errors.UnknownNameError.among("mode of redaction", redact, modes)
        moment = now or self._clock()
        options = ImportOptions(
            uuid7(moment, self._random(10)),
            moment,
            self._random,
            keep_reasoning=keep_reasoning,
            redactor=None if redact == RedactionMode.OFF else self.redactor,
            redaction=RedactionMode(redact),
            counts_tokens=count_tokens,
            jobs=jobs,
            executor=executor,
        )
        return import_files(self._writable, [os.fspath(path) for path in paths], options, progress)

    def import_labels(self, path: str | os.PathLike[str]) -> LabelAccount:
        """Gives runs outcomes and labels from a table: CSV, JSON, JSON Lines or Parquet.

        A column ``run_id``, ``session_id`` or ``task_id`` says which runs a row is about; ``outcome`` (passed,
        failed, inconclusive; true and false) becomes the run's outcome, every other column a label. Both are messages
        of the runs. The same table again adds nothing.

        Returns:
            How many rows found their runs, and which did not.

        Raises:
            ImportSourceError: If it is no table, names no runs, or has an outcome that is none.
        """
        from ledgerkit.ingest.labels import apply_labels

        keys = "select session_id, run_id, idempotency_key from stored_history where idempotency_key like 'labels:%'"
        there = set(self._storage.database.frame(keys).rows())

        def append(command: AppendMessageCommand) -> bool:
            self.append(command)
            return (command.session_id, command.run_id, command.idempotency_key) not in there

        runs = self._storage.database.frame("select session_id, run_id, task_id from runs")
        return apply_labels(Path(path), runs, append)

    def record(
        self,
        session_id: str | None = None,
        run_id: str | None = None,
        *,
        redact: bool = True,
        **facts: Unpack[RecordedFacts],
    ) -> Recorder:
        """Records a live run: each message is on disk before ``append`` returns.

        A run has one writer at a time. One whose writer died is taken up where it ended. Close the recorder (or use
        ``with``) to commit what it recorded to the history; readers see it before that just as well.

        Args:
            session_id: The session; a new one if not given.
            run_id: The run in it; a new one if not given.
            redact: Replace secrets before anything is written. What one message gives away is replaced in later ones.
            facts: What is known about the run: ``agent``, ``agent_version``, ``repository``, ``branch``,
                ``working_directory``, ``task_id``, ``title``, ``parent_run_id``, ``forked_at``, ``relation``.

        Raises:
            RunLockedError: If another recorder is writing the run.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> part = {"type": "text", "text": "Hi", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
            >>> with ledger.record("s1", "r1", agent="mine") as recorder:
            ...     command = {"session_id": "s1", "run_id": "r1", "kind": "USER_TASK", "actor": "user"}
            ...     message = recorder.append(lk.AppendMessageCommand(**command, parts=[part]))
            >>> message.sequence_no
            0
        """
        from ledgerkit.store.recorder import Recorder

        moment = self._clock()
        run = (session_id or uuid7(moment, self._random(10)), run_id or uuid7(moment, self._random(10)))
        known = {name: None if value is None else str(value) for name, value in facts.items()}
        redactor = self._command_redactor(*run) if redact else None
        if redactor is not None:
            known = redactor.facts(known)
        return Recorder(self._writable, run, known, self._sealing(), self._clock, redact=redactor)

    def _command_redactor(self, session_id: str, run_id: str) -> CommandRedactor:
        from ledgerkit.safety.redaction import SecretMemory
        from ledgerkit.safety.redaction.messages import CommandRedactor
        from ledgerkit.store.redactions import journaled_fingerprints, known_fingerprints

        sealed = known_fingerprints(self._storage.database, [session_id], self.redactor.key_id).get(session_id, {})
        journaled = journaled_fingerprints(self._storage.layout.journal_path(session_id, run_id))
        return CommandRedactor(self.redactor, SecretMemory(fingerprints={**journaled, **sealed}))

    def append(self, command: AppendMessageCommand, *, redact: bool = True) -> AgentMessage:
        """Appends one message to a run, as its next, and returns when it is on disk.

        For many messages :meth:`record` is faster. This waits while a recorder writes the run: do not call it for a
        run that the same thread is recording.

        Args:
            command: The message.
            redact: Replace secrets before anything is written.

        Raises:
            IdempotencyError: If its idempotency key stands in the run with other content.
        """
        from ledgerkit.store.recorder import Recorder

        run = (command.session_id, command.run_id)
        redactor = self._command_redactor(*run) if redact else None
        recorder = Recorder(self._writable, run, {}, self._sealing(), self._clock, redact=redactor, wait=True)
        try:
            return recorder.append(command)
        finally:
            recorder.close(seal=False)

    # Reading messages

    def list_messages(
        self, session_id: str, run_id: str, message_range: MessageRange | None = None
    ) -> list[AgentMessage]:
        """Messages of a run in order, all of them or a range by sequence number.

        Raises:
            UnknownNameError: If there is no such run.
        """
        from ledgerkit.store import reading

        return reading.list_messages(self._storage.database, session_id, run_id, message_range)

    def find_by_id(self, message_id: str) -> AgentMessage | None:
        """A message by its id; ``None`` if there is none."""
        from ledgerkit.store import reading

        return reading.find_by_id(self._storage.database, message_id)

    def artifact(self, content_id: str) -> tuple[bytes, str, ArtifactLabel]:
        """Content, media type and label of an artifact.

        Raises:
            UnknownNameError: If there is none of that id.
        """
        from ledgerkit.store.contents import read_artifact

        found = read_artifact(self._storage.database, content_id.removeprefix("artifact:"))
        if found is None:
            raise errors.UnknownNameError(f"No artifact {content_id!r}.", name=content_id)
        return found

    # Asking

    def sql(self, query: str, parameters: Sequence[object] | Mapping[str, object] | None = None) -> pl.DataFrame:
        """Runs one SQL query (DuckDB) over the views; :meth:`describe` lists them.

        Raises:
            QueryError: If it is no query, or fails.
            UnknownNameError: If it names a table or column that is not there.
        """
        return self._storage.database.query(query, parameters)

    def scan(self, name: str) -> pl.LazyFrame:
        """A view as a lazy Polars frame.

        Raises:
            UnknownNameError: If there is no such view.
        """
        return self._storage.database.scan(name)

    def search(
        self,
        text: str,
        *,
        kind: MessageKind | str | None = None,
        limit: int | None = 100,
        audience: Audience = Audience.PEOPLE,
    ) -> pl.DataFrame:
        """Parts that hold a text, whatever its case; also where an artifact holds the whole of a part.

        Args:
            text: What to look for.
            kind: Only messages of this kind.
            limit: Rows at most; all of them if ``None``.
            audience: Whose eyes: parts that this audience may not see are left out.

        Returns:
            One row a part: ``run_id, sequence_no, part_index, message_id, kind, tool_name, path, part_trust_level,
            created_at, excerpt`` (the place and what stands around it).
        """
        wanted = None if kind is None else MessageKind(kind).value
        return search_parts(self._storage.database, text, kind=wanted, limit=limit, audience=audience)

    def runs(self) -> pl.DataFrame:
        """The ``runs`` view with each run's ``cost``, ``unpriced_calls`` and ``last_check``, latest first.

        ``last_check`` is the verdict of the last test, build, lint or type check that the run made, recorded or read
        from what it printed (view ``verifier_results``); null where there was none.
        """
        runs = self._storage.database.frame("select * from runs")
        keys = ["session_id", "run_id"]
        by_run = cost.group_costs(self.calls(), keys).select(*keys, "cost", "unpriced_calls")
        checks = self._storage.database.frame(_LAST_CHECKS)
        runs = runs.join(by_run, on=keys, how="left").join(checks, on=keys, how="left")
        return runs.sort("started_at", "run_id", descending=True, nulls_last=True)

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

    def describe(self, name: str | None = None) -> pl.DataFrame:
        """The views (``name``, ``one_row_is``), or the columns of one (``column``, ``type``, ``doc``).

        Raises:
            UnknownNameError: If there is no such view.
        """
        if name is None:
            return pl.DataFrame(
                {"name": list(tables.VIEWS), "one_row_is": [v.one_row_is for v in tables.VIEWS.values()]}
            )
        if name not in tables.VIEWS:
            raise errors.UnknownNameError.among("table", name, tables.VIEWS)
        columns = tables.VIEWS[name].columns
        return pl.DataFrame(
            {
                "column": [c.name for c in columns],
                "type": [str(c.type) for c in columns],
                "doc": [c.doc for c in columns],
            }
        )

    def _price(self, calls: pl.DataFrame) -> pl.DataFrame:
        return cost.price_calls(calls, self.prices)

    def _resolve(self, given: str) -> tuple[str, str]:
        there, ids = self._storage.database.kept(_THERE), pl.col("session_id", "run_id")
        found = there.filter(pl.any_horizontal(ids == given))
        if not found.height and len(given) >= _SHORTEST_PREFIX:
            lower, some = ids.str.to_lowercase(), given.lower()
            shown = lower.str.tail(_SHOWN)
            fits = (lower.str.starts_with(some), lower.str.ends_with(some), shown.str.starts_with(some))
            found = there.filter(pl.any_horizontal(*fits))
        main = found.filter(pl.col("relation").is_null())
        if found.height == 1 or (main.height == 1 and found["session_id"].n_unique() == 1):
            session, run, _ = (found if found.height == 1 else main).row(0)
            return session, run
        if found.height == 0:
            near = difflib.get_close_matches(given.lower(), there["run_id"].str.tail(_SHOWN).unique().sort().to_list())
            maybe = f" Did you mean {' or '.join(near)}?" if near else ""
            raise errors.UnknownNameError(
                f"No run or session {given!r}.{maybe} List them with: ledgerkit runs", name=given, available=near
            )
        ids = found["run_id"].sort().to_list()
        raise errors.UnknownNameError(
            f"{given!r} fits {found.height} runs: {', '.join(ids[:5])}{' …' if len(ids) > 5 else ''}. "
            "Give more of the id.",
            name=given,
            available=ids,
        )

    # Housekeeping

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
