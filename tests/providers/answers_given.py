"""One answer per interface, with a text, a call, cached tokens and what the provider wants back."""

from __future__ import annotations

from typing import Any

from ledgerkit.protocol.capabilities import ProviderInterface

REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "I think."}],
    "encrypted_content": "sealed",
}
ANSWERS: dict[ProviderInterface, dict[str, Any]] = {
    ProviderInterface.OPENAI_RESPONSES: {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5.6",
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "service_tier": "default",
        "output": [
            REASONING,
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "phase": "commentary",
                "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
            },
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "repo_read",
                "arguments": '{"path": "a.py"}',
            },
        ],
        "usage": {
            "input_tokens": 1200,
            "input_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 100},
            "output_tokens": 80,
            "output_tokens_details": {"reasoning_tokens": 30},
            "total_tokens": 1280,
        },
    },
    ProviderInterface.OPENAI_CHAT: {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5.6",
        "service_tier": "default",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "I look.",
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "repo_read", "arguments": '{"path": "a.py"}'},
                        }
                    ],
                },
            }
        ],
        "usage": {
            "prompt_tokens": 1200,
            "prompt_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 100},
            "completion_tokens": 80,
            "completion_tokens_details": {"reasoning_tokens": 30},
            "total_tokens": 1280,
        },
    },
    ProviderInterface.ANTHROPIC: {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "call_1", "name": "repo_read", "input": {"path": "a.py"}},
        ],
        "usage": {
            "input_tokens": 100,
            "cache_read_input_tokens": 1000,
            "cache_creation_input_tokens": 100,
            "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 80,
            "output_tokens_details": {"thinking_tokens": 30},
            "service_tier": "standard",
        },
    },
    ProviderInterface.GEMINI: {
        "responseId": "r1",
        "modelVersion": "gemini-x",
        "candidates": [
            {
                "finishReason": "STOP",
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "Let me think.", "thought": True},
                        {"text": "I "},
                        {"text": "look."},
                        {
                            "functionCall": {"id": "call_1", "name": "repo_read", "args": {"path": "a.py"}},
                            "thoughtSignature": "c2lnbmVk",
                        },
                    ],
                },
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 1100,
            "toolUsePromptTokenCount": 100,
            "cachedContentTokenCount": 1000,
            "candidatesTokenCount": 50,
            "thoughtsTokenCount": 30,
        },
    },
}
ANSWERS[ProviderInterface.LOCAL] = ANSWERS[ProviderInterface.OPENAI_CHAT]
