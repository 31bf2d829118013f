"""The test data for redaction: what is asked of it, whatever may redact it."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.redaction import kinds
from tests.redaction.carriers import CARRIERS
from tests.redaction.collection import SECRET_RULES, generated
from tests.redaction.kinds import DISTINCT, KINDS, SHORTEST
from tests.redaction.measuring import Trial, measure, misses, table, trials

SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def cases() -> list[Trial]:
    return trials(SEEDS)


def test_there_are_enough_kinds_and_carriers() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 150
    assert len({carrier.name for carrier in CARRIERS}) == len(CARRIERS) == 10
    assert [carrier.name for carrier in CARRIERS if not carrier.has_context] == ["bare"]


@pytest.mark.slow
def test_a_seed_makes_the_same_texts_again(cases: list[Trial]) -> None:
    assert [case.carried for case in trials(SEEDS)] == [case.carried for case in cases]


def test_every_secret_stands_in_its_carrier(cases: list[Trial]) -> None:
    for case in cases:
        assert case.carried.forms, case
        assert all(len(form) >= SHORTEST and form in case.carried.text for form in case.carried.forms), case
        assert not case.is_gone_from(case.carried.text)


def test_a_form_stands_for_every_secret(cases: list[Trial]) -> None:
    for case in cases:
        if case.carrier.name == "split":
            assert all(any(form in secret for secret in case.made.secrets) for form in case.carried.forms), case
            assert any(secret not in case.carried.text for secret in case.made.secrets), case
        else:
            assert len(case.carried.forms) >= len(case.made.secrets), case


def test_secrets_are_rich_and_all_different(cases: list[Trial]) -> None:
    secrets = Counter(secret for case in cases for secret in case.made.secrets)
    assert secrets.most_common(1)[0][1] == 1
    assert all(len(secret) >= SHORTEST and len(set(secret)) >= DISTINCT for secret in secrets)


def test_no_secret_stands_in_the_source(cases: list[Trial]) -> None:
    source = Path(kinds.__file__).read_text(encoding="utf-8")
    assert not [secret for case in cases for secret in case.made.secrets if secret in source]


@pytest.mark.parametrize("batch", [False, True])
def test_measures_what_is_left(batch: bool) -> None:
    some, two = KINDS[::40], CARRIERS[::5]
    nothing = measure(lambda texts: texts, [1], some, two, batch=batch)
    everything = measure(lambda texts: ["" for _ in texts], [1], some, two, batch=batch)
    assert not nothing["is_gone"].any()
    assert everything["is_gone"].all()
    assert table(everything).columns == ["family", "all", *(carrier.name for carrier in two)]
    assert table(everything)["all"].to_list() == [1.0] * len(table(everything))
    assert table(nothing)["all"].sum() == 0
    assert misses(nothing)["times"].sum() == len(nothing)


@pytest.mark.skipif(SECRET_RULES not in os.environ, reason=f"{SECRET_RULES} names no collection of rules")
def test_another_collection_makes_cases() -> None:
    path = Path(os.environ[SECRET_RULES])
    cases = generated(path, (1, 2))
    assert cases == generated(path, (1, 2))
    assert all(case.secret in case.text for case in cases)
    assert len({case.rule for case in cases}) > 100
