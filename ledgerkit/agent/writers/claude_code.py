"""Sessions as Claude Code logs them, version 2.1.

The rule: what that program does not log is not here (system prompt, tool declarations, approvals, verdicts of the
harness), and what it does to the rest is done: one line per content block, usage repeated on each with early partial
figures, results between the blocks of one answer, a chain of parents, compaction and subagents in files of their own.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from ledgerkit.agent.clock import SeededIds, stream
from ledgerkit.agent.exchange import Block, Response, TextBlock, ThinkingBlock, ToolUse
from ledgerkit.agent.loop import COMPACTION_PROMPT, CONTINUATION
from ledgerkit.agent.outcomes import ChangeFields
from ledgerkit.agent.record import (
    Answered,
    Compacted,
    Entry,
    ModelFailed,
    Prompted,
    ResultLost,
    RunRecord,
    SessionRecord,
    ToolFinished,
)
from ledgerkit.agent.writers.claude_twins import result_block, twin, usage_json

VERSIONS: Final = ("2.1.36", "2.1.38", "2.1.39", "2.1.42")
"""Versions of the program, by seed."""

_BYTES_OF_SIGNATURE: Final = 96
_MAX_RETRIES: Final = 10
_SLUG: Final = (
    ("quiet", "brisk", "patient", "amber", "nimble", "steady", "curious", "plain"),
    ("sorting", "weighing", "folding", "counting", "mending", "packing", "drifting", "stacking"),
    ("otter", "lantern", "kettle", "heron", "abacus", "ledger", "thimble", "walnut"),
)

Line = dict[str, object]


def project_slug(working_directory: str) -> str:
    """Name of the folder that the program keeps a project's sessions in."""
    return working_directory.replace("/", "-").replace(".", "-")


def files(session: SessionRecord, version: str) -> dict[str, bytes]:
    """The files of a session by path below the projects folder; equal sessions give equal bytes."""
    folder = project_slug(session.main.working_directory)
    ids = SeededIds(stream("claude-code", session.session_id))
    slug = "-".join(stream("slug", session.session_id, n).choice(words) for n, words in enumerate(_SLUG))
    log = _Log(session.session_id, session.main, version, slug, ids)
    texts = {f"{folder}/{session.session_id}.jsonl": log.lines()}
    for record in session.main.subagents:
        side = _Log(session.session_id, record, version, slug, ids, record.agent_id)
        texts[f"{folder}/{session.session_id}/subagents/agent-{record.agent_id}.jsonl"] = side.lines()
    for agent_id, lines in log.compactions.items():
        texts[f"{folder}/{session.session_id}/subagents/agent-{agent_id}.jsonl"] = lines
    outputs = {f"{folder}/{path}": text.encode() for path, text in _long_outputs(session).items()}
    return {path: _encoded(lines) for path, lines in texts.items()} | outputs


def _long_outputs(session: SessionRecord) -> dict[str, str]:
    return {
        f"{session.session_id}/tool-results/{entry.call.tool_call_id}.txt": f"{entry.outcome.full_text}\n"
        for run in session.runs
        for entry in run.entries
        if isinstance(entry, ToolFinished) and entry.outcome.full_text is not None
    }


def _encoded(lines: Sequence[Line]) -> bytes:
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines).encode()


@dataclass(slots=True)
class _Log:
    session_id: str
    record: RunRecord
    version: str
    slug: str
    ids: SeededIds
    agent_id: str | None = None
    compactions: dict[str, list[Line]] = field(default_factory=dict[str, list[Line]])
    _parent: str | None = None
    _first: str | None = None
    _asked_by: dict[str, str] = field(default_factory=dict[str, str])
    _waiting: list[Line] = field(default_factory=list[Line])
    _backups: dict[str, Line] = field(default_factory=dict[str, Line])
    _prompted_at: datetime | None = None

    def lines(self) -> list[Line]:
        entries = self.record.entries
        found: list[Line] = []
        for entry, following in zip(entries, [*entries[1:], None], strict=True):
            if isinstance(following, Prompted) and following.queued_at is not None:
                found.append(self._queue("enqueue", following.queued_at, following.text))
            found += self._lines_of(entry)
        if self.agent_id is None:
            found.append({"type": "summary", "summary": self.record.title, "leafUuid": self._parent})
        return found

    def _lines_of(self, entry: Entry) -> Iterator[Line]:
        match entry:
            case Prompted():
                yield from self._prompted(entry)
            case Answered():
                yield from self._answered(entry)
            case ToolFinished():
                yield from self._finished(entry)
            case ResultLost():
                yield from self._release()
            case Compacted():
                yield from self._compacted(entry)
            case ModelFailed():
                yield self._failed(entry)
            case _:
                return

    def _prompted(self, entry: Prompted) -> Iterator[Line]:
        if entry.queued_at is not None:
            yield self._queue("dequeue", entry.at)
        self._prompted_at = entry.at
        line = self._line("user", entry.at, {"message": {"role": "user", "content": entry.text}})
        if self.agent_id is None:
            self._first = self._first or str(line["uuid"])
            yield self._snapshot(str(line["uuid"]), entry.at, is_update=False)
            line |= {"thinkingMetadata": {"maxThinkingTokens": 31999}, "todos": [], "permissionMode": "default"}
        yield line

    def _answered(self, entry: Answered) -> Iterator[Line]:
        blocks = entry.response.blocks
        share = (entry.at - entry.asked_at) / len(blocks)
        written = 0
        for number, block in enumerate(blocks, 1):
            at = entry.asked_at + share * number
            if isinstance(block, ToolUse) and written:
                self._waiting.append(self._block_line(entry.response, block, at, is_last=number == len(blocks)))
                continue
            written += isinstance(block, ToolUse)
            yield self._chained(self._block_line(entry.response, block, at, is_last=number == len(blocks)))
        if not entry.response.tool_uses and self.agent_id is None and self._prompted_at is not None:
            took = round((entry.at - self._prompted_at) / timedelta(milliseconds=1))
            yield self._line("system", entry.at, {"subtype": "turn_duration", "durationMs": took, "isMeta": False})

    def _block_line(self, response: Response, block: Block, at: datetime, *, is_last: bool) -> Line:
        output = response.usage.output_tokens or 0
        partial = None if is_last else min(output, 1 + output % 9)
        reason = "tool_use" if response.tool_uses else "end_turn"
        message: Line = {
            "model": response.model,
            "id": response.message_id,
            "type": "message",
            "role": "assistant",
            "content": [self._block(block)],
            "stop_reason": reason if is_last else None,
            "stop_sequence": None,
            "usage": usage_json(response.usage, output_tokens=partial),
        }
        body: Line = {"message": message, "requestId": response.request_id}
        line = self._envelope(at) | body | {"type": "assistant", "uuid": self.ids.uuid4(), "timestamp": _iso(at)}
        if isinstance(block, ToolUse):
            self._asked_by[block.tool_call_id] = str(line["uuid"])
        return line

    def _block(self, block: Block) -> Line:
        match block:
            case ThinkingBlock():
                return {"type": "thinking", "thinking": block.text, "signature": self._signature()}
            case ToolUse():
                use: Line = {"type": "tool_use", "id": block.tool_call_id, "name": block.name}
                return use | {"input": dict(block.arguments), "caller": {"type": "direct"}}
            case TextBlock() | _:
                return {"type": "text", "text": block.text}

    def _signature(self) -> str:
        return base64.b64encode(self.ids.random_bytes(_BYTES_OF_SIGNATURE)).decode()

    def _finished(self, entry: ToolFinished) -> Iterator[Line]:
        asked_by = self._asked_by[entry.call.tool_call_id]
        self._parent = asked_by
        line = self._line("user", entry.at, {"message": {"role": "user", "content": [result_block(entry)]}})
        if self.agent_id is None:
            line["toolUseResult"] = twin(entry)
        line["sourceToolAssistantUUID"] = asked_by
        yield line
        fields = entry.outcome.fields
        if isinstance(fields, ChangeFields) and self.agent_id is None:
            yield self._backup(fields, asked_by, entry.at)
        if self._waiting:
            yield self._chained(self._waiting.pop(0))

    def _release(self) -> Iterator[Line]:
        waiting, self._waiting = self._waiting, []
        for line in waiting:
            yield self._chained(line)

    def _compacted(self, entry: Compacted) -> Iterator[Line]:
        agent_id = f"acompact-{self.ids.hex(6)}"
        side = _Log(self.session_id, self.record, self.version, self.slug, self.ids, agent_id)
        side._parent = self._parent  # noqa: SLF001 - the same class
        asked = side._line("user", entry.asked_at, {"message": {"role": "user", "content": COMPACTION_PROMPT}})  # noqa: SLF001
        block = entry.response.blocks[-1]
        answer = side._chained(side._block_line(entry.response, block, entry.at, is_last=True))  # noqa: SLF001
        self.compactions[agent_id] = [asked, answer]
        logical, self._parent = self._parent, None
        metadata = {"trigger": "auto", "preTokens": entry.tokens_before}
        boundary: Line = {"subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False}
        boundary |= {"level": "info", "compactMetadata": metadata, "logicalParentUuid": logical}
        yield self._line("system", entry.at, boundary)
        summary = {"role": "user", "content": CONTINUATION + entry.response.text}
        flags = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        yield self._line("user", entry.at + timedelta(milliseconds=1), {"message": summary} | flags)

    def _failed(self, entry: ModelFailed) -> Line:
        cause = {"type": "error", "error": {"type": "overloaded_error", "message": entry.error}}
        body: Line = {"subtype": "api_error", "level": "error", "error": {"status": entry.status, "error": cause}}
        retry = {"retryInMs": entry.retry_ms, "retryAttempt": entry.attempt, "maxRetries": _MAX_RETRIES}
        return self._line("system", entry.at, body | retry)

    def _queue(self, operation: str, at: datetime, content: str | None = None) -> Line:
        line: Line = {"type": "queue-operation", "operation": operation, "timestamp": _iso(at)}
        line["sessionId"] = self.session_id
        return line if content is None else line | {"content": content}

    def _snapshot(self, message_id: str, at: datetime, *, is_update: bool) -> Line:
        snapshot: Line = {"messageId": self._first, "trackedFileBackups": dict(self._backups), "timestamp": _iso(at)}
        head: Line = {"type": "file-history-snapshot", "messageId": message_id, "snapshot": snapshot}
        return head | {"isSnapshotUpdate": is_update}

    def _backup(self, fields: ChangeFields, message_id: str, at: datetime) -> Line:
        path = fields.path.removeprefix(f"{self.record.working_directory}/")
        version = int(str(self._backups.get(path, {}).get("version", 0))) + 1
        name = None if fields.before is None else f"{self.ids.hex(16)}@v{version}"
        self._backups[path] = {"backupFileName": name, "version": version, "backupTime": _iso(at)}
        return self._snapshot(message_id, at, is_update=True)

    def _envelope(self, at: datetime) -> Line:
        line: Line = {
            "parentUuid": self._parent,
            "isSidechain": self.agent_id is not None,
            "userType": "external",
            "cwd": self.record.working_directory,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": self.record.branch,
        }
        return line | ({"slug": self.slug} if self.agent_id is None else {"agentId": self.agent_id, "slug": self.slug})

    def _line(self, kind: str, at: datetime, body: Line) -> Line:
        line = self._envelope(at) | {"type": kind} | body | {"uuid": self.ids.uuid4(), "timestamp": _iso(at)}
        return self._chained(line)

    def _chained(self, line: Line) -> Line:
        line["parentUuid"] = self._parent
        self._parent = str(line["uuid"])
        return line


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
