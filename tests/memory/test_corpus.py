"""Claims of real sessions, labelled by hand: verdicts agree with them, none is wrongly supported or contradicted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from tests.memory.labelled import HERE

pytestmark = [pytest.mark.corpus, pytest.mark.slow]
PLACE = ["run_id", "message_id", "part_index", "start", "end", "claim_class"]


def labels() -> pl.DataFrame:
    claims = json.loads((HERE / "claims_corpus.json").read_text("utf-8"))["claims"]
    return pl.DataFrame(claims, schema_overrides={"part_index": pl.Int32, "note": pl.String})


def test_no_third_of_the_sample_is_from_one_project() -> None:
    found = labels()
    assert found.height >= 60
    assert found.select(PLACE).is_unique().all()
    assert max(Counter(found["project"]).values()) * 3 <= found.height


def test_verdicts_agree_with_the_labels(corpus_import: tuple[Path, lk.ImportAccount]) -> None:
    with lk.open(corpus_import[0]) as ledger:
        checked = ledger.check_claims()
    judged = labels().join(checked, on=PLACE, how="left")
    given = judged["verdict"].fill_null("none")
    assert (given == judged["label"]).sum() >= 0.8 * judged.height
    contradicted = judged.filter(pl.col("verdict") == "contradicted")
    assert contradicted.filter(pl.col("label") != "contradicted").is_empty()
    # What the record does not show is never called supported.
    assert judged.filter(pl.col("verdict") == "supported", pl.col("label") != "supported").is_empty()
