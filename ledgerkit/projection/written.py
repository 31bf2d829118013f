"""Sections that no part of the ledger is: policy, profile, contract, memory, map.

One rule: each is a list of lines, the most needed first, so that a small budget cuts the end and says how much it cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from ledgerkit.projection.supplied import Supplied
from ledgerkit.protocol.contracts import PermissionProfile, SpendingLimits, TaskContract
from ledgerkit.protocol.memory import EvidencedBase, Summary, WorkingMemory
from ledgerkit.protocol.responses import ResponseContract
from ledgerkit.protocol.vocabulary import ContextSection, TrustLevel

COUNT = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True)
class Written:
    """A section that was written for this context.

    Attributes:
        section: The section.
        trust_level: The lowest trust of what it says.
        lines: Its lines, the most needed first.
        by: Who wrote it: ``caller``, ``ledger`` (recorded, and put into words) or ``projector``.
        is_mandatory: Whether it stands whole or not at all.
        left_out: Lines that did not fit.
    """

    section: ContextSection
    trust_level: TrustLevel
    lines: tuple[str, ...]
    by: str
    is_mandatory: bool = True
    left_out: int = 0

    @property
    def text(self) -> str:
        """What it says."""
        return "\n".join(self.lines)

    def within(self, tokens: int, count: COUNT) -> Written | None:
        """As many of its first lines as fit; ``None`` if none does."""
        sizes = count([f"{line}\n" for line in self.lines])
        note = count(["99999 more in the ledger.\n"])[0]
        if sum(sizes) <= tokens:
            return self
        kept, used = 0, note
        while kept < len(sizes) and used + sizes[kept] <= tokens:
            used += sizes[kept]
            kept += 1
        if not kept:
            return None
        left = len(self.lines) - kept
        lines = (*self.lines[:kept], f"{left} more in the ledger.")
        return Written(self.section, self.trust_level, lines, self.by, self.is_mandatory, left)


def policies(supplied: Supplied) -> list[Written]:
    """The platform's and the organisation's policy, where the caller gives them."""
    given = (
        (ContextSection.PLATFORM_POLICY, TrustLevel.PLATFORM_TRUSTED, supplied.platform_policy),
        (ContextSection.ORG_POLICY, TrustLevel.ORG_TRUSTED, supplied.org_policy),
    )
    return [
        Written(section, trust, tuple(text.splitlines()), "caller")
        for section, trust, text in given
        if text is not None
    ]


def profile_section(profile: PermissionProfile, by: str) -> Written:
    """A permission profile in words."""
    hosts = f" ({', '.join(profile.hosts)})" if profile.hosts else ""
    lines = (
        f"Permission profile: {profile.name}",
        *_list("Tools that may be used", profile.allowed_tools),
        *_list("Tools that need an approval", profile.approval_tools),
        *_list("Tools that may never be used", profile.denied_tools),
        *_list("Paths that may be read", profile.readable_paths),
        *_list("Paths that may be written", profile.writable_paths),
        *_list("Paths that may be neither", profile.denied_paths),
        f"Network: {profile.network.value.replace('_', ' ')}{hosts}",
        f"Greatest risk without an approval: {profile.risk_class.value}",
    )
    return Written(ContextSection.PERMISSION_PROFILE, TrustLevel.ORG_TRUSTED, lines, by)


def task_section(task: TaskContract, by: str) -> Written:
    """A task contract in words."""
    checks = [
        f"{check.name}{f' ({check.command})' if check.command else ''}{'' if check.is_required else ', not required'}"
        for check in task.success_checks
    ]
    lines = (
        f"Goal: {task.goal}",
        *_list("Scope", task.scope),
        *_list("Allowed changes", task.allowed_changes),
        *_list("Forbidden changes", task.forbidden_changes),
        *_list("Definition of done", task.definition_of_done),
        *_list("Checks that show it", checks),
        *_list("Budget", _limits(task.budget)),
    )
    return Written(ContextSection.TASK_CONTRACT, TrustLevel.USER_TRUSTED, lines, by)


def response_section(contract: ResponseContract, by: str = "caller") -> Written:
    """The form of the answer, in words and as its schema."""
    lines = (
        f"Answer with one JSON object of the form {contract.name!r} and nothing else. Its schema:",
        json.dumps(contract.answer_schema, ensure_ascii=False, separators=(",", ":")),
    )
    return Written(ContextSection.RESPONSE_CONTRACT, TrustLevel.PLATFORM_TRUSTED, lines, by)


def memory_section(memory: WorkingMemory) -> Written | None:
    """The working memory in lines with their evidence; ``None`` if it holds nothing.

    Goal, problems and what blocks come first: a small budget cuts facts and old failures.
    """
    entries = list[EvidencedBase]()
    lines = list[str]()
    for title, items in _of_memory(memory):
        if items:
            lines.append(f"{title}:")
            lines += [f"- {said}{_evidence(entry)}" for said, entry in items]
            entries += [entry for _, entry in items]
    if memory.budget_left is not None and (left := _limits(memory.budget_left)):
        lines.append(f"Budget left: {'; '.join(left)}")
    if not entries:
        return None
    trust = TrustLevel.lowest([entry.trust_level for entry in entries])
    return Written(ContextSection.WORKING_MEMORY, trust, tuple(lines), "projector", is_mandatory=False)


def map_section(files: pl.DataFrame) -> Written | None:
    """The files that a run has seen, those touched last first; ``None`` if it saw none.

    Args:
        files: ``path``, ``lines`` (null if unknown), ``read_at`` and ``changed_at`` (sequence numbers, null if never).
    """
    if not files.height:
        return None
    rows = files.sort(pl.max_horizontal("read_at", "changed_at"), "path", descending=[True, False], nulls_last=True)
    lines = tuple(
        f"{row['path']}"
        + (f", {row['lines']} lines" if row["lines"] is not None else "")
        + (f", read at message {row['read_at']}" if row["read_at"] is not None else "")
        + (f", changed at message {row['changed_at']}" if row["changed_at"] is not None else "")
        for row in rows.iter_rows(named=True)
    )
    return Written(
        ContextSection.REPOSITORY_MAP, TrustLevel.REPOSITORY_UNTRUSTED, lines, "projector", is_mandatory=False
    )


_Items = list[tuple[str, EvidencedBase]]


def _of_memory(memory: WorkingMemory) -> list[tuple[str, _Items]]:
    goal: _Items = [(memory.task_goal.goal, memory.task_goal)] if memory.task_goal else []
    open_failures = [one for one in memory.failure_history if not one.is_resolved]
    resolved = [one for one in memory.failure_history if one.is_resolved]
    return [
        ("Goal", goal),
        ("Open problems", [(one.problem, one) for one in memory.open_problems]),
        ("Blocked by", [(one.blocker, one) for one in memory.blocked_by]),
        ("Plan", [(f"{one.item}{f' [{one.status.value}]' if one.status else ''}", one) for one in memory.current_plan]),
        (
            "Changed files",
            [(f"{one.path}{f' ({one.change.value})' if one.change else ''}", one) for one in memory.changed_files],
        ),
        ("Still failing", [(one.check, one) for one in open_failures]),
        ("Known facts", [(f"{one.fact} [{one.outcome.value}]", one) for one in memory.known_facts]),
        ("Failed before, passed since", [(one.check, one) for one in resolved]),
    ]


_REFS_SHOWN: Final = 2


def _evidence(entry: EvidencedBase) -> str:
    shown = ", ".join(str(ref) for ref in entry.evidence_refs[:_REFS_SHOWN])
    return f" Evidence: {shown}."


def _list(title: str, items: Sequence[str]) -> tuple[str, ...]:
    return (f"{title}: {'; '.join(items)}",) if items else ()


def _limits(limits: SpendingLimits) -> list[str]:
    units = {"cost_usd": "US dollars", "steps": "steps", "input_tokens": "input tokens",
             "output_tokens": "output tokens", "seconds": "seconds"}  # fmt: skip
    found = {name: getattr(limits, name) for name in units}
    return [f"{value} {units[name]}" for name, value in found.items() if value is not None]


def summary_text(summary: Summary, tokens: int, count: COUNT) -> str:
    """A summary in lines, as many of them as fit: problems and decisions first, then facts, files, what is left out."""
    lines = [f"- Open problem: {one.problem}{_evidence(one)}" for one in summary.open_problems]
    lines += [f"- Decision: {one.decision} {one.reason}{_evidence(one)}" for one in summary.decisions]
    lines += [f"- Fact: {one.fact}{_evidence(one)}" for one in summary.facts]
    lines += [f"- Changed: {one.path}{_evidence(one)}" for one in summary.changed_files]
    lines += [f"- Left out: {one}" for one in summary.discarded_details]
    whole = Written(ContextSection.WORKING_MEMORY, TrustLevel.UNKNOWN, tuple(lines), "projector", is_mandatory=False)
    cut = whole.within(tokens, count) if lines else None
    return cut.text if cut is not None else ""
