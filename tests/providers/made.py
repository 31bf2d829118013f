"""Requests written by hand, short enough to read in a test."""

from __future__ import annotations

from pydantic import JsonValue

from ledgerkit.protocol import names as p
from ledgerkit.providers import ProviderPayload, map_request

USER = p.TrustLevel.USER_TRUSTED
MODEL = p.TrustLevel.MODEL_GENERATED
FILE = p.TrustLevel.REPOSITORY_UNTRUSTED

READ = p.ToolDefinition(
    name="repo.read",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
WRITE = p.ToolDefinition(name="write", description="", parameters={"type": "object"})
BARE = p.ToolDefinition(name="run", description="Run.", parameters={"type": "object", "properties": {}})


def text(words: str, trust: p.TrustLevel = USER) -> p.LlmTextBlock:
    return p.LlmTextBlock(text=words, trust_level=trust)


def call(identifier: str = "c1", name: str = "repo.read", **arguments: JsonValue) -> p.LlmToolCallBlock:
    return p.LlmToolCallBlock(tool_call_id=identifier, tool_name=name, arguments=arguments, trust_level=MODEL)


def said(role: str, *blocks: p.LlmContentBlock | str, **metadata: JsonValue) -> p.LlmMessage:
    trust = MODEL if role == "assistant" else USER
    content = tuple(text(block, trust) if isinstance(block, str) else block for block in blocks)
    return p.LlmMessage(role=p.LlmRole(role), content=content, metadata=metadata)


def result(
    identifier: str = "c1", words: str = "found", status: p.ToolStatus = p.ToolStatus.SUCCEEDED
) -> p.LlmToolResultBlock:
    return p.LlmToolResultBlock(tool_call_id=identifier, status=status, text=words, trust_level=FILE)


def gave(identifier: str = "c1", words: str = "found", status: p.ToolStatus = p.ToolStatus.SUCCEEDED) -> p.LlmMessage:
    return p.LlmMessage(role=p.LlmRole.TOOL, content=(result(identifier, words, status),))


def instruction(words: str, trust: p.TrustLevel = p.TrustLevel.PLATFORM_TRUSTED) -> p.LlmInstruction:
    return p.LlmInstruction(priority=p.InstructionPriority.CRITICAL, trust_level=trust, name="policy", content=words)


def request(*messages: p.LlmMessage, **fields: object) -> p.LlmRequest:
    values = {"request_id": "q", "model": "m", "messages": messages} | fields
    return p.LlmRequest.model_validate(values)


def mapped(interface: str, *messages: p.LlmMessage, **fields: object) -> ProviderPayload:
    return map_request(request(*messages, **fields), interface)


def kinds(payload: ProviderPayload) -> list[str]:
    return [note.kind.value for note in payload.notes]


ACTION = p.NEXT_ACTION_CONTRACT
EVERYTHING = request(
    said("user", "Fix #12."),
    said("assistant", "I look.", call(path="a.py"), call("c2", path="b.py")),
    gave("c2", "two"),
    gave("c1", "one", p.ToolStatus.FAILED),
    said("user", "Go on."),
    instructions=(instruction("Be safe."), instruction("Be brief.", p.TrustLevel.ORG_TRUSTED)),
    tools=(READ, WRITE, BARE),
    response_contract=ACTION,
    options={
        "max_output_tokens": 100,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "stop_sequences": ("END",),
        "reasoning_effort": "low",
        "parallel_tool_calls": False,
        "tool_choice": {"mode": "required", "allowed": ("write", "repo.read")},
    },
    trace={"session_id": "s", "run_id": "run-1", "step": 3},
)
"""Every field of a request."""
