"""What a tool brought back or a program reports, as parts with their labels.

The rule: part 0 is the result as the model saw it; what a log knows beside that follows, for people, not for the model.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import JsonValue

from ledgerkit.agent.outcomes import ChangeFields, FileFields, PlanFields, ShellFields, SubagentFields
from ledgerkit.agent.patches import hunks, unified_diff
from ledgerkit.agent.record import ModelFailed, ResultLost, ToolFinished, Verified
from ledgerkit.protocol.parts import (
    CheckCounts,
    DiffPart,
    ErrorPart,
    FileSnippetPart,
    Part,
    ToolResultPart,
    VerificationPart,
)
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.protocol.vocabulary import ChangeType, MessageKind, TrustLevel, Visibility

_PEOPLE: Final = Visibility.HUMAN_VISIBLE
_COUNTS: Final = re.compile(r"\b(\d+) (passed|failed|errors?|skipped)\b")
_FAILING: Final = re.compile(r"^FAILED (\S+)", re.MULTILINE)
_OF_THE_REPOSITORY: Final = frozenset({"Bash", "Glob", "Grep", "Read"})


@dataclass(frozen=True, slots=True)
class Kept:
    """A content kept outside the messages."""

    media_type: str
    content: str


@dataclass(frozen=True, slots=True)
class Observation:
    """Kind and parts of the message for a tool's result, and the contents that it refers to, by content id."""

    kind: MessageKind
    parts: tuple[Part, ...]
    kept: dict[str, Kept] = field(default_factory=dict[str, Kept])


def observation(entry: ToolFinished) -> Observation:
    """The message parts for a finished call."""
    outcome, fields = entry.outcome, entry.outcome.fields
    common = _common(entry)
    kept = {_content_id(text): Kept("text/plain", text) for text in [outcome.full_text] if text is not None}
    result = ToolResultPart(
        status=outcome.status,
        text=outcome.text,
        data=_data(entry),
        trust_level=_trust(entry),
        visibility=Visibility.MODEL_VISIBLE,
        error_category=outcome.error_category,
        artifact_refs=tuple(kept),
        **common,
    )
    if isinstance(fields, FileFields):
        return Observation(MessageKind.FILE_OBSERVATION, (result, _snippet(fields, common)), kept)
    if isinstance(fields, ChangeFields):
        return Observation(MessageKind.DIFF_OBSERVATION, (result, _diff(fields, common)), kept)
    return Observation(MessageKind.TOOL_CALL_RESULT, (result,), kept)


def report(entry: Verified | ResultLost | ModelFailed) -> Part:
    """What the harness or the agent program itself has to say: a verdict, a lost result, a failed model call."""
    labels: dict[str, Any] = {"trust_level": TrustLevel.TOOL_TRUSTED, "visibility": _PEOPLE}
    match entry:
        case Verified():
            facts: dict[str, Any] = {"check": entry.check, "scope": entry.scope, "command": entry.command}
            facts |= {"verdict": entry.verdict, "exit_code": entry.exit_code, "text": entry.output}
            failing = tuple(_FAILING.findall(entry.output))
            return VerificationPart(counts=_counts(entry.output), failing=failing, **facts, **labels)
        case ResultLost():
            text = "The session ended before the result of this call was recorded."
            labels |= {"tool_call_id": entry.call.tool_call_id, "tool_name": entry.call.name}
            return ErrorPart(text=text, data={"is_retryable": True}, error_category="result_lost", **labels)
        case ModelFailed():
            data: dict[str, JsonValue] = {"status": entry.status, "attempt": entry.attempt, "retry_ms": entry.retry_ms}
            data["is_retryable"] = True
            return ErrorPart(text=entry.error, data=data, error_category="model_unavailable", **labels)


def _common(entry: ToolFinished) -> dict[str, Any]:
    path = entry.call.arguments.get("file_path")
    return {
        "tool_call_id": entry.call.tool_call_id,
        "tool_name": entry.call.name,
        "arguments_hash": arguments_hash(dict(entry.call.arguments)),
        "started_at": entry.started_at,
        "finished_at": entry.at,
        "path": path if isinstance(path, str) else None,
    }


def _trust(entry: ToolFinished) -> TrustLevel:
    if isinstance(entry.outcome.fields, SubagentFields):
        return TrustLevel.MODEL_GENERATED
    came_from_files = entry.call.name in _OF_THE_REPOSITORY and entry.outcome.error_category in {None, "exit_code"}
    return TrustLevel.REPOSITORY_UNTRUSTED if came_from_files else TrustLevel.TOOL_TRUSTED


def _data(entry: ToolFinished) -> JsonValue:
    match entry.outcome.fields:
        case ShellFields() as shell:
            return {"exit_code": shell.exit_code}
        case PlanFields() as plan:
            return {"todos": [dict(item) for item in plan.after]}
        case SubagentFields() as subagent:
            return {
                "run_id": subagent.run_id,
                "total_tokens": subagent.total_tokens,
                "tool_calls": subagent.tool_calls,
                "duration_ms": subagent.duration_ms,
            }
        case _:
            return None


def _snippet(fields: FileFields, common: dict[str, Any]) -> FileSnippetPart:
    return FileSnippetPart(
        text=fields.content,
        start_line=fields.start_line,
        end_line=fields.start_line + fields.line_count - 1,
        total_lines=fields.total_lines,
        trust_level=TrustLevel.REPOSITORY_UNTRUSTED,
        visibility=_PEOPLE,
        **common,
    )


def _diff(fields: ChangeFields, common: dict[str, Any]) -> DiffPart:
    before = fields.before or ""
    lines = [line for hunk in hunks(before, fields.after) for line in hunk.lines]
    return DiffPart(
        text=unified_diff(fields.path.lstrip("/"), before, fields.after),
        change=ChangeType.CREATED if fields.before is None else ChangeType.MODIFIED,
        lines_added=sum(line.startswith("+") for line in lines),
        lines_removed=sum(line.startswith("-") for line in lines),
        trust_level=TrustLevel.REPOSITORY_UNTRUSTED,
        visibility=_PEOPLE,
        **common,
    )


def _content_id(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _counts(output: str) -> CheckCounts:
    found = {name.rstrip("s") if name.startswith("error") else name: int(n) for n, name in _COUNTS.findall(output)}
    return CheckCounts(
        passed=found.get("passed"),
        failed=found.get("failed"),
        errors=found.get("error"),
        skipped=found.get("skipped"),
    )
