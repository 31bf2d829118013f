"""Recorded sessions as log files: in Claude Code's format, and in ledgerkit's own."""
