"""What people say of runs and of things in them, and judges held against it. All of it is appended, nothing edited."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit import errors
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.judges.calibration import Calibration
    from ledgerkit.protocol.messages import AgentMessage
    from ledgerkit.store.recorder import Recorder

_OF_MESSAGE: Final = "select distinct session_id, run_id from current_history where message_id = $id"
_OF_CALL: Final = "select distinct session_id, run_id from current_history where tool_call_id = $id"
_OF_ARTIFACT: Final = "select distinct session_id, run_id from current_history where list_contains(artifact_refs, $id)"


class LedgerAnnotations:
    """People's labels, tags and notes. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    _clock: Callable[[], datetime]

    if TYPE_CHECKING:  # what the ledger itself brings

        def _resolve(self, given: str) -> tuple[str, str]: ...
        def _reviewer(self, session_id: str, run_id: str, title: str, *, wait: bool = False) -> Recorder: ...
        def _said(self) -> pl.DataFrame: ...
        def judgements(  # noqa: D102
            self, *, runs: Collection[str] | None = None, judge: str | None = None, kind: str | None = None
        ) -> pl.DataFrame: ...

    def annotate(
        self,
        target: str,
        *,
        label: str | None = None,
        tags: Sequence[str] = (),
        note: str | None = None,
        by: str,
    ) -> AgentMessage | None:
        """Appends what a person says of a run, or of a claim, message, call or artifact in one.

        Args:
            target: Id of a run, as :meth:`ledgerkit.Ledger.run` takes it, or an evidence reference:
                ``message:ID#c10-40`` for a claim, ``message:ID`` for a summary or diff.
            label: A word: ``passed`` and ``failed`` are what judges are calibrated against.
            tags: Further words.
            note: A sentence or more.
            by: Who says so.

        Returns:
            The message; ``None`` if this person's last word on the target is the same.

        Raises:
            UnknownNameError: If there is no such target.
            ValueError: If nothing is said, or by nobody.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> part = {"type": "text", "text": "Hi", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
            >>> command = {"session_id": "s1", "run_id": "r1", "kind": "USER_TASK", "actor": "user", "parts": [part]}
            >>> _ = ledger.append(lk.AppendMessageCommand.model_validate(command))
            >>> _ = ledger.annotate("r1", label="passed", tags=["short"], by="ada")
            >>> ledger.annotations().select("run_id", "label", "tags", "by").rows()
            [('r1', 'passed', ['short'], 'ada')]
        """
        from ledgerkit.judges.notes import annotation_command, annotation_run

        if not (label or tags or note):
            raise ValueError("An annotation says something: give a label, tags or a note.")
        if not by.strip():
            raise ValueError("An annotation has somebody who made it: give by.")
        session_id, run_id, reference = self._target(target)
        said = {"label": label, "tags": list(dict.fromkeys(tags)), "note": note}
        mine = self.annotations(runs=[run_id]).filter(
            "is_current", pl.col("by") == by, pl.col("reference").eq_missing(reference)
        )
        if mine.height and mine.select("label", "tags", "note").to_dicts()[-1] == said:
            return None
        review = annotation_run(by)
        recorder = self._reviewer(*review, f"annotations by {by}", wait=True)
        try:
            return recorder.append(annotation_command(review, by, (session_id, run_id, reference), said))
        finally:
            recorder.close(seal=False)

    def annotations(self, *, runs: Collection[str] | None = None, by: str | None = None) -> pl.DataFrame:
        """What people said, in the order in which they said it.

        Args:
            runs: Ids of the runs that it is about; all if not given.
            by: Only what this person said.

        Returns:
            ``message_id``, ``created_at``, ``by``, ``kind`` (``run``, or ``claim``, ``message``, ``tool-call``,
            ``artifact``), ``session_id``, ``run_id``, ``reference``, ``label``, ``tags``, ``note``, and
            ``is_current``: whether it is the person's last word on the target.
        """
        from ledgerkit.judges.notes import annotation_frame

        found = annotation_frame(self._said())
        if runs is not None:
            found = found.filter(pl.col("run_id").is_in(list(runs)))
        return found if by is None else found.filter(pl.col("by") == by)

    def calibrate(
        self, judge: str, *, kind: str = "run", rubric_hash: str | None = None, by: str | None = None
    ) -> Calibration:
        """Holds a judge's current judgements against people's labels, and appends the result.

        From then on reports that use the judge with this rubric say that it is calibrated, and how well.

        Args:
            judge: Its id, as :meth:`judgements` gives it.
            kind: What it judged: ``run``, ``claim``, ``summary`` or ``diff``.
            rubric_hash: The rubric, or the beginning of its hash, where it has judged by several.
            by: Only labels of this person; everybody's, where they agree, if not given.

        Raises:
            UnknownNameError: If there is no judgement of such a judge.
            QueryError: If it has judged by several rubrics and none is named, or people have labelled no subject.
            MissingExtraError: If the extra ``stats`` is not installed.
        """
        from ledgerkit.judges.calibration import calibrate
        from ledgerkit.judges.notes import calibration_command, labels_for
        from ledgerkit.judges.records import review_run, review_title

        judged = self.judgements(judge=judge, kind=kind).filter("is_current")
        if rubric_hash is not None:
            judged = judged.filter(pl.col("rubric_hash").str.starts_with(rubric_hash))
        if not judged.height:
            known = self.judgements(kind=kind)["judge_id"].unique()
            raise errors.UnknownNameError.among(f"judge with current judgements of the kind {kind!r}", judge, known)
        labels = labels_for(judged, self.annotations(by=by).filter("is_current"))
        made = calibrate(judged, labels)
        review = review_run(made.judge_id, made.judge_version, made.rubric_hash)
        rubric = judged.row(0, named=True)
        title = review_title(made.judge_id, rubric["rubric_id"], rubric["rubric_version"])
        recorder = self._reviewer(*review, title, wait=True)
        try:
            recorder.append(calibration_command(review, made))
        finally:
            recorder.close(seal=False)
        return made

    def calibrations(self) -> pl.DataFrame:
        """How judges did against people's labels, the last of each judge and rubric.

        Returns:
            The columns of ``judges.calibration.CALIBRATIONS``.
        """
        from ledgerkit.judges.notes import calibration_frame

        return calibration_frame(self._said())

    def verdicts(self, *, runs: Collection[str] | None = None) -> pl.DataFrame:
        """Rules first, then model judges where rules leave something unverified: one verdict a judged subject.

        Args:
            runs: Ids of judged runs; all if not given.

        Returns:
            The columns of ``judges.VERDICTS``. A model judge never overrules a failed rule, and ``is_calibrated`` says
            whether anybody knows how good it is.
        """
        from ledgerkit.judges.combining import combined

        return combined(self.judgements(runs=runs).filter("is_current"), self.calibrations())

    def _target(self, target: str) -> tuple[str, str, str | None]:
        """Session, run, and reference of what is annotated; none for a run."""
        from ledgerkit.protocol.references import EvidenceRef
        from ledgerkit.protocol.vocabulary import EvidenceKind

        queries = {
            EvidenceKind.MESSAGE: _OF_MESSAGE,
            EvidenceKind.TOOL_CALL: _OF_CALL,
            EvidenceKind.ARTIFACT: _OF_ARTIFACT,
        }
        if ":" not in target or target.split(":", 1)[0] not in [*EvidenceKind]:
            return (*self._resolve(target), None)
        ref = EvidenceRef.parse(target)
        if ref.kind not in queries:
            known = ", ".join(kind.value for kind in queries)
            raise errors.UnknownNameError(f"{target!r} names no place of a run. Take one of: {known}.", name=target)
        found = self._storage.database.frame(queries[ref.kind], {"id": ref.target}).rows()
        if len(found) != 1:
            what = "nothing" if not found else f"{len(found)} runs"
            raise errors.UnknownNameError(f"{target!r} is in {what}. Name what is in one run.", name=target)
        return (*found[0], str(ref))
