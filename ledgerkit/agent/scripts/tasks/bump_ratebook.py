"""Update a pinned dependency whose new version changed its interface."""

from __future__ import annotations

from typing import Final

from ledgerkit.agent.scripts.task import Change, Task, Variant, same_for_all

_TAX: Final = "tillroll/tax.py"
_QUOTES: Final = "tillroll/quotes.py"
_PINS: Final = "requirements.txt"
_PIN: Final = Change(_PINS, "ratebook==2.0.0", "ratebook==1.4.0")
_TAX_OLD: Final = """\
    basis_points = ratebook.rate(country)
    return round_cents(Decimal(net_cents) * basis_points / 10_000)
"""
_TAX_NEW: Final = """\
    percent = ratebook.lookup(country).percent
    return round_cents(Decimal(net_cents) * percent / 100)
"""
_TAX_MIXED: Final = """\
    basis_points = ratebook.lookup(country).percent
    return round_cents(Decimal(net_cents) * basis_points / 10_000)
"""
_QUOTES_OLD: Final = """\
    basis_points = ratebook.rate(country)
    gross = net_cents + round_cents(Decimal(net_cents) * basis_points / 10_000)
    return f"{format_amount(gross)} incl. {basis_points / 100:.1f} % tax"
"""
_QUOTES_NEW: Final = """\
    percent = ratebook.lookup(country).percent
    gross = net_cents + round_cents(Decimal(net_cents) * percent / 100)
    return f"{format_amount(gross)} incl. {percent:.1f} % tax"
"""

TASK: Final = Task(
    task_id="bump-ratebook",
    title="Move to ratebook 2",
    branch="deps/ratebook-2",
    prompt=(
        "Please move tillroll from ratebook 1.4.0 to 2.0.0: the pin in requirements.txt and every use of it. The "
        "amounts must not change. What changed is in vendor/ratebook-2.0.0/CHANGES.md."
    ),
    scope=(_PINS, _TAX, _QUOTES, "CHANGELOG.md"),
    look_at=(_TAX, "vendor/ratebook-2.0.0/CHANGES.md", _PINS),
    aside=("docs/NOTES.md", _QUOTES, "vendor/ratebook-2.0.0/ratebook.py", "conftest.py"),
    search=("ratebook", r"ratebook\.rate"),
    reproduce=same_for_all("python -m pytest -q tests/test_tax.py"),
    check="python -m pytest -q tests/test_tax.py tests/test_invoice.py",
    right=Variant(
        (_PIN, Change(_TAX, _TAX_NEW, _TAX_OLD), Change(_QUOTES, _QUOTES_NEW, _QUOTES_OLD)),
        "rate() is gone and rates are percentages now. tax.py and quotes.py both call it, so both have to move, and "
        "the divisor goes from 10,000 to 100.",
        "The pin is 2.0.0; `tax.py` and `quotes.py` use `lookup(country).percent` and divide by 100.",
    ),
    partial=Variant(
        (_PIN, Change(_TAX, _TAX_NEW, _TAX_OLD)),
        "rate() is gone and rates are percentages now: tax.py needs lookup().percent and a divisor of 100.",
        "The pin is 2.0.0 and `tax.py` uses `lookup(country).percent`.",
    ),
    wrong=Variant(
        (_PIN, Change(_TAX, _TAX_MIXED, _TAX_OLD)),
        "rate() was renamed to lookup(), which returns an object with the rate in it.",
        "The pin is 2.0.0 and `tax.py` calls `lookup` instead of `rate`.",
    ),
    explore="Find every use of ratebook in tillroll outside vendor/, and say what each expects a rate to be.",
    changelog="- Tax rates come from ratebook 2.",
)
