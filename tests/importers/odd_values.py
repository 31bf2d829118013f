"""Documents in which a value is not what its format says: one is replaced by something of another type."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

from hypothesis import strategies as st

from ledgerkit.importers.shapes import is_list, is_object

_ODD: Final[tuple[Any, ...]] = ([], {}, [1], [{}], {"a": []}, None, 1, -1, 1.5, True, "", "x", "{}")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys: Any = list(value) if is_object(value) else range(len(value)) if is_list(value) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def with_odd_value(data: st.DataObject, document: Any) -> Any:
    """A copy of a document with one or two values replaced."""
    made = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 2))):
        places = list(_places(made))
        holder, key = places[data.draw(st.integers(0, len(places) - 1))]
        holder[key] = copy.deepcopy(data.draw(st.sampled_from(_ODD)))
    return made
