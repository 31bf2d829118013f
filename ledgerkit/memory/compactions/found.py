"""Recorded compactions of a run: where they stand, what they say, and which messages they left in the context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from ledgerkit.protocol.vocabulary import MessageKind
from ledgerkit.strategies.recorded import with_ends

_ALWAYS: Final = (MessageKind.SYSTEM_INSTRUCTION.value, MessageKind.ORG_POLICY.value)


@dataclass(frozen=True)
class Compaction:
    """A compaction that a run records.

    Attributes:
        message_id: The message that holds the summary, or the first that records the compaction where none does.
        sequence_no: That of the first message that records it: what it sums up stands before.
        step: The first step after it.
        text: The summary; ``None`` where it is sealed or not recorded.
        staying: Messages before it that stood in the context after it, too.
    """

    message_id: str
    sequence_no: int
    step: int
    text: str | None
    staying: frozenset[str]


def compactions(parts: pl.DataFrame) -> list[Compaction]:
    """The compactions of one run, in order; a note and its summary are one.

    Args:
        parts: The parts of the run's contexts, those that it inherited among them: ``inherited``, ``message_id``,
            ``sequence_no``, ``part_index``, ``source_record``, ``kind``, ``part_type``, ``tool_call_id``,
            ``visible_from``, ``token_count``, ``compaction`` and ``text``.
    """
    ended = with_ends(_placed(parts))
    own = ended.filter(pl.col("inherited") == 0)
    told = own.filter(pl.col("compaction").is_not_null())["message_id"].unique().implode()
    rows = own.filter(pl.col("message_id").is_in(told)).sort("position")
    found = list[Compaction]()
    for (step,), group in rows.group_by("visible_from", maintain_order=True):
        at, first = int(group["position"].min()), int(group["sequence_no"].min())  # pyright: ignore[reportArgumentType]
        spoken = group.filter(pl.col("text").str.strip_chars() != "")
        stays = (pl.col("ends_at").is_null() | (pl.col("ends_at") > step)) & (pl.col("position") < at)
        found.append(
            Compaction(
                (spoken if spoken.height else group)["message_id"][0],
                first,
                int(step),  # pyright: ignore[reportArgumentType]
                "\n".join(spoken["text"]) if spoken.height else None,
                frozenset(ended.filter(stays)["message_id"]),
            )
        )
    return found


def _placed(parts: pl.DataFrame) -> pl.DataFrame:
    """The parts as the rule of recorded compactions takes them; the task is no exception to what a client dropped."""
    call = pl.when(pl.col("tool_call_id").is_null()).then(pl.col("position"))
    return (
        parts.sort(-pl.col("inherited"), "sequence_no", "part_index")
        .with_columns(
            run=pl.lit(0, pl.UInt32),
            position=pl.int_range(pl.len(), dtype=pl.Int32),
            visible_from=pl.when(pl.col("inherited") > 0).then(0).otherwise("visible_from").cast(pl.Int32),
            is_pinned=pl.col("kind").is_in(_ALWAYS),
            tokens=pl.col("token_count").fill_null(0),
        )
        .with_columns(unit=pl.coalesce(call, pl.col("position").min().over("tool_call_id")))
    )
