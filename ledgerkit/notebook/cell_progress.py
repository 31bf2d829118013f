"""Progress in a cell: what ``import_logs`` and ``evaluate`` call as they go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ledgerkit.formatting import format_duration
from ledgerkit.notebook.html import Safe, cell, tag

_EVERY_S: Final = 0.15


@dataclass
class CellProgress:
    """A bar in the cell that is running. Make one with :func:`progress`, and give it as ``progress=…``.

    Attributes:
        title: What is going on.
        clock: Seconds; the machine's if not given.
    """

    title: str
    clock: Callable[[], float] = time.monotonic
    _began: float = field(default=0.0, init=False)
    _drawn: float = field(default=0.0, init=False)
    _handle: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def __call__(self, done: int, total: int, what: str = "") -> None:
        """Draws how far it is.

        Args:
            done: What is done, in bytes or runs.
            total: All of it.
            what: What is being worked on.
        """
        now = self.clock()
        is_last = done >= total
        if self._handle is not None and not is_last and now - self._drawn < _EVERY_S:
            return
        self._drawn = now
        self._show(self.as_bundle(done, total, "" if is_last else what, now - self._began))

    def as_bundle(self, done: int, total: int, what: str, seconds: float) -> dict[str, str]:
        """What the cell shows: text, and a bar."""
        share = done / total if total else 1.0
        words = f"{self.title}: {share:.0%}, {format_duration(seconds)}"
        bar = tag("progress", value=f"{share:.3f}", max="1", aria_label=self.title)
        shown = cell(tag("p", bar, " ", words, f" {what[-60:]}" if what else None, class_="lk-small"), label=self.title)
        return {"text/plain": words, "text/html": shown}

    def _show(self, bundle: dict[str, str]) -> None:
        from importlib.util import find_spec

        if find_spec("IPython") is None:
            return
        from IPython.core.getipython import get_ipython
        from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

        if get_ipython() is None:
            return
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def progress(title: str) -> CellProgress:
    """A bar for a call that takes long; outside a notebook it shows nothing.

    Args:
        title: What is going on.

    Example:
        >>> import tempfile, ledgerkit as lk
        >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
        >>> ledger.evaluate(["FullHistory"], progress=progress("Evaluating")).runs.height
        0
    """
    return CellProgress(title)


@dataclass(frozen=True)
class Note:
    """A sentence with figures that a cell computed. Make one with :func:`note`."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> Safe:
        return cell(tag("p", self.text), label="note")


def note(text: str) -> Note:
    """Shows a sentence as text: nothing in it acts, whatever it holds."""
    return Note(text)
