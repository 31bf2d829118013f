"""Exports: runs of a ledger as files of another format, through labels and the output gate.

What leaves is what its audience may see, scanned once more for secrets as a whole. What the format cannot say is
counted.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit import errors
from ledgerkit.protocol.vocabulary import ArtifactLabel, Audience
from ledgerkit.safety.gate import check_output
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.exporters import ExportFormat
    from ledgerkit.exporters.losses import Loss, Losses
    from ledgerkit.exporters.material import Material
    from ledgerkit.safety.redaction import SecretRedactor

_SESSIONS: Final = 64
"""Sessions whose rows are in memory at once."""
_CHOSEN: Final = "list_contains($sessions, session_id) and list_contains($runs, run_id)"
_RUNS: Final = f"select * from runs where {_CHOSEN}"  # noqa: S608
_HISTORY: Final = f"""
    select * from current_history where {_CHOSEN} order by session_id, run_id, sequence_no, part_index
"""  # noqa: S608
_CALLS: Final = f"select * from model_calls where {_CHOSEN} order by session_id, run_id, step, call_id"  # noqa: S608
_ARTIFACTS: Final = """
    select content_id, any_value(media_type) as media_type, any_value(label) as label, any_value(content) as content
    from stored_artifacts where list_contains($ids, content_id) and list_contains($labels, label)
    group by content_id order by content_id
"""
_ALL: Final = "select session_id, run_id from runs order by session_id, run_id"


@dataclass(frozen=True)
class ExportAccount:
    """What an export wrote, and what it left out.

    Attributes:
        format: The format.
        files: The files, in order.
        bytes: Their size in all.
        runs: Runs in them.
        messages: Messages of the runs that the files say.
        losses: What is left out, by kind, field and reason.
    """

    format: str
    files: tuple[Path, ...]
    bytes: int
    runs: int
    messages: int
    losses: tuple[Loss, ...]

    def frame(self) -> pl.DataFrame:
        """The losses as rows: ``kind, field, reason, count``."""
        from ledgerkit.exporters.losses import loss_frame

        return loss_frame(self.losses)


class LedgerExports:
    """Exports of runs. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage

    if TYPE_CHECKING:  # what the ledger itself brings

        @property
        def redactor(self) -> SecretRedactor: ...  # noqa: D102
        def _resolve(self, given: str) -> tuple[str, str]: ...

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: str,
        runs: str | Sequence[str] = (),
        audience: Audience = Audience.PEOPLE,
        allow: Collection[str] = (),
        overwrite: bool = False,
    ) -> ExportAccount:
        """Writes runs as files of another format. The same runs give the same bytes.

        Args:
            path: The folder to write to, made if it is not there; or a file, if its name ends as those of the format
                do and the runs make one document.
            format: ``atif`` (a trajectory for each run, its subagents within it), ``scout`` (a database of Inspect
                Scout) or ``jsonl`` (ledgerkit's own, a file for each session: nothing of a message is lost).
            runs: Ids of runs, as :meth:`ledgerkit.Ledger.run` takes them; all runs if not given.
            audience: Whose eyes: what this audience may not see is withheld, and counted.
            allow: Findings of the last scan for secrets that may pass, by name, or ``all``.
            overwrite: Replace files of the same names.

        Returns:
            What was written, and what was left out and why.

        Raises:
            UnknownNameError: If there is no such format or run.
            ExportTargetError: If something stands in the way.
            OutputBlockedError: If a document holds what looks like a secret. Nothing is written then.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> from ledgerkit.protocol.messages import AppendMessageCommand
            >>> folder = tempfile.mkdtemp()
            >>> ledger = lk.open(folder + "/runs.ledger")
            >>> part = {"type": "text", "text": "Hi", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
            >>> command = {"session_id": "s1", "run_id": "r1", "kind": "USER_TASK", "actor": "user", "parts": [part]}
            >>> _ = ledger.append(AppendMessageCommand.model_validate(command))
            >>> account = ledger.export(folder + "/out", format="atif")
            >>> [file.name for file in account.files], account.runs, account.messages
            (['r1.json'], 1, 1)
        """
        from ledgerkit.exporters import FORMATS
        from ledgerkit.exporters.files import Staging
        from ledgerkit.exporters.losses import Losses

        if format not in FORMATS:
            raise errors.UnknownNameError.among("export format", format, FORMATS)
        chosen, losses = FORMATS[format], Losses()
        size = run_count = messages = 0
        with Staging(Path(path).expanduser().absolute(), chosen.suffix, overwrite=overwrite) as staging:
            for document in chosen.documents(self._materials(runs, chosen, audience, losses), losses):
                text = "\n".join([document.name, *document.texts])
                check_output("The export", text, self.redactor, allow=allow)
                staging.add(document.name, document.content)
                size += len(document.content)
                run_count += document.runs
                messages += document.messages
            files = tuple(staging.place())
        return ExportAccount(format, files, size, run_count, messages, losses.listed())

    def _materials(
        self, runs: str | Sequence[str], chosen: ExportFormat, audience: Audience, losses: Losses
    ) -> Iterator[Material]:
        """What exporters need, one session at a time, as the audience may see it."""
        given = [runs] if isinstance(runs, str) else list(runs)
        all_runs = self._storage.database.frame(_ALL)
        wanted = sorted({self._resolve(each) for each in given}) if given else all_runs.rows()
        by_session = {session: [run for _, run in group] for session, group in groupby(wanted, key=itemgetter(0))}
        names = list(by_session)
        for begin in range(0, len(names), _SESSIONS):
            some = names[begin : begin + _SESSIONS]
            yield from self._loaded({name: by_session[name] for name in some}, chosen, audience, losses)

    def _loaded(
        self, wanted: dict[str, list[str]], chosen: ExportFormat, audience: Audience, losses: Losses
    ) -> Iterator[Material]:
        """The rows of the runs of some sessions."""
        from ledgerkit.exporters.material import Material, parents_first, prepared

        frame = self._storage.database.frame
        ids = {"sessions": list(wanted), "runs": [run for runs in wanted.values() for run in runs]}
        rows = frame(_HISTORY, ids)
        refs = rows.select(pl.col("artifact_refs").explode()).drop_nulls().unique()["artifact_refs"].to_list()
        labels = [label.value for label in ArtifactLabel if label.is_projectable]
        kept = frame(_ARTIFACTS, {"ids": refs, "labels": labels})
        history, artifacts = prepared(rows, kept, audience, losses)
        losses.columns(history, chosen.lost)
        parted = [_by_session(each) for each in (frame(_RUNS, ids), history, frame(_CALLS, ids))]
        for session in wanted:
            its_runs, its_history, its_calls = (part.get(session, none) for part, none in parted)
            yield Material(session, parents_first(its_runs), its_history, its_calls, artifacts)


def _by_session(frame: pl.DataFrame) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """The rows of each session, and a frame without rows."""
    parted = frame.partition_by("session_id", as_dict=True, maintain_order=True)
    return {str(key[0]): rows for key, rows in parted.items()}, frame.clear()
