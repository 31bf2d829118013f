"""The notebook front end: how things show themselves in a cell, tables, claims as cards, the replay widget.

::

    from ledgerkit import notebook

    ledger = notebook.demo_ledger()
    notebook.show(ledger.runs())
    notebook.ReplayWidget(ledger.run("7ba219aa"), step=12)

Cards and tables need nothing beyond ledgerkit; the widget, charts and ``ledgerkit lab`` need the extra ``notebook``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ledgerkit.notebook.cell_progress import CellProgress, Note, note, progress
from ledgerkit.notebook.claims import ClaimCards, claim_cards
from ledgerkit.notebook.demo import demo_ledger
from ledgerkit.notebook.exporting import export_html
from ledgerkit.notebook.memories import MemoryCard, memory_card
from ledgerkit.notebook.pictures import use_charts
from ledgerkit.notebook.standing import export_replay
from ledgerkit.notebook.tables import Table, show
from ledgerkit.notebook.viewing import View, Views, views

if TYPE_CHECKING:
    from ledgerkit.notebook.linked import ReplayTable
    from ledgerkit.notebook.widget import ReplayWidget

__all__ = [
    "CellProgress",
    "ClaimCards",
    "MemoryCard",
    "Note",
    "ReplayTable",
    "ReplayWidget",
    "Table",
    "View",
    "Views",
    "claim_cards",
    "demo_ledger",
    "export_html",
    "export_replay",
    "memory_card",
    "note",
    "progress",
    "show",
    "use_charts",
    "views",
]


def __getattr__(name: str) -> object:
    """Widgets are loaded at their first use: their package is optional."""
    if name == "ReplayTable":
        from ledgerkit.notebook.linked import ReplayTable

        return ReplayTable
    if name == "ReplayWidget":
        from ledgerkit.notebook.widget import ReplayWidget

        return ReplayWidget
    raise AttributeError(f"module 'ledgerkit.notebook' has no attribute {name!r}")
