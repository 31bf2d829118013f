"""Logs into the ledger: read by an importer, assembled into runs, written in one commit, with an account."""
