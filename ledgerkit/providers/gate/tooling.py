"""Rules of tools: names, declarations, and the choice among them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from ledgerkit.protocol.capabilities import SAFE_TOOL_NAME, ProviderInterface
from ledgerkit.providers.gate.reading import Kind, Reading
from ledgerkit.providers.gate.violations import RuleName, Violation

_SAFE: Final = re.compile(SAFE_TOOL_NAME)
_NOT_AT_ROOT: Final = ("anyOf", "oneOf", "allOf", "enum", "not", "$ref")

Json = Any


def declarations(reading: Reading) -> Iterator[tuple[str, str, Json]]:
    """Path, name and schema of each declared tool."""
    for at, tool in enumerate(reading.body.get("tools", ())):
        match reading.interface:
            case ProviderInterface.GEMINI:
                for number, one in enumerate(tool["functionDeclarations"]):
                    path = f"tools[{at}].functionDeclarations[{number}]"
                    yield path, one["name"], one["parametersJsonSchema"]
            case ProviderInterface.ANTHROPIC:
                yield f"tools[{at}]", tool["name"], tool["input_schema"]
            case ProviderInterface.OPENAI_RESPONSES:
                yield f"tools[{at}]", tool["name"], tool["parameters"]
            case _:
                yield f"tools[{at}].function", tool["function"]["name"], tool["function"]["parameters"]


def chosen(reading: Reading) -> Iterator[tuple[str, str]]:
    """Path and name of each tool that the choice names."""
    calling = reading.body.get("toolConfig", {}).get("functionCallingConfig", {})
    for at, name in enumerate(calling.get("allowedFunctionNames", ())):
        yield f"toolConfig.functionCallingConfig.allowedFunctionNames[{at}]", name
    choice: object = reading.body.get("tool_choice")
    if not isinstance(choice, dict):
        return
    named = cast("dict[str, Json]", choice)
    if "name" in named:
        yield "tool_choice.name", named["name"]
    if "function" in named:
        yield "tool_choice.function.name", named["function"]["name"]
    inner = named.get("allowed_tools", named)
    path = "tool_choice.allowed_tools.tools" if "allowed_tools" in named else "tool_choice.tools"
    for at, tool in enumerate(inner.get("tools", ())):
        function = tool.get("function", tool)
        yield f"{path}[{at}]", function["name"]


def _names(reading: Reading) -> Iterator[tuple[str, str]]:
    for path, name, _ in declarations(reading):
        yield f"{path}.name", name
    for piece in reading.pieces:
        if piece.name is not None:
            yield piece.path, piece.name
    yield from chosen(reading)


def check_name_form(reading: Reading) -> Iterator[Violation]:
    """Names that every interface takes."""
    own = re.compile(reading.payload.capabilities.tool_name_pattern or SAFE_TOOL_NAME)
    for path, name in _names(reading):
        if not (_SAFE.fullmatch(name) and own.fullmatch(name)):
            yield Violation(RuleName.TOOL_NAME_FORM, path, f"{name[:64]!a} is no name of a tool here.")


def check_aliases(reading: Reading) -> Iterator[Violation]:
    """Names that lead back to a tool."""
    for path, name in _names(reading):
        if not reading.payload.aliases.holds_alias(name):
            yield Violation(RuleName.UNALIASED_NAME, path, f"The table of aliases does not hold {name[:64]!a}.")


def check_declared_once(reading: Reading) -> Iterator[Violation]:
    """A tool is declared once."""
    seen: set[str] = set()
    for path, name, _ in declarations(reading):
        if name in seen:
            yield Violation(RuleName.DUPLICATE_TOOL, path, f"{name!a} is declared before.")
        seen.add(name)


def check_still_declared(reading: Reading) -> Iterator[Violation]:
    """Tools are declared while the history holds their calls, where an interface wants it."""
    if reading.interface is ProviderInterface.ANTHROPIC and "tools" not in reading.body:
        first = next((piece for piece in reading.pieces if piece.kind in (Kind.CALL, Kind.RESULT)), None)
        if first is not None:
            yield Violation(RuleName.TOOLS_MISSING, first.path, "No tool is declared, but the history holds calls.")


def check_tool_use(reading: Reading) -> Iterator[Violation]:
    """No tools where there are none."""
    if not reading.form.has_tools:
        first = next((piece for piece in reading.pieces if piece.kind in (Kind.CALL, Kind.RESULT)), None)
        if "tools" in reading.body or first is not None:
            path = "tools" if first is None else first.path
            yield Violation(RuleName.TOOLS_NOT_SUPPORTED, path, "The interface has no tools.")


def check_tool_schemas(reading: Reading) -> Iterator[Violation]:
    """A tool's schema is a plain object at its root."""
    for path, _, schema in declarations(reading):
        misplaced = [key for key in _NOT_AT_ROOT if key in schema]
        is_plain = schema.get("type") == "object" and isinstance(schema.get("properties"), dict)
        if misplaced or not is_plain:
            yield Violation(RuleName.TOOL_SCHEMA, path, "The root of the schema must be an object with properties.")


def check_choice(reading: Reading) -> Iterator[Violation]:
    """A choice needs tools, and names only declared ones."""
    declared = {name for _, name, _ in declarations(reading)}
    for key in ("tool_choice", "toolConfig", "parallel_tool_calls"):
        if key in reading.body and not declared:
            yield Violation(RuleName.CHOICE_WITHOUT_TOOLS, key, "No tool is declared.")
    for path, name in chosen(reading):
        if declared and name not in declared:
            yield Violation(RuleName.UNDECLARED_CHOICE, path, f"{name[:64]!a} is not declared.")


def check_allowed_mode(reading: Reading) -> Iterator[Violation]:
    """Allowed names stand only beside mode ANY."""
    calling = reading.body.get("toolConfig", {}).get("functionCallingConfig", {})
    if "allowedFunctionNames" in calling and calling["mode"] != "ANY":
        path = "toolConfig.functionCallingConfig.allowedFunctionNames"
        yield Violation(RuleName.ALLOWED_NAMES_MODE, path, "Allowed names need the mode ANY.")
