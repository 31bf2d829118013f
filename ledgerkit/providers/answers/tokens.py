"""Tokens of an answer in the ledger's terms: input is all input, and output all output.

OpenAI counts cached input inside its input, Anthropic beside it; Gemini counts thoughts and tool results beside theirs.
"""

from __future__ import annotations

from pydantic import ValidationError

from ledgerkit.protocol.usage import Usage
from ledgerkit.providers.answers.decoding import Fields, count, fields, total


def openai_usage(usage: Fields) -> Usage:
    """Tokens of OpenAI Responses, of OpenAI Chat and of servers like it."""
    is_chat = "prompt_tokens" in usage or "completion_tokens" in usage
    given, made = ("prompt", "completion") if is_chat else ("input", "output")
    read = fields(usage.get(f"{given}_tokens_details"))
    wrote = fields(usage.get(f"{made}_tokens_details"))
    return Usage(
        input_tokens=count(usage, f"{given}_tokens"),
        cache_read_tokens=count(read, "cached_tokens"),
        cache_write_5m_tokens=count(read, "cache_write_tokens"),
        output_tokens=count(usage, f"{made}_tokens"),
        reasoning_tokens=count(wrote, "reasoning_tokens"),
    )


def anthropic_usage(usage: Fields) -> Usage:
    """Tokens of Anthropic Messages; a cache write without a lifetime is one of five minutes, the usual one."""
    read, wrote = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
    lifetimes = fields(usage.get("cache_creation"))
    minutes, hour = count(lifetimes, "ephemeral_5m_input_tokens"), count(lifetimes, "ephemeral_1h_input_tokens")
    if minutes is None and hour is None:
        minutes = wrote
    fresh = count(usage, "input_tokens")
    return Usage(
        input_tokens=None if fresh is None else total(fresh, read, minutes, hour),
        cache_read_tokens=read,
        cache_write_5m_tokens=minutes,
        cache_write_1h_tokens=hour,
        output_tokens=count(usage, "output_tokens"),
        reasoning_tokens=count(fields(usage.get("output_tokens_details")), "thinking_tokens"),
    )


def gemini_usage(usage: Fields) -> Usage:
    """Tokens of Gemini."""
    thoughts = count(usage, "thoughtsTokenCount")
    prompt, made = count(usage, "promptTokenCount"), count(usage, "candidatesTokenCount")
    return Usage(
        input_tokens=None if prompt is None else total(prompt, count(usage, "toolUsePromptTokenCount")),
        cache_read_tokens=count(usage, "cachedContentTokenCount"),
        output_tokens=total(made, thoughts),
        reasoning_tokens=thoughts,
    )


def usage_problem(error: ValidationError) -> str:
    """Why tokens do not fit each other, in one sentence."""
    return str(error.errors()[0]["msg"]).removeprefix("Value error, ")
