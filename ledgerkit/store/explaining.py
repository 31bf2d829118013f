"""What DuckDB says of a query that failed, in ledgerkit's words: a name that is not there, a file that is damaged."""

from __future__ import annotations

import os
import re
from typing import Final

import duckdb

from ledgerkit import errors, tables

_COSTS: Final = (
    "prices are no table of the ledger. Take `ledgerkit cost --by run --json`, or in Python ledger.runs() and "
    "ledger.cost(by)."
)
_COMPUTED: Final = {
    "cost": _COSTS,
    "unpriced_calls": _COSTS,
    "last_check": "it is read from the table verifier_results. In Python ledger.runs() has it.",
}
"""What lists of runs show and no table holds."""


def explained(error: duckdb.Error) -> errors.QueryError:
    """The error of ledgerkit that says the same, with the nearest names that there are."""
    message = str(error)
    table = re.search(r"Table with name (\S+) does not exist", message)
    if table:
        return errors.UnknownNameError.among("table", table[1].strip('"'), tables.VIEWS)
    column = re.search(r'Referenced column "([^"]+)" not found', message)
    if column:
        if column[1] in _COMPUTED:
            said = f"No column {column[1]!r} in SQL: {_COMPUTED[column[1]]}"
            return errors.UnknownNameError(said, name=column[1])
        there = [name for name, view in tables.VIEWS.items() if any(c.name == column[1] for c in view.columns)]
        if there:
            said = f"The tables of this query have no column {column[1]!r}. It is in {', '.join(there)}."
            return errors.UnknownNameError(said, name=column[1], available=there)
        known = sorted({c.name for view in tables.VIEWS.values() for c in view.columns})
        return errors.UnknownNameError.among("column", column[1], known)
    return errors.QueryError(f"{message.strip()}\nTables: {', '.join(tables.VIEWS)}.")


def unreadable(error: duckdb.Error, ledger: str | os.PathLike[str]) -> errors.LedgerFormatError:
    """The error for a query of ledgerkit's own, which fails only where a file is gone or damaged."""
    said = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return errors.LedgerFormatError(
        f"A file of the ledger cannot be read: {said.strip()} Run: ledgerkit verify --ledger {ledger}"
    )
