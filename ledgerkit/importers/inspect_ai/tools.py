"""Results of tools, and calls that a model's service makes by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, PartDraft
from ledgerkit.importers.inspect_ai.contents import said_parts, text_of
from ledgerkit.importers.pieces import arguments_of, call_part, micros
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.importers.tool_names import trust_of_tool
from ledgerkit.protocol.vocabulary import PartType, ToolStatus, TrustLevel

_OWN: Final = {
    "submit": TrustLevel.MODEL_GENERATED,  # returns the answer
    "think": TrustLevel.MODEL_GENERATED,
    "computer": TrustLevel.REPOSITORY_UNTRUSTED,
}
_STATUS: Final = {
    "timeout": ToolStatus.TIMED_OUT,
    "cancelled": ToolStatus.CANCELLED,
    "approval": ToolStatus.CANCELLED,
}


def trust_of(name: str | None, arguments: object = None) -> TrustLevel:
    """Whose words a tool of Inspect returns, or one of a known name."""
    if name and name.startswith("web_browser"):
        return TrustLevel.NETWORK_UNTRUSTED
    return _OWN.get(name or "") or trust_of_tool(name, arguments)


def result_part(message: JsonObject, said: JsonObject, call: PartDraft | None) -> tuple[PartDraft, list[PartDraft]]:
    """A result as the model was told it, and images within it.

    Args:
        message: The message to the model, or the tool's event where there is none.
        said: Where the id, the tool and the error stand.
        call: The call that it answers.
    """
    name = nonempty_text(said.get("function")) or (call.tool_name if call else None)
    trust = trust_of(name, call.data if call else said.get("arguments"))
    raw: Any = message.get("content") if "content" in message else message.get("result")
    content = raw if isinstance(raw, str) or is_list(raw) or is_object(raw) or raw is None else str(raw)
    parts = said_parts([content] if is_object(content) else content, trust)
    texts = [part.text for part in parts if part.text is not None]
    error: Any = message.get("error") or said.get("error")
    why = nonempty_text(error.get("message")) if is_object(error) else nonempty_text(error)
    kind = nonempty_text(error.get("type")) if is_object(error) else None
    if why and why not in texts:
        texts.append(why)
    native = nonempty_text(said.get("tool_call_id", said.get("id")))
    part = PartDraft(
        part_type=PartType.TOOL_RESULT,
        trust=trust,
        text="\n".join(filter(None, texts)),
        data=_beside(message, said, raw),
        tool_call_id=call.tool_call_id if call else native,
        tool_name=name,
        status=_STATUS.get(kind or "", ToolStatus.FAILED) if error else ToolStatus.SUCCEEDED,
        error_category=kind or ("tool_error" if error else None),
        started_at=micros(said.get("timestamp")),
        finished_at=micros(said.get("completed")),
    )
    return part, [each for each in parts if each.text is None]


def _beside(message: JsonObject, said: JsonObject, raw: object) -> JsonObject | None:
    """What the model was not told of a result: the whole of one that was cut."""
    found: JsonObject = {}
    if message is not said and isinstance(said.get("result"), str) and said["result"] != raw:
        found["result"] = said["result"]
    found |= {name: said[name] for name in ("truncated", "agent", "failed") if said.get(name) is not None}
    return found or None


def server_calls(message: JsonObject, unique: Callable[[str], str]) -> tuple[list[PartDraft], list[PartDraft]]:
    """Calls that the model's service made while it answered, and what came back."""
    calls: list[PartDraft] = []
    results: list[PartDraft] = []
    for block in objects_of(message.get("content")):
        if block.get("type") != "tool_use":
            continue
        name = nonempty_text(block.get("name"))
        call = call_part(
            unique(nonempty_text(block.get("id")) or "unidentified"), name, arguments_of(block.get("arguments"))
        )
        result, error = block.get("result"), block.get("error")
        text = text_of(result)
        calls.append(call)
        results.append(
            PartDraft(
                part_type=PartType.TOOL_RESULT,
                trust=TrustLevel.NETWORK_UNTRUSTED,  # searches, pages and remote servers
                text=text if text is not None else nonempty_text(error) or "",
                data=None if text is not None else result,
                tool_call_id=call.tool_call_id,
                tool_name=name,
                status=ToolStatus.FAILED if error else ToolStatus.SUCCEEDED,
            )
        )
    return calls, results
