"""Trust and visibility of parts of real runs of ten formats, against labels that were given by hand: 426 parts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import ledgerkit as lk
from tests.conftest import ROOT

pytestmark = pytest.mark.corpus

SAMPLES: Final = (1, 2, 3)
TRUSTED: Final = frozenset({"PLATFORM_TRUSTED", "ORG_TRUSTED", "USER_TRUSTED", "TOOL_TRUSTED"})
ASKED: Final = 0.97


class Label(NamedTuple):
    """A label that was given by hand."""

    sample: int
    source_format: str
    message_id: str
    part_index: int
    trust: str
    visibility: str


Labelled = list[tuple[Label, str, str]]
LABELS: Final = [
    Label(*row)
    for row in json.loads((ROOT / "tests" / "corpus" / "trust_labels_formats.json").read_text("utf-8"))["labels"]
]


@pytest.fixture(scope="module")
def labelled(corpus_import: tuple[Path, lk.ImportAccount]) -> Labelled:
    """Each label, with the trust and the visibility that the importer gives."""
    with lk.open(corpus_import[0]) as ledger:
        rows = ledger.sql("select message_id, part_index, part_trust_level, part_visibility from parts").rows()
    given = {(message, index): (trust, visibility) for message, index, trust, visibility in rows}
    lost = [label for label in LABELS if (label.message_id, label.part_index) not in given]
    assert not lost, f"labels without a part in the ledger: has an importer changed what it knows a record by? {lost}"
    return [(label, *given[label.message_id, label.part_index]) for label in LABELS]


@pytest.mark.parametrize("sample", SAMPLES)
def test_trust_is_that_which_a_person_gave(labelled: Labelled, sample: int) -> None:
    mine = [(label.source_format, label.trust, trust) for label, trust, _ in labelled if label.sample == sample]
    assert len(mine) > 100
    wrong = Counter(each for each in mine if each[1] != each[2])
    assert 1 - wrong.total() / len(mine) >= ASKED, wrong


@pytest.mark.parametrize("sample", SAMPLES)
def test_visibility_is_that_which_a_person_gave(labelled: Labelled, sample: int) -> None:
    mine = [(label.source_format, label.visibility, seen) for label, _, seen in labelled if label.sample == sample]
    wrong = Counter(each for each in mine if each[1] != each[2])
    assert 1 - wrong.total() / len(mine) >= ASKED, wrong


def test_nothing_untrusted_of_another_format_is_labelled_trusted(labelled: Labelled) -> None:
    assert [each for each in labelled if each[0].trust not in TRUSTED and each[1] in TRUSTED] == []


def test_nothing_that_models_did_not_see_is_labelled_as_seen(labelled: Labelled) -> None:
    assert [each for each in labelled if each[0].visibility != "MODEL_VISIBLE" and each[2] == "MODEL_VISIBLE"] == []


def test_labels_are_of_ten_formats_and_each_is_given_once() -> None:
    assert len({label.source_format for label in LABELS}) == 10
    assert len({(label.message_id, label.part_index) for label in LABELS}) == len(LABELS) >= 400
