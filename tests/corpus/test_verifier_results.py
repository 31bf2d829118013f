"""Verdicts read from the shell calls of the corpus, as the ledger shows them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ledgerkit as lk
from ledgerkit.extract.verifiers import verifier_frame
from tests.conftest import NOW

pytestmark = [pytest.mark.corpus, pytest.mark.slow]

# Where a record stands in its run may depend on the order of imports; what it says may not.
SAID = """
    select * exclude (sequence_no) from verifier_results
    order by session_id, run_id, message_id, part_id, check_no
"""


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[lk.Ledger]:
    with lk.open(tmp_path_factory.mktemp("checks") / "whole", key=bytes(32)) as ledger:
        ledger.import_logs(corpus, now=NOW, redact="off")
        yield ledger


def test_the_view_holds_what_the_extractor_finds(whole: lk.Ledger) -> None:
    found = verifier_frame(whole.scan("parts").collect())
    shown = whole.sql("select * from verifier_results where source = 'parsed'")
    assert shown.height == found.height >= 221
    shared = [name for name in found.columns if name in shown.columns]
    keys = ["session_id", "run_id", "sequence_no", "tool_call_id", "check_no"]
    assert_frame_equal(shown.select(shared).sort(keys), found.select(shared).sort(keys))
    assert shown.select("part_id", "part_trust_level", "text").null_count().sum_horizontal().item() == 0


def test_evidence_names_lines_that_the_call_printed(whole: lk.Ledger) -> None:
    rows = whole.sql("""
        select regexp_extract(evidence_refs[1], '#L(\\d+)-L(\\d+)$', ['first', 'last']) as named,
            string_split(text, chr(10)) as lines
        from verifier_results where source = 'parsed'
    """).unnest("named")
    named = rows.filter(pl.col("first") != "").cast({"first": pl.Int64, "last": pl.Int64})
    assert named.height > rows.height / 2
    said = named.select(pl.col("lines").list.slice(pl.col("first") - 1, pl.col("last") - pl.col("first") + 1))
    assert (said["lines"].list.join("").str.strip_chars().str.len_chars() > 0).all()


def test_in_batches_asked_in_between_it_says_the_same(whole: lk.Ledger, corpus: Path, tmp_path: Path) -> None:
    with lk.open(tmp_path / "batches", key=bytes(32)) as ledger:
        for hour, folder in enumerate(sorted(path for path in corpus.iterdir() if path.is_dir())):
            ledger.import_logs(folder, now=NOW + timedelta(hours=hour), redact="off")
            ledger.scan("verifier_results").collect()
        assert_frame_equal(ledger.sql(SAID), whole.sql(SAID))
        kept = ledger.info().filter(pl.col("table") == "derived/parsed_checks")
        rebuilt = ledger.rebuild_derived()
        assert_frame_equal(ledger.sql(SAID), whole.sql(SAID))
        assert rebuilt["files"].item() == 1 <= kept["files"].item()
