"""Reports of what a ledger holds: self-contained HTML documents, made from frames.

::

    html = reports.run_report(reports.RunReportInput(run=..., parts=..., ...), generated_at=now)

What an audience may not see is withheld and counted; text from logs is harmless by construction.
"""

from __future__ import annotations

from ledgerkit.reports.comparison_fragment import comparison_fragment
from ledgerkit.reports.comparison_markdown import comparison_markdown
from ledgerkit.reports.comparison_report import comparison_report
from ledgerkit.reports.comparison_terminal import comparison_terminal
from ledgerkit.reports.fleet_report import fleet_report, fleet_terminal
from ledgerkit.reports.inputs import LedgerReportInput, ReportLimits, RunReportInput
from ledgerkit.reports.ledger_report import ledger_report
from ledgerkit.reports.run_report import run_report

__all__ = [
    "LedgerReportInput",
    "ReportLimits",
    "RunReportInput",
    "comparison_fragment",
    "comparison_markdown",
    "comparison_report",
    "comparison_terminal",
    "fleet_report",
    "fleet_terminal",
    "ledger_report",
    "run_report",
]
