"""Which columns of a table a terminal has room for, and how wide each is.

One rule: a number is never cut. Texts become narrower first, the widest before the others; what then has no room is
left out, and said to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_GAP: Final = 2
_LEAST_TEXT: Final = 12


def fitted(
    wanted: Sequence[int], are_texts: Sequence[bool], room: int, leaving: Sequence[int] | None = None
) -> list[int | None]:
    """Widths of columns; ``None`` for one that is left out.

    Args:
        wanted: The width that each column needs to be seen whole.
        are_texts: Which of them may be narrower.
        room: Width of the terminal.
        leaving: Which columns are left out, the first one first. One that is not named stays until only such are
            left. Without it, they go from the end.

    Example:
        >>> fitted([8, 30, 6], [False, True, False], 40)
        [8, 22, 6]
        >>> fitted([8, 30, 20, 6], [False, True, True, False], 32, leaving=[1, 3])
        [8, None, 14, 6]
        >>> fitted([8, 30, 20, 6], [False, True, True, False], 32)
        [8, 22, None, None]
    """
    kept = list(range(len(wanted)))
    first = list(leaving or ())
    order = [*first, *(at for at in reversed(kept) if at not in first)]
    while True:
        widths = _narrowed([wanted[at] for at in kept], [are_texts[at] for at in kept], room)
        if widths is not None or len(kept) <= 1:
            found = dict(zip(kept, widths or [room] * len(kept), strict=True))
            return [found.get(at) for at in range(len(wanted))]
        kept.remove(order.pop(0))


def _narrowed(wanted: list[int], are_texts: list[bool], room: int) -> list[int] | None:
    """The widths with which they fit; ``None`` if there is no room for all."""
    widths = list(wanted)
    over = sum(widths) + _GAP * (len(widths) - 1) - room
    while over > 0:
        _, at = max(((width, at) for at, width in enumerate(widths) if are_texts[at]), default=(0, -1))
        if at < 0 or widths[at] <= _LEAST_TEXT:
            return None
        widths[at] -= 1
        over -= 1
    return widths
