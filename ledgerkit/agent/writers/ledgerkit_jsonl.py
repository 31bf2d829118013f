"""Ledgerkit's own log format: messages, and every model request whole. ``docs/formats/ledgerkit-jsonl.md`` defines it.

The rule: reading the lines in order is enough. A line refers only to blocks and artifacts that stand before it.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Sequence
from typing import Final

from ledgerkit.agent.clock import SeededIds, stream
from ledgerkit.agent.exchange import Block, Request, Response, ToolSpec, as_json
from ledgerkit.agent.messages import MessageMaker, call_id_of
from ledgerkit.agent.record import Answered, Compacted, SessionRecord

FORMAT: Final = "ledgerkit-jsonl"
VERSION: Final = 1
EXTENSION: Final = ".jsonl.gz"
_LEVEL: Final = 9

Line = dict[str, object]


def file_name(session: SessionRecord) -> str:
    """Name of a session's file."""
    return session.session_id + EXTENSION


def to_bytes(session: SessionRecord) -> bytes:
    """A session's file, compressed; equal sessions give equal bytes."""
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines(session))
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=_LEVEL, mtime=0, filename="") as file:
        file.write(text.encode())
    return packed.getvalue()


def lines(session: SessionRecord) -> Iterator[Line]:
    """The lines of a session's file: the main run, then each subagent."""
    yield {"type": FORMAT, "version": VERSION, "session_id": session.session_id}
    pool: dict[str, str] = {}
    ids = SeededIds(stream(FORMAT, session.session_id))
    main = MessageMaker(session.session_id, session.main, ids)
    yield _run_line(main, parent=None)
    yield from _entries(main, pool)
    for record in session.main.subagents:
        maker = MessageMaker(session.session_id, record, ids)
        yield _run_line(maker, parent=main)
        yield from _entries(maker, pool)


def _run_line(maker: MessageMaker, *, parent: MessageMaker | None) -> Line:
    record = maker.record
    line: Line = {
        "type": "run",
        "session_id": maker.session_id,
        "run_id": record.run_id,
        "task_id": record.task_id,
        "title": record.title,
        "repository": record.working_directory.rpartition("/")[2],
        "branch": record.branch,
        "working_directory": record.working_directory,
        "agent": record.agent,
        "agent_version": record.agent_version,
    }
    if parent is not None and record.parent_call is not None:
        line |= {
            "parent_run_id": parent.record.run_id,
            "forked_at": parent.request_message(record.parent_call),
            "relation": "subagent",
        }
    return line


def _entries(maker: MessageMaker, pool: dict[str, str]) -> Iterator[Line]:
    written: set[str] = set()
    for entry in maker.record.entries:
        if isinstance(entry, Answered | Compacted):
            yield from _request_lines(maker.record.run_id, entry.step, entry.request, entry.response, pool)
        messages = maker.messages(entry)
        for content_id in sorted(maker.kept.keys() - written):
            kept = maker.kept[content_id]
            written.add(content_id)
            yield {
                "type": "artifact",
                "content_id": content_id,
                "media_type": kept.media_type,
                "content": kept.content,
            }
        for message in messages:
            yield {"type": "message", "message": message.model_dump(mode="json", exclude_none=True)}


def _request_lines(
    run_id: str, step: int, request: Request, response: Response, pool: dict[str, str]
) -> Iterator[Line]:
    fresh: list[Line] = []

    def keep(blocks: Sequence[Block | ToolSpec | str]) -> list[str]:
        return [_pooled(block, pool, fresh) for block in blocks]

    line: Line = {
        "type": "model_request",
        "run_id": run_id,
        "call_id": call_id_of(response),
        "step": step,
        "purpose": request.purpose,
        "model": request.model,
        "max_output_tokens": request.max_output_tokens,
        "system": keep(request.system),
        "tools": keep(request.tools),
        "messages": [{"role": m.role, "content": keep(m.blocks)} for m in request.messages],
    }
    yield from fresh
    yield line


def _pooled(block: Block | ToolSpec | str, pool: dict[str, str], fresh: list[Line]) -> str:
    content = as_json(block)
    key = json.dumps(content, ensure_ascii=False, sort_keys=True)
    if key not in pool:
        pool[key] = f"b{len(pool)}"
        fresh.append({"type": "block", "id": pool[key], "content": content})
    return pool[key]
