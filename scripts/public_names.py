"""What stands behind each public name, read from the source: nothing is imported, so no extra is needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class Found:
    """A definition and where it stands.

    Attributes:
        module: Dotted name of the module that holds it.
        name: Its name there.
        node: Its syntax; ``None`` for a module.
        doc: Its docstring, or the string that stands below an assignment.
    """

    module: str
    name: str
    node: Definition | None
    doc: str | None


@dataclass(frozen=True)
class Member:
    """A method, property or field of a class; inherited ones too.

    Attributes:
        owner: The class that holds it.
        found: The definition.
    """

    owner: str
    found: Found


@dataclass(frozen=True)
class _Parsed:
    """A module's top level. Later definitions win, as they do when it runs."""

    doc: str | None
    definitions: dict[str, Found] = field(default_factory=dict[str, Found])
    imports: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    exported: tuple[str, ...] = ()


def module_file(module: str) -> Path | None:
    """The file of a module of this project; ``None`` if there is none."""
    base = ROOT.joinpath(*module.split("."))
    return next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)


def module_doc(module: str) -> str | None:
    """A module's docstring."""
    return _parsed(module).doc


def public_names(module: str) -> list[str]:
    """The names of ``__all__``; where there is none, what the module itself defines without an underscore."""
    parsed = _parsed(module)
    return sorted(parsed.exported or [name for name in parsed.definitions if not name.startswith("_")], key=_order)


def find(module: str, name: str) -> Found:
    """The definition behind a name, wherever it is imported from.

    Raises:
        LookupError: If the name leads out of this project, or nowhere.
    """
    parsed = _parsed(module)
    if name in parsed.definitions:
        return parsed.definitions[name]
    if name in parsed.imports:
        source, original = parsed.imports[name]
        if module_file(source) and (source, original) != (module, name):
            return find(source, original)
    if module_file(f"{module}.{name}"):
        return Found(f"{module}.{name}", name, None, module_doc(f"{module}.{name}"))
    raise LookupError(f"{module} does not say what {name} is")


def members(found: Found) -> list[Member]:
    """Public members of a class, those of its bases in this project included, by name; fields in their order."""
    seen: dict[str, Member] = {}
    for owner in _lineage(found):
        for item in _definitions(owner.module, _class(owner).body):
            if not item.name.startswith("_") or item.name in ("__init__", "__call__"):
                seen.setdefault(item.name, Member(owner.name, item))
    return list(seen.values())


def _lineage(found: Found) -> Iterator[Found]:
    yield found
    for base in _class(found).bases:
        if isinstance(base, ast.Name):
            try:
                above = find(found.module, base.id)
            except LookupError:
                continue
            if isinstance(above.node, ast.ClassDef):
                yield from _lineage(above)


def _class(found: Found) -> ast.ClassDef:
    if not isinstance(found.node, ast.ClassDef):
        raise TypeError(f"{found.name} is no class")
    return found.node


@cache
def _parsed(module: str) -> _Parsed:
    path = module_file(module)
    if path is None:
        raise LookupError(f"no module {module}")
    tree = ast.parse(path.read_text("utf-8"), str(path))
    statements = list(_flat(tree.body))
    definitions = {item.name: item for item in _definitions(module, statements)}
    imports = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in statements
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    exported = definitions.pop("__all__", None)
    names: tuple[str, ...] = ()
    if exported and isinstance(exported.node, ast.Assign):
        names = tuple(ast.literal_eval(exported.node.value))
    return _Parsed(ast.get_docstring(tree), definitions, imports, names)


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of the top level, what stands below an ``if`` there included (names for type checkers)."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _flat(node.body)
        else:
            yield node


def _definitions(module: str, body: list[ast.stmt]) -> Iterator[Found]:
    for node, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield Found(module, node.name, node, ast.get_docstring(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                yield Found(module, target.id, node, _string(below))


def _string(node: ast.stmt | None) -> str | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return None


def _order(name: str) -> tuple[bool, bool, str]:
    """Classes, functions, then constants; each by name."""
    return (name.isupper(), not name[0].isupper(), name)
