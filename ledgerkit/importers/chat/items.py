"""Items of OpenAI's Responses API as messages of the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ledgerkit.importers.chat.blocks import hidden_part, texts_of
from ledgerkit.importers.chat.calls import Calls
from ledgerkit.importers.chat.messages import Piece, result_piece
from ledgerkit.importers.drafts import JsonObject, PartDraft
from ledgerkit.importers.pieces import arguments_of, call_part, digest, json_part, text_part
from ledgerkit.importers.shapes import nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, PartType, ToolStatus, TrustLevel, Visibility

_HOSTED: Final = {
    "web_search_call": ("web_search", "results", TrustLevel.NETWORK_UNTRUSTED),
    "file_search_call": ("file_search", "results", TrustLevel.NETWORK_UNTRUSTED),
    "code_interpreter_call": ("code_interpreter", "outputs", TrustLevel.REPOSITORY_UNTRUSTED),
    "image_generation_call": ("image_generation", "result", TrustLevel.MODEL_GENERATED),
    "mcp_call": ("mcp", "output", TrustLevel.NETWORK_UNTRUSTED),
    "mcp_list_tools": ("mcp_list_tools", "tools", TrustLevel.NETWORK_UNTRUSTED),
}
"""Calls that the service itself ran: the tool's name, the field that holds what came back, whose words that is."""
_ENDS: Final = {"completed": ToolStatus.SUCCEEDED, "failed": ToolStatus.FAILED, "incomplete": ToolStatus.CANCELLED}
_LOCAL: Final = {"local_shell_call": "local_shell", "shell_call": "shell", "computer_call": "computer"} | {
    "apply_patch_call": "apply_patch"
}


def written_by_model(item: JsonObject) -> bool:
    """Whether an item is part of a model's answer."""
    kind = str(item.get("type"))
    if "role" in item:
        return item["role"] == "assistant"
    return kind == "reasoning" or kind.endswith("_call") or kind in ("mcp_approval_request", "mcp_list_tools")


def item_pieces(item: JsonObject, actor: str, calls: Calls, at: int | None, *, keep: bool) -> Iterator[Piece]:
    """An item that is no message. Nothing for a type that is not known."""
    kind = str(item.get("type"))
    if kind == "reasoning":
        yield from _reasoning(item, actor, keep=keep)
    elif kind in _HOSTED:
        yield from _hosted(item, actor, calls, at)
    elif kind.endswith("_call_output"):
        yield result_piece(item, calls, item.get("output"))
    elif kind.endswith("_call"):
        name = nonempty_text(item.get("name")) or _LOCAL.get(kind)
        asked = item.get("arguments", item.get("input", item.get("action", item.get("operation"))))
        asked = arguments_of(asked)
        call_id = calls.ask(nonempty_text(item.get("call_id")) or nonempty_text(item.get("id")), name, asked)
        yield MessageKind.TOOL_CALL_REQUEST, actor, call_part(call_id, name, asked, at)
    elif kind == "mcp_approval_request":
        yield MessageKind.APPROVAL_REQUEST, actor, json_part(item, TrustLevel.MODEL_GENERATED)
    elif kind == "mcp_approval_response":
        yield MessageKind.APPROVAL_DECISION, "user", json_part(item, TrustLevel.USER_TRUSTED)


def _reasoning(item: JsonObject, actor: str, *, keep: bool) -> Iterator[Piece]:
    """Reasoning: the summary that people are shown, and the measure of what is hidden."""
    if summary := texts_of(item.get("summary")):
        shown = text_part(summary, TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE)
        yield MessageKind.AGENT_THOUGHT_SUMMARY, actor, shown
    yield MessageKind.AGENT_THOUGHT_SUMMARY, actor, hidden_part(item, keep=keep)


def _hosted(item: JsonObject, actor: str, calls: Calls, at: int | None) -> Iterator[Piece]:
    """A call that the service ran itself: call and result in one item."""
    kind = str(item["type"])
    tool, field, trust = _HOSTED[kind]
    name = nonempty_text(item.get("name")) or tool
    native = nonempty_text(item.get("id")) or f"item:{digest(item)}"
    envelope = ("type", "id", "status", "name", "arguments", "error", field)
    asked = arguments_of(item["arguments"]) if "arguments" in item else {
        k: v for k, v in item.items() if k not in envelope
    }  # fmt: skip
    call_id = calls.ask(native, name, asked)
    yield MessageKind.TOOL_CALL_REQUEST, actor, call_part(call_id, name, asked, at)
    if item.get(field) is None and item.get("status") is None and not item.get("error"):
        return
    calls.answer(native)
    returned = item.get(field)
    failed = bool(item.get("error"))
    yield (
        MessageKind.TOOL_CALL_RESULT,
        name,
        PartDraft(
            part_type=PartType.TOOL_RESULT,
            trust=trust,
            text=returned if isinstance(returned, str) else None,
            data={k: item[k] for k in (field, "error") if item.get(k) is not None and not isinstance(item[k], str)}
            or None,
            status=ToolStatus.FAILED if failed else _ENDS.get(str(item.get("status")), ToolStatus.UNKNOWN),
            error_category="tool_error" if failed else None,
            tool_call_id=call_id,
            tool_name=name,
        ),
    )
