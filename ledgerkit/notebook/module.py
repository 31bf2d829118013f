"""The front end of the replay as text: one ES module and its style, for a widget and for a page that stands alone.

One rule: the files in ``static/replay`` are the only place where it is written.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ledgerkit.notebook.html import static

MODULES: Final = ("dom.js", "asking.js", "list.js", "timeline.js", "rows.js", "detail.js", "table.js", "main.js")
"""Files of ``static/replay`` that make up the ES module, in order."""
STANDING: Final = ("answering.js", "standing.js")
"""Files that a page needs beside them that no Python answers."""


@cache
def module_text() -> str:
    """The ES module: its files one after the other. Only the last one exports."""
    return _joined(MODULES)


@cache
def standing_text() -> str:
    """The module of a page that stands alone, with what answers its questions."""
    return _joined(MODULES + STANDING)


@cache
def style_text() -> str:
    """Its style."""
    return static("lk.css") + static("replay.css")


def _joined(names: tuple[str, ...]) -> str:
    return "\n".join(static(f"replay/{name}") for name in names)
