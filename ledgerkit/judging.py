"""Judgements of runs, people's annotations, and how far a judge can be trusted: all of it messages of review runs.

The rule: a judge never edits the run that it judges. What it says is appended to a run of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from ledgerkit import errors
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.judges import Judge, Material, Subject
    from ledgerkit.safety.redaction.messages import CommandRedactor
    from ledgerkit.store.recorder import Recorder
    from ledgerkit.store.sealing import Sealing

Progress = Callable[[int, int], None]
"""Called with the subjects that are done, and all."""
_BATCH_PARTS: Final = 20_000
"""Parts of the runs that are judged together: bounds memory."""
_STATES: Final = """
    select session_id, run_id, md5(string_agg(message_id, '' order by sequence_no)) as state from current_history
    where part_index = 0 and ($runs is null or list_contains($runs, run_id)) group by session_id, run_id order by all
"""
_REVIEWS: Final = "select session_id, run_id from latest_runs where relation = 'review'"
_KEYS: Final = """
    select distinct idempotency_key from current_history
    where session_id = $session and run_id = $run and idempotency_key is not null
"""
_PARTS: Final = """
    select * from parts where list_contains($runs, run_id) order by session_id, run_id, sequence_no, part_index
"""
_CALLS: Final = """
    select c.*, m.sequence_no as result_sequence_no
    from tool_calls c left join (select distinct run_id, message_id, sequence_no from messages) m
        on c.run_id = m.run_id and c.result_message_id = m.message_id
    where list_contains($runs, c.run_id) order by all
"""
_SAID: Final = """
    select p.session_id as review_session_id, p.run_id as review_run_id, message_id, created_at, sequence_no, actor,
        part_trust_level, data, data->>'$.note' as note
    from parts p join latest_runs r using (session_id, run_id)
    where r.relation = 'review' and kind = 'JUDGE_RESULT' and part_type = 'json' and data is not null
    order by created_at, p.session_id, p.run_id, sequence_no, part_index
"""


class LedgerJudging:
    """Judges and people. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    _clock: Callable[[], datetime]

    if TYPE_CHECKING:  # what the ledger itself brings

        @property
        def _writable(self) -> Storage: ...
        def _sealing(self) -> Sealing: ...
        def _command_redactor(self, session_id: str, run_id: str) -> CommandRedactor: ...
        def _run_batches(self, runs: Collection[str] | None, parts: int = 300_000) -> Iterator[list[str]]: ...
        def _resolve(self, given: str) -> tuple[str, str]: ...
        def runs(self) -> pl.DataFrame: ...  # noqa: D102
        def check_claims(self, *, runs: str | Sequence[str] = ()) -> pl.DataFrame: ...  # noqa: D102
        def check_compactions(self, runs: Collection[str] | None = None) -> pl.DataFrame: ...  # noqa: D102
        def tainted_actions(  # noqa: D102
            self, *, runs: str | Sequence[str] = (), tool_classes: Mapping[str, str] | None = None
        ) -> pl.DataFrame: ...
        def injection_markers(  # noqa: D102
            self, *, rules: Collection[str] | None = None, runs: str | Sequence[str] = (), everything: bool = False
        ) -> pl.DataFrame: ...

    def judge(
        self,
        judge: Judge,
        *,
        runs: Collection[str] | None = None,
        kind: str = "run",
        progress: Progress | None = None,
    ) -> pl.DataFrame:
        """Has runs judged, or the claims, summaries or diffs in them, and appends what the judge says.

        What the judge has judged before by the same rubric, in the same state, is not judged again. Runs that hold
        judgements themselves are left out.

        Args:
            judge: The judge: ``judges.RuleJudge()``, a ``judges.ModelJudge``, or one of your own.
            runs: Ids of runs; all runs if not given.
            kind: What is judged: ``run``, ``claim``, ``summary`` or ``diff``.
            progress: Called after each subject.

        Returns:
            The judgements of these subjects by this judge, new and old, as :meth:`judgements` gives them, with
            ``is_new``.

        Raises:
            UnknownNameError: If there is no such run or kind.
            RunLockedError: If another process is judging with the same judge and rubric.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> from ledgerkit import judges
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> ledger.judge(judges.RuleJudge()).height
            0
        """
        from ledgerkit.judges.rubric import SubjectKind

        if kind not in [*SubjectKind]:
            raise errors.UnknownNameError.among("kind of subject", kind, [*SubjectKind])
        if SubjectKind(kind) not in judge.rubric.kinds:
            known = ", ".join(one.value for one in judge.rubric.kinds)
            raise errors.UnknownNameError(
                f"Rubric {judge.rubric.rubric_id!r} is not for the kind {kind!r}. It is for: {known}.", name=kind
            )
        asked, new = self._judged(judge, self._reviewable(runs), SubjectKind(kind), progress)
        wanted = pl.DataFrame(asked, schema=dict.fromkeys(_SUBJECT, pl.String), orient="row")
        mine = self.judgements().filter(
            pl.col("judge_id") == judge.judge_id,
            pl.col("judge_version") == judge.version,
            pl.col("rubric_hash") == judge.rubric.hash,
        )
        found = mine.join(wanted, on=list(_SUBJECT), how="semi", nulls_equal=True, maintain_order="left")
        return found.with_columns(is_new=pl.col("message_id").is_in(new)).sort(
            "session_id", "run_id", "kind", "reference", nulls_last=False
        )

    def judgements(
        self, *, runs: Collection[str] | None = None, judge: str | None = None, kind: str | None = None
    ) -> pl.DataFrame:
        """What judges said, in the order in which they said it.

        Args:
            runs: Ids of judged runs; all if not given.
            judge: Only those of this judge.
            kind: Only those of this kind of subject.

        Returns:
            The columns of ``judges.JUDGEMENTS``, with ``is_current``: whether it is the judge's last word by this
            rubric on the subject, and the run has had no further message since.
        """
        from ledgerkit.judges.records import judgement_frame

        found = judgement_frame(self._said())
        states = self._storage.database.frame(_STATES, {"runs": None}).rename({"state": "state_now"})
        subject = ["judge_id", "judge_version", "rubric_hash", "kind", "run_id", "reference"]
        is_last = pl.int_range(pl.len()).over(subject) == pl.len().over(subject) - 1
        found = found.join(states, on=["session_id", "run_id"], how="left", maintain_order="left")
        found = found.with_columns(is_current=is_last & (pl.col("state") == pl.col("state_now")).fill_null(value=False))
        if runs is not None:
            found = found.filter(pl.col("run_id").is_in(list(runs)))
        if judge is not None:
            found = found.filter(pl.col("judge_id") == judge)
        return (found if kind is None else found.filter(pl.col("kind") == kind)).drop("state_now")

    def rebuild_judgements(self, *, judge: str | None = None) -> pl.DataFrame:
        """Makes the judgements of model judges again from their recorded answers; nobody is asked.

        Args:
            judge: Only those of this judge.

        Returns:
            ``message_id``, ``judge_id``, ``run_id``, ``label``, ``score``, ``reason``, and ``is_same``: whether the
            recorded judgement says the same, word for word.
        """
        from ledgerkit.judges.rebuilding import rebuilt_frame

        parts = self._said()
        return rebuilt_frame(parts if judge is None else parts.filter(pl.col("actor") == judge))

    # The work

    def _judged(
        self, judge: Judge, runs: list[str], kind: str, progress: Progress | None
    ) -> tuple[list[tuple[Any, ...]], list[str]]:
        """Judges subjects that were not judged before: all subjects that there are, and the messages that are new."""
        from ledgerkit.judges.records import judgement_key, review_run

        review = review_run(judge.judge_id, judge.version, judge.rubric.hash)
        there = set(self._storage.database.frame(_KEYS, {"session": review[0], "run": review[1]})["idempotency_key"])
        asked, new, done = list[tuple[Any, ...]](), list[str](), 0
        for batch in self._run_batches(runs, _BATCH_PARTS):
            subjects, material = self._subjects(batch, kind, there)
            asked += [_row(one) for one in subjects]
            fresh = [one for one in subjects if judgement_key(one) not in there]
            if fresh:
                made = material or self._material(batch)
                new += self._append(judge, fresh, made, there, (progress, done))
                done += len(fresh)
        return asked, new

    def _append(
        self,
        judge: Judge,
        subjects: list[Subject],
        material: Material,
        there: Collection[str],
        told: tuple[Progress | None, int],
    ) -> list[str]:
        from ledgerkit.judges.assessing import assessed
        from ledgerkit.judges.records import review_run, review_title

        review = review_run(judge.judge_id, judge.version, judge.rubric.hash)
        title = review_title(judge.judge_id, judge.rubric.rubric_id, judge.rubric.version)
        (progress, before), new = told, list[str]()
        with self._reviewer(*review, title) as recorder:
            for number, commands in enumerate(assessed(judge, material, subjects, there), start=1):
                new.append(recorder.append_many(commands)[-1].message_id)
                if progress is not None:
                    progress(before + number, before + len(subjects))
        return new

    def _reviewer(self, session_id: str, run_id: str, title: str, *, wait: bool = False) -> Recorder:
        """Records a review run, or goes on with it."""
        from ledgerkit.judges.records import AGENT, RELATION
        from ledgerkit.store.recorder import Recorder

        facts = {"agent": AGENT, "relation": RELATION, "title": title}
        redactor = self._command_redactor(session_id, run_id)
        run = (session_id, run_id)
        return Recorder(self._writable, run, facts, self._sealing(), self._clock, redact=redactor, wait=wait)

    def _reviewable(self, runs: Collection[str] | None) -> list[str]:
        states = self._storage.database.frame(_STATES, {"runs": None})
        mine = states.join(self._storage.database.frame(_REVIEWS), on=["session_id", "run_id"], how="anti")
        ids = mine["run_id"].unique().sort().to_list()
        if runs is None:
            return ids
        if missing := sorted(set(runs) - set(ids)):
            raise errors.UnknownNameError(
                f"No run {missing[0]!r} to judge. List them with: ledgerkit runs", name=missing[0]
            )
        return sorted(set(runs))

    def _subjects(self, runs: list[str], kind: str, there: Collection[str]) -> tuple[list[Subject], Material | None]:
        """What is to be judged in some runs; and their rows, where they were needed to tell."""
        from ledgerkit.judges.judgement import Subject
        from ledgerkit.judges.rubric import SubjectKind
        from ledgerkit.protocol.references import EvidenceRef

        states = self._storage.database.frame(_STATES, {"runs": runs})
        if kind == SubjectKind.RUN:
            rows = states.rows()
            return [Subject(kind=SubjectKind.RUN, session_id=s, run_id=r, state=state) for s, r, state in rows], None
        material = self._material(runs)
        keys = ["session_id", "run_id", "place"]
        places = {
            SubjectKind.CLAIM: lambda: material.claims.select(keys),
            SubjectKind.SUMMARY: lambda: material.compactions.select(
                *keys[:2], place=pl.format("message:{}", "message_id")
            ),
            SubjectKind.DIFF: lambda: material.file_changes.select(
                *keys[:2], place=pl.format("message:{}", "message_id")
            ),
        }
        found = places[SubjectKind(kind)]().unique(maintain_order=True).join(states, on=keys[:2], maintain_order="left")
        subjects = [
            Subject(kind=SubjectKind(kind), session_id=s, run_id=r, reference=EvidenceRef.parse(place), state=state)
            for s, r, place, state in found.iter_rows()
        ]
        return subjects, material

    def _material(self, runs: list[str]) -> Material:
        """The rows of some runs, each frame read when it is first asked for."""
        from ledgerkit.judges.material import Material

        ids, frame = {"runs": runs}, self._storage.database.frame
        of = "select * from {} where list_contains($runs, run_id) order by all"
        readers: dict[str, Callable[[], pl.DataFrame]] = {
            "runs": lambda: self.runs().filter(pl.col("run_id").is_in(runs)).sort("session_id", "run_id"),
            "parts": lambda: frame(_PARTS, ids),
            "tool_calls": lambda: frame(_CALLS, ids),
            "verifier_results": lambda: frame(of.format("verifier_results"), ids),
            "file_changes": lambda: frame(of.format("file_changes"), ids),
            "claims": lambda: self.check_claims(runs=runs),
            "tainted": lambda: self.tainted_actions(runs=runs),
            "markers": lambda: self.injection_markers(runs=runs),
            "compactions": lambda: self.check_compactions(runs),
        }
        return Material(lambda name: readers[name]())

    def _said(self) -> pl.DataFrame:
        return self._storage.database.frame(_SAID)


_SUBJECT: Final = ("kind", "session_id", "run_id", "reference", "state")


def _row(subject: Subject) -> tuple[Any, ...]:
    reference = None if subject.reference is None else str(subject.reference)
    return subject.kind.value, subject.session_id, subject.run_id, reference, subject.state
