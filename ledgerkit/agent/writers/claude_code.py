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
    SessionRecord,
    ToolFinished,
)
from ledgerkit.agent.writers.claude_chain import Chain, Line
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


def project_slug(working_directory: str) -> str:
    """Name of the folder that the program keeps a project's sessions in."""
    return working_directory.replace("/", "-").replace(".", "-")


def files(session: SessionRecord, version: str) -> dict[str, bytes]:
    """The files of a session by path below the projects folder; equal sessions give equal bytes."""
    folder = project_slug(session.main.working_directory)
    ids = SeededIds(stream("claude-code", session.session_id))
    slug = "-".join(stream("slug", session.session_id, n).choice(words) for n, words in enumerate(_SLUG))
    log = _Log(Chain(session.session_id, session.main, version, slug, ids))
    texts = {f"{folder}/{session.session_id}.jsonl": log.lines()}
    for record in session.main.subagents:
        side = _Log(Chain(session.session_id, record, version, slug, ids, record.agent_id))
        texts[f"{folder}/{session.session_id}/subagents/agent-{record.agent_id}.jsonl"] = side.lines()
    for agent_id, lines in log.compactions.items():
        texts[f"{folder}/{session.session_id}/subagents/agent-{agent_id}.jsonl"] = lines
    return {path: _encoded(lines) for path, lines in texts.items()}


def _encoded(lines: Sequence[Line]) -> bytes:
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines).encode()


@dataclass(slots=True)
class _Log:
    chain: Chain
    compactions: dict[str, list[Line]] = field(default_factory=dict[str, list[Line]])
    _asked_by: dict[str, str] = field(default_factory=dict[str, str])
    _waiting: list[Line] = field(default_factory=list[Line])
    _prompted_at: datetime | None = None

    @property
    def _is_main(self) -> bool:
        return self.chain.agent_id is None

    def lines(self) -> list[Line]:
        record = self.chain.record
        found: list[Line] = []
        for entry, following in zip(record.entries, [*record.entries[1:], None], strict=True):
            if isinstance(following, Prompted) and following.queued_at is not None:
                found.append(self.chain.queue("enqueue", following.queued_at, following.text))
            found += self._lines_of(entry)
        if self._is_main:
            found.append({"type": "summary", "summary": record.title, "leafUuid": self.chain.parent})
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
            yield self.chain.queue("dequeue", entry.at)
        self._prompted_at = entry.at
        line = self.chain.line("user", entry.at, {"message": {"role": "user", "content": entry.text}})
        if self._is_main:
            yield self.chain.snapshot(str(line["uuid"]), entry.at)
            line |= {"thinkingMetadata": {"maxThinkingTokens": 31999}, "todos": [], "permissionMode": "default"}
        yield line

    def _answered(self, entry: Answered) -> Iterator[Line]:
        blocks = entry.response.blocks
        share = (entry.at - entry.asked_at) / len(blocks)
        calls = 0
        for number, block in enumerate(blocks, 1):
            at = entry.asked_at + share * number
            line = self._block_line(self.chain, entry.response, block, at)
            # The second call of an answer is logged after the result of the first.
            if isinstance(block, ToolUse) and calls:
                self._waiting.append(line)
            else:
                yield self.chain.chained(line)
            calls += isinstance(block, ToolUse)
        if not calls and self._is_main and self._prompted_at is not None:
            took = round((entry.at - self._prompted_at) / timedelta(milliseconds=1))
            yield self.chain.line("system", entry.at, {"subtype": "turn_duration", "durationMs": took, "isMeta": False})

    def _block_line(self, chain: Chain, response: Response, block: Block, at: datetime) -> Line:
        is_last = block is response.blocks[-1]
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
        line = chain.loose("assistant", at, {"message": message, "requestId": response.request_id})
        if isinstance(block, ToolUse):
            self._asked_by[block.tool_call_id] = str(line["uuid"])
        return line

    def _block(self, block: Block) -> Line:
        match block:
            case ThinkingBlock():
                signature = base64.b64encode(self.chain.ids.random_bytes(_BYTES_OF_SIGNATURE)).decode()
                return {"type": "thinking", "thinking": block.text, "signature": signature}
            case ToolUse():
                use: Line = {"type": "tool_use", "id": block.tool_call_id, "name": block.name}
                return use | {"input": dict(block.arguments), "caller": {"type": "direct"}}
            case TextBlock() | _:
                return {"type": "text", "text": block.text}

    def _finished(self, entry: ToolFinished) -> Iterator[Line]:
        asked_by = self._asked_by[entry.call.tool_call_id]
        self.chain.parent = asked_by
        line = self.chain.line("user", entry.at, {"message": {"role": "user", "content": [result_block(entry)]}})
        if self._is_main:
            line["toolUseResult"] = twin(entry)
        line["sourceToolAssistantUUID"] = asked_by
        yield line
        fields = entry.outcome.fields
        if isinstance(fields, ChangeFields) and self._is_main:
            yield self.chain.backup(fields, asked_by, entry.at)
        if self._waiting:
            yield self.chain.chained(self._waiting.pop(0))

    def _release(self) -> Iterator[Line]:
        waiting, self._waiting = self._waiting, []
        for line in waiting:
            yield self.chain.chained(line)

    def _compacted(self, entry: Compacted) -> Iterator[Line]:
        side = self.chain.side(f"acompact-{self.chain.ids.hex(6)}")
        asked = side.line("user", entry.asked_at, {"message": {"role": "user", "content": COMPACTION_PROMPT}})
        answer = side.chained(self._block_line(side, entry.response, entry.response.blocks[-1], entry.at))
        self.compactions[str(side.agent_id)] = [asked, answer]
        logical, self.chain.parent = self.chain.parent, None
        metadata = {"trigger": "auto", "preTokens": entry.tokens_before}
        boundary: Line = {"subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False}
        boundary |= {"level": "info", "compactMetadata": metadata, "logicalParentUuid": logical}
        yield self.chain.line("system", entry.at, boundary)
        summary: Line = {"message": {"role": "user", "content": CONTINUATION + entry.response.text}}
        summary |= {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        yield self.chain.line("user", entry.at + timedelta(milliseconds=1), summary)

    def _failed(self, entry: ModelFailed) -> Line:
        cause = {"type": "error", "error": {"type": "overloaded_error", "message": entry.error}}
        body: Line = {"subtype": "api_error", "level": "error", "error": {"status": entry.status, "error": cause}}
        retry = {"retryInMs": entry.retry_ms, "retryAttempt": entry.attempt, "maxRetries": _MAX_RETRIES}
        return self.chain.line("system", entry.at, body | retry)
