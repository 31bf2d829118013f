"""Add a feature: amounts can be shown with their currency, which decides the number of decimals."""

from __future__ import annotations

from typing import Final

from ledgerkit.agent.scripts.task import Change, Task, Variant, same_for_all

_MONEY: Final = "tillroll/money.py"
_TESTS: Final = "tests/test_money.py"
_PLAIN: Final = '''\
def format_amount(cents: int) -> str:
    """An amount for people: 1250 is 12.50."""
    sign = "-" if cents < 0 else ""
    whole, part = divmod(abs(cents), 100)
    return f"{sign}{whole}.{part:02d}"
'''
_RIGHT: Final = '''\
DECIMALS = {"EUR": 2, "USD": 2, "JPY": 0, "KWD": 3}


def format_amount(cents: int, currency: str | None = None) -> str:
    """An amount for people: 1250 is 12.50, with a currency 12.50 EUR or 1250 JPY."""
    if currency is not None and currency not in DECIMALS:
        raise ValueError(f"unknown currency {currency}")
    digits = DECIMALS[currency] if currency else 2
    sign = "-" if cents < 0 else ""
    whole, part = divmod(abs(cents), 10**digits)
    amount = f"{sign}{whole}.{part:0{digits}d}" if digits else f"{sign}{whole}"
    return f"{amount} {currency}" if currency else amount
'''
_PARTIAL: Final = '''\
def format_amount(cents: int, currency: str | None = None) -> str:
    """An amount for people: 1250 is 12.50, with a currency 12.50 EUR."""
    sign = "-" if cents < 0 else ""
    whole, part = divmod(abs(cents), 100)
    suffix = f" {currency}" if currency else ""
    return f"{sign}{whole}.{part:02d}{suffix}"
'''
_WRONG: Final = '''\
DECIMALS = {"EUR": 2, "USD": 2, "JPY": 0, "KWD": 3}


def format_amount(cents: int, currency: str = "EUR") -> str:
    """An amount for people, with its currency."""
    digits = DECIMALS[currency]
    whole, part = divmod(cents, 10**digits)
    return f"{whole}.{part:0{digits}d} {currency}"
'''
_LAST_TEST: Final = """\
def test_format_keeps_the_sign():
    assert format_amount(-50) == "-0.50"
"""
_EURO_TEST: Final = f"""{_LAST_TEST}

def test_format_names_the_currency():
    assert format_amount(1250, "EUR") == "12.50 EUR"
"""
_YEN_TEST: Final = f"""{_EURO_TEST}

def test_currencies_have_their_own_decimals():
    assert format_amount(1250, "JPY") == "1250 JPY"
    assert format_amount(-1250, "KWD") == "-1.250 KWD"
"""

TASK: Final = Task(
    task_id="add-currency",
    title="Show amounts with their currency",
    branch="feature/currency",
    prompt=(
        'Add an optional currency to format_amount: format_amount(1250, "EUR") gives "12.50 EUR". Amounts are in the '
        "smallest unit of the currency, so yen has no decimals and Kuwaiti dinar has three. An unknown currency raises "
        "ValueError; without a currency nothing changes. Add tests."
    ),
    scope=(_MONEY, _TESTS, "CHANGELOG.md"),
    look_at=(_MONEY, _TESTS),
    aside=("docs/NOTES.md", "tillroll/quotes.py", "tillroll/render.py", "CHANGELOG.md"),
    search=("format_amount", "def test_format"),
    reproduce=same_for_all("python -m pytest -q tests/test_money.py"),
    check="python -m pytest -q tests/test_money.py",
    right=Variant(
        (Change(_MONEY, _RIGHT, _PLAIN), Change(_TESTS, _YEN_TEST, _LAST_TEST)),
        "The number of decimals depends on the currency, so a small table is enough: EUR and USD 2, JPY 0, KWD 3. "
        "Without a currency the old form has to stay, sign included.",
        "`format_amount` takes an optional currency; a table says how many decimals each has, unknown ones raise "
        "`ValueError`. Tests cover euro, yen and dinar.",
    ),
    partial=Variant(
        (Change(_MONEY, _PARTIAL, _PLAIN), Change(_TESTS, _EURO_TEST, _LAST_TEST)),
        "The smallest change is a suffix: format as before and append the currency where one is given.",
        "`format_amount` takes an optional currency and appends it. A test covers it.",
    ),
    wrong=Variant(
        (Change(_MONEY, _WRONG, _PLAIN), Change(_TESTS, _YEN_TEST, _LAST_TEST)),
        "A table of decimals by currency, euro as the default, and divmod does the rest.",
        "`format_amount` takes a currency and knows how many decimals each has. Tests cover euro, yen and dinar.",
    ),
    explore="Find all callers of format_amount in tillroll and its tests, and say which rely on two decimals.",
    changelog="- Amounts can be shown with their currency.",
)
