"""A turn of the agent as messages: what the model wrote, what it called, what came back."""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft
from ledgerkit.importers.pieces import arguments_of, call_part, reasoning_part, text_part
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.importers.swe_agent.outcome import state_of
from ledgerkit.importers.swe_agent.turns import Turn, text_of
from ledgerkit.importers.tool_names import trust_of_shell
from ledgerkit.importers.tool_words import NO_OUTPUT, editors_words
from ledgerkit.protocol.vocabulary import MessageKind, PartType, ToolStatus, TrustLevel

SHELL: Final = "bash"
_READS: Final = frozenset({"open", "goto", "scroll_up", "scroll_down", "view"})
_EDITS: Final = frozenset({"edit", "create", "insert", "str_replace", "undo_edit", "write"})
_EDITOR: Final = "str_replace_editor"
_SEARCHES: Final = frozenset({"find_file", "search_dir", "search_file"})
_NOTHING: Final = re.compile(r"(?:OBSERVATION:\n)?No matches found for [^\n]+")
_PROMPT: Final = re.compile(r"\n*\(Open file: [^\n]*\)\n\(Current directory: [^\n]*\)\nbash-\$\Z")
"""What 0.x puts below each observation."""
_STATE_LIMIT: Final = 400
"""Longer texts of a state (the diff so far) grow with each step and stand in the submission."""


def answer_messages(turn: Turn, calls: list[PartDraft], actor: str, *, keep_reasoning: bool) -> list[MessageDraft]:
    """What the model wrote: hidden reasoning, thought or text, calls."""
    out: list[MessageDraft] = []
    blocks = objects_of(turn.item.get("thinking_blocks")) if turn.item else []
    for block in blocks:
        hidden = reasoning_part(
            nonempty_text(block.get("thinking")) or "",
            keep=keep_reasoning,
            sealed_bytes=len(str(block.get("signature") or block.get("data") or "")),
        )
        out.append(MessageDraft(MessageKind.AGENT_THOUGHT_SUMMARY, actor, [hidden]))
    thought, response = turn.text("thought"), turn.response
    # A thought is the answer without its command; where it is not, the answer says more than both.
    is_thought = bool(calls) and thought.strip() != "" and (thought.strip() in response or not response)
    text, kind = (
        (thought, MessageKind.AGENT_THOUGHT_SUMMARY) if is_thought else (response, MessageKind.ASSISTANT_RESPONSE)
    )
    if text or not calls:
        out.append(MessageDraft(kind, actor, [text_part(text, TrustLevel.MODEL_GENERATED)]))
    if calls:
        out.append(MessageDraft(MessageKind.TOOL_CALL_REQUEST, actor, calls))
    return out


def calls_of(turn: Turn, number: int, seen: dict[str, int]) -> list[PartDraft]:
    """The calls of a turn: as the model made them, or the command that its text gave."""
    native = objects_of(turn.item.get("tool_calls")) if turn.item else []
    if native:
        return [_native_call(call, f"step:{number}:{n}", seen) for n, call in enumerate(native)]
    action = turn.text("action")
    return [call_part(f"step:{number}", SHELL, {"command": action})] if action.strip() else []


def _native_call(call: JsonObject, otherwise: str, seen: dict[str, int]) -> PartDraft:
    function = call.get("function")
    function = function if is_object(function) else {}
    native = nonempty_text(call.get("id")) or otherwise
    uses = seen[native] = seen.get(native, 0) + 1
    name = nonempty_text(function.get("name"))
    return call_part(native if uses == 1 else f"{native}~{uses}", name, arguments_of(function.get("arguments")))


def result_message(turn: Turn, calls: list[PartDraft]) -> MessageDraft | None:
    """What a step's command printed, as the model was told of it; ``None`` if nothing is recorded."""
    observed = turn.step.get("observation") if turn.step is not None else None
    reply = next((item for item in turn.replies if is_object(item)), None)
    told = text_of(reply.get("content")) if reply is not None else None
    if told is None and (not isinstance(observed, str) or (not calls and not observed)):
        return None
    whole = observed if isinstance(observed, str) else ""
    name = _command(calls, turn.text("action"))
    kind = _kind(name)
    call = calls[0] if calls else None
    part = PartDraft(
        part_type=PartType.TOOL_RESULT if call else PartType.TEXT,
        trust=_trust(calls, name, whole if told is None else told),
        text=whole if told is None else told,
        data={"observation": whole} if told is not None and whole.strip() not in told else None,
        status=ToolStatus.UNKNOWN if call else None,
        tool_call_id=_answered(reply, calls),
        tool_name=call.tool_name if call else None,
        path=call.path if call else None,
    )
    metadata: JsonObject = {} if kind is MessageKind.TOOL_CALL_RESULT else {"derived": ["kind"]}
    if turn.step is not None:
        metadata |= _around(turn.step)
    return MessageDraft(kind, call.tool_name or SHELL if call else SHELL, [part], metadata=metadata)


def _answered(reply: JsonObject | None, calls: list[PartDraft]) -> str | None:
    """The call that a result answers: the one it names, else the step's."""
    ids = reply.get("tool_call_ids") if reply else None
    named = ids[0] if is_list(ids) and ids else None
    known = [call.tool_call_id for call in calls]
    return named if named in known else known[0] if known else None


def _command(calls: list[PartDraft], action: str) -> str | None:
    """What the agent was asked to do: the tool, or its own command that an action begins with."""
    name = calls[0].tool_name if calls else None
    if name == _EDITOR:
        arguments = calls[0].data
        name = nonempty_text(arguments.get("command")) if is_object(arguments) else None
    elif name == SHELL:
        return next(iter(action.split(maxsplit=1)), None)
    return name


def _kind(name: str | None) -> MessageKind:
    if name in _READS:
        return MessageKind.FILE_OBSERVATION
    return MessageKind.DIFF_OBSERVATION if name in _EDITS else MessageKind.TOOL_CALL_RESULT


def _trust(calls: list[PartDraft], name: str | None, text: str) -> TrustLevel:
    """Whose words a result is: its tool's own where they are fixed, else the network's or the repository's."""
    said = _PROMPT.sub("", text.strip())
    if said == NO_OUTPUT or (name in _SEARCHES and _NOTHING.fullmatch(said)):
        return TrustLevel.TOOL_TRUSTED
    called = calls[0] if calls else None
    if called is None or called.tool_name == SHELL:
        return trust_of_shell(called.data if called else None)
    own = editors_words(said) if called.tool_name == _EDITOR else None
    return own or TrustLevel.REPOSITORY_UNTRUSTED


def _around(step: JsonObject) -> JsonObject:
    """What else a step records: time, state, what tools left behind."""
    state = {k: v for k, v in state_of(step).items() if not isinstance(v, str) or len(v) <= _STATE_LIMIT}
    kept = {"execution_time": step.get("execution_time"), "state": state, "extra_info": step.get("extra_info")}
    return {name: value for name, value in kept.items() if value}
