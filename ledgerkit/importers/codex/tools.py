"""Results of tools: what came back, how the call ended, and whose words that is."""

from __future__ import annotations

import re
import shlex
from typing import Any, Final

import msgspec

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.pieces import arguments_of
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.importers.tool_names import reaches_network, trust_of_tool
from ledgerkit.protocol.vocabulary import MessageKind, ToolStatus, TrustLevel

DENIED: Final = "denied_by_user"
ASKS_USER: Final = "request_user_input"
APPLY_PATCH: Final = "apply_patch"
_SHELLS: Final = frozenset(
    {"shell", "exec_command", "shell_command", "local_shell", "write_stdin", "unified_exec", "container.exec", "exec"}
)
_FILES: Final = frozenset({"read_file", "view_image"})
_REPOSITORY: Final = _SHELLS | _FILES | {APPLY_PATCH, "list_dir", "grep_files", "js_repl"}
_AGENTS: Final = frozenset({"spawn_agent", "send_input", "wait", "wait_agent", "close_agent", "resume_agent"})
_HEADER: Final = re.compile(
    r"\A(?:Chunk ID: [^\n]*\n)?(?:Exit code: (-?\d+)\n)?Wall time: [^\n]*\n"
    r"(?:Process exited with code (-?\d+)\n|Process running with session ID [^\n]*\n)?"
    r"(?:(?:Original token count|Total output lines): \d+\n)*Output:(?:\n|\Z)"
)
"""What Codex writes above the output of a command."""
_REFUSED: Final = re.compile(r"\s*(?:(?:exec )?command |patch )?rejected by user\.?\s*")
_ABORTED: Final = re.compile(
    r"\s*(?:aborted(?: by user(?: after [\d.]+ ?s)?)?|Wall time: [\d.]+ seconds\naborted by user)\s*"
)
_FAILURES: Final = (
    ("failed in sandbox", "permission"), ("sandbox error", "permission"), ("execution error", "tool_error"),
    ("exec_command failed", "tool_error"), ("write_stdin failed", "tool_error"), ("unsupported call", "not_found"),
    ("apply_patch verification failed", "precondition"), ("failed to parse function arguments", "invalid_arguments"),
    ("tool call error", "tool_error"), ("exec command rejected", "permission"), ("patch rejected", "permission"),
    ("command timed out after", "timeout"),
)  # fmt: skip
_TIMED_OUT: Final = 124
_PATCHED: Final = re.compile(r"\s*Success\.(?: Updated the following files:\n(?:[AMD] [^\n]+\n?)*)?\s*")
_NAME: Final = r"(?!-)[\w./~@+%:,-]+"
_READS: Final = re.compile(
    r"\s*(?:cat|nl(?: -\w+)*|(?:head|tail)(?: -n? ?\d+)?|sed -n '?\d+(?:,\d+)?p'?)\s+"
    rf"(?P<quote>['\"]?)({_NAME})(?P=quote)\s*"
)
"""A command that does nothing but show one file."""


class Asked(msgspec.Struct):
    """A call that was met.

    Attributes:
        patch: The patch that it asks to apply.
        patched: Whether the changes that it made are recorded already.
        exit_code: How its command ended, where an event said so before the result.
    """

    name: str | None = None
    namespace: str | None = None
    arguments: Any = None
    patch: str | None = None
    patched: bool = False
    exit_code: int | None = None


class Output(msgspec.Struct):
    """What a result holds."""

    text: str | None = None
    data: Any = None
    others: list[JsonObject] = []
    exit_code: int | None = None
    success: bool | None = None


def read_output(output: object, asked: Asked) -> Output:
    """What a result holds, in the form of any version."""
    if is_list(output):
        blocks = objects_of(output)
        texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
        found = _of_text("\n".join(texts), asked)
        found.others = [block for block in blocks if not isinstance(block.get("text"), str)]
        return found
    if isinstance(output, str):
        held = arguments_of(output)
        if is_object(held) and held.keys() == {"output", "metadata"} and _may_run(asked.name):
            return _of_object(held, asked)
        return _of_text(output, asked)
    if is_object(output):
        return _of_object(output, asked)
    return Output(data=output)


def _of_object(held: JsonObject, asked: Asked) -> Output:
    for name in ("output", "content", "text", "content_items"):
        if isinstance(held.get(name), str | list):
            found = read_output(held[name], asked) if is_list(held[name]) else Output(held[name])
            break
    else:
        return Output(data=held)
    about = held.get("metadata")
    code = about.get("exit_code") if is_object(about) else None
    found.exit_code = code if isinstance(code, int) else found.exit_code
    found.success = held["success"] if isinstance(held.get("success"), bool) else None
    found.data = about or None
    return found


def _of_text(text: str, asked: Asked) -> Output:
    head = _HEADER.match(text) if _may_run(asked.name) else None
    code = next((group for group in head.groups() if group), None) if head else None
    return Output(text, exit_code=int(code) if code and len(code) < 12 else None)


def _may_run(name: str | None) -> bool:
    return name is None or name in _SHELLS or name == APPLY_PATCH


def ended(output: Output, asked: Asked, status: object) -> tuple[ToolStatus, str | None]:
    """How a call ended; unknown where no record says so."""
    text = output.text or ""
    code = output.exit_code if output.exit_code is not None else asked.exit_code
    if code is not None:
        return _exited(code, text)
    # Of another's tool these words prove nothing.
    is_own = asked.name in _REPOSITORY and not is_remote(asked)
    if is_own and (_REFUSED.fullmatch(text) or _ABORTED.fullmatch(text)):
        return ToolStatus.CANCELLED, DENIED if _REFUSED.fullmatch(text) else "interrupted"
    category = next((category for start, category in _FAILURES if text.startswith(start)), None)
    if output.success is False or (category and output.success is None):
        return ToolStatus.TIMED_OUT if category == "timeout" else ToolStatus.FAILED, category or "tool_error"
    if output.success or status == "completed" or is_own_success(output, asked):
        return ToolStatus.SUCCEEDED, None
    return (ToolStatus.FAILED, "tool_error") if status in ("failed", "error") else (ToolStatus.UNKNOWN, None)


def _exited(code: int, text: str) -> tuple[ToolStatus, str | None]:
    if code == 0:
        return ToolStatus.SUCCEEDED, None
    is_late = code == _TIMED_OUT and "timed out" in text
    return (ToolStatus.TIMED_OUT, "timeout") if is_late else (ToolStatus.FAILED, "exit_code")


def is_remote(asked: Asked) -> bool:
    """Whether a call is of a server's tool."""
    return bool(asked.namespace) or "__" in (asked.name or "")


def started_agent(asked: Asked, output: Output) -> str | None:
    """The thread of the subagent that a call started, as its result names it."""
    if asked.name != "spawn_agent" or is_remote(asked):
        return None
    held = arguments_of(output.text)
    return nonempty_text(held.get("agent_id")) if is_object(held) else None


def is_own_success(output: Output, asked: Asked) -> bool:
    """Whether a result is the fixed sentence with which a tool says that it did what was asked."""
    text = output.text or ""
    if is_remote(asked):
        return False
    if asked.name == "update_plan":
        return text.strip() == "Plan updated"
    return asked.name == APPLY_PATCH and _PATCHED.fullmatch(text) is not None


def origin_of(asked: Asked, output: Output, category: str | None) -> tuple[MessageKind, TrustLevel, str | None]:
    """Kind and trust of a result, and the file that it is of."""
    name = asked.name or ""
    if is_remote(asked):
        return MessageKind.TOOL_CALL_RESULT, TrustLevel.NETWORK_UNTRUSTED, None
    if category == DENIED:
        return MessageKind.APPROVAL_DECISION, TrustLevel.USER_TRUSTED, None
    if name == ASKS_USER:
        answered = is_object(held := arguments_of(output.text)) and "answers" in held
        return MessageKind.APPROVAL_DECISION, TrustLevel.USER_TRUSTED if answered else TrustLevel.UNKNOWN, None
    if asked.patch is not None or name == APPLY_PATCH:
        own = is_own_success(output, asked)
        return MessageKind.DIFF_OBSERVATION, TrustLevel.TOOL_TRUSTED if own else TrustLevel.REPOSITORY_UNTRUSTED, None
    command = command_of(asked.arguments)
    shown = _READS.fullmatch(command) if name in _SHELLS else None
    kind = MessageKind.FILE_OBSERVATION if shown or name in _FILES else MessageKind.TOOL_CALL_RESULT
    return kind, _trust(asked, output, command), shown[2] if shown else None


def _trust(asked: Asked, output: Output, command: str) -> TrustLevel:
    name = asked.name or ""
    if name in _SHELLS and reaches_network(command):
        return TrustLevel.NETWORK_UNTRUSTED
    if name in _REPOSITORY:
        return TrustLevel.REPOSITORY_UNTRUSTED
    if name in _AGENTS:
        return TrustLevel.MODEL_GENERATED
    return TrustLevel.TOOL_TRUSTED if is_own_success(output, asked) else trust_of_tool(asked.name)


def command_of(arguments: object) -> str:
    """The shell command of a call; empty if it has none."""
    if not is_object(arguments):
        return ""
    asked = arguments.get("command", arguments.get("cmd"))
    if is_list(asked):
        words = [word for word in asked if isinstance(word, str)]
        is_script = len(words) == 3 and words[1] in ("-lc", "-c")
        return words[2] if is_script else shlex.join(words)
    return nonempty_text(asked) or ""


def wants_approval(arguments: object) -> bool:
    """Whether a call asks to run outside of the sandbox."""
    if not is_object(arguments):
        return False
    return (
        arguments.get("with_escalated_permissions") is True
        or arguments.get("sandbox_permissions") == "require_escalated"
    )
