"""Tool results as Claude Code logs them: the block that the model saw, and its structured twin.

The rule: the twin holds what the tool knew, also where the model saw a part; of a failed call it is the error.
"""

from __future__ import annotations

from typing import Final

from ledgerkit.agent.loop import DENIED
from ledgerkit.agent.outcomes import (
    ChangeFields,
    FileFields,
    ListFields,
    PlanFields,
    SearchFields,
    ShellFields,
    SubagentFields,
)
from ledgerkit.agent.patches import hunks
from ledgerkit.agent.record import ToolFinished
from ledgerkit.protocol.usage import Usage

Json = dict[str, object]

_GLOB_MS: Final = 12
_TAGS: Final = ("<tool_use_error>", "</tool_use_error>")


def result_block(entry: ToolFinished) -> Json:
    """The ``tool_result`` block."""
    fields = entry.outcome.fields
    content: object = entry.outcome.text
    if isinstance(fields, SubagentFields):
        content = [{"type": "text", "text": fields.answer}, {"type": "text", "text": fields.note}]
    block: Json = {"tool_use_id": entry.call.tool_call_id, "type": "tool_result", "content": content}
    if entry.call.name == "Bash" or entry.outcome.is_error:
        block["is_error"] = entry.outcome.is_error
    return block


def twin(entry: ToolFinished) -> object:
    """The line's ``toolUseResult``: an object, or a text for a call that failed."""
    outcome = entry.outcome
    if outcome.is_error:
        text = outcome.text
        for tag in _TAGS:
            text = text.replace(tag, "")
        return "User rejected tool use" if text == DENIED else f"Error: {text}"
    match outcome.fields:
        case ShellFields() as shell:
            streams = {"stdout": shell.stdout, "stderr": shell.stderr}
            return streams | {"interrupted": False, "isImage": False, "noOutputExpected": False}
        case SubagentFields() as subagent:
            return _subagent(subagent)
        case PlanFields() as plan:
            return {"oldTodos": [dict(t) for t in plan.before], "newTodos": [dict(t) for t in plan.after]}
        case None:
            return outcome.text
        case FileFields() | ChangeFields() | SearchFields() | ListFields() as found:
            return _of_files(found)


def usage_json(usage: Usage, *, output_tokens: int | None = None) -> Json:
    """A call's usage as Anthropic reports it: input without cache tokens.

    Args:
        usage: The tokens.
        output_tokens: Output tokens of an early snapshot; None for the last one, which has further fields.
    """
    written = usage.cache_write_5m_tokens or 0
    common: Json = {
        "input_tokens": usage.fresh_input_tokens,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cache_read_tokens or 0,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.output_tokens if output_tokens is None else output_tokens,
        "service_tier": "standard",
    }
    if output_tokens is not None:
        return common | {"inference_geo": "global"}
    tools: Json = {"web_search_requests": 0, "web_fetch_requests": 0}
    iterations: list[Json] = []
    return common | {"server_tool_use": tools, "inference_geo": "", "iterations": iterations}


def _of_files(fields: FileFields | ChangeFields | SearchFields | ListFields) -> Json:
    match fields:
        case FileFields():
            return {"type": "text", "file": _file(fields)}
        case ChangeFields():
            return _change(fields)
        case SearchFields():
            return _search(fields)
        case ListFields():
            names = list(fields.filenames)
            return {"filenames": names, "durationMs": _GLOB_MS, "numFiles": len(names), "truncated": False}


def _file(file: FileFields) -> Json:
    return {
        "filePath": file.path,
        "content": file.content,
        "numLines": file.line_count,
        "startLine": file.start_line,
        "totalLines": file.total_lines,
    }


def _change(change: ChangeFields) -> Json:
    patch: list[Json] = [
        {
            "oldStart": hunk.old_start,
            "oldLines": hunk.old_lines,
            "newStart": hunk.new_start,
            "newLines": hunk.new_lines,
            "lines": list(hunk.lines),
        }
        for hunk in (hunks(change.before, change.after) if change.before is not None else ())
    ]
    if change.old is None:
        kind = "create" if change.before is None else "update"
        written: Json = {"type": kind, "filePath": change.path, "content": change.after}
        return written | {"structuredPatch": patch, "originalFile": change.before}
    return {
        "filePath": change.path,
        "oldString": change.old,
        "newString": change.new,
        "originalFile": change.before,
        "structuredPatch": patch,
        "userModified": False,
        "replaceAll": change.replace_all,
    }


def _search(search: SearchFields) -> Json:
    found: Json = {"mode": search.mode, "filenames": list(search.filenames), "numFiles": len(search.filenames)}
    return found | {"content": search.content, "numLines": search.line_count} if search.mode == "content" else found


def _subagent(subagent: SubagentFields) -> Json:
    return {
        "status": "completed",
        "prompt": subagent.prompt,
        "agentId": subagent.agent_id,
        "content": [{"type": "text", "text": subagent.answer}],
        "totalDurationMs": subagent.duration_ms,
        "totalTokens": subagent.total_tokens,
        "totalToolUseCount": subagent.tool_calls,
        "usage": usage_json(subagent.usage),
    }
