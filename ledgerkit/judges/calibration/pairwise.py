"""Whether a judge of pairs goes by their order: the same pairs judged again with places swapped."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.errors import QueryError
from ledgerkit.judges.calibration.figures import Estimate, proportion, statistics_of
from ledgerkit.protocol.model import Model

FIRST, SECOND, TIE = "first", "second", "tie"
"""What a judge of a pair says: which place won."""
_SWAPPED: Final = {FIRST: SECOND, SECOND: FIRST, TIE: TIE}


class PositionCheck(Model):
    """How a judge of pairs did when places were swapped."""

    pairs: int
    """Pairs that were judged both ways."""
    consistent: Estimate
    """Share whose winner is the same thing both ways."""
    first_both: int
    """Pairs in which the first place won both ways."""
    second_both: int
    """Pairs in which the second place won both ways."""
    p_value: float | None
    """Exact two-sided binomial test that neither place is preferred; ``None`` where neither won both ways."""


def check_positions(pairs: pl.DataFrame) -> PositionCheck:
    """Compares judgements of pairs with those of the same pairs, swapped.

    Args:
        pairs: ``forward`` and ``swapped``: ``first``, ``second`` or ``tie``, as the judge said it each time.

    Raises:
        QueryError: If there is another word.
        MissingExtraError: If the extra ``stats`` is not installed.

    Example:
        >>> check = check_positions(pl.DataFrame({"forward": ["first"] * 8, "swapped": ["second"] * 5 + ["first"] * 3}))
        >>> check.consistent.value, check.first_both, check.p_value
        (0.625, 3, 0.25)
    """
    words = {*pairs["forward"].unique(), *pairs["swapped"].unique()}
    if unknown := words - set(_SWAPPED):
        raise QueryError(f"{sorted(map(str, unknown))[0]!r} is no place. Known: {FIRST}, {SECOND}, {TIE}.")
    turned = pairs.with_columns(again=pl.col("swapped").replace_strict(_SWAPPED, return_dtype=pl.String))
    same = turned.filter(pl.col("forward") == pl.col("again")).height
    first, second = (
        turned.filter(pl.col("forward") == place, pl.col("swapped") == place).height for place in (FIRST, SECOND)
    )
    return PositionCheck(
        pairs=pairs.height, consistent=proportion(same, pairs.height), first_both=first, second_both=second,
        p_value=_exact(first, first + second),
    )  # fmt: skip


def _exact(first: int, n: int) -> float | None:
    binomtest = statistics_of("scipy.stats", "Checking a judge for its order of places").binomtest
    return None if n == 0 else float(binomtest(first, n, 0.5).pvalue)
