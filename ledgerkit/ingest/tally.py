"""Sums up an import for its account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from ledgerkit.ingest.account import Fate, FileState, ImportAccount
from ledgerkit.ingest.reading import UNSUPPORTED
from ledgerkit.ingest.redacting import RedactionTally
from ledgerkit.ingest.writing import Written

_DETAILS: Final = {
    "path": pl.String, "record_type": pl.String, "fate": pl.String, "reason": pl.String, "count": pl.Int64,
}  # fmt: skip
_DAMAGE: Final = {"path": pl.String, "line": pl.Int64, "offset": pl.Int64, "bytes": pl.Int64, "reason": pl.String}


class Tally:
    """Sums up an import."""

    def __init__(self, unchanged: int, redaction: RedactionTally) -> None:
        self.unchanged = unchanged
        self.redaction = redaction
        self.states: list[FileState] = []
        self.messages = 0
        self.runs: set[str] = set()

    def add(self, written: Written) -> None:
        """Takes up what a batch wrote."""
        self.messages += written.messages
        self.runs |= written.runs

    def account(self, import_id: str, exposed: pl.DataFrame) -> ImportAccount:
        """The account of the import."""
        read = [state for state in self.states if state.format != UNSUPPORTED]
        details = [(s.path, t, f.value, r, n) for s in read for (t, f, r), n in sorted(s.fates.items()) if n]
        damage = [(s.path, q.line, q.offset, q.bytes, q.reason) for s in read for q in s.quarantine]
        totals: Mapping[str, int] = {fate.value: sum(s.total(fate) for s in read) for fate in Fate}
        return ImportAccount(
            import_id=import_id,
            files=len(read),
            unchanged=self.unchanged,
            unsupported=tuple(s.path for s in self.states if s.format == UNSUPPORTED),
            records=sum(sum(s.fates.values()) for s in read),
            new_messages=self.messages,
            runs=len(self.runs),
            redaction=self.redaction.mode.value,
            secrets=dict(sorted(self.redaction.counts.items())),
            exposed=exposed,
            formats=_by_format(read),
            details=pl.DataFrame(details, _DETAILS, orient="row"),
            damage=pl.DataFrame(damage, _DAMAGE, orient="row"),
            **totals,
        )


def _by_format(states: list[FileState]) -> pl.DataFrame:
    names = sorted({state.format for state in states})
    rows = [
        {
            "format": name,
            "files": len(of_format := [state for state in states if state.format == name]),
            "records": sum(sum(state.fates.values()) for state in of_format),
            **{fate.value: sum(state.total(fate) for state in of_format) for fate in Fate},
        }
        for name in names
    ]
    counts = ("files", "records", *(fate.value for fate in Fate))
    return pl.DataFrame(rows, {"format": pl.String, **dict.fromkeys(counts, pl.Int64)})
