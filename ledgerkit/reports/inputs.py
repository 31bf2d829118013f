"""What a report is made of: frames that somebody else has read.

One rule: a report reads nothing itself.  The same input gives the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ledgerkit.errors import QueryError


@dataclass(frozen=True, slots=True)
class RunReportInput:
    """One run, as frames. Columns are those of the views of the same name; others are ignored.

    Attributes:
        run: Its one row of ``runs``.
        parts: Its rows of ``parts``, with their labels: the report shows only what its audience may see of them.
        tool_calls: Its rows of ``tool_calls``.
        calls: Its rows of ``model_calls``, priced by ``cost.price_calls``.
        children: Rows of ``runs`` whose parent it is, with a column ``cost`` (US dollars, null where unknown) if known.
        file_changes: Its rows of ``file_changes``.
        verifier_results: Its rows of ``verifier_results``.
    """

    run: pl.DataFrame
    parts: pl.DataFrame
    tool_calls: pl.DataFrame
    calls: pl.DataFrame
    children: pl.DataFrame
    file_changes: pl.DataFrame
    verifier_results: pl.DataFrame

    def __post_init__(self) -> None:
        if self.run.height != 1:
            raise QueryError(f"A run report is about one run, got {self.run.height}. Give it one row of the view runs.")


@dataclass(frozen=True, slots=True)
class LedgerReportInput:
    """Many runs, as frames. Columns are those of the views of the same name; others are ignored.

    Attributes:
        name: What to call the ledger.
        runs: Rows of ``runs``.
        calls: Their rows of ``model_calls``, priced by ``cost.price_calls``.
        tool_calls: Their rows of ``tool_calls``; ``tool_name``, ``status`` and ``duration_s`` are enough.
        labels: Counts of parts by label: ``kind``, ``part_trust_level``, ``part_visibility``, ``parts`` and ``tokens``.
        import_files: Rows of ``import_files``.
    """

    name: str
    runs: pl.DataFrame
    calls: pl.DataFrame
    tool_calls: pl.DataFrame
    labels: pl.DataFrame
    import_files: pl.DataFrame


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """How much of a ledger one report shows; what is left out is counted in it.

    With these limits a report stays under about 8 MB, most of it under 2 MB.

    Attributes:
        text: Characters of one text.
        total: Characters of all texts together; if they are more, each is cut to the same smaller length.
        steps: Steps shown one by one: two thirds from the beginning, the rest from the end.
        parts: Parts shown within the steps, chosen likewise.
        rows: Rows of one table.
    """

    text: int = 6_000
    total: int = 1_500_000
    steps: int = 500
    parts: int = 4_000
    rows: int = 100
