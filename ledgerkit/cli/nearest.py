"""Did you mean: the names that are nearest to one that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known names, with a space before it; all of them where none is near.

    Example:
        >>> nearest("serach", ["runs", "search"])
        " Did you mean 'search'?"
    """
    names = list(known)
    close = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.6)
    close = close or [one for one in names if name and one.startswith(name.lower())]
    if close:
        return f" Did you mean {' or '.join(map(repr, close))}?"
    return f" There are: {', '.join(names)}."
