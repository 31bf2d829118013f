"""Shapes of payloads: every way not to fit is said where it is, in words that name no content."""

from __future__ import annotations

from typing import Any

import pytest

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.capabilities import ArgumentsForm
from ledgerkit.providers import ToolAliases, alias_tools
from ledgerkit.providers.aliases import hashed_name
from ledgerkit.providers.gate.shapes import (
    FLAG,
    INTEGER,
    NUMBER,
    TEXT,
    Arguments,
    ListOf,
    OneOf,
    Record,
    Single,
    Tagged,
    TextOr,
    of_type,
)
from ledgerkit.providers.turns import block_text
from tests.providers import made

PAIR = Record({"a": TEXT}, {"b": INTEGER})


@pytest.mark.parametrize(
    ("shape", "value", "rules"),
    [
        (ListOf(TEXT), "x", ["wrong_type"]),
        (ListOf(TEXT), [], ["empty_list"]),
        (ListOf(TEXT, least=0), [], []),
        (ListOf(TEXT), ["x", 1], ["wrong_type"]),
        (PAIR, [], ["wrong_type"]),
        (PAIR, {}, ["required_key"]),
        (PAIR, {"a": "x", "c": 1}, ["unknown_key"]),
        (PAIR, {"a": "x", "b": 2}, []),
        (Tagged("type", {"x": of_type("x", {})}), 3, ["wrong_type"]),
        (Tagged("type", {"x": of_type("x", {})}), {}, ["required_key"]),
        (Tagged("type", {"x": of_type("x", {})}), {"type": "y"}, ["unknown_value"]),
        (Tagged("type", {"x": of_type("x", {})}), {"type": "x"}, []),
        (OneOf(("x", "y")), "z", ["unknown_value"]),
        (OneOf(("x", "y")), None, ["unknown_value"]),
        (INTEGER, True, ["wrong_type"]),
        (NUMBER, 1.5, []),
        (FLAG, None, ["wrong_type"]),
        (TextOr(INTEGER), "x", []),
        (TextOr(INTEGER, ("x",)), "y", ["unknown_value"]),
        (TextOr(INTEGER), 1.5, ["wrong_type"]),
        (Single({"a": TEXT, "b": TEXT}, {"c": TEXT}), {"a": "x", "c": "y"}, []),
        (Single({"a": TEXT, "b": TEXT}, {}), {"a": "x", "b": "y"}, ["one_field"]),
        (Single({"a": TEXT, "b": TEXT}, {}), 1, ["wrong_type"]),
        (Arguments(ArgumentsForm.OBJECT), "{}", ["arguments_form"]),
        (Arguments(ArgumentsForm.OBJECT), {}, []),
        (Arguments(ArgumentsForm.JSON_TEXT), "{}", []),
        (Arguments(ArgumentsForm.JSON_TEXT), "[" * 100_000, ["arguments_form"]),
    ],
)
def test_what_does_not_fit_is_said(shape: Any, value: Any, rules: list[str]) -> None:
    assert [one.rule.value for one in shape.check(value, "")] == rules


def test_a_tool_without_an_alias_is_named() -> None:
    table = alias_tools(["repo.read", "write"])
    assert table.alias_of("write") == "write"
    assert table.name_of("nobody") == "nobody"
    with pytest.raises(ProtocolError, match="nobody"):
        table.alias_of("nobody")
    with pytest.raises(ProtocolError, match="names something twice"):
        ToolAliases((("a", "x"), ("b", "x")))


def test_an_alias_that_is_taken_gets_a_longer_hash() -> None:
    name = "水"
    short, longer = hashed_name(name), hashed_name(name, 9)
    assert alias_tools([name]).alias_of(name) == short
    assert alias_tools([name, short]).alias_of(name) == longer
    every = [hashed_name(name, digits) for digits in range(8, 64)]
    with pytest.raises(ProtocolError, match="No free alias"):
        alias_tools([name, *every])


def test_the_text_of_a_block_is_what_every_interface_shows() -> None:
    assert block_text(made.call(path="a.py")) == '{"path":"a.py"}'
    assert block_text(made.result(words="found")) == "found"
    assert block_text(made.text("Hello.")) == "Hello."
