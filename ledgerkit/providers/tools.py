"""Declarations of tools, and which of them may be called at this step, before any dialect.

Declared once: what may be used at a step is the choice, never a shorter list, so that the prefix of a request stays
the same and the history keeps the declarations of its calls (DESIGN §5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from ledgerkit.protocol.capabilities import ProviderCapabilities, ProviderInterface
from ledgerkit.protocol.requests import LlmRequest, LlmToolCallBlock, ToolChoiceMode
from ledgerkit.providers.aliases import ToolAliases
from ledgerkit.providers.forms import form_of
from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.told import json_text

NO_LONGER_HERE: Final = "Was called earlier. It is not available now."
"""Description of a tool that is declared only because the history holds its calls."""

_NOT_AT_ROOT: Final = ("anyOf", "oneOf", "allOf", "enum", "not", "$ref")
_NEEDS_DECLARATIONS: Final = frozenset({ProviderInterface.ANTHROPIC})


@dataclass(frozen=True, slots=True)
class Declared:
    """A tool as every interface can be told of it."""

    alias: str
    description: str
    parameters: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Choice:
    """What may be called, by alias."""

    mode: ToolChoiceMode
    allowed: tuple[str, ...] | None
    """A true part of the declared tools, in their order; ``None``: all of them."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of a request."""

    declared: tuple[Declared, ...]
    choice: Choice


def tool_names(request: LlmRequest) -> tuple[str, ...]:
    """Names of all tools that a request declares or whose calls its history holds, sorted."""
    return tuple(sorted({tool.name for tool in request.tools} | _called(request)))


def _called(request: LlmRequest) -> set[str]:
    blocks = (block for message in request.messages for block in message.content)
    return {block.tool_name for block in blocks if isinstance(block, LlmToolCallBlock)}


def toolbox(
    request: LlmRequest, capabilities: ProviderCapabilities, aliases: ToolAliases, notes: list[Note]
) -> Toolbox:
    """What is declared and what may be called.

    Without a declared tool, but with calls in the history, an interface that insists gets a bare declaration of each
    called tool, and none of them may be called.
    """
    nothing = Choice(ToolChoiceMode.NONE, None)
    if not form_of(capabilities).has_tools:
        notes += [Note(NoteKind.TOOLS_NOT_DECLARED, f"tools[{at}]", tool.name) for at, tool in enumerate(request.tools)]
        return Toolbox((), nothing)
    notes += [Note(NoteKind.ALIASED_TOOL, "tools", name, alias) for name, alias in sorted(aliases.changed.items())]
    if request.tools:
        declared = tuple(
            Declared(aliases.alias_of(tool.name), tool.description, _object(tool.parameters, f"tools[{at}]", notes))
            for at, tool in enumerate(request.tools)
        )
        return Toolbox(declared, _choice(request, aliases, notes))
    if request.options.tool_choice.mode is ToolChoiceMode.REQUIRED:
        notes.append(Note(NoteKind.CHOICE_WITHOUT_TOOLS, "options.tool_choice"))
    if capabilities.interface not in _NEEDS_DECLARATIONS:
        return Toolbox((), nothing)
    called = sorted(_called(request))
    notes += [Note(NoteKind.SYNTHESISED_TOOL, "tools", name) for name in called]
    return Toolbox(tuple(_bare(aliases.alias_of(name)) for name in called), nothing)


def _bare(alias: str) -> Declared:
    return Declared(alias, NO_LONGER_HERE, {"type": "object", "properties": {}})


def _object(parameters: dict[str, JsonValue], where: str, notes: list[Note]) -> dict[str, JsonValue]:
    """A tool's schema with a plain object at its root; nothing else about it is changed."""
    kept: dict[str, JsonValue] = {}
    for key, value in parameters.items():
        is_misplaced = key == "properties" and not isinstance(value, dict)
        if key in _NOT_AT_ROOT or is_misplaced or (key == "required" and not _are_names(value)):
            notes.append(Note(NoteKind.TOOL_SCHEMA_ADAPTED, f"{where}.parameters", f"{key}: {json_text(value)}"))
        else:
            kept[key] = value
    if "properties" not in kept:
        kept["properties"] = {}
    return kept


def _are_names(value: JsonValue) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _choice(request: LlmRequest, aliases: ToolAliases, notes: list[Note]) -> Choice:
    asked = request.options.tool_choice
    if asked.allowed is None or asked.mode is ToolChoiceMode.NONE:
        return Choice(asked.mode, None)
    allowed = tuple(tool.name for tool in request.tools if tool.name in asked.allowed)
    if not allowed:
        if asked.mode is ToolChoiceMode.REQUIRED:
            notes.append(Note(NoteKind.CHOICE_WITHOUT_TOOLS, "options.tool_choice"))
        return Choice(ToolChoiceMode.NONE, None)
    if len(allowed) == len(request.tools):
        return Choice(asked.mode, None)
    return Choice(asked.mode, tuple(aliases.alias_of(name) for name in allowed))


def not_expressed(allowed: Iterable[str], notes: list[Note]) -> None:
    """Notes that an interface cannot say which tools may be called."""
    notes.append(Note(NoteKind.CHOICE_NOT_EXPRESSED, "options.tool_choice", ", ".join(allowed)))
