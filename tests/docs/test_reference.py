"""Every public name and every command is documented, by a sentence of its own."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

import ledgerkit as lk
from scripts import build_cli_page, build_reference_page
from scripts.public_names import Found, find, members, module_doc, public_names
from tests.conftest import ROOT
from tests.docs.reading import DOCS, anchors, blocks, cells, code_of

MODULES = [module for modules in build_reference_page.PAGES.values() for module in modules]
# They gather names for other packages of ours; who uses ledgerkit reaches what they do through the modules above.
INNER = {
    "ledgerkit.extract",
    "ledgerkit.judges.rules",
    "ledgerkit.memory.evidence",
    "ledgerkit.memory.rules",
    "ledgerkit.memory.spoken",
    "ledgerkit.memory.working",
    "ledgerkit.providers.answers",
    "ledgerkit.providers.gate",
} | {
    f"ledgerkit.importers.{name}"
    for name in ("codex", "gemini_cli", "mini_swe_agent", "openhands", "otel", "pi", "swe_agent")
}
COMMANDS = list(build_cli_page.commands())


def module_files() -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / "ledgerkit").rglob("*.py")):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path


def documented_names() -> list[tuple[str, str, Found]]:
    """Public names, and the methods and properties of public classes: module, name, definition."""
    found = list[tuple[str, str, Found]]()
    for module in MODULES:
        for name in public_names(module):
            definition = find(module, name)
            found.append((module, name, definition))
            if isinstance(definition.node, ast.ClassDef):
                found += [
                    (module, f"{name}.{member.found.name}", member.found)
                    for member in members(definition)
                    if isinstance(member.found.node, ast.FunctionDef) and member.found.name != "__init__"
                ]
    return found


def is_sentence(doc: str | None) -> bool:
    """Whether it begins with a paragraph that a capital, a digit, code or such a name opens and a stop closes."""
    first = (doc or "").strip().partition("\n\n")[0].strip()
    return bool(re.match(r"[A-Z0-9`]|ledgerkit|mini-swe-agent|pyarrow", first)) and first.endswith(
        (".", ":", "?", "!", ")")
    )


def test_every_public_name_has_a_docstring_that_begins_with_a_sentence() -> None:
    names = documented_names()
    assert len(names) > 500
    assert [f"{module}: {name}" for module, name, found in names if not is_sentence(found.doc)] == []


@pytest.mark.long
def test_every_module_says_in_its_first_line_what_it_keeps() -> None:
    parsed = [(module, ast.parse(path.read_text("utf-8"))) for module, path in module_files()]
    assert [module for module, tree in parsed if not is_sentence(ast.get_docstring(tree))] == []


def test_every_module_that_lists_its_names_is_on_a_page_or_for_our_own_use() -> None:
    listing = {
        module
        for module, path in module_files()
        if re.search(r"^__all__ = ", path.read_text("utf-8"), re.M) and not module.split(".")[-1].startswith("_")
    }
    assert listing - set(MODULES) - INNER == set()
    assert INNER - listing == set()


@pytest.mark.parametrize("module", MODULES)
def test_what_is_read_from_the_source_is_what_a_program_gets(module: str) -> None:
    loaded = importlib.import_module(module)
    assert module_doc(module) == inspect.getdoc(loaded)
    for name in public_names(module):
        value: object = getattr(loaded, name)
        found = find(module, name)
        if isinstance(value, ModuleType):
            assert found.node is None
        elif isinstance(found.node, ast.ClassDef | ast.FunctionDef):
            assert found.doc == inspect.getdoc(value)
            assert found.name == getattr(value, "__name__", None)


def test_every_method_of_a_ledger_and_a_run_is_on_the_page() -> None:
    page = anchors(DOCS / "reference" / "ledgerkit.md")
    for noun in (lk.Ledger, lk.Run, lk.RunSet, lk.Recorder, lk.Comparison):
        names = [name for name in dir(noun) if not name.startswith("_") and name not in ("context_materials",)]
        missing = [
            name for name in names if f"{noun.__name__}{name}".lower() not in page and callable_or_property(noun, name)
        ]
        assert missing == [], noun


def callable_or_property(noun: type, name: str) -> bool:
    return callable(getattr(noun, name)) or isinstance(inspect.getattr_static(noun, name), property)


@pytest.mark.parametrize("page", [path.stem for path in sorted((DOCS / "reference").glob("*.md"))])
def test_headings_of_a_page_can_be_told_apart(page: str) -> None:
    made = anchors(DOCS / "reference" / f"{page}.md")
    assert sorted({each for each in made if made.count(each) > 1}) == []


def test_what_pages_and_notebooks_import_is_public() -> None:
    public = {
        (found.module, found.name) for module in MODULES for found in [find(module, n) for n in public_names(module)]
    }
    modules = {*MODULES, "ledgerkit.protocol"}
    strange = list[str]()
    for block in [*blocks("python"), *cells()]:
        for node in ast.walk(ast.parse(code_of(block.code))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("ledgerkit"):
                continue
            for alias in node.names:
                found = find(str(node.module), alias.name)
                if (found.module, found.name) not in public and found.module not in modules:
                    strange.append(f"{block.page}:{block.line}: {node.module}.{alias.name}")
    assert strange == []


@pytest.mark.parametrize(("name", "command"), [(name, command) for name, command, _ in COMMANDS])
def test_every_command_and_option_says_what_it_does(name: str, command: click.Command) -> None:
    assert is_sentence(command.help), name
    silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.hidden and not p.help]
    assert silent == []
    assert (name.replace(" ", "-") in anchors(DOCS / "reference" / "cli.md")) is not command.hidden
