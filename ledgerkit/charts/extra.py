"""The optional part that charts need.

One rule: Altair is loaded when a chart is made, never before; without it, the call says what to install.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import Final, ParamSpec, TypeVar

from ledgerkit.errors import MissingExtraError

_PACKAGES: Final = ("altair", "vl_convert")

P = ParamSpec("P")
T = TypeVar("T")


def can_draw() -> bool:
    """Whether the extra ``charts`` is installed, so that charts can be made and turned into SVG."""
    return all(find_spec(name) is not None for name in _PACKAGES)


def needs_altair(function: Callable[P, T]) -> Callable[P, T]:
    """Lets a function that draws say what it needs.

    Raises:
        MissingExtraError: On a call, if the extra ``charts`` is not installed.
    """

    @wraps(function)
    def drawing(*args: P.args, **kwargs: P.kwargs) -> T:
        if not can_draw():
            raise MissingExtraError.for_extra("charts", "Drawing a chart")
        return function(*args, **kwargs)

    return drawing
