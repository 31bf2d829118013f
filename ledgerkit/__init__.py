"""ledgerkit: explore the run histories of AI coding agents.

One rule explains the whole program: the ledger is the history, everything else is a projection of it.

    >>> import ledgerkit as lk
    >>> ledger = lk.open("runs.ledger")                  # doctest: +SKIP
    >>> ledger.import_logs("~/.claude/projects")         # doctest: +SKIP
    >>> ledger.cost(by="model")                          # doctest: +SKIP
"""

from __future__ import annotations

from ledgerkit.cost import PriceBook
from ledgerkit.errors import (
    IdempotencyError,
    ImportSourceError,
    LedgerConflictError,
    LedgerError,
    LedgerFormatError,
    LedgerkitError,
    LedgerNotFoundError,
    MissingExtraError,
    ProtocolError,
    QueryError,
    UnknownNameError,
)
from ledgerkit.ingest.account import ImportAccount
from ledgerkit.ledger import Ledger, open
from ledgerkit.protocol.messages import AgentMessage, AppendMessageCommand, MessageRange
from ledgerkit.protocol.vocabulary import Audience, MessageKind, TrustLevel, Visibility
from ledgerkit.run import Run

__version__ = "0.1.0"

__all__ = [
    "AgentMessage",
    "AppendMessageCommand",
    "Audience",
    "IdempotencyError",
    "ImportAccount",
    "ImportSourceError",
    "Ledger",
    "LedgerConflictError",
    "LedgerError",
    "LedgerFormatError",
    "LedgerNotFoundError",
    "LedgerkitError",
    "MessageKind",
    "MessageRange",
    "MissingExtraError",
    "PriceBook",
    "ProtocolError",
    "QueryError",
    "Run",
    "TrustLevel",
    "UnknownNameError",
    "Visibility",
    "open",
]
