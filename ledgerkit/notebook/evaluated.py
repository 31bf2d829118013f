"""An evaluation of strategies as a table with its caveats: neither is shown without the other."""

from __future__ import annotations

from typing import Final

from ledgerkit.evaluation import Evaluation
from ledgerkit.notebook.html import Safe, cell, tag
from ledgerkit.notebook.tables import show

COLUMNS: Final = (
    "strategy", "runs", "input_tokens", "peak_tokens", "cost_pico", "cost_equivalent_tokens", "evidence_retention",
    "lift", "edit_support", "failure_visibility", "policy_retention", "validity", "staleness",
)  # fmt: skip
"""Columns of the summary that are shown."""


def evaluation_card(result: Evaluation) -> Safe:
    """A summary by strategy, and what its figures cannot say."""
    caveats = tag("ol", *(tag("li", caveat) for caveat in result.caveats))
    about = result.about
    rests = f"tokens of {about.tokenizer} · prices {about.prices} · cache {about.cache}"
    return cell(
        show(result.summary(), COLUMNS, title="strategies on recorded runs").to_html(),
        tag("p", rests, class_="lk-small"),
        tag("details", tag("summary", f"What these figures cannot say ({len(result.caveats)})"), caveats, open=True),
        label="evaluation of strategies",
    )
