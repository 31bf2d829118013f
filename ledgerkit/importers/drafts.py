"""What an importer hands on: records with their messages and parts, still without ids, runs or numbers.

An importer says what each record of one file *is*; which run a record belongs to, in which place, and
whether the ledger has it already is decided for all formats alike by :mod:`ledgerkit.ingest`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from ledgerkit.protocol.vocabulary import ArtifactLabel, MessageKind, PartType, RunRelation, TrustLevel, Visibility

JsonObject = dict[str, Any]
"""A JSON object, as a record holds it."""


class Node(StrEnum):
    """The role of a record in the shape of a session.

    Only prompts and calls can open a branch; results belong to the call that they answer; everything else
    goes where its neighbours go.
    """

    PROMPT = "prompt"
    CALL = "call"
    RESULT = "result"
    PASSIVE = "passive"


class Blob(msgspec.Struct, frozen=True, gc=False):
    """A content that is to be kept as an artifact.

    Attributes:
        label: ``None`` until something has scanned it; what nobody scans is kept as restricted.
    """

    content: bytes
    media_type: str
    label: ArtifactLabel | None = None


class PartDraft(msgspec.Struct, gc=False):
    """One part. ``text`` is what the model or person saw, ``data`` structured content beside or instead of it.

    Attributes:
        measured: Content to measure and hash where it is not kept (hidden reasoning).
        blobs: Contents to keep as artifacts.
        label: Label of the artifact that a long text or its data becomes.
    """

    part_type: PartType
    trust: TrustLevel
    text: str | None = None
    data: Any = None
    visibility: Visibility = Visibility.MODEL_VISIBLE
    content_type: str = "text/plain"
    summary: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    arguments_hash: str | None = None
    status: str | None = None
    started_at: int | None = None
    finished_at: int | None = None
    path: str | None = None
    error_category: str | None = None
    evidence_refs: list[str] | None = None
    measured: str | None = None
    blobs: list[Blob] | None = None
    label: ArtifactLabel | None = None


class UsageDraft(msgspec.Struct, gc=False):
    """Token usage exactly as one record said it, in the ledger's terms (input is all input)."""

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_5m_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    reported_cost: str | None = None
    service_tier: str | None = None


class MessageDraft(msgspec.Struct, gc=False):
    """One message of a record; a record whose blocks are of several kinds gives several.

    Attributes:
        attached: Contents that are no part of the message, kept as artifacts; its metadata names them.
        compaction: What a compaction that it records kept of the context (see ``importers.compactions``).
    """

    kind: MessageKind
    actor: str
    parts: list[PartDraft]
    model: str | None = None
    provider: str | None = None
    usage: UsageDraft | None = None
    metadata: JsonObject = {}
    attached: dict[str, Blob] = {}
    compaction: JsonObject | None = None
    trace_id: str | None = None
    idempotency_key: str | None = None


class RunFacts(msgspec.Struct, gc=False):
    """What a record says about the run that it stands in; the first record that says so counts.

    Attributes:
        parent_run: Key of the run of the same session that it came from.
        parent_session: The source's id of the session that it came from, where that is another one.
    """

    working_directory: str | None = None
    branch: str | None = None
    repository: str | None = None
    agent_version: str | None = None
    title: str | None = None
    task_id: str | None = None
    agent: str | None = None
    parent_run: str | None = None
    forked_at: str | None = None
    parent_session: str | None = None


class Link(msgspec.Struct, frozen=True, gc=False):
    """A call that began another run: a subagent's key, and the tool call that started it."""

    run_key: str
    tool_call_id: str


class RecordDraft(msgspec.Struct, gc=False):
    """One record of a file.

    Attributes:
        record_type: The record's type in its format, for the account (``system/compact_boundary``).
        session: The source's session id; ``None``: the session of the file.
        native_id: The record's own id, if it has one.
        line_id: Id of the line that it stands on, where that is another.
        digest: Hash of what the record says, the same for every copy of it.
        parent: Native id of the record that it follows.
        run_key: Run within the session; "" is the main one. ``None``: that of its neighbours.
        node: Its role in the shape of the session.
        call_id: The model call that wrote it (only on records that a model wrote).
        is_model_call: Whether that call reached a model (clients also write notices in the model's place).
        embedded: A copy inside another record; a record of its own replaces it.
        provisional: It refers to a record that its file does not hold (a call, the record before it); a copy of it
            that stands in a file that does replaces it.
        created_at: Microseconds since 1970.
        message_ids: Ids of its messages, where the source gives them.
        step, visible_from: Step and visibility of its messages, where the source gives them.
        skipped: Rule by which the record is left out (then it has no messages).
    """

    line: int
    offset: int
    record_type: str
    digest: str
    session: str | None = None
    native_id: str | None = None
    line_id: str | None = None
    parent: str | None = None
    run_key: str | None = ""
    relation: RunRelation | None = None
    node: Node = Node.PASSIVE
    call_id: str | None = None
    is_model_call: bool = False
    embedded: bool = False
    provisional: bool = False
    created_at: int | None = None
    messages: list[MessageDraft] = []
    links: list[Link] = []
    facts: RunFacts | None = None
    message_ids: list[str] | None = None
    step: int | None = None
    visible_from: int | None = None
    skipped: str | None = None


class Quarantined(msgspec.Struct, frozen=True, gc=False):
    """A record that could not be read: where, how large, why."""

    line: int
    offset: int
    bytes: int
    reason: str
    record_type: str = "damaged"


class ParsedFile(msgspec.Struct):
    """What one reading of a file gave.

    Attributes:
        cursor: Bytes read for good. Behind it stands at most a torn last line.
        line_count: Non-blank lines read.
        torn_tail: Whether the last line is cut off (it is among the quarantined).
    """

    records: list[RecordDraft]
    quarantined: list[Quarantined]
    cursor: int
    line_count: int
    agent: str
    torn_tail: bool = False
