"""What each provider interface can do, as data: every figure has a source, and what has none is ``None``.

Collected in December 2026. Sources are named per field in ``sources``: a vendor's documentation, an SDK's types, or
users' reports (weakest). Price multipliers of caches are facts of the cost model, not of the interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import Field, model_validator

from ledgerkit.protocol.model import Count, Flag, Identifier, Model, Text
from ledgerkit.protocol.vocabulary import LlmRole

_Positive = Annotated[Count, Field(ge=1)]


class ProviderInterface(StrEnum):
    """The interfaces that requests are mapped to."""

    OPENAI_RESPONSES = "openai_responses"
    OPENAI_CHAT = "openai_chat"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    LOCAL = "local"


class ArgumentsForm(StrEnum):
    """How a call's arguments travel."""

    JSON_TEXT = "json_text"
    OBJECT = "object"


class PromptCacheRule(Model):
    """When a provider reuses the beginning of a prompt; ``None`` where no source says."""

    applies_to: Text
    """Models that it holds for."""
    is_automatic: Flag | None = None
    """Whether prefixes are cached without being marked."""
    minimum_tokens: _Positive | None = None
    """Shortest prefix that is cached."""
    block_tokens: _Positive | None = None
    """Cached prefixes grow in steps of so many tokens."""
    max_breakpoints: Count | None = None
    """Most marks in one request."""
    lookback_blocks: _Positive | None = None
    """How many blocks before a mark, or how many marks, are looked at for an earlier prefix."""
    lifetimes_s: tuple[_Positive, ...] | None = None
    """Lifetimes in seconds, the usual one first."""
    sources: dict[Identifier, Text] = Field(default_factory=dict[Identifier, Text])
    """Where each figure comes from, by field."""

    @model_validator(mode="after")
    def _figures_have_sources(self) -> PromptCacheRule:
        figures = {name for name in type(self).model_fields if getattr(self, name) is not None}
        _refuse_unsourced(figures - {"applies_to", "sources"}, self.sources)
        return self


class ProviderCapabilities(Model):
    """What a provider interface can do; ``None`` where no source says, or where it depends on the model."""

    interface: ProviderInterface
    """The interface."""
    roles: tuple[LlmRole, ...] = Field(min_length=1)
    """Roles that it has, as roles of messages, as items or as fields of the request."""
    tool_use: Flag | None = None
    """Whether tools can be declared and called."""
    parallel_tool_calls: Flag | None = None
    """Whether one answer may hold several calls."""
    arguments_form: ArgumentsForm | None = None
    """How arguments travel."""
    structured_output: Flag | None = None
    """Whether an answer can be held to a JSON Schema."""
    tool_name_pattern: Text | None = None
    """What a tool's name must match as a whole."""
    empty_text: Flag | None = None
    """Whether a text block may be empty."""
    must_end_with_user: Flag | None = None
    """Whether the last message must be the user's or a tool's."""
    roles_alternate: Flag | None = None
    """Whether user and assistant must take turns, so that neighbours of one role are merged."""
    context_window: _Positive | None = None
    """Tokens of the context window; a property of the model, given by the caller."""
    cache_rules: tuple[PromptCacheRule, ...] = ()
    """Prompt cache rules, those of the newest models first; none where no source says."""
    sources: dict[Identifier, Text] = Field(default_factory=dict[Identifier, Text])
    """Where each figure comes from, by field."""

    @model_validator(mode="after")
    def _figures_have_sources(self) -> ProviderCapabilities:
        known = {name for name in type(self).model_fields if getattr(self, name) is not None}
        _refuse_unsourced(known - {"interface", "cache_rules", "context_window", "sources"}, self.sources)
        return self

    def supports(self, role: LlmRole) -> bool:
        """Whether the interface has a role."""
        return role in self.roles


def _refuse_unsourced(figures: set[str], sources: Mapping[str, str]) -> None:
    if unsourced := sorted(figures - sources.keys()):
        raise ValueError(f"no source for {', '.join(unsourced)}; leave unknown figures out")


SAFE_TOOL_NAME: Final = r"[A-Za-z_][A-Za-z0-9_-]{0,63}"
"""A tool name that matches this whole pattern is allowed by every interface here."""


def _all_from(source: str, *fields: str) -> dict[str, str]:
    return dict.fromkeys(fields, source)


_OPENAI_SDK: Final = "types of the openai package, 3.57.0"
_OPENAI_DOCS: Final = "OpenAI documentation, prompt caching, 2026"
_ANTHROPIC_SDK: Final = "types of the anthropic package, 2.14.0"
_GEMINI_SDK: Final = "types of the google-genai package, 3.6.1"
_REPORTS: Final = "reports of users, several agreeing"

_OPENAI_CACHE: Final = (
    PromptCacheRule(
        applies_to="GPT-5.6 and later",
        max_breakpoints=4,
        lookback_blocks=80,
        lifetimes_s=(1800,),
        sources=_all_from(f"{_OPENAI_DOCS}; {_OPENAI_SDK}", "max_breakpoints", "lookback_blocks", "lifetimes_s"),
    ),
    PromptCacheRule(
        applies_to="before GPT-5.6",
        is_automatic=True,
        minimum_tokens=1024,
        block_tokens=128,
        sources=_all_from(_OPENAI_DOCS, "is_automatic", "minimum_tokens", "block_tokens"),
    ),
)

_OPENAI_RESPONSES: Final = ProviderCapabilities(
    interface=ProviderInterface.OPENAI_RESPONSES,
    roles=(LlmRole.SYSTEM, LlmRole.DEVELOPER, LlmRole.USER, LlmRole.ASSISTANT, LlmRole.TOOL),
    tool_use=True,
    parallel_tool_calls=True,
    arguments_form=ArgumentsForm.JSON_TEXT,
    structured_output=True,
    tool_name_pattern=r"[A-Za-z0-9_-]{1,64}",
    cache_rules=_OPENAI_CACHE,
    sources=_all_from(
        _OPENAI_SDK,
        "roles",
        "tool_use",
        "parallel_tool_calls",
        "arguments_form",
        "structured_output",
        "tool_name_pattern",
    ),
)
_OPENAI_CHAT: Final = _OPENAI_RESPONSES.model_copy(update={"interface": ProviderInterface.OPENAI_CHAT})
_ANTHROPIC: Final = ProviderCapabilities(
    interface=ProviderInterface.ANTHROPIC,
    roles=(LlmRole.SYSTEM, LlmRole.USER, LlmRole.ASSISTANT, LlmRole.TOOL),
    tool_use=True,
    parallel_tool_calls=True,
    arguments_form=ArgumentsForm.OBJECT,
    structured_output=True,
    tool_name_pattern=r"[A-Za-z0-9_-]{1,128}",
    empty_text=False,
    must_end_with_user=True,
    cache_rules=(
        PromptCacheRule(
            applies_to="all models",
            is_automatic=False,
            minimum_tokens=1024,
            max_breakpoints=4,
            lookback_blocks=20,
            lifetimes_s=(300, 3600),
            sources={
                "is_automatic": _ANTHROPIC_SDK,
                "minimum_tokens": f"{_REPORTS}; larger for some models",
                "max_breakpoints": f"{_REPORTS}; {_ANTHROPIC_SDK}",
                "lookback_blocks": _REPORTS,
                "lifetimes_s": f"{_REPORTS}; {_ANTHROPIC_SDK}",
            },
        ),
    ),
    sources=_all_from(_ANTHROPIC_SDK, "roles", "tool_use", "arguments_form", "structured_output")
    | _all_from(_REPORTS, "parallel_tool_calls", "tool_name_pattern", "empty_text", "must_end_with_user"),
)
_GEMINI: Final = ProviderCapabilities(
    interface=ProviderInterface.GEMINI,
    roles=(LlmRole.SYSTEM, LlmRole.USER, LlmRole.ASSISTANT, LlmRole.TOOL),
    tool_use=True,
    parallel_tool_calls=True,
    arguments_form=ArgumentsForm.OBJECT,
    structured_output=True,
    tool_name_pattern=r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}",
    sources=_all_from(_GEMINI_SDK, "roles", "tool_use", "arguments_form", "structured_output", "tool_name_pattern")
    | {"parallel_tool_calls": _REPORTS},
)
_LOCAL: Final = ProviderCapabilities(
    interface=ProviderInterface.LOCAL,
    roles=(LlmRole.SYSTEM, LlmRole.USER, LlmRole.ASSISTANT, LlmRole.TOOL),
    tool_use=True,
    parallel_tool_calls=False,
    arguments_form=ArgumentsForm.JSON_TEXT,
    tool_name_pattern=r"[A-Za-z0-9_-]{1,64}",
    roles_alternate=True,
    sources=_all_from(_REPORTS, "roles", "roles_alternate")
    | _all_from("as OpenAI Chat; servers differ", "tool_use", "arguments_form", "tool_name_pattern")
    | {"parallel_tool_calls": "the safe choice; servers differ"},
)

PROVIDERS: Final[Mapping[ProviderInterface, ProviderCapabilities]] = MappingProxyType(
    {one.interface: one for one in (_OPENAI_RESPONSES, _OPENAI_CHAT, _ANTHROPIC, _GEMINI, _LOCAL)}
)
"""One entry per interface."""
