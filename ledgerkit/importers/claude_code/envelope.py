"""The envelope of a record: what all types have, and what is wrong with one."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

from ledgerkit.importers.drafts import JsonObject, RecordDraft, RunFacts
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.protocol.vocabulary import RunRelation

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT: Final = (
    *("type", "slug", "requestId", "agentId", "userType", "origin", "effort", "permissionMode"),
    *("isMeta", "isCompactSummary", "isApiErrorMessage", "apiErrorStatus", "isAbortedMidStream", "toolDenialKind"),
    *("sourceToolUseID", "interruptedMessageId", "supersedesUuids", "attributionSkill", "attributionAgent"),
)
_KEPT_NAMES: Final = frozenset(_KEPT)


def shape_problem(record: JsonObject) -> str | None:
    """Why a record of a known type cannot be read as one; ``None`` if it can."""
    kind = record.get("type")
    if kind in ("user", "assistant"):
        message = record.get("message")
        if not is_object(message):
            return f"{kind} record without a message object"
        if not isinstance(message.get("content"), str | list | None):
            return f"{kind} record whose content is neither text nor a list"
    return None


def is_embedded_copy(data: object) -> bool:
    """Whether a progress record holds a copy of a subagent's record."""
    if not is_object(data) or data.get("type") != "agent_progress":
        return False
    inner = data.get("message")
    return is_object(inner) and inner.get("type") in ("user", "assistant") and shape_problem(inner) is None


def envelope_of(record: JsonObject, item: Line) -> RecordDraft:
    """The draft of a record, without messages."""
    kind, subtype = record.get("type"), record.get("subtype")
    attachment = record.get("attachment")
    if is_object(attachment):
        subtype = attachment.get("type")
    agent, native_id = record.get("agentId"), record.get("uuid")
    agent = agent if isinstance(agent, str) else None
    sidechain = record.get("isSidechain") is True
    return RecordDraft(
        line=item.number,
        offset=item.offset,
        record_type=f"{kind}/{subtype}" if isinstance(subtype, str) else str(kind),
        digest=_digest(record),
        session=nonempty_text(record.get("sessionId")),
        native_id=native_id if isinstance(native_id, str) else None,
        parent=nonempty_text(record.get("parentUuid")) or nonempty_text(record.get("logicalParentUuid")),
        run_key=_run_key(record, agent, sidechain=sidechain),
        relation=_relation(agent, sidechain=sidechain),
        created_at=_time(record.get("timestamp")) or _snapshot_time(record),
        facts=_facts(record),
    )


def _facts(record: JsonObject) -> RunFacts:
    """What a record says of its run: one object for all records that say the same, as most of a session do."""
    return _same_facts(
        nonempty_text(record.get("cwd")),
        nonempty_text(record.get("gitBranch")),
        nonempty_text(record.get("prRepository")),
        nonempty_text(record.get("version")),
        nonempty_text(record.get("customTitle")) or nonempty_text(record.get("aiTitle")),
    )


@lru_cache(maxsize=64)
def _same_facts(
    directory: str | None, branch: str | None, repository: str | None, version: str | None, title: str | None
) -> RunFacts:
    return RunFacts(directory, branch, repository, version, title)


def _run_key(record: JsonObject, agent: str | None, *, sidechain: bool) -> str | None:
    """The run within the session: an agent's id; "" for the main run; ``None`` where only the neighbours tell."""
    if agent and (sidechain or record.get("type") in ("user", "assistant", "attachment", "system")):
        return agent
    if sidechain or "uuid" not in record:
        return None
    return ""


def _relation(agent: str | None, *, sidechain: bool) -> RunRelation | None:
    if agent and agent.startswith("acompact"):
        return RunRelation.COMPACTION
    return RunRelation.SUBAGENT if agent or sidechain else None


def kept_envelope(record: JsonObject) -> JsonObject:
    """The fields of an envelope that no column holds and that may matter to somebody."""
    there = _KEPT_NAMES.intersection(record)
    kept = {k: v for k in _KEPT if k in there and (v := record[k]) not in (None, "", [], {}, False)} if there else {}
    message = record.get("message")
    if is_object(message):
        if message.get("stop_reason"):
            kept["stop_reason"] = message["stop_reason"]
        usage = message.get("usage")
        if is_object(usage):
            extra = {k: usage[k] for k in ("server_tool_use", "speed", "inference_geo") if usage.get(k)}
            kept |= {"usage": extra} if extra else {}
    return kept


def call_id_of(message: JsonObject, record: JsonObject) -> str | None:
    """The model call that wrote a message, as its provider names it."""
    native, request = nonempty_text(message.get("id")), nonempty_text(record.get("requestId"))
    if native:
        return f"{native}:{request}" if request else native
    return None


def _digest(record: JsonObject) -> str:
    """Hash of what a record says: the same in every copy of it, whatever its envelope."""
    message = record.get("message")
    if is_object(message):
        says: Any = [record.get("type"), message.get("id"), message.get("model"), message.get("content")]
    else:
        says = {k: v for k, v in record.items() if k not in ("sessionId", "session_id", "cwd", "gitBranch", "version")}
    return hashlib.blake2b(msgspec.json.encode(says), digest_size=8).hexdigest()


def _snapshot_time(record: JsonObject) -> int | None:
    snapshot = record.get("snapshot")
    return _time(snapshot.get("timestamp")) if is_object(snapshot) else None


def _time(value: object) -> int | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is not UTC:
        try:
            moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except OverflowError:
            return None
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
