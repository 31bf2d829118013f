"""ledgerkit's own JSON Lines: protocol messages as they are. What the protocol can say comes back from it unchanged.

A file for each session: its head, then each run with its messages, and before them the contents that they refer to.
``docs/formats/ledgerkit-jsonl.md`` defines the format.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import groupby
from typing import Any, Final

import msgspec
import polars as pl

from ledgerkit.errors import ProtocolError
from ledgerkit.exporters.losses import MESSAGE, RUN, Losses
from ledgerkit.exporters.material import Document, Material
from ledgerkit.exporters.names import file_name
from ledgerkit.importers.ledgerkit_jsonl import NAME, VERSION
from ledgerkit.protocol.columns import message_from_columns, part_from_columns
from ledgerkit.protocol.messages import AgentMessage
from ledgerkit.protocol.vocabulary import TrustLevel, Visibility

SUFFIX: Final = ".jsonl"
_FACTS: Final = (
    "task_id", "title", "repository", "branch", "working_directory", "agent", "agent_version", "parent_run_id",
    "forked_at", "relation",
)  # fmt: skip
_OF_THE_LEDGER: Final = ("import_id", "source_file", "source_offset", "source_line", "source_record")
_LISTED: Final = {"records", "forgets"}
_REFUSED: Final = "the protocol has no form for it"
_REQUEST: Final = "model_request"
_NO_REQUEST: Final = "requests are restricted artifacts, and never leave a ledger"
_NO_PARENT: Final = "the run that it came from is not part of the export"
_UNKEPT: Final = "measure of a content that is not kept: a reader counts what is there"

Line = dict[str, Any]


def documents(materials: Iterable[Material], losses: Losses) -> Iterator[Document]:
    """One document for each session.

    Args:
        materials: The sessions, prepared for their audience.
        losses: Counts what is left out.
    """
    for material in materials:
        writing = _Session(material, losses)
        text = b"".join(line + b"\n" for line in writing.lines())
        yield Document(
            file_name(material.session_id), text, [text.decode()], runs=material.runs.height, messages=writing.messages
        )


class _Session:
    """The lines of one session."""

    def __init__(self, material: Material, losses: Losses) -> None:
        self.messages = 0
        self._material = material
        self._losses = losses
        self._artifacts = {row["content_id"]: row for row in material.artifacts.to_dicts()}
        self._written: set[str] = set()

    def lines(self) -> Iterator[bytes]:
        yield _encoded({"type": NAME, "version": VERSION, "session_id": self._material.session_id})
        self._count_measures()
        there = set(self._material.runs["run_id"])
        for facts in self._material.runs.to_dicts():
            if facts["parent_run_id"] is not None and facts["parent_run_id"] not in there:
                self._losses.add(RUN, "parent_run_id", _NO_PARENT)
            known = {name: facts[name] for name in _FACTS if facts[name] is not None}
            yield _encoded({"type": "run", "session_id": facts["session_id"], "run_id": facts["run_id"], **known})
            for _, rows in groupby(self._material.rows_of(facts["run_id"]), key=lambda row: row["message_id"]):
                yield from self._message(list(rows))

    def _message(self, rows: list[Line]) -> Iterator[bytes]:
        try:
            message = self._protocol_message(rows)
        except ProtocolError:
            self._losses.add(rows[0]["kind"], MESSAGE, _REFUSED)
            return
        for part in message.parts:
            for ref in part.artifact_refs:
                yield from self._artifact(ref)
            for reference in part.evidence_refs:
                yield from self._artifact(str(reference).partition("artifact:")[2].partition("#")[0])
        self.messages += 1
        # Nulls are left out, unless a part has one that it must state.
        whole = message.model_dump_json(exclude_none=not any(part.states_null for part in message.parts))
        yield b'{"type":"message","message":' + whole.encode() + b"}"

    def _protocol_message(self, rows: list[Line]) -> AgentMessage:
        parts = [part_from_columns(row | {"artifact_refs": self._refs(row), "token_count": None}) for row in rows]
        labels = {
            "trust_level": TrustLevel.lowest(part.trust_level for part in parts),
            "visibility": Visibility.widest(part.visibility for part in parts),
        }
        own = dict.fromkeys(_OF_THE_LEDGER)
        return message_from_columns(rows[0] | labels | own | {"metadata": self._metadata(rows[0])}, parts)

    def _refs(self, row: Line) -> list[str] | None:
        """The artifacts that a part refers to and the file holds; what stands in its text needs none."""
        refs: list[str] = row["artifact_refs"] or []
        return [ref for ref in refs if ref in self._artifacts and ref not in row["taken_in"]] or None

    def _metadata(self, row: Line) -> str | None:
        """What the envelope said, without what this ledger remembers of its record."""
        if row["metadata"] is None:
            return None
        said: Line = json.loads(row["metadata"])
        if row["import_id"] is not None:
            said.pop("record", None)
            if said.pop(_REQUEST, None) is not None:
                self._losses.add(row["kind"], _REQUEST, _NO_REQUEST)
            if isinstance(said.get("compaction"), dict):
                said["compaction"] = self._by_messages(said["compaction"])
        return json.dumps(said) if said else None

    def _by_messages(self, rule: Line) -> Line:
        """What a compaction kept, by ids of messages: a reader knows records by these."""
        told: Line = {
            name: [m for one in rule[name] for m in self._messages_of.get(one, [])] for name in _LISTED & {*rule}
        }
        if "record" in rule:
            told["record"] = next(iter(self._messages_of.get(rule["record"], [])), None)
        return {**rule, **told}

    @cached_property
    def _messages_of(self) -> dict[str, list[str]]:
        """The messages of each record."""
        ids = self._material.history.select("source_record", "message_id", "sequence_no").drop_nulls()
        ordered = ids.unique().sort("source_record", "sequence_no", "message_id")
        return dict(ordered.group_by("source_record", maintain_order=True).agg("message_id").iter_rows())

    def _artifact(self, content_id: str) -> Iterator[bytes]:
        held = self._artifacts.get(content_id)
        if held is None or content_id in self._written:
            return
        self._written.add(content_id)
        yield _encoded({
            "type": "artifact", "content_id": content_id, "media_type": held["media_type"], **_content(held["content"]),
        })  # fmt: skip

    def _count_measures(self) -> None:
        counted = pl.col("token_count").is_not_null() & pl.col("text").is_null()
        unkept = self._material.history.filter(counted & pl.col("data").str.contains('"hidden_reasoning"'))
        for (kind,), rows in unkept.group_by("kind"):
            self._losses.add(str(kind), "token_count", _UNKEPT, rows.height)


def _content(raw: bytes) -> Mapping[str, str]:
    try:
        return {"content": raw.decode()}
    except UnicodeDecodeError:
        return {"encoding": "base64", "content": base64.b64encode(raw).decode()}


def _encoded(line: Line) -> bytes:
    return msgspec.json.encode(line)
