"""JSON schemas of what commands print with ``--json``: made from the types of ledgerkit's own answers."""
