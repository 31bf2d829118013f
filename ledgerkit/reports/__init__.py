"""Reports of what a ledger holds: self-contained HTML documents, made from frames.

::

    html = reports.run_report(reports.RunReportInput(run=..., parts=..., ...), generated_at=now)

What an audience may not see is withheld and counted; text from logs is harmless by construction.
"""

from __future__ import annotations

from ledgerkit.reports.inputs import LedgerReportInput, ReportLimits, RunReportInput
from ledgerkit.reports.ledger_report import ledger_report
from ledgerkit.reports.run_report import run_report

__all__ = ["LedgerReportInput", "ReportLimits", "RunReportInput", "ledger_report", "run_report"]
