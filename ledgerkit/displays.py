"""How core objects show themselves in a notebook: the one import that goes upward.

One rule: nothing here knows how; ``ledgerkit.notebook`` does, and is loaded when a cell shows an object, never before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Bundle = Mapping[str, Any]
"""Forms of one object by media type."""


class Displayed:
    """Shows itself in a cell as text and as HTML. A plain ``repr`` is not touched."""

    __slots__ = ()

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> Bundle | tuple[Bundle, Mapping[str, Any]]:
        del include, exclude  # the front end picks
        from ledgerkit.notebook.hooks import bundle_of

        return bundle_of(self)
