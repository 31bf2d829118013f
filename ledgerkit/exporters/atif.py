"""ATIF, Harbor's trajectories: a document for each run, those of its subagents within it.

Written is version 1.7, whose fields are all that is needed; 1.8 adds audio. An agent's step is one model call with the
results of its tools. The source is the format's RFC (``rfcs/0001-trajectory-format.md``) and models of 1.8 that others
published. ``docs/export.md`` says what is lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
import polars as pl

from ledgerkit.exporters.atif_steps import Steps
from ledgerkit.exporters.conversation import conversation
from ledgerkit.exporters.losses import CALL, RUN, Losses, lost_columns
from ledgerkit.exporters.material import Document, Material
from ledgerkit.exporters.names import file_name
from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.marks import MARK
from ledgerkit.protocol.vocabulary import RunRelation

SUFFIX: Final = ".json"
VERSION: Final = "ATIF-v1.7"
LOST: Final = lost_columns("extra", "error_category")
_ONE_CACHE: Final = "written as a cache write, whatever its lifetime"
_NO_LINK: Final = "stands in extra: the format knows no other runs than subagents of the same document"
_NO_PLACE: Final = "the call that began it cannot be told from others"
_FACTS: Final = (
    "run_id", "session_id", "task_id", "title", "repository", "branch", "working_directory", "parent_run_id",
    "relation", "source_format",
)  # fmt: skip


def documents(materials: Iterable[Material], losses: Losses) -> Iterator[Document]:
    """One document for each run that is no subagent of another one in the export.

    Args:
        materials: The sessions, prepared for their audience.
        losses: Counts what is left out.
    """
    for material in materials:
        long_lived = material.calls.filter(pl.col("cache_write_1h_tokens") > 0).height
        losses.add(CALL, "cache_write_1h_tokens", _ONE_CACHE, long_lived)
        session = _Session(material, losses)
        for run in session.roots:
            session.runs = session.messages = 0
            text = msgspec.json.format(msgspec.json.encode(session.trajectory(run)), indent=2) + b"\n"
            yield Document(
                file_name(run["run_id"]), text, [text.decode()], runs=session.runs, messages=session.messages
            )


class _Session:
    """The runs of a session, and which of them are subagents of which."""

    def __init__(self, material: Material, losses: Losses) -> None:
        self.runs = self.messages = 0
        self._material = material
        self._losses = losses
        self._usage = {(row["run_id"], row["call_id"]): row for row in material.calls.to_dicts()}
        rows = material.runs.to_dicts()
        there = {row["run_id"] for row in rows}
        self._children: dict[str, list[JsonObject]] = defaultdict(list)
        self.roots: list[JsonObject] = []
        for row in rows:
            if row["relation"] == RunRelation.SUBAGENT and row["parent_run_id"] in there - {row["run_id"]}:
                self._children[row["parent_run_id"]].append(row)
            else:
                self.roots.append(row)
                losses.add(RUN, "parent_run_id", _NO_LINK, int(row["parent_run_id"] is not None))

    def trajectory(self, run: JsonObject) -> JsonObject:
        """The document of a run, with those of its subagents."""
        run_id = run["run_id"]
        rows = self._material.rows_of(run_id)
        usage = {call: row for (own, call), row in self._usage.items() if own == run_id}
        entries = conversation(rows, usage, self._losses)
        steps = Steps(self._losses)
        for entry in entries:
            steps.take(entry)
        children = self._children.get(run_id, [])
        self._refer(steps, rows, children)
        self.runs += 1
        self.messages += steps.messages
        document: JsonObject = {
            "schema_version": VERSION,
            "session_id": run["session_id"],
            "trajectory_id": run_id,
            "agent": _agent(run),
            "steps": steps.listed(),
            "final_metrics": steps.totals(),
            "extra": {MARK: {name: run[name] for name in _FACTS if run[name] is not None}},
        }
        if children:
            document["subagent_trajectories"] = [self.trajectory(child) for child in children]
        return document

    def _refer(self, steps: Steps, rows: list[JsonObject], children: list[JsonObject]) -> None:
        """Hangs each subagent on the result of the call that began it."""
        asked: dict[str, list[str]] = defaultdict(list)
        for row in rows:
            if row["part_type"] == "tool_call":
                asked[row["message_id"]].append(row["tool_call_id"])
        for child in children:
            calls = asked.get(child["forked_at"] or "", [])
            if len(calls) != 1 or not steps.refer(calls[0], child["run_id"]):
                self._losses.add(RUN, "forked_at", _NO_PLACE)


def _agent(run: JsonObject) -> JsonObject:
    models = list(run["models"] or ())
    return {
        "name": run["agent"] or "",
        "version": run["agent_version"] or "",  # required; empty is all that says that none is known
        **({"model_name": models[0]} if models else {}),
    }
