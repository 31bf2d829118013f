"""Every error that ledgerkit raises on purpose.

::

    LedgerkitError
    ├── ProtocolError (ValueError)        a message, part or reference that the protocol does not allow
    │   └── PayloadRefusedError           a request that its interface would refuse, or that must not be sent
    ├── LedgerError                       a ledger on disk
    │   ├── LedgerNotFoundError (FileNotFoundError)
    │   ├── LedgerFormatError             not a ledger, or of a version that this code cannot read
    │   ├── LedgerConflictError           another writer got there first, and retrying did not help
    │   │   └── RunLockedError            a second live writer on a run
    │   ├── IntegrityError                the ledger does not hold what it should; nothing was changed
    │   ├── JournalError                  a journal whose head is damaged, or a file that is none
    │   └── IdempotencyError (ValueError) an idempotency key used again with other content
    ├── QueryError (ValueError)           a query that cannot or may not run
    │   └── UnknownNameError (KeyError)   a table, column, run or session that is not there
    ├── PriceFileError (ValueError)       a price file that cannot be read
    ├── ImportSourceError (ValueError)    nothing to import, or a path that cannot be read
    ├── EvaluationError                   an evaluation that cannot be done, or lost a worker too often
    │   └── EvaluationCancelledError      the caller ended it
    ├── ComparisonError (ValueError)      sets of runs that cannot be compared, or no longer are what they were
    ├── ModelUnavailableError             a model call that failed and may be tried again
    ├── ExportTargetError (ValueError)    a path that an export cannot or may not write to
    └── MissingExtraError (ImportError)   an optional dependency that is not installed

Each message ends with what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LedgerkitError(Exception):
    """Root of all errors that ledgerkit raises on purpose."""


class ProtocolError(LedgerkitError, ValueError):
    """A message, part or reference that the protocol does not allow."""

    @classmethod
    def unknown_value(cls, what: str, value: object, allowed: Iterable[str]) -> ProtocolError:
        """For a value outside a closed vocabulary, with the nearest allowed one."""
        return cls(f"Unknown {what} {value!r}. {_suggestion(str(value), list(allowed))}")


class PayloadRefusedError(ProtocolError):
    """A request that its interface would refuse, or that must not be sent; nothing was.

    Attributes:
        violations: Path in the body and what is wrong there.
    """

    def __init__(self, interface: str, violations: Iterable[tuple[str, str]]) -> None:
        self.violations = tuple(violations)
        shown = " ".join(f"{path or 'body'}: {sentence}" for path, sentence in self.violations[:3])
        more = f" And {len(self.violations) - 3} more." if len(self.violations) > 3 else ""
        super().__init__(f"Not a request for {interface}. {shown}{more} Change the request.")


class LedgerError(LedgerkitError):
    """A ledger on disk that cannot do what was asked."""


class LedgerNotFoundError(LedgerError, FileNotFoundError):
    """No ledger at a path where one was expected."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class LedgerFormatError(LedgerError):
    """A folder that is not a ledger, or a ledger of a version that this code cannot read."""


class LedgerConflictError(LedgerError):
    """Another writer got there first, and retrying did not help."""


class RunLockedError(LedgerConflictError):
    """A run that another recorder is writing."""


class IntegrityError(LedgerError):
    """A ledger that does not hold what it should, or a proof or checkpoint that cannot be read."""


class JournalError(LedgerError):
    """A journal whose head is damaged, or a file that is none: something other than a crash has changed it."""


class IdempotencyError(LedgerError, ValueError):
    """An idempotency key that was used before with other content."""


class QueryError(LedgerkitError, ValueError):
    """A query that cannot run, or may not."""


class UnknownNameError(QueryError, KeyError):
    """A table, column, run or session that is not there.

    Attributes:
        name: What was asked for.
        available: What there is (for tables and columns), possibly empty.
    """

    def __init__(self, message: str, *, name: str, available: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.name = name
        self.available = tuple(available)

    def __str__(self) -> str:
        return str(self.args[0])

    @classmethod
    def among(cls, what: str, name: str, available: Iterable[str]) -> UnknownNameError:
        """For a name that is not among some others, with the nearest of them."""
        names = sorted(available)
        return cls(f"No {what} {name!r}. {_suggestion(name, names)}", name=name, available=names)


class ImportSourceError(LedgerkitError, ValueError):
    """Nothing to import at a path, or a path that cannot be read."""


class ImportWorkerError(LedgerkitError):
    """A worker process of an import was lost. What was committed before stays; the rest can be imported again."""


class EvaluationError(LedgerkitError):
    """An evaluation that cannot be done as asked, or that lost the worker of one bucket too often."""


class EvaluationCancelledError(EvaluationError):
    """The caller ended an evaluation; what was finished is kept where it was to be written."""


class ComparisonError(LedgerkitError, ValueError):
    """Sets of runs that cannot be compared, or a manifest whose runs are no longer what they were."""


class ModelUnavailableError(LedgerkitError):
    """A model call that failed and may be tried again.

    Attributes:
        status: HTTP status; 0 where no answer came.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class NotebookRunError(LedgerkitError):
    """A notebook that was to be run stopped at a cell."""


class ExportTargetError(LedgerkitError, ValueError):
    """A path that an export cannot or may not write to."""


class PriceFileError(LedgerkitError, ValueError):
    """A price file that cannot be read; says where."""


class StrategyError(LedgerkitError, ValueError):
    """A strategy cannot be applied, or its answer breaks a rule of placements."""


class ContextError(LedgerkitError, ValueError):
    """A context cannot be built as it was asked for."""


class OutputBlockedError(LedgerkitError):
    """Something that was about to leave holds what looks like a secret.

    Attributes:
        names: What it is, as ``allow`` takes it: ``type#fingerprint``.
    """

    def __init__(self, what: str, names: list[str]) -> None:
        self.names = names
        listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        super().__init__(
            f"{what} was not written: it holds what looks like a secret ({listed}). Redact the ledger (import with "
            "redaction on, or erase the messages that `ledgerkit audit --what secrets` names), or allow it by name."
        )


class ConfigurationError(LedgerkitError, ValueError):
    """A setting of this machine or user cannot be used."""


class MissingExtraError(LedgerkitError, ImportError):
    """An optional dependency that is not installed."""

    @classmethod
    def for_extra(cls, extra: str, what: str) -> MissingExtraError:
        """Says what needs the extra, and the command that installs it."""
        return cls(f"{what} needs an optional part: pip install 'agent-ledgerkit[{extra}]'")


def _suggestion(name: str, allowed: list[str]) -> str:
    close = difflib.get_close_matches(name, allowed, n=3, cutoff=0.5) or difflib.get_close_matches(
        name.upper(), allowed, n=3, cutoff=0.5
    )
    if close:
        return "Did you mean " + " or ".join(repr(item) for item in close) + "?"
    return ("Known: " + ", ".join(allowed) + ".") if allowed else "There are none."
