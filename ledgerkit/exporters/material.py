"""What exporters work on: the runs of one session as frames, with only what the audience may see, in full.

Two rules. Labels decide, part by part, before any exporter looks. A text whose whole stands in an artifact is taken
from there if the artifact was scanned (``safe`` or ``redacted``); a ``restricted`` one never leaves a ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ledgerkit.exporters.losses import Losses
from ledgerkit.protocol.vocabulary import ArtifactLabel, Audience
from ledgerkit.safety.gate import visible_to

_CUT: Final = "cut to its head: the whole stands in an artifact that does not leave the ledger"
_KEPT_BACK: Final = "its artifact is restricted, and never leaves a ledger"
_PROJECTABLE: Final = [label.value for label in ArtifactLabel if label.is_projectable]
_POINTER: Final = '{"artifact"'


@dataclass(frozen=True, slots=True)
class Material:
    """Some runs of one session.

    Attributes:
        session_id: The session.
        runs: Their rows of the ``runs`` view, parents before their children.
        history: Their rows of history in order of run, message and part, as the audience may see them. The columns
            ``is_text_cut`` and ``is_data_cut`` say where only a head is there, ``taken_in`` which artifacts stand in
            ``text`` or ``data`` now.
        calls: Their rows of ``model_calls``.
        artifacts: What may leave of what the rows refer to: ``content_id, media_type, label, content``.
    """

    session_id: str
    runs: pl.DataFrame
    history: pl.DataFrame
    calls: pl.DataFrame
    artifacts: pl.DataFrame

    def rows_of(self, run_id: str) -> list[dict[str, Any]]:
        """The rows of history of one run, in order."""
        return self.history.filter(pl.col("run_id") == run_id).to_dicts()


@dataclass(frozen=True, slots=True)
class Document:
    """A file to write.

    Attributes:
        name: Its name, without the suffix; safe as one on every system.
        content: Its bytes.
        texts: All that it says, for the output gate.
        runs: How many runs it holds.
        messages: How many messages of these it says.
    """

    name: str
    content: bytes
    texts: Sequence[str]
    runs: int
    messages: int


def prepared(
    history: pl.DataFrame, artifacts: pl.DataFrame, audience: Audience, losses: Losses
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows and artifacts as an audience may see them.

    Args:
        history: Rows of history, of any sessions.
        artifacts: The artifacts that they refer to: ``content_id, media_type, label, content``.
        audience: Who will read the export.
        losses: Counts what is withheld or cut.

    Returns:
        The rows that the audience may see, with whole texts, and the artifacts of these rows that may leave.
    """
    seen, _ = visible_to(history, audience)
    losses.withheld(history.join(seen.select("part_id"), on="part_id", how="anti"))
    referred = seen.select(pl.col("artifact_refs").explode()).drop_nulls().unique()["artifact_refs"]
    may_leave = artifacts.filter(
        pl.col("label").is_in(_PROJECTABLE) & pl.col("content_id").is_in(referred.implode())
    ).sort("content_id")
    whole = _with_whole_texts(seen, may_leave)
    _count_cut(whole, may_leave, losses)
    return whole, may_leave


def _with_whole_texts(history: pl.DataFrame, artifacts: pl.DataFrame) -> pl.DataFrame:
    """The rows with the texts and data whose whole stands in an artifact."""
    contents = artifacts.filter(
        pl.col("media_type").str.starts_with("text/") | pl.col("media_type").str.starts_with("application/json")
    ).select("content_id", whole=pl.col("content").cast(pl.String, strict=False))
    is_cut = pl.col("text").is_not_null() & pl.col("artifact_refs").list.contains(pl.col("content_id"))
    pointed = pl.col("data").str.starts_with(_POINTER)
    keyed = history.with_columns(
        text_id=pl.when(is_cut).then("content_id"),
        data_id=pl.when(pointed).then(pl.col("data").str.extract(r'^\{"artifact": ?"([^"]+)"')),
    )
    joined = keyed.join(
        contents.rename({"content_id": "text_id", "whole": "whole_text"}),
        on="text_id", how="left", maintain_order="left",
    ).join(
        contents.rename({"content_id": "data_id", "whole": "whole_data"}),
        on="data_id", how="left", maintain_order="left",
    )  # fmt: skip
    is_pointer = pl.col("artifact_refs").list.contains(pl.col("data_id"))
    return joined.with_columns(
        text=pl.coalesce("whole_text", "text"),
        data=pl.when(is_pointer).then(pl.coalesce("whole_data", "data")).otherwise("data"),
        is_text_cut=pl.col("text_id").is_not_null() & pl.col("whole_text").is_null(),
        is_data_cut=is_pointer.fill_null(value=False) & pl.col("whole_data").is_null(),
        taken_in=pl.concat_list(
            pl.when(pl.col("whole_text").is_not_null()).then("text_id"),
            pl.when(is_pointer & pl.col("whole_data").is_not_null()).then("data_id"),
        ).list.drop_nulls(),
    ).drop("text_id", "data_id", "whole_text", "whole_data")


def _count_cut(history: pl.DataFrame, artifacts: pl.DataFrame, losses: Losses) -> None:
    for field in ("text", "data"):
        for (kind,), rows in history.filter(pl.col(f"is_{field}_cut")).group_by("kind"):
            losses.add(str(kind), field, _CUT, rows.height)
    refs = history.select("kind", ref=pl.col("artifact_refs")).explode("ref").drop_nulls()
    gone = refs.join(artifacts.select(ref="content_id"), on="ref", how="anti")
    for (kind,), rows in gone.group_by("kind"):
        losses.add(str(kind), "artifact_refs", _KEPT_BACK, rows.height)


def parents_first(runs: pl.DataFrame) -> pl.DataFrame:
    """Runs in an order in which none stands before the one that it came from."""
    rows = runs.sort("started_at", "run_id", nulls_last=True).select("run_id", "parent_run_id").rows()
    there, order = {run_id for run_id, _ in rows}, list[str]()
    waiting = rows
    while waiting:
        ready = [run_id for run_id, parent in waiting if parent not in there or parent in order]
        order += ready or [run_id for run_id, _ in waiting]  # a circle of parents, which no importer makes
        waiting = [(run_id, parent) for run_id, parent in waiting if run_id not in order]
    places = pl.DataFrame({"run_id": order}, schema={"run_id": pl.String}).with_row_index("place")
    return runs.join(places, on="run_id", how="left").sort("place").drop("place")
