"""A comparison for a notebook's cell: a table and nothing else, every name escaped."""

from __future__ import annotations

import html

from ledgerkit.comparison import Compared
from ledgerkit.reports import comparison_words as words
from ledgerkit.safety.inert import inert_terminal


def comparison_fragment(compared: Compared) -> str:
    """The metrics as an HTML table, without a document around it."""
    heads = ("metric", "baseline", "candidate", "effect", "interval", "tasks", "p (corrected)", "verdict")
    rows = [(*words.metric_cells(row), row["verdict"]) for row in compared.frame("metrics").to_dicts()]
    head = "".join(f"<th>{_safe(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    notes = "".join(f"<li>{_safe(line)}</li>" for line in (*words.counts(compared), *words.unknowns(compared)))
    title = f"<p><b>{_safe(words.headline(compared))}</b></p>"
    return f"{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><ul>{notes}</ul>"


def _safe(value: str) -> str:
    return html.escape(inert_terminal(value))
