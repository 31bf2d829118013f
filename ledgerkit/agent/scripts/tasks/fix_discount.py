"""Fix a bug that a failing test shows: discounts are rounded per piece instead of per line."""

from __future__ import annotations

from typing import Final

from ledgerkit.agent.scripts.task import Change, Task, Variant, same_for_all

_INVOICE: Final = "tillroll/invoice.py"
_SOUND: Final = """\
        gross = self.quantity * self.unit_cents
        return gross - round_cents(Decimal(gross) * self.discount_percent / 100)
"""
_BROKEN: Final = """\
        rebate = round_cents(Decimal(self.unit_cents) * self.discount_percent / 100)
        return self.quantity * (self.unit_cents - rebate)
"""
_CEILING: Final = """\
        gross = self.quantity * self.unit_cents
        return gross + (-gross * self.discount_percent) // 100
"""
_TRUNCATED: Final = """\
        gross = self.quantity * self.unit_cents
        return gross - gross * self.discount_percent // 100
"""

TASK: Final = Task(
    task_id="fix-discount",
    title="Fix the rounding of discounts",
    branch="fix/discount-rounding",
    prompt=(
        "tests/test_invoice.py::test_discount_is_rounded_once_per_line fails since the last refactoring of "
        "tillroll/invoice.py. Please find out why and fix the code, not the test."
    ),
    scope=(_INVOICE, "CHANGELOG.md"),
    setup=(Change(_INVOICE, _BROKEN, _SOUND),),
    look_at=(_INVOICE, "tests/test_invoice.py", "tillroll/money.py"),
    aside=("docs/NOTES.md", "tillroll/tax.py", "CHANGELOG.md"),
    search=("discount_percent", "round_cents"),
    reproduce=same_for_all("python -m pytest -q tests/test_invoice.py"),
    check="python -m pytest -q tests/test_invoice.py",
    right=Variant(
        (Change(_INVOICE, _SOUND, _BROKEN),),
        "The rebate is rounded for one piece and then multiplied, so the rounding error grows with the quantity. It "
        "has to be taken from the whole line and rounded once, with round_cents, halves to even.",
        "`Line.net_cents` takes the discount from the whole line and rounds it once with `round_cents`.",
    ),
    partial=Variant(
        (Change(_INVOICE, _CEILING, _BROKEN),),
        "The rebate has to be taken from the whole line. Integer division is exact and gives 899 for the test.",
        "`Line.net_cents` takes the discount from the whole line with integer arithmetic.",
    ),
    wrong=Variant(
        (Change(_INVOICE, _TRUNCATED, _BROKEN),),
        "The rebate has to be taken from the whole line instead of from one piece. Integer division keeps it in cents.",
        "`Line.net_cents` now takes the discount from the whole line.",
    ),
    explore="Find every place that computes or rounds a discount in tillroll, and every test of it.",
    changelog="- Discounts are rounded once per line again.",
)
