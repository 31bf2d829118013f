"""Trust of parts of real runs, against labels that were given by hand: 482 parts, spread over kinds and tools."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import ledgerkit as lk
from tests.conftest import ROOT

pytestmark = pytest.mark.corpus

LABELS = json.loads((ROOT / "tests" / "corpus" / "trust_labels.json").read_text("utf-8"))["labels"]
TRUSTED = {"PLATFORM_TRUSTED", "ORG_TRUSTED", "USER_TRUSTED", "TOOL_TRUSTED"}
ASKED = 0.97


@pytest.fixture(scope="module")
def pairs(corpus_import: tuple[Path, lk.ImportAccount]) -> list[tuple[int, str, str]]:
    """Sample, label by hand, label of the importer."""
    with lk.open(corpus_import[0]) as ledger:
        rows = ledger.sql("select message_id, part_index, part_trust_level from parts").rows()
    given = {(message, index): trust for message, index, trust in rows}
    return [(sample, wanted, given[message, index]) for sample, message, index, wanted in LABELS]


@pytest.mark.parametrize("sample", [1, 2])
def test_labels_are_those_that_a_person_gave(pairs: list[tuple[int, str, str]], sample: int) -> None:
    mine = [(wanted, given) for number, wanted, given in pairs if number == sample]
    assert len(mine) > 200
    wrong = Counter(pair for pair in mine if pair[0] != pair[1])
    assert 1 - wrong.total() / len(mine) >= ASKED, wrong


def test_nothing_untrusted_is_labelled_trusted(pairs: list[tuple[int, str, str]]) -> None:
    assert [pair for pair in pairs if pair[1] not in TRUSTED and pair[2] in TRUSTED] == []
