"""``ledgerkit demo``: the main job on the runs that come with the project."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

import ledgerkit as lk
from ledgerkit.cli.asking import print_runs
from ledgerkit.cli.context import json_option
from ledgerkit.cli.costing import print_costs
from ledgerkit.cli.failing import explained_errors
from ledgerkit.cli.import_account import account_json, print_account
from ledgerkit.cli.importing import progress_bar
from ledgerkit.cli.output import console, note, print_json
from ledgerkit.formatting import short_id
from ledgerkit.notebook.demo import bundled
from ledgerkit.safety.redaction import RedactionKey, standard_redactor

_NEXT = """\
Next:
  open {report}
  ledgerkit runs --ledger {ledger}
  ledgerkit replay {run} --ledger {ledger}
  ledgerkit cost --by task_id,model --ledger {ledger}
  ledgerkit audit --ledger {ledger}
  ledgerkit search "ignore previous" --ledger {ledger}
  ledgerkit sql "select tool_name, count(*) from tool_calls group by 1 order by 2 desc" --ledger {ledger}
And your own logs:
  ledgerkit import ~/.claude/projects --ledger my.ledger"""


@click.command("demo")
@click.option("--data", type=click.Path(path_type=Path, exists=True),
              help="The example runs; those that come with ledgerkit if not given.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default=Path("demo"), show_default=True,
              help="Folder for the ledger and the report; what an earlier demo left there is replaced.")  # fmt: skip
@json_option
def demo_command(data: Path | None, out: Path, as_json: bool) -> None:
    """Import the example runs, show them and what they cost, and write a report."""
    where = out / "demo.ledger"
    report = out / "report.html"
    with explained_errors():
        data = data or bundled("data")
        if (where / "ledger.json").is_file():
            shutil.rmtree(where)
        with lk.open(where) as ledger, progress_bar("Importing", hidden=as_json) as progress:
            ledger.redactor = standard_redactor(RedactionKey.public())  # the same demo for everybody
            account = ledger.import_logs(data, progress=progress)
            if not account.runs:
                raise lk.ImportSourceError(f"No run in {data}. Give the folder of the example runs with --data.")
            report.write_text(ledger.report(), "utf-8")
            dearest = ledger.runs().sort("cost", descending=True, nulls_last=True)["run_id"][0]
            if as_json:
                print_json({"account": account_json(account), "ledger": str(where), "report": str(report)})
                return
            _show(ledger, account)
    note("\n" + _NEXT.format(report=report, ledger=where, run=short_id(dearest)), "")


def _show(ledger: lk.Ledger, account: lk.ImportAccount) -> None:
    out = console()
    print_account(account, ledger)
    out.print()
    print_runs(ledger.runs(), limit=12)
    out.print()
    print_costs(ledger, ["model"])
