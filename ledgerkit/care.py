"""Care of a ledger: verify it, prove a message, erase content, compact, vacuum, look at its tables and commits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import polars as pl

from ledgerkit import errors, tokens
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.store.integrity.checkpoints import Checkpoint
    from ledgerkit.store.integrity.findings import VerificationReport
    from ledgerkit.store.integrity.proofs import InclusionProof
    from ledgerkit.store.removal import Erasure
    from ledgerkit.store.sealing import Sealing
    from ledgerkit.store.snapshots import Snapshot


class LedgerCare:
    """What keeps a ledger trustworthy and quick. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    _clock: Callable[[], datetime]
    _random: Callable[[int], bytes]

    if TYPE_CHECKING:  # what the ledger itself brings

        def _resolve(self, given: str) -> tuple[str, str]: ...

    @property
    def _writable(self) -> Storage:
        if self._storage.is_past:
            raise errors.LedgerError("This is an earlier state of the ledger; open it without as_of to write.")
        return self._storage

    def verify(
        self,
        *,
        checkpoints: Iterable[Checkpoint | str] = (),
        since: Checkpoint | str | None = None,
        sample: int | None = None,
        seed: int = 0,
    ) -> VerificationReport:
        """Verifies that nothing in the ledger was changed, removed, reordered or inserted behind its back.

        Every message is hashed again and compared with its leaf, every run's chain and the whole tree with the
        checkpoints. A checkpoint that was kept outside is the only thing that shows a full rewrite, or a tail that was
        cut together with the ledger's own checkpoints.

        Args:
            checkpoints: Checkpoints that were kept elsewhere (objects or their text).
            since: A checkpoint that is trusted: only messages after it are hashed again.
            sample: Hash only so many messages again, drawn with ``seed``.
            seed: Seed of the sample.

        Returns:
            What was looked at and found; ``ok`` if nothing was, ``frame()`` for the findings as rows.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> ledger.verify().ok
            True
        """
        from ledgerkit.store.verification import verify

        given = [_checkpoint(one) for one in checkpoints]
        trusted = None if since is None else _checkpoint(since)
        return verify(self._storage, checkpoints=given, since=trusted, sample=sample, seed=seed)

    def checkpoint(self) -> Checkpoint:
        """The head of the ledger's trees now; its text (``str``) is what to keep elsewhere."""
        from ledgerkit.store.heads import checkpoint
        from ledgerkit.store.locking import COMMIT_LOCK, exclusive

        with exclusive(self._writable.layout, COMMIT_LOCK):
            return checkpoint(self._storage, now=self._clock())

    def prove(self, message_id: str, checkpoint: Checkpoint | str | None = None) -> InclusionProof:
        """Proof that a message is in the ledger, which can be checked with nothing but a checkpoint.

        Args:
            message_id: The message; of several revisions of its run, the latest.
            checkpoint: The checkpoint to prove it under; the newest if not given.

        Raises:
            UnknownNameError: If there is no such message, or it is not sealed yet.
            IntegrityError: If the checkpoint does not cover it, or does not fit the ledger.
        """
        from ledgerkit.store.proving import prove

        given = self.checkpoint() if checkpoint is None else _checkpoint(checkpoint)
        return prove(self._storage, message_id, given)

    def erase(
        self, messages: str | Sequence[str] = (), *, runs: str | Sequence[str] = (), reason: str, actor: str = "user"
    ) -> Erasure:
        """Erases the content of messages for good; hashes, proofs and the fact of the erasure stay.

        The decision is a message of its own. Old files go at once, so earlier states that hold the content
        (``as_of``) can no longer be opened. Whoever copied the ledger still has the content.

        Args:
            messages: Ids of messages.
            runs: Ids of runs, of which every message and all facts are erased.
            reason: Why; recorded.
            actor: Who decided; recorded.

        Raises:
            UnknownNameError: If a message or run is not there.
            RunLockedError: If a run of theirs is being recorded.
            ValueError: If there is no reason.
        """
        from ledgerkit.store.erasures import erase

        return erase(
            self._writable,
            self._sealing(),
            messages=[messages] if isinstance(messages, str) else list(messages),
            runs=[runs] if isinstance(runs, str) else list(runs),
            reason=reason,
            actor=actor,
            now=self._clock(),
        )

    def compact(self, *, everything: bool = False) -> pl.DataFrame:
        """Puts small files together and seals journals that no recorder writes; readers and writers may go on.

        Args:
            everything: Rewrite large files too, so that each partition is sorted as a whole.

        Returns:
            One row a partition that was rewritten: ``table, partition, files_before, files_after, rows``.

        Raises:
            IntegrityError: If a hash does not fit; nothing is changed then.
        """
        from ledgerkit.store.maintenance import compact

        return compact(self._writable, self._sealing(), now=self._clock(), everything=everything)

    def vacuum(self, *, hours: int = 168, dry_run: bool = False) -> pl.DataFrame:
        """Removes files that no version of the last ``hours`` uses; ``as_of`` reaches back no further then.

        Returns:
            One row a file: ``table, file, bytes``.
        """
        from ledgerkit.store.maintenance import vacuum

        return vacuum(self._writable, hours=hours, dry_run=dry_run)

    def info(self) -> pl.DataFrame:
        """The stored tables and what is derived: ``table, version, files, rows, bytes, leaves, partitions``.

        A derived table (``derived/…``) has the version of its extractor, and the rows that were read so far.
        """
        from ledgerkit.store.maintenance import info

        return info(self._storage)

    def rebuild_derived(self) -> pl.DataFrame:
        """Removes what was read out of parts, in all versions, and reads it again. Nobody needs it: it is a cache.

        Returns:
            The derived tables, as :meth:`info` lists them.
        """
        self._writable.database.derived.rebuild()
        return self.info().filter(pl.col("table").str.starts_with("derived/"))

    def commits(self, table: str = "history", limit: int | None = None) -> pl.DataFrame:
        """Commits of a stored table, newest first.

        Returns:
            ``version, committed_at, operation, rows_added, files_added, files_removed``.

        Raises:
            UnknownNameError: If there is no such table.
        """
        from ledgerkit import tables
        from ledgerkit.store.maintenance import commits

        if table not in tables.TABLES:
            raise errors.UnknownNameError.among("stored table", table, tables.TABLES)
        return commits(self._storage, table, limit)

    def snapshot(self, run_id: str, projection: str = "run") -> Snapshot:
        """A projection of a run, from the cache of snapshots where that is current.

        Args:
            run_id: The run, as :meth:`ledgerkit.Ledger.run` takes it.
            projection: Which: ``run`` (its row of the ``runs`` view).

        Raises:
            UnknownNameError: If there is no such run or projection.
        """
        from ledgerkit.store.snapshots import PROJECTIONS, Subject, take_snapshot

        if projection not in PROJECTIONS:
            raise errors.UnknownNameError.among("projection", projection, PROJECTIONS)
        run = self._resolve(run_id)
        return take_snapshot(self._storage, Subject.of_run(run), PROJECTIONS[projection], now=self._clock())

    def _sealing(self) -> Sealing:
        from ledgerkit.store.sealing import Sealing

        return Sealing(tokens.TokenCounter().count_many, self._random)


def _checkpoint(given: Checkpoint | str) -> Checkpoint:
    from ledgerkit.store.integrity.checkpoints import Checkpoint

    return Checkpoint.parse(given) if isinstance(given, str) else given
