"""What goes to a model and what comes back, in plain values.

The rule: a request holds everything that the model is given, so that a recorded request can be sent again as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ledgerkit.protocol.usage import Usage

Purpose = Literal["step", "compaction"]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Text of either side."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """What a model says to itself before it answers. Never sent back to it."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A model's wish to call a tool."""

    tool_call_id: str
    name: str
    arguments: Mapping[str, object] = field(hash=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered."""

    tool_call_id: str
    text: str
    is_error: bool = False


Block = TextBlock | ThinkingBlock | ToolUse | ToolResult


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a request: a role and its blocks."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: Mapping[str, object] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that one model call is given."""

    model: str
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    messages: tuple[ChatMessage, ...]
    max_output_tokens: int = 8192
    purpose: Purpose = "step"


@dataclass(frozen=True, slots=True)
class Response:
    """A model's answer, with its tokens."""

    message_id: str
    request_id: str
    model: str
    blocks: tuple[TextBlock | ThinkingBlock | ToolUse, ...]
    usage: Usage

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The calls that the model asks for, in order."""
        return tuple(b for b in self.blocks if isinstance(b, ToolUse))

    @property
    def text(self) -> str:
        """The visible text of the answer."""
        return "\n".join(b.text for b in self.blocks if isinstance(b, TextBlock))


def as_json(block: Block | ToolSpec | str) -> dict[str, object]:
    """A block, tool or system text as the JSON object that stands for it in a recorded request."""
    match block:
        case str():
            return {"type": "text", "text": block}
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ThinkingBlock():
            return {"type": "thinking", "text": block.text}
        case ToolUse():
            arguments = dict(block.arguments)
            return {"type": "tool_use", "id": block.tool_call_id, "name": block.name, "arguments": arguments}
        case ToolResult():
            return {
                "type": "tool_result",
                "tool_call_id": block.tool_call_id,
                "text": block.text,
                "is_error": block.is_error,
            }
        case ToolSpec():
            return {
                "type": "tool",
                "name": block.name,
                "description": block.description,
                "parameters": dict(block.parameters),
            }


def content_text(block: Block | ToolSpec | str) -> str:
    """The text of a block that tokens are counted on: what a provider would put before the model."""
    match block:
        case str():
            return block
        case TextBlock() | ThinkingBlock() | ToolResult():
            return block.text
        case ToolUse():
            return block.name + json.dumps(dict(block.arguments), ensure_ascii=False)
        case ToolSpec():
            return json.dumps(as_json(block), ensure_ascii=False)
