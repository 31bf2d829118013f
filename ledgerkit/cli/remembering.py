"""``ledgerkit memory``: the working memory of a run at a step, with the evidence of every entry."""

from __future__ import annotations

from typing import Final

import click

import ledgerkit as lk
from ledgerkit.cli.compacting import show_compactions
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import json_option, reads_past
from ledgerkit.cli.output import console, footer, one_line, print_json, text
from ledgerkit.formatting import format_count
from ledgerkit.protocol.memory import EvidencedBase, WorkingMemory

_SECTIONS: Final[dict[str, str]] = {
    "current_plan": "plan",
    "changed_files": "changed files",
    "open_problems": "open problems",
    "blocked_by": "blocked by",
    "failure_history": "failures",
    "known_facts": "known facts",
}
_SAYS: Final = ("item", "path", "problem", "blocker", "check", "fact")
_STATE: Final = ("status", "change", "outcome")


@click.command("memory")
@click.argument("run_id", metavar="RUN", required=False, type=RUN)
@click.option("--step", type=click.IntRange(min=0), help="What the context of this step could have known.")
@click.option(
    "--compactions", is_flag=True, help="What recorded summaries lost, hid or invented, of all runs or of RUN."
)
@click.option("-n", "--limit", default=12, show_default=True, help="Entries of each kind; 0 shows all.")
@json_option
@reads_past
def memory_command(
    ledger: lk.Ledger, run_id: str | None, step: int | None, compactions: bool, limit: int, as_json: bool
) -> None:
    """Show what a run knew: goal, plan, changed files, open problems, failures, facts; each with its evidence.

    RUN is the run's id, its session's id, or the beginning or end of either.
    """
    if compactions:
        if step is not None:
            raise click.UsageError("--step and --compactions do not go together: a compaction stands where it stands.")
        show_compactions(ledger, run_id, limit, as_json=as_json)
        return
    if run_id is None:
        raise click.UsageError("Name a RUN (list them with: ledgerkit runs), or take --compactions.")
    memory = ledger.memory(run_id, step=step)
    if as_json:
        print_json(memory.model_dump(mode="json"))
        return
    _print(memory, limit)


def _print(memory: WorkingMemory, limit: int) -> None:
    out = console()
    out.print(text(f"run {memory.run_id}", "bold"))
    out.print(text(f"goal  {one_line(memory.task_goal.goal, 200) if memory.task_goal else 'not recorded'}"))
    for name, title in _SECTIONS.items():
        entries: tuple[EvidencedBase, ...] = getattr(memory, name)
        if not entries:
            continue
        out.print(text(f"{title} ({format_count(len(entries))})", "bold"))
        for entry in entries[:limit] if limit else entries:
            out.print(text(f"  {_line(entry)}"))
            out.print(text(f"    {', '.join(one_line(str(ref), 80) for ref in entry.evidence_refs[:3])}", "dim"))
        if limit and len(entries) > limit:
            footer(f"  {format_count(len(entries) - limit)} more; -n 0 shows all", "dim")


def _line(entry: EvidencedBase) -> str:
    said = next(getattr(entry, name) for name in _SAYS if hasattr(entry, name))
    state = next((getattr(entry, name) for name in _STATE if getattr(entry, name, None) is not None), None)
    if state is None and hasattr(entry, "is_resolved"):
        state = "passed since" if getattr(entry, "is_resolved") else "still failing"  # noqa: B009
    return f"{one_line(said, 160)}" + (f"  [{state}]" if state is not None else "")
