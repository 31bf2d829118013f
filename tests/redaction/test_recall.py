"""How many secrets of which carrier are removed; ``pytest -s -m 'slow or not slow'`` prints docs/redaction.md's table.

The rules were widened with seeds 1 and 2 in view. The seeds here are others.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from ledgerkit.safety.redaction import RedactionKey, SecretRedactor, standard_redactor
from tests.redaction.carriers import CARRIERS
from tests.redaction.collection import SECRET_RULES, generated
from tests.redaction.kinds import KINDS
from tests.redaction.measuring import measure, misses, table

FAST_SEED: Final = 11
SLOW_SEEDS: Final = (12, 13, 14)
LEAST: Final = {carrier.name: 0.99 if carrier.has_context else 0.83 for carrier in CARRIERS} | {"split": 0.78}
LEAST_OF_ONE_SEED: Final = 0.98
"""For a carrier with context: a seed gives 289 cases, of which three more or less are no news."""
PUBLIC_IDS: Final = frozenset(
    {
        "asana-client-id",
        "discord-client-id",
    }
)
"""Rules of the other collection that describe plain numbers which everybody may know."""


@pytest.fixture(scope="module")
def redactor() -> SecretRedactor:
    return standard_redactor(RedactionKey.public())


def rates(frame: pl.DataFrame) -> dict[str, float]:
    """The rate of removal of each carrier."""
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, fmt_table_cell_list_len=10, float_precision=3):
        print(table(frame), misses(frame))  # noqa: T201 - the figures of docs/redaction.md
    by_carrier = frame.group_by("carrier", maintain_order=True).agg(pl.col("is_gone").mean())
    return dict(by_carrier.iter_rows())


@pytest.mark.long
def test_secrets_are_removed_from_every_carrier(redactor: SecretRedactor) -> None:
    frame = measure(lambda texts: list(redactor.redact(texts).texts), [FAST_SEED], batch=True)
    assert frame.height == len(KINDS) * len(CARRIERS)
    found = rates(frame)
    assert {name: rate for name, rate in found.items() if rate < min(LEAST[name], LEAST_OF_ONE_SEED)} == {}
    with_context = [carrier.name for carrier in CARRIERS if LEAST[carrier.name] == 0.99]
    assert sum(found[name] for name in with_context) >= 0.99 * len(with_context)


@pytest.mark.slow
def test_secrets_are_removed_from_every_carrier_alone(redactor: SecretRedactor) -> None:
    found = rates(measure(lambda texts: list(redactor.redact(texts).texts), SLOW_SEEDS))
    assert {name: rate for name, rate in found.items() if rate < LEAST[name]} == {}


@pytest.mark.skipif(
    SECRET_RULES not in os.environ, reason=f"{SECRET_RULES} names no file of another collection's rules (gitleaks.toml)"
)
def test_secrets_of_another_collection_are_removed(redactor: SecretRedactor) -> None:
    cases = [case for case in generated(Path(os.environ[SECRET_RULES]), (1, 2, 3)) if case.rule not in PUBLIC_IDS]
    left = [case for case in cases if case.secret in redactor.redact([case.text]).texts[0]]
    print(len(cases), Counter(case.rule for case in left))  # noqa: T201 - the figures of docs/redaction.md
    assert len(left) <= 0.03 * len(cases), Counter(case.rule for case in left)
