"""What stands in journals, as rows like those of the stored tables: a reader sees sealed and journaled rows alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from ledgerkit import errors, tables
from ledgerkit.protocol.identifiers import hash_uuid
from ledgerkit.protocol.messages import AgentMessage
from ledgerkit.store.contents import Contents
from ledgerkit.store.journal import JournalContent, JournalHeader, read_journal
from ledgerkit.store.layout import Layout
from ledgerkit.store.messagerows import MessageRows
from ledgerkit.store.runheads import RunHead

NO_DATE: Final = "1970-01-01"
RECORDER: Final = "recorder"
"""Source format of runs that were recorded live."""
_SEALED: Final = "ledgerkit/sealed/"


def sealed_mark(session_id: str, run_id: str) -> str:
    """Name of the transaction of ``history`` whose version says how many records of a run's journals are sealed."""
    return _SEALED + hash_uuid(session_id, run_id)


def date_of(header: JournalHeader, first: AgentMessage) -> str:
    """Partition of a journal's run."""
    return header.run_date or (NO_DATE if first.created_at is None else first.created_at.date().isoformat())


def run_row(header: JournalHeader, run_date: str, **more: object) -> dict[str, Any]:
    """The row of ``runs`` that a journal's head says."""
    row: dict[str, Any] = dict.fromkeys(tables.RUNS.names)
    return {
        **row,
        **header.facts,
        "session_id": header.session_id,
        "run_id": header.run_id,
        "run_date": run_date,
        "revision": header.revision,
        "source_format": RECORDER,
        **more,
    }


def _placed(rows: pl.DataFrame, numbers: pl.Series, head: RunHead | None) -> pl.DataFrame:
    """Rows behind the sealed part of their run: an import may have made it longer, or a new revision of it."""
    if head is None:
        return rows
    return rows.with_columns(
        pl.lit(head.revision, tables.SMALL_INT).alias("revision"),
        pl.lit(head.run_date).alias("run_date"),
        (numbers.rank("dense").cast(tables.INT) - 1 + head.next).alias("sequence_no"),
    )


@dataclass(slots=True)
class _Journal:
    """A journal as last read."""

    signature: tuple[int, int]
    header: JournalHeader
    messages: list[tuple[int, AgentMessage]] = field(default_factory=list[tuple[int, AgentMessage]])
    numbers: list[int] = field(default_factory=list[int])
    rows: pl.DataFrame = field(default_factory=tables.HISTORY.empty)
    artifacts: pl.DataFrame = field(default_factory=tables.ARTIFACTS.empty)


class Journals:
    """Reads the journals of a ledger, each record once.

    Args:
        layout: The ledger.
        count_tokens: Token counts of many texts.
    """

    def __init__(self, layout: Layout, count_tokens: Callable[[list[str]], list[int]]) -> None:
        self._layout = layout
        self._count_tokens = count_tokens
        self._journals: dict[Path, _Journal] = {}
        self.damaged: dict[Path, str] = {}

    def poll(self) -> None:
        """Reads what is new."""
        found = sorted(self._layout.journals.glob("*.journal"))
        for gone in self._journals.keys() - set(found):
            del self._journals[gone]
        for path in found:
            try:
                self._read(path)
                self.damaged.pop(path, None)
            except FileNotFoundError:  # sealed in the meantime
                self._journals.pop(path, None)
            except errors.JournalError as error:
                self.damaged[path] = str(error)

    def _read(self, path: Path) -> None:
        status = path.stat()
        signature = (status.st_ino, status.st_size)
        known = self._journals.get(path)
        if known is not None and known.signature == signature:
            return
        content = read_journal(path)
        if known is None or known.header != content.header or known.signature[0] != signature[0]:
            known = self._journals[path] = _Journal(signature, content.header)
        self._take(known, content)
        known.signature = signature

    def _take(self, journal: _Journal, content: JournalContent) -> None:
        done = journal.messages[-1][0] if journal.messages else -1
        fresh = [(number, AgentMessage.model_validate_json(raw)) for number, raw in content.records if number > done]
        if not fresh:
            return
        journal.messages += fresh
        run_date = date_of(journal.header, journal.messages[0][1])
        contents = Contents(self._layout, is_scanned=journal.header.key_id is not None)
        rows = MessageRows(contents, self._count_tokens)
        for _, message in fresh:
            rows.add(message, run_date=run_date, revision=journal.header.revision)
        journal.rows = pl.concat([journal.rows, rows.frame()])
        journal.artifacts = pl.concat([journal.artifacts, contents.frame(None)]).unique("content_id")
        journal.numbers += [number for number, message in fresh for _ in message.parts]

    def rows(
        self,
        sealed: Callable[[str], int | None],
        heads: Mapping[tuple[str, str], RunHead],
        described: Mapping[tuple[str, str], Mapping[str, Any]],
    ) -> Mapping[str, pl.DataFrame]:
        """Rows of records that are not sealed, by stored table, where sealing them would put them now.

        Args:
            sealed: Version of a transaction of the history that the reader looks at.
            heads: Where the sealed part of a run ends.
            described: The newest sealed row of ``runs`` of a run.
        """
        history, artifacts = [tables.HISTORY.empty()], [tables.ARTIFACTS.empty()]
        runs: list[dict[str, Any]] = []
        for _, journal in sorted(self._journals.items()):
            header = journal.header
            run = (header.session_id, header.run_id)
            done = sealed(sealed_mark(*run)) or 0
            numbers = pl.Series("number", journal.numbers, dtype=pl.Int64)
            pending = journal.rows.filter(numbers >= done)
            if pending.is_empty():
                continue
            history.append(_placed(pending, numbers.filter(numbers >= done), heads.get(run)))
            artifacts.append(journal.artifacts)
            known = described.get(run)
            if known is None or any(known[name] != value for name, value in header.facts.items()):
                first = journal.messages[0][1]
                more = {"recorded_at": first.created_at}
                row = run_row(header, date_of(header, first), **more)
                runs.append(row if known is None else {**known, **header.facts, **more})
        return {"history": pl.concat(history), "artifacts": pl.concat(artifacts), "runs": tables.RUNS.frame(runs)}

    @property
    def state(self) -> tuple[object, ...]:
        """Equal for equal contents."""
        return tuple((path, journal.signature) for path, journal in sorted(self._journals.items()))

    @property
    def open_runs(self) -> pl.DataFrame:
        """Runs that have a journal: ``session_id, run_id``."""
        runs = [(j.header.session_id, j.header.run_id) for _, j in sorted(self._journals.items())]
        return pl.DataFrame(runs, {"session_id": pl.String, "run_id": pl.String}, orient="row")
