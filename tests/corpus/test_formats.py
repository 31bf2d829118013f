"""Every file of the corpus is read as what it is, or counted as unsupported."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from tests.conftest import NOW

FORMATS = {
    "atif": "atif", "chat": "chat", "claude-code": "claude-code", "codex": "codex", "gemini-cli": "gemini-cli",
    "inspect": "inspect", "mini-swe-agent": "mini-swe-agent", "openhands": "openhands", "otel": "otel", "pi": "pi",
    "swe-agent": "swe-agent",
}  # fmt: skip
"""What a file of a folder of the corpus is, if it is a log at all."""
OTHERS = {("openhands", "chat"): 1}
"""A list of plain chat messages, for all that it came from OpenHands."""


@pytest.fixture(scope="module")
def imported(corpus: Path, corpus_import: tuple[Path, lk.ImportAccount]) -> tuple[lk.ImportAccount, pl.DataFrame]:
    path, account = corpus_import
    with lk.open(path) as ledger:
        files = ledger.sql("select path, format from import_files order by path")
        assert ledger.import_logs(corpus, now=NOW).new_messages == 0
    return account, files


def test_each_format_is_told_by_its_content(corpus: Path, imported: tuple[lk.ImportAccount, pl.DataFrame]) -> None:
    _, files = imported
    read = files.filter(pl.col("format") != "unsupported")
    folders = [Path(path).relative_to(corpus.absolute()).parts[0] for path in read["path"]]
    wrong = [pair for pair in zip(folders, read["format"], strict=True) if FORMATS.get(pair[0]) != pair[1]]
    assert Counter(wrong) == Counter(OTHERS)
    assert set(read["format"]) == set(FORMATS.values())


def test_the_account_of_everything_closes(imported: tuple[lk.ImportAccount, pl.DataFrame]) -> None:
    account, files = imported
    assert account.closes
    assert account.files == files.filter(pl.col("format") != "unsupported").height
    assert sum(account.formats["records"]) == account.records
