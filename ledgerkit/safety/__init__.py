"""What keeps hostile or private content from doing harm on its way out of a ledger."""

from __future__ import annotations

from ledgerkit.safety.gate import visible_to
from ledgerkit.safety.inert import inert_html, inert_terminal

__all__ = ["inert_html", "inert_terminal", "visible_to"]
