"""The script of mutation testing leaves out the changes that were looked at, and no others."""

from __future__ import annotations

import pytest

from scripts.mutation import is_alike

ALIKE = {"shop.prices": {"- strict=True": "both have one length", "+ XX": "a message of an error"}}


@pytest.mark.parametrize(
    ("module", "before", "after", "expected"),
    [
        ("shop.prices", "zip(a, b, strict=True)", "zip(a, b, strict=False)", True),
        ("shop.prices.daily", "zip(a, b, strict=True)", "zip(a, b)", True),
        ("shop.prices", "zip(a, b, strict=False)", "zip(a, b, strict=True)", False),
        ("shop.prices", '"no price"', '"XXno priceXX"', True),
        ("shop.prices", '"XXno priceXX"', '"no price"', False),
        ("shop.prices", "strict=True", "strict=True, a + 1", False),
        ("shop.stock", "zip(a, b, strict=True)", "zip(a, b)", False),
    ],
)
def test_a_change_is_alike_if_the_text_goes_or_comes_by_it(
    module: str, before: str, after: str, expected: bool
) -> None:
    assert is_alike(module, before, after, ALIKE) is expected
