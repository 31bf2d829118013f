"""ledgerkit: explore the run histories of AI coding agents.

One rule explains the whole program: the ledger is the history, everything else is a projection of it.

    >>> import ledgerkit as lk
    >>> ledger = lk.open("runs.ledger")                  # doctest: +SKIP
    >>> ledger.import_logs("~/.claude/projects")         # doctest: +SKIP
    >>> ledger.cost(by="model")                          # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ledgerkit.errors import (
    ComparisonError,
    ConfigurationError,
    ExportTargetError,
    IdempotencyError,
    ImportSourceError,
    ImportWorkerError,
    IntegrityError,
    LedgerConflictError,
    LedgerError,
    LedgerFormatError,
    LedgerkitError,
    LedgerNotFoundError,
    MissingExtraError,
    NotebookRunError,
    OutputBlockedError,
    PriceFileError,
    ProtocolError,
    QueryError,
    RunLockedError,
    UnknownNameError,
)
from ledgerkit.protocol.vocabulary import Audience, MessageKind, TrustLevel, Visibility

if TYPE_CHECKING:
    from ledgerkit import strategies as strategies
    from ledgerkit.comparisons import Comparison, compare
    from ledgerkit.cost import PriceBook
    from ledgerkit.exports import ExportAccount
    from ledgerkit.ingest.account import ImportAccount
    from ledgerkit.ledger import Ledger, open
    from ledgerkit.protocol.messages import AgentMessage, AppendMessageCommand, MessageRange
    from ledgerkit.run import Run
    from ledgerkit.run_sets import RunSet
    from ledgerkit.store.integrity.checkpoints import Checkpoint
    from ledgerkit.store.integrity.proofs import InclusionProof
    from ledgerkit.store.recorder import Recorder

__version__ = "0.1.0"

__all__ = [
    "AgentMessage",
    "AppendMessageCommand",
    "Audience",
    "Checkpoint",
    "Comparison",
    "ComparisonError",
    "ConfigurationError",
    "ExportAccount",
    "ExportTargetError",
    "IdempotencyError",
    "ImportAccount",
    "ImportSourceError",
    "ImportWorkerError",
    "InclusionProof",
    "IntegrityError",
    "Ledger",
    "LedgerConflictError",
    "LedgerError",
    "LedgerFormatError",
    "LedgerNotFoundError",
    "LedgerkitError",
    "MessageKind",
    "MessageRange",
    "MissingExtraError",
    "NotebookRunError",
    "OutputBlockedError",
    "PriceBook",
    "PriceFileError",
    "ProtocolError",
    "QueryError",
    "Recorder",
    "Run",
    "RunLockedError",
    "RunSet",
    "TrustLevel",
    "UnknownNameError",
    "Visibility",
    "compare",
    "open",
    "strategies",
]

_LATE = {
    "AgentMessage": "ledgerkit.protocol.messages",
    "AppendMessageCommand": "ledgerkit.protocol.messages",
    "Checkpoint": "ledgerkit.store.integrity.checkpoints",
    "Comparison": "ledgerkit.comparisons",
    "ExportAccount": "ledgerkit.exports",
    "ImportAccount": "ledgerkit.ingest.account",
    "InclusionProof": "ledgerkit.store.integrity.proofs",
    "Ledger": "ledgerkit.ledger",
    "MessageRange": "ledgerkit.protocol.messages",
    "PriceBook": "ledgerkit.cost",
    "Recorder": "ledgerkit.store.recorder",
    "Run": "ledgerkit.run",
    "RunSet": "ledgerkit.run_sets",
    "compare": "ledgerkit.comparisons",
    "open": "ledgerkit.ledger",
}


def __getattr__(name: str) -> object:
    """Names whose modules are loaded at their first use: ``--help`` and a shell's completion wait for none of them."""
    if name == "strategies":
        return import_module("ledgerkit.strategies")
    if name not in _LATE:
        raise AttributeError(f"module 'ledgerkit' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)
