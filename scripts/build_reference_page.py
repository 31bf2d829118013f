"""Writes docs/reference/ from docstrings and signatures; ``--check`` only says whether it is current."""

from __future__ import annotations

import ast
import sys
from typing import Final

from scripts.public_names import ROOT, Found, find, members, module_doc, module_file, public_names
from scripts.reference_text import anchor, attributes_of, documented, first_sentence, prose, signature

FOLDER: Final = ROOT / "docs" / "reference"
PAGES: Final = {
    "ledgerkit": ("ledgerkit",),
    "strategies": ("ledgerkit.strategies", "ledgerkit.strategies.conformance"),
    "evaluation": ("ledgerkit.evaluation",),
    "comparison": ("ledgerkit.comparison",),
    "cost": ("ledgerkit.cost", "ledgerkit.cost.attribution", "ledgerkit.cost.waste"),
    "memory": ("ledgerkit.memory", "ledgerkit.memory.summaries", "ledgerkit.memory.compactions"),
    "judges": ("ledgerkit.judges", "ledgerkit.judges.calibration"),
    "replay": ("ledgerkit.replay",),
    "projection": ("ledgerkit.projection",),
    "providers": ("ledgerkit.providers", "ledgerkit.providers.http"),
    "safety": (
        "ledgerkit.safety.redaction",
        "ledgerkit.safety.injection",
        "ledgerkit.safety.taint",
        "ledgerkit.safety.boundaries",
        "ledgerkit.safety.permissions",
    ),
    "agent": ("ledgerkit.agent.live", "ledgerkit.agent.drills"),
    "notebook": ("ledgerkit.notebook",),
    "charts": ("ledgerkit.charts",),
    "reports": ("ledgerkit.reports",),
    "importers": (
        "ledgerkit.importers.registry",
        "ledgerkit.importers.drafts",
        "ledgerkit.importers.reader",
        "ledgerkit.importers.conformance",
    ),
    "exporters": ("ledgerkit.exporters",),
    "extract": ("ledgerkit.extract", "ledgerkit.extract.claims", "ledgerkit.extract.verifiers"),
    "protocol": ("ledgerkit.protocol.names",),
    "tables": ("ledgerkit.tables",),
}
"""Pages and the modules on each. What stands here is public; the rest of the tree may change at any time."""

_MADE: Final = "Made from the source by `scripts/build_reference_page.py`; do not edit."
_LONGEST_VALUE: Final = 300
_LONGEST_DEFAULT: Final = 120
_MANY: Final = 5
"""Methods above which a class has a list of them."""


def pages() -> dict[str, str]:
    """Every page as text, by file name."""
    made = {f"{name}.md": _page(modules) for name, modules in PAGES.items()}
    return {"index.md": _index(), **made}


def _index() -> str:
    lines = ["# Reference of the Python interface", "", _MADE, ""]
    lines += [
        "What stands here is public. A name is documented on the page of the module that it is imported from.",
        "",
    ]
    lines += ["| module | what it is |", "|---|---|"]
    for page, modules in PAGES.items():
        for module in modules:
            link = f"[`{module}`]({page}.md#{anchor(module)})"
            lines.append(f"| {link} | {first_sentence(module_doc(module)).replace('|', chr(92) + '|')} |")
    return "\n".join([*lines, "", "The command line: [every command and option](cli.md)."]) + "\n"


def _page(modules: tuple[str, ...]) -> str:
    lines = [f"# Reference: {modules[0]}", "", f"{_MADE} [All modules](index.md).", ""]
    for module in modules:
        names = public_names(module)
        lines += [f"## {module}", "", *documented(module_doc(module))]
        lines += [", ".join(f"[`{name}`](#{anchor(_heading(module, name))})" for name in names), ""]
        for name in names:
            lines += _entry(module, name)
    return "\n".join(lines).rstrip("\n") + "\n"


def _entry(module: str, name: str) -> list[str]:
    found = find(module, name)
    head = [f"### {_heading(module, name)}", ""]
    if isinstance(found.node, ast.ClassDef):
        return head + _class_lines(name, found)
    if isinstance(found.node, ast.FunctionDef):
        return [*head, *_fenced(signature(name, found.node, is_method=False)), *documented(found.doc)]
    if found.node is None:
        return [*head, f"The module [`{found.module}`]({_page_of(found.module)}): {first_sentence(found.doc)}", ""]
    return [*head, *_fenced(_constant(name, found)), *documented(found.doc)]


def _heading(module: str, name: str) -> str:
    """How a name is called after ``import ledgerkit`` (or ``from ledgerkit import …``): ``cost.PriceBook``."""
    return ".".join([*module.split(".")[1:], name])


def _page_of(module: str) -> str:
    return next(f"{page}.md#{anchor(module)}" for page, modules in PAGES.items() if module in modules)


def _constant(name: str, found: Found) -> str:
    """A constant as it stands in the source, if it is short."""
    path = module_file(found.module)
    shown = ast.get_source_segment(path.read_text("utf-8"), found.node) if path and found.node else None
    return shown if shown and len(shown) <= _LONGEST_VALUE else name


def _assigned(name: str, node: ast.expr | ast.stmt) -> str:
    """An assignment, without a value that nobody reads as code."""
    annotation = f": {ast.unparse(node.annotation)}" if isinstance(node, ast.AnnAssign) else ""
    value = ast.unparse(node.value) if isinstance(node, ast.Assign | ast.AnnAssign) and node.value else ""
    return f"{name}{annotation}" + (f" = {value}" if value and len(value) <= _LONGEST_DEFAULT else "")


def _class_lines(name: str, found: Found) -> list[str]:
    bases = [ast.unparse(base) for base in found.node.bases] if isinstance(found.node, ast.ClassDef) else []
    bases = [base for base in bases if not base.startswith("_")]
    inside = members(found)
    init = next((each.found.node for each in inside if each.found.name == "__init__"), None)
    made = signature(name, init, is_method=True) if isinstance(init, ast.FunctionDef) else name
    lines = _fenced(f"class {made}" if made != name or not bases else f"class {name}({', '.join(bases)})")
    fields = [] if isinstance(init, ast.FunctionDef) else [m.found for m in inside if _is_field(m.found)]
    lines += documented(found.doc, attributes=not fields)
    told = attributes_of(found.doc)
    lines += [_field(each, told) for each in fields] + ([""] if fields else [])
    methods = [m.found for m in inside if isinstance(m.found.node, ast.FunctionDef) and m.found.name != "__init__"]
    if len(methods) > _MANY:
        links = sorted(f"[`{method.name}`](#{anchor(f'{name}.{method.name}')})" for method in methods)
        lines += [", ".join(links), ""]
    for method in methods:
        lines += _method(name, method)
    return lines


def _is_field(found: Found) -> bool:
    return isinstance(found.node, ast.AnnAssign | ast.Assign) and found.name != "model_config"


def _field(found: Found, told: dict[str, str]) -> str:
    shown = _assigned(found.name, found.node) if found.node is not None else found.name
    what = " ".join(prose(found.doc or "").split()) or told.get(found.name, "")
    return f"- `{shown}`" + (f": {what}" if what else "")


def _method(owner: str, found: Found) -> list[str]:
    node = found.node
    if not isinstance(node, ast.FunctionDef):
        raise TypeError(f"{owner}.{found.name} is no method")
    is_property = any(ast.unparse(each).endswith("property") for each in node.decorator_list)
    if is_property:
        shown = f"{owner}.{found.name}" + (f": {ast.unparse(node.returns)}" if node.returns else "")
    else:
        shown = signature(f"{owner}.{found.name}", node, is_method=True)
    return [f"#### {owner}.{found.name}", "", *_fenced(shown), *documented(found.doc)]


def _fenced(code: str) -> list[str]:
    return ["```python", code, "```", ""]


def stale() -> list[str]:
    """Files that are not what they should be, or should not be there."""
    wanted = pages()
    there = {path.name for path in FOLDER.glob("*.md")} - {"cli.md"}
    wrong = [name for name in wanted if name in there and (FOLDER / name).read_text("utf-8") != wanted[name]]
    return sorted({*wrong, *(there ^ wanted.keys())})


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(f"docs/reference is not current: {', '.join(stale())}. Run `make docs`." if stale() else 0)
    FOLDER.mkdir(exist_ok=True)
    for old in stale():
        (FOLDER / old).unlink(missing_ok=True)
    for file, text in pages().items():
        (FOLDER / file).write_text(text, "utf-8")
