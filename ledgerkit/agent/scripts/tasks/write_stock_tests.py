"""Write missing tests; the hidden check breaks the code on purpose and sees whether they notice."""

from __future__ import annotations

from typing import Final

from ledgerkit.agent.scripts.task import Change, Task, Variant, same_for_all

_TESTS: Final = "tests/test_stock.py"
_HEAD: Final = """\
import pytest

from tillroll.stock import OutOfStock, Stock


def filled() -> Stock:
    stock = Stock()
    stock.receive("pen", 5)
    return stock


def test_received_articles_are_available():
    assert filled().available("pen") == 5


def test_reserved_articles_are_not_available():
    stock = filled()
    stock.reserve("pen", 2)
    assert stock.available("pen") == 3


def test_more_than_there_is_cannot_be_reserved():
    with pytest.raises(OutOfStock):
        filled().reserve("pen", 6)
"""
_EDGES: Final = """

def test_everything_that_is_there_can_be_reserved():
    stock = filled()
    stock.reserve("pen", 5)
    assert stock.available("pen") == 0


@pytest.mark.parametrize("count", [0, -1])
def test_nothing_or_less_cannot_be_received(count):
    with pytest.raises(ValueError):
        Stock().receive("pen", count)
"""
_RELEASE: Final = """

def test_released_articles_are_available_again():
    stock = filled()
    stock.reserve("pen", 2)
    stock.release("pen", 3)
    assert stock.available("pen") == 5
"""
_LOW: Final = """

def test_low_names_articles_below_the_threshold():
    stock = filled()
    stock.receive("cup", 1)
    assert stock.low(5) == ["cup"]
"""
_TOO_STRICT: Final = """

def test_more_than_was_promised_cannot_be_released():
    stock = filled()
    with pytest.raises(OutOfStock):
        stock.release("pen", 1)
"""

TASK: Final = Task(
    task_id="write-stock-tests",
    title="Tests for the stock",
    branch="tests/stock",
    prompt=(
        "tillroll/stock.py has one test. Please write the missing ones in tests/test_stock.py: reserve, release, "
        "receive and low, with their edges. Do not change stock.py."
    ),
    scope=(_TESTS,),
    look_at=("tillroll/stock.py", _TESTS),
    aside=("docs/NOTES.md", "tests/test_money.py", "CLAUDE.md"),
    search=("OutOfStock", "class Stock|def "),
    reproduce=same_for_all("python -m pytest -q tests/test_stock.py"),
    check="python -m pytest -q tests/test_stock.py",
    right=Variant(
        (Change(_TESTS, _HEAD + _EDGES + _RELEASE + _LOW),),
        "The edges matter: reserving exactly what is there, receiving nothing, releasing more than was promised, and a "
        "count that equals the threshold.",
        "Seven more tests cover receive, reserve, release and low, each with its edge.",
    ),
    partial=Variant(
        (Change(_TESTS, _HEAD + _RELEASE + _LOW.replace("low(5)", "low(2)")),),
        "One test for each method shows that it does what its docstring says.",
        "Tests cover receive, reserve, release and low.",
    ),
    wrong=Variant(
        (Change(_TESTS, _HEAD + _EDGES + _TOO_STRICT + _LOW),),
        "Edges first: nothing received, exactly what is there, and releasing more than was promised must be refused.",
        "Tests cover receive, reserve, release and low, with their edges.",
    ),
    explore="List every public method of Stock with its edge cases, and which of them tests/test_stock.py covers.",
)
