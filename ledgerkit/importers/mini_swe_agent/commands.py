"""The agent's one tool: a command in its shell, however the model wrote it, and what came back."""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.importers.drafts import JsonObject, PartDraft
from ledgerkit.importers.pieces import arguments_of, call_part
from ledgerkit.importers.shapes import is_object, nonempty_text, objects_of
from ledgerkit.importers.tool_names import trust_of_shell
from ledgerkit.protocol.vocabulary import PartType, ToolStatus

NAME: Final = "mini-swe-agent"
SHELL: Final = "bash"
_BLOCK: Final = re.compile(r"```(?:mswea_bash_command|bash)[ \t]*\r?\n(.*?)\r?\n```", re.DOTALL)
_CODE: Final = re.compile(r"<returncode>(-?\d+)</returncode>")
_TIMED_OUT: Final = re.compile(r"The last command <command>.*</command> timed out and has been killed\.", re.DOTALL)
_HEADS: Final = ("<returncode>", "<exception>", "Observation: ", "<warning>")
_FINAL: Final = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
_NOT_RUN: Final = "action was not executed"


def text_of(content: object) -> str:
    """The text of a content: a text, or blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in objects_of(content) if isinstance(block.get("text"), str))


def is_result_text(text: str) -> bool:
    """Whether a text is what the agent tells the model of a command that ran."""
    return text.startswith(_HEADS) or _TIMED_OUT.match(text) is not None


def hands_in(call: PartDraft) -> bool:
    """Whether a call's output is what the run hands in, which the agent tells the model without its usual head."""
    command = call.data.get("command") if is_object(call.data) else None
    return isinstance(command, str) and any(word in command for word in _FINAL)


def extra_of(message: JsonObject) -> JsonObject:
    """What the agent keeps of a message beside what the model sees."""
    extra = message.get("extra")
    return extra if is_object(extra) else {}


class Calls:
    """The calls of a run so far, and which of them wait for a result."""

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}
        self._number = 0
        self.waiting: list[PartDraft] = []

    def ask(self, message: JsonObject) -> list[PartDraft]:
        """The calls that an answer makes: of its own, else the commands in its text. They wait in place of others."""
        native = objects_of(message.get("tool_calls"))
        items = [item for item in objects_of(message.get("output")) if item.get("type") == "function_call"]
        if native:
            found = [self._native(call.get("function"), nonempty_text(call.get("id"))) for call in native]
        elif items:
            found = [self._native(i, nonempty_text(i.get("call_id")) or nonempty_text(i.get("id"))) for i in items]
        else:
            found = [self._made(SHELL, {"command": command}, None) for command in _commands(message)]
        self.waiting = list(found)
        return found

    def _native(self, function: object, native: str | None) -> PartDraft:
        function = function if is_object(function) else {}
        return self._made(nonempty_text(function.get("name")), arguments_of(function.get("arguments")), native)

    def _made(self, name: str | None, arguments: object, native: str | None) -> PartDraft:
        self._number += 1
        call_id = native or f"command:{self._number}"
        uses = self._uses[call_id] = self._uses.get(call_id, 0) + 1
        return call_part(call_id if uses == 1 else f"{call_id}~{uses}", name, arguments)

    def answered(self, native: object) -> PartDraft | None:
        """The call that a result answers: the one that it names, else the first that waits."""
        named = [c for c in self.waiting if native and str(c.tool_call_id).partition("~")[0] == native]
        call = next(iter(named or ([] if native else self.waiting)), None)
        if call is not None:
            self.waiting.remove(call)
        return call


def _commands(message: JsonObject) -> list[str]:
    """The commands that the agent took from a text; where it does not say, the one code block if there is one."""
    recorded = extra_of(message).get("actions")
    if recorded is not None:
        return [a["command"] for a in objects_of(recorded) if isinstance(a.get("command"), str)]
    found = _BLOCK.findall(text_of(message.get("content")))
    return [found[0].strip()] if len(found) == 1 else []


def result_part(message: JsonObject, text: str, call: PartDraft | None, native: object) -> PartDraft:
    """What a command printed, as the model was told of it."""
    extra = extra_of(message)
    code = _exit_code(extra, text)
    status, category = _ended(extra, text, code)
    raw = extra.get("raw_output")
    data: JsonObject = {} if code is None else {"exit_code": code}
    if isinstance(raw, str) and raw.strip() not in text:
        data["raw_output"] = raw
    if isinstance(extra.get("exception_info"), str):
        data["exception"] = extra["exception_info"]
    call_id = call.tool_call_id if call else native if isinstance(native, str) else None
    return PartDraft(
        part_type=PartType.TOOL_RESULT if call_id else PartType.TEXT,
        trust=trust_of_shell(call.data if call else None),
        text=text,
        data=data or None,
        status=status if call_id else None,
        error_category=category,
        tool_call_id=call_id,
        tool_name=(call.tool_name if call else SHELL) if call_id else None,
    )


def _exit_code(extra: JsonObject, text: str) -> int | None:
    """The exit code that is recorded, or that the agent's own head of the text says."""
    code = extra.get("returncode")
    if isinstance(code, int) and not isinstance(code, bool):
        return code
    head = _CODE.match(text)
    return int(head[1]) if head else None


def _ended(extra: JsonObject, text: str, code: int | None) -> tuple[ToolStatus, str | None]:
    problem = str(extra.get("exception_info") or "")
    if problem == _NOT_RUN:
        return ToolStatus.CANCELLED, "not_executed"
    if "timed out" in problem.lower() or extra.get("exception_type") == "TimeoutExpired" or _TIMED_OUT.match(text):
        return ToolStatus.TIMED_OUT, "timeout"
    if problem:
        return ToolStatus.FAILED, "tool_error"
    if code is None:
        return ToolStatus.UNKNOWN, None
    return (ToolStatus.FAILED, "exit_code") if code else (ToolStatus.SUCCEEDED, None)
