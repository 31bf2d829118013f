"""The audit report of a run: the ten questions of specification §1, each with evidence, or *not recorded*.

One rule: a question is answered from the record or not at all. The same input gives the same bytes in every form.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, Literal

from ledgerkit.formatting import format_money, format_time, plural
from ledgerkit.protocol.vocabulary import Audience
from ledgerkit.reports import audit_events, audit_questions
from ledgerkit.reports.audit_answers import Answer
from ledgerkit.reports.audit_input import AuditInput, quote, seen_by
from ledgerkit.reports.blocks import Cell, Column, Fact, Note, Section, Table, chip, code
from ledgerkit.reports.rendering import render
from ledgerkit.safety.inert import inert_terminal

SCHEMA: Final = "ledgerkit/audit-report/1"
"""What the JSON form says of itself."""
LIMITS: Final = (
    "The answers rest on what the log records. They cannot show what an agent thought, what a log leaves out, or that "
    "nothing else happened; that nothing was found does not make a run clean."
)
QUESTIONS: Final = (
    audit_questions.why_these_files,
    audit_questions.instructions,
    audit_questions.tools,
    audit_questions.commands,
    audit_questions.outputs_used,
    audit_events.errors,
    audit_events.failing_verifiers,
    audit_events.second_strategies,
    audit_events.secrets,
    audit_events.untrusted_instructions,
)
"""What answers each question, in their order."""
_TONES: Final[dict[str, Literal["good", "warn", "faint"]]] = {
    "answered": "good", "nothing_found": "faint", "not_recorded": "warn",
}  # fmt: skip


@dataclass(frozen=True)
class AuditReport:
    """The ten answers and what judges, people and the search for anti-patterns say.

    Attributes:
        run_id: The run.
        about: What it is: name and value.
        answers: The ten answers.
        judgements: What judges said, in sentences, each with how far the judge can be trusted.
        annotations: What people said, in sentences.
        patterns: Anti-patterns, in sentences.
        withheld: Parts that the audience may not see, by visibility.
        audience: Whose eyes it is for.
        generated_at: Its own time.
    """

    run_id: str
    about: tuple[tuple[str, str], ...]
    answers: tuple[Answer, ...]
    judgements: tuple[str, ...]
    annotations: tuple[str, ...]
    patterns: tuple[str, ...]
    withheld: tuple[tuple[str, int], ...]
    audience: Audience
    generated_at: datetime

    def to_json(self) -> str:
        """The report as JSON, keys in a fixed order."""
        return json.dumps(self.as_data(), ensure_ascii=False, indent=1) + "\n"

    def as_data(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "schema": SCHEMA,
            "run_id": self.run_id,
            "generated_at": format_time(self.generated_at),
            "audience": self.audience.value,
            "about": dict(self.about),
            "questions": [asdict(one) for one in self.answers],
            "judgements": list(self.judgements),
            "annotations": list(self.annotations),
            "anti_patterns": list(self.patterns),
            "withheld": dict(self.withheld),
            "limits": LIMITS,
        }

    def to_markdown(self) -> str:
        """The report as Markdown in which nothing of the log is markup."""
        lines = [f"# Audit of run {_plain(self.run_id)}", "", f"Written {format_time(self.generated_at)}."]
        lines += ["", *(f"- {name}: {_plain(value)}" for name, value in self.about)]
        for answer in self.answers:
            lines += ["", f"## {answer.number}. {answer.question}", "", f"**{answer.words}.** {_plain(answer.said)}"]
            lines += ["", *(f"- {_plain(row.text)}{_cited(row.evidence)}" for row in answer.rows)]
            lines += [f"- {answer.left_out} more"] if answer.left_out else []
        for title, sentences in self._more():
            lines += ["", f"## {title}", "", *(f"- {_plain(one)}" for one in sentences or ["None."])]
        return "\n".join([*lines, "", LIMITS, ""])

    def __str__(self) -> str:
        """The report for a terminal."""
        lines = [f"Audit of run {quote(self.run_id)}", *(f"  {name}: {quote(value)}" for name, value in self.about)]
        for answer in self.answers:
            lines += ["", f"{answer.number:2}. {answer.question}", f"    {answer.words}. {inert_terminal(answer.said)}"]
            for row in answer.rows[:10]:
                lines.append(f"    - {row.text}")
                lines += [f"      {one}" for one in row.evidence[:3]]
            hidden = max(len(answer.rows) - 10, 0) + answer.left_out
            lines += [f"    … and {hidden} more"] if hidden else []
        for title, sentences in self._more():
            lines += ["", title, *(f"  - {quote(one, 400)}" for one in sentences or ["None."])]
        return "\n".join([*lines, "", LIMITS])

    def to_html(self) -> str:
        """A whole HTML document: no script, nothing loaded, every text of the log escaped."""
        sections = [Section(f"q{one.number}", one.question, one.words.lower()) for one in self.answers]
        more = [Section(f"m{n}", title, plural(len(rows), "row")) for n, (title, rows) in enumerate(self._more())]
        figures = [
            Fact(
                f"{one.number}. {one.short}", one.words, plural(len(one.rows) + one.left_out, "row"), _TONES[one.status]
            )
            for one in self.answers
        ]
        withheld = [Note(f"{plural(n, 'part')} withheld: {name}", "warn") for name, n in self.withheld]
        return render(
            "audit.html.j2",
            {
                "title": f"Run {self.run_id}",
                "kind": "Audit report",
                "facts": [(name, [code(value) if name in _CODED else Cell(value)]) for name, value in self.about],
                "figures": figures,
                "notes": [Note(LIMITS), *withheld],
                "pictures": [],
                "can_draw": True,
                "audience": self.audience.value,
                "generated_at": format_time(self.generated_at),
                "limits_note": "Long lists are cut, and what is left out is counted.",
                "sections": [*sections, *more],
                "answers": [(one, chip(one.words, _TONES[one.status]), _table(one)) for one in self.answers],
                "more": [(f"m{n}", title, list(rows)) for n, (title, rows) in enumerate(self._more())],
            },
        )

    def _more(self) -> Sequence[tuple[str, tuple[str, ...]]]:
        return (
            ("Anti-patterns", self.patterns),
            ("What judges say", self.judgements),
            ("What people say", self.annotations),
        )


_CODED: Final = ("run", "session", "working directory", "source")
_MARKUP: Final = str.maketrans({**{one: f"\\{one}" for one in "\\`*_{}[]()#+-.!|~>"}, "<": "&lt;", "@": "&#64;"})


def audit_report(given: AuditInput, *, generated_at: datetime, audience: Audience = Audience.AUDIT) -> AuditReport:
    """The audit report of one run.

    Args:
        given: The run.
        generated_at: The time that the report states as its own.
        audience: Who will read it. What they may not see is withheld and counted.
    """
    seen = seen_by(given, audience)
    run = given.material.runs.row(0, named=True)
    about = {
        "run": run["run_id"], "session": run["session_id"], "agent": run["agent"], "version": run["agent_version"],
        "models": ", ".join(run["models"] or []) or None, "task": quote(run["task"]) or None,
        "repository": run["repository"], "branch": run["branch"], "working directory": run["working_directory"],
        "began": format_time(run["started_at"]), "ended": format_time(run["finished_at"]),
        "recorded outcome": run["outcome"], "cost": format_money(run["cost"]), "source": run["source_file"],
    }  # fmt: skip
    return AuditReport(
        run_id=run["run_id"],
        about=tuple((name, str(value) if value is not None else "not recorded") for name, value in about.items()),
        answers=tuple(answer(number, seen) for number, answer in enumerate(QUESTIONS, start=1)),
        judgements=tuple(audit_events.judged(seen)),
        annotations=tuple(audit_events.annotated(seen)),
        patterns=tuple(audit_events.patterned(seen)),
        withheld=tuple((str(name), int(count)) for name, count in seen.withheld.iter_rows()),
        audience=audience,
        generated_at=generated_at,
    )


def _table(answer: Answer) -> Table:
    rows = [[Cell(row.text), Cell(" ".join(row.evidence[:6]), "code")] for row in answer.rows]
    return Table([Column("What the record says", wide=True), Column("Evidence", wide=True)], rows, answer.left_out)


def _plain(text: str) -> str:
    """A text in which nothing is markup, mention or line break."""
    return " ".join(inert_terminal(text).split()).translate(_MARKUP)


def _cited(evidence: Sequence[str]) -> str:
    shown = ", ".join(f"`{one.replace('`', '')}`" for one in map(inert_terminal, evidence[:6]))
    return f" ({shown})" if shown else ""
