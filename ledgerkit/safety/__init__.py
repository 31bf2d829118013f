"""What keeps hostile or private content from doing harm on its way out of a ledger."""

from __future__ import annotations

from ledgerkit.safety.gate import check_output, visible_to
from ledgerkit.safety.inert import inert_html, inert_terminal

__all__ = ["check_output", "inert_html", "inert_terminal", "visible_to"]
