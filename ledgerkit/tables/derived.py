"""Derived tables: what is read out of parts, kept so that it need not be read again, and never the truth.

A derived table is data: which parts its extractor reads, which columns it gives, and the version of its rules. The
rows of a run stand beside the state of the run that they were read from; any other state means: read again. A new
version means the same for all runs. Lose all of it, and nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from ledgerkit.tables.schema import FLAG, INT, SMALL_INT, TEXT, TEXTS, Column, Table
from ledgerkit.tables.stored import RUN_KEYS

_ERROR_LINE: Final = pl.Struct({"path": TEXT, "line": INT, "message": TEXT})

STATE: Final = Column("state", TEXT, "State of the run that the row was read from: its last leaf hash, and erasures.")
ROW: Final = Column("row", INT, "Place of the row among those of its run; null in the one row that says: it was read.")


@dataclass(frozen=True, slots=True)
class DerivedTable:
    """A table that an extractor computes from the parts of runs.

    Attributes:
        name: What it is called; the database knows it as ``derived_NAME``.
        one_row_is: What one row is.
        extractor: The function that computes it.
        version: Version of the extractor's rules: raised whenever the same parts would give other rows.
        reads: Columns of ``history`` that the extractor is given.
        where: Which parts it is given, as an SQL condition on ``history``.
        columns: What it computes, beside the keys of the run.
    """

    name: str
    one_row_is: str
    extractor: str
    version: int
    reads: tuple[str, ...]
    where: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pl.Schema:
        """Names and types of what the extractor computes, the keys of the run first."""
        return pl.Schema({c.name: c.type for c in (*RUN_KEYS, *self.columns)})

    @property
    def stored(self) -> Table:
        """How its rows are stored."""
        columns = (*RUN_KEYS, STATE, ROW, *self.columns)
        return Table(self.name, self.one_row_is, columns, sort_by=("session_id", "run_id", "row"))


PARSED_CHECKS: Final = DerivedTable(
    "parsed_checks",
    "a check that a shell call ran, with the verdict that its output gives",
    extractor="ledgerkit.extract.verifiers.verifier_frame",
    version=3,
    reads=(
        *(c.name for c in RUN_KEYS),
        *("sequence_no", "message_id", "part_index", "step", "part_type", "text", "data", "tool_call_id", "tool_name"),
        *("status", "error_category", "part_visibility"),
    ),
    where="h.part_type in ('tool_call', 'tool_result') and h.tool_call_id is not null",
    columns=(
        Column("sequence_no", INT, "Place of the result in its run."),
        Column("message_id", TEXT, "Message of the result."),
        Column("part_index", SMALL_INT, "Part of the result in its message."),
        Column("step", SMALL_INT, "Model call that asked for the call."),
        Column("tool_call_id", TEXT, "The call."),
        Column("call_visibility", TEXT, "Who may see the call; its result has a label of its own."),
        Column("command", TEXT, "The shell line, as the call gave it."),
        Column("kind", TEXT, "What the check is about: test, build, lint or types."),
        Column("tool", TEXT, "The tool whose output was read: pytest, ruff, …"),
        Column(
            "targets", TEXT, "Targets and selecting options, as given; empty for all that the tool takes by itself."
        ),
        Column("check_no", SMALL_INT, "Place of the check in its shell line, from 0."),
        Column("verdict", TEXT, "passed, failed or inconclusive."),
        Column("passed", INT, "How many passed; null where the output does not say."),
        Column("failed", INT, "How many failed."),
        Column("errors", INT, "How many errors."),
        Column("skipped", INT, "How many were skipped."),
        Column("failing", TEXTS, "Names of what failed, at most 50."),
        Column("error_lines", pl.List(_ERROR_LINE), "Errors and where they are, at most 50."),
        Column("is_truncated", FLAG, "Whether the output was cut."),
        Column("reason", TEXT, "Why the verdict is what it is."),
        Column("exit_code", INT, "How the shell line exited, where that is recorded."),
        Column("hidden_by", TEXT, "What of the line hides the check's own exit code; null where nothing does."),
        Column("evidence_refs", TEXTS, "The call, with the lines of its output that say so where there are some."),
        Column("source", TEXT, "parsed."),
        Column("extractor_version", SMALL_INT, "Version of the extractor's rules."),
    ),
)
"""Verdicts that were read out of what shell calls printed."""

DERIVED: Final[dict[str, DerivedTable]] = {table.name: table for table in (PARSED_CHECKS,)}
"""The derived tables by name."""
