"""A ledger of the example runs, from whose answers the columns are read."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final

import polars as pl

import ledgerkit as lk
from ledgerkit.judges import RuleJudge
from ledgerkit.safety.gate import visible_to

ROOT: Final = Path(__file__).resolve().parent.parent.parent
_NOW: Final = datetime(2026, 12, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Sample:
    """The ledger, what became of the files it was made of, and a folder for what is written."""

    ledger: lk.Ledger
    account: lk.ImportAccount
    folder: Path

    @cached_property
    def run_id(self) -> str:
        """Its longest run."""
        return self.ledger.runs().sort("steps", "run_id", nulls_last=False)["run_id"][-1]

    @cached_property
    def other_id(self) -> str:
        """Another run."""
        return self.ledger.runs().filter(pl.col("run_id") != self.run_id)["run_id"][0]

    @cached_property
    def run(self) -> lk.Run:
        """The longest run."""
        return self.ledger.run(self.run_id)

    @cached_property
    def withheld(self) -> pl.DataFrame:
        """How many of its parts nobody but an audit may see."""
        return visible_to(self.run.parts(), lk.Audience.PEOPLE)[1]

    @cached_property
    def judged(self) -> pl.DataFrame:
        """What the rules say of it."""
        return self.ledger.judge(RuleJudge(), runs=[self.run_id])


@contextmanager
def example() -> Generator[Sample]:
    """Makes it for a while."""
    with tempfile.TemporaryDirectory() as folder, lk.open(Path(folder) / "example.ledger", key=bytes(32)) as ledger:
        account = ledger.import_logs(ROOT / "data" / "claude-code", now=_NOW)
        yield Sample(ledger, account, Path(folder))
