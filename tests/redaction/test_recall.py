"""How many secrets of which carrier are removed; ``pytest -s -m 'slow or not slow'`` prints docs/redaction.md's table.

The rules were widened with seeds 1 and 2 in view. The seeds here are others.
"""

from __future__ import annotations

import os
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
LEAST: Final = {"bare": 0.83, "split": 0.78}
LEAST_WITH_CONTEXT: Final = 0.99
PUBLIC_IDS: Final = frozenset({"asana-client-id", "discord-client-id"})
"""Rules of the other collection that describe what is no secret: ids that every user of an application sees."""


@pytest.fixture(scope="module")
def redactor() -> SecretRedactor:
    return standard_redactor(RedactionKey.public())


def rates(frame: pl.DataFrame) -> dict[str, float]:
    """Rate of removal by carrier."""
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, fmt_table_cell_list_len=10, float_precision=3):
        print(table(frame), misses(frame))
    by_carrier = frame.group_by("carrier", maintain_order=True).agg(pl.col("is_gone").mean())
    return dict(by_carrier.iter_rows())


def too_low(found: dict[str, float], least_with_context: float = LEAST_WITH_CONTEXT) -> dict[str, float]:
    """The carriers from which too little is removed."""
    return {name: rate for name, rate in found.items() if rate < LEAST.get(name, least_with_context)}
