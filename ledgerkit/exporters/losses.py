"""What an export leaves out: counted by kind of message, field and reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

MESSAGE: Final = "message"
"""Stands for a field where the whole message is left out."""
PART: Final = "part"
"""Stands for a field where a whole part is left out."""
ANY: Final = "ANY"
"""Stands for the kind where messages of all kinds are meant."""
RUN: Final = "RUN"
"""Stands for the kind where a fact of a run is meant."""
CALL: Final = "MODEL_CALL"
"""Stands for the kind where a model call is meant."""
LABELS: Final = ("part_trust_level", "part_visibility")
_OWN_NOTES: Final = '{"record":'


@dataclass(frozen=True, slots=True, order=True)
class Loss:
    """Something that an export left out, or could only say in another way.

    Attributes:
        kind: Kind of the messages; or ``ANY``, ``RUN`` or ``MODEL_CALL``.
        field: The column of ``history`` or ``runs``, or ``message`` or ``part`` where all of one is left out.
        reason: Why.
        count: How many values, parts, messages or runs.
    """

    kind: str
    field: str
    reason: str
    count: int


class Losses:
    """Counts losses while documents are made.

    Example:
        >>> losses = Losses()
        >>> losses.add("JUDGE_RESULT", MESSAGE, "the format has no place for it")
        >>> losses.listed()
        (Loss(kind='JUDGE_RESULT', field='message', reason='the format has no place for it', count=1),)
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def add(self, kind: str, field: str, reason: str, count: int = 1) -> None:
        """Counts something that is left out."""
        if count:
            self._counts[kind, field, reason] += count

    def columns(self, rows: pl.DataFrame, reasons: Mapping[str, str]) -> None:
        """Counts the values of columns that a format has no place for: by kind of message, labels as a whole.

        Args:
            rows: Rows of history.
            reasons: The columns, and why each is left out.
        """
        counted = rows.with_columns(
            # Arguments and values are written; of an envelope this ledger's own notes are no loss.
            data=pl.when(~pl.col("part_type").is_in(["tool_call", "json"])).then("data"),
            metadata=pl.when(~pl.col("metadata").str.starts_with(_OWN_NOTES)).then("metadata"),
        )
        names = [name for name in reasons if name not in LABELS]
        by_kind = counted.group_by("kind").agg(pl.col(name).is_not_null().sum().cast(pl.Int64) for name in names)
        for kind, *counts in by_kind.select("kind", *names).iter_rows():
            for name, count in zip(names, counts, strict=True):
                self.add(kind, name, reasons[name], count)
        for name in reasons.keys() & set(LABELS):
            self.add(ANY, name, reasons[name], rows.height)

    def withheld(self, rows: pl.DataFrame) -> None:
        """Counts parts that the audience may not see, by kind and label."""
        counted = rows.group_by("kind", "part_visibility").len()
        for kind, label, count in counted.iter_rows():
            self.add(kind, PART, f"withheld from this audience: {label}", count)

    def listed(self) -> tuple[Loss, ...]:
        """All losses, sorted."""
        return tuple(sorted(Loss(*key, count) for key, count in self._counts.items()))


def loss_frame(losses: Iterable[Loss]) -> pl.DataFrame:
    """Losses as rows: ``kind, field, reason, count``."""
    rows = [(loss.kind, loss.field, loss.reason, loss.count) for loss in losses]
    schema = {"kind": pl.String, "field": pl.String, "reason": pl.String, "count": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def lost_columns(place_of_marks: str, *others: str) -> dict[str, str]:
    """The columns of history that formats of conversations have no place for, and why each is left out.

    Args:
        place_of_marks: Where the format keeps extras, in which lower labels are marked.
        others: Further columns.
    """
    labels = f"the format has no labels; what is less trusted than its role suggests is marked in {place_of_marks}"
    return {
        **dict.fromkeys(LABELS, labels),
        **dict.fromkeys((*_NO_FIELD, *others), "the format has no field for it"),
        "data": "fields beside a text",
        "artifact_refs": "contents stand in texts, or stay in the ledger",
    }


_NO_FIELD: Final = (
    "metadata", "summary", "evidence_refs", "path", "started_at", "finished_at", "trace_id", "idempotency_key",
    "provider", "service_tier",
)  # fmt: skip
