"""Claims as cards: what was said, the verdict, why, and where the evidence stands.

One rule: a verdict never stands without the rule that decided and the evidence that it rests on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ledgerkit.formatting import plural
from ledgerkit.notebook.html import Safe, cell, joined, tag
from ledgerkit.notebook.tables import replay_call
from ledgerkit.notebook.values import tone_of, toned
from ledgerkit.safety.inert import inert_terminal

ORDER: Final = ("contradicted", "stale", "unsupported", "unverified", "supported")
"""Verdicts by how much they deserve a look."""
_SHOWN: Final = 24
_EVIDENCE: Final = 4


@dataclass(frozen=True, repr=False)
class ClaimCards:
    """Checked claims, the doubtful ones first. Make them with :func:`claim_cards`.

    Attributes:
        claims: Rows of ``ledger.check_claims()``.
        limit: Cards that are shown.
    """

    claims: pl.DataFrame
    limit: int = _SHOWN

    def __repr__(self) -> str:
        lines = [self.summary()]
        for row in self._ordered().head(self.limit).iter_rows(named=True):
            lines.append(f"{row['verdict']}: “{row['text']}”\n  {row['why']} [{row['rule']}] {replay_call(row)}")
        return inert_terminal("\n".join(lines))

    def summary(self) -> str:
        """How many claims of each verdict there are, in words."""
        counts = dict(self.claims["verdict"].value_counts().iter_rows())
        return f"{plural(self.claims.height, 'claim')}: " + ", ".join(
            f"{counts[verdict]} {verdict}" for verdict in ORDER if counts.get(verdict)
        )

    def _ordered(self) -> pl.DataFrame:
        rank = pl.col("verdict").replace_strict(
            {name: n for n, name in enumerate(ORDER)}, return_dtype=pl.Int64, default=0
        )
        return self.claims.sort(rank, "run_id", "sequence_no", maintain_order=True)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, Any]:
        del include, exclude
        cards = [_card(row) for row in self._ordered().head(self.limit).iter_rows(named=True)]
        more = self.claims.height - len(cards)
        rest = tag("p", f"{plural(more, 'more claim')}", class_="lk-small") if more > 0 else None
        body = cell(
            tag("p", self.summary(), class_="lk-head"), tag("div", *cards, class_="lk-cards"), rest, label="claims"
        )
        return {"text/plain": repr(self), "text/html": body}


def claim_cards(claims: pl.DataFrame, *, limit: int = _SHOWN) -> ClaimCards:
    """Shows checked claims as cards.

    Args:
        claims: Rows of ``ledger.check_claims()``, all or some.
        limit: Cards to show.
    """
    return ClaimCards(claims, limit)


def _card(row: Mapping[str, Any]) -> Safe:
    evidence = list(row["evidence"] or ())
    shown = [tag("code", one, class_="lk-copy") for one in evidence[:_EVIDENCE]]
    more = f" and {len(evidence) - _EVIDENCE} more" if len(evidence) > _EVIDENCE else ""
    rests = (
        joined(["evidence ", *(part for one in shown for part in (one, " ")), more])
        if evidence
        else "no evidence found"
    )
    head = joined(
        [
            toned(row["verdict"]),
            " ",
            tag("small", f"{row['claim_class'].replace('_', ' ')} · rule {row['rule']}", class_="lk-small"),
        ]
    )
    return tag(
        "article",
        head,
        tag("blockquote", f"“{row['text']}”"),
        tag("p", row["why"], class_="lk-why"),
        tag("p", rests, class_="lk-small"),
        tag("p", tag("code", replay_call(row), class_="lk-copy"), class_="lk-small"),
        class_=f"lk-card {tone_of(row['verdict'])}".strip(),
    )
