"""Strategies by name: the text that a label shows is the text that makes it again.

One rule: nothing is run. A name is looked up in a list, and its arguments are constants.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from ledgerkit.errors import StrategyError, UnknownNameError
from ledgerkit.strategies.clearing import ClearAt
from ledgerkit.strategies.excerpts import HeadTail
from ledgerkit.strategies.observations import LastObservations
from ledgerkit.strategies.strategy import Strategy
from ledgerkit.strategies.summaries import SummariseAt
from ledgerkit.strategies.whole import AsRecorded, FullHistory
from ledgerkit.strategies.windows import RandomDrop, SectionBudgets, TokenWindow

NAMED: Final[Mapping[str, Callable[..., Strategy]]] = MappingProxyType(
    {
        "AsRecorded": AsRecorded,
        "ClearAt": ClearAt,
        "FullHistory": FullHistory,
        "HeadTail": HeadTail,
        "LastObservations": LastObservations,
        "RandomDrop": RandomDrop,
        "SectionBudgets.of_window": SectionBudgets.of_window,
        "SummariseAt": SummariseAt,
        "TokenWindow": TokenWindow,
    }
)
"""Strategies that can be named in a text."""


def parse_strategy(text: str, more: Mapping[str, Callable[..., Strategy]] = MappingProxyType({})) -> Strategy:
    """The strategy of a name, as its label shows it.

    Args:
        text: A name with constants as arguments, or several joined by ``|``; without parentheses it has its defaults.
        more: Strategies of the caller's, by name.

    Raises:
        UnknownNameError: If no strategy has the name.
        StrategyError: If the text is not of this form, or the strategy refuses its arguments.

    Example:
        >>> parse_strategy("HeadTail(limit=8000, keep=4000) | ClearAt").label
        'HeadTail(limit=8000, keep=4000) | ClearAt(trigger=100000, target=0, keep=3, at_least=0)'
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise StrategyError(f"{text!r} is no strategy: write it as TokenWindow(60000), several joined by |.") from error
    return _made(tree, text, {**NAMED, **more})


def _made(tree: ast.expr, text: str, known: Mapping[str, Callable[..., Strategy]]) -> Strategy:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitOr):
        return _made(tree.left, text, known) | _made(tree.right, text, known)
    called = tree if isinstance(tree, ast.Call) else None
    name = ast.unparse(called.func if called is not None else tree)
    if name not in known:
        raise UnknownNameError.among("strategy", name, known)
    try:
        given = [ast.literal_eval(one) for one in called.args] if called is not None else []
        named: dict[str, Any] = {}
        for one in called.keywords if called is not None else ():
            named[one.arg or ""] = ast.literal_eval(one.value)
        return known[name](*given, **named)
    except (TypeError, ValueError) as error:
        raise StrategyError(f"{text!r}: {error}") from error
