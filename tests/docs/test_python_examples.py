"""Calls in pages and notebooks are calls that exist: those of examples that no doctest runs, too."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator

import pytest

import ledgerkit as lk
from scripts.reference_text import attributes_of
from tests.docs.reading import blocks, cells, code_of

NOUNS: dict[str, object] = {"lk": lk, "ledger": lk.Ledger, "run": lk.Run, "recorder": lk.Recorder}
"""What these names stand for wherever they are used."""
ALL = [*blocks("python"), *cells()]


def problems(code: str) -> Iterator[str]:
    """Calls that name what is not there, or do not fit its signature."""
    tree = ast.parse(code)
    known = dict(NOUNS)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ledgerkit":
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                value = getattr(module, alias.name, None) or importlib.import_module(f"{node.module}.{alias.name}")
                known[alias.asname or alias.name] = value
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (target := _target(node.func, known)) is not None:
            yield from _misfit(node, target)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in known
            and not _has(known[node.value.id], node.attr)
        ):
            yield f"{ast.unparse(node)} is not there"


def _has(owner: object, name: str) -> bool:
    """Whether it has an attribute, or is a class whose docstring or annotations promise one of its objects."""
    if hasattr(owner, name) or not isinstance(owner, type):
        return hasattr(owner, name)
    annotated = any(name in vars(base).get("__annotations__", {}) for base in owner.__mro__)
    return annotated or name in attributes_of(inspect.getdoc(owner))


def _target(function: ast.expr, known: dict[str, object]) -> object | None:
    if isinstance(function, ast.Name):
        return known.get(function.id)
    if isinstance(function, ast.Attribute) and (owner := _target(function.value, known)) is not None:
        return getattr(owner, function.attr, None)
    return None


def _misfit(node: ast.Call, target: object) -> Iterator[str]:
    if not callable(target) or any(isinstance(each, ast.Starred) for each in node.args):
        return
    if any(each.arg is None for each in node.keywords):
        return
    is_method = isinstance(node.func, ast.Attribute) and inspect.isfunction(target) and "." in target.__qualname__
    try:
        inspect.signature(target).bind(
            *[None] * (len(node.args) + is_method), **{str(each.arg): None for each in node.keywords}
        )
    except TypeError as error:
        yield f"{ast.unparse(node)}: {error}"
    except ValueError:
        return  # a builtin that does not say how it is called


def test_there_are_examples() -> None:
    assert (
        sum(1 for block in ALL for node in ast.walk(ast.parse(code_of(block.code))) if isinstance(node, ast.Call)) > 300
    )


@pytest.mark.parametrize("page", sorted({block.page for block in ALL}))
def test_calls_of_a_page_exist_and_take_what_they_are_given(page: str) -> None:
    mine = [block for block in ALL if block.page == page]
    assert [f"{block.line}: {wrong}" for block in mine for wrong in problems(code_of(block.code))] == []


@pytest.mark.parametrize(
    "code",
    ["ledger.costs()", "ledger.cost(grouped='x')", "lk.opened('x')", "from ledgerkit import cost\ncost.price_calls()"],
)
def test_what_is_wrong_is_found(code: str) -> None:
    assert list(problems(code))
