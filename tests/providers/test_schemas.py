"""Schemas in the subset that every interface enforces, and answers back in the form that was asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import names as p
from ledgerkit.providers import map_request, strict_schema
from ledgerkit.providers.loosening import loosen
from tests.protocol import strategies
from tests.providers import made

Schema = dict[str, Any]


class Leaf(BaseModel):
    name: str


class Tree(BaseModel):
    leaf: Leaf
    children: list[Tree]


def strict(properties: Schema, **more: Any) -> tuple[Schema, list[str | None]]:
    schema, notes = strict_schema({"type": "object", "properties": properties, **more})
    return schema, [note.original for note in notes]


def test_every_property_is_required_and_null_stands_for_what_was_optional() -> None:
    schema, notes = strict(
        {
            "a": {"type": "string"},
            "b": {"type": "integer"},
            "c": {"type": "string", "enum": ["x", "y"]},
            "d": {"type": "object", "properties": {"e": {"type": "boolean"}}, "required": ["e"]},
            "f": {"type": ["number", "null"]},
        },
        required=["a"],
    )
    assert schema == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": ["integer", "null"]},
            "c": {"type": ["string", "null"], "enum": ["x", "y", None]},
            "d": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {"e": {"type": "boolean"}},
                        "required": ["e"],
                        "additionalProperties": False,
                    },
                    {"type": "null"},
                ]
            },
            "f": {"type": ["number", "null"]},
        },
        "required": ["a", "b", "c", "d", "f"],
        "additionalProperties": False,
    }
    assert notes == ["optional"] * 4


def test_limits_and_defaults_leave_and_are_named() -> None:
    schema, notes = strict(
        {"a": {"type": "array", "items": {"type": "string", "maxLength": 3, "pattern": "a+"}, "minItems": 2}},
        required=["a"],
        additionalProperties=True,
    )
    assert schema["properties"]["a"] == {"type": "array", "items": {"type": "string"}}
    assert notes == ["minItems: 2", "maxLength: 3", 'pattern: "a+"', "additionalProperties: true"]


def test_references_are_written_out_and_recursion_is_text() -> None:
    schema, _ = strict_schema(Tree.model_json_schema())
    leaf: Any = schema["properties"]
    assert leaf["leaf"]["properties"]["name"] == {"type": "string"}
    assert leaf["children"]["items"] == {"type": "string", "description": "JSON, written as text."}
    assert "$ref" not in json.dumps(schema)


def test_what_has_no_fixed_form_travels_as_json_text_and_comes_back() -> None:
    asked: Schema = {
        "type": "object",
        "properties": {
            "arguments": {"type": "object", "description": "Its arguments."},
            "anything": {},
            "each": {"type": "array", "items": {"type": "object"}},
            "maybe": {"type": ["object", "null"]},
        },
        "required": ["arguments", "anything", "each", "maybe"],
    }
    schema, _ = strict_schema(asked)
    properties: Any = schema["properties"]
    assert properties["arguments"] == {"type": "string", "description": "Its arguments. JSON, written as text."}
    answer: Any = {"arguments": '{"a": 1}', "anything": "[1]", "each": ["{}", '{"b": 2}'], "maybe": None}
    validator: Any = Draft202012Validator(schema)
    validator.validate(answer)
    assert loosen(answer, asked, json.loads) == {
        "arguments": {"a": 1},
        "anything": [1],
        "each": [{}, {"b": 2}],
        "maybe": None,
    }


def test_an_answer_that_was_not_enforced_may_already_have_its_form() -> None:
    asked: Schema = {"type": "object", "properties": {"a": {"type": "object"}, "b": {}}}
    assert loosen({"a": {"c": 1}, "b": "plain words"}, asked, json.loads) == {"a": {"c": 1}, "b": "plain words"}
    with pytest.raises(ProtocolError, match="Not JSON text"):
        loosen({"a": "plain words", "b": None}, asked, json.loads)


def test_a_root_that_is_no_object_travels_in_a_field() -> None:
    asked: Schema = {"type": "array", "items": {"type": "string"}}
    schema, notes = strict_schema(asked)
    assert schema["required"] == ["answer"]
    assert notes[0].original == json.dumps(asked, separators=(",", ":"))
    assert loosen({"answer": ["a"]}, asked, json.loads) == ["a"]
    assert loosen(["a"], asked, json.loads) == ["a"]


def test_a_choice_is_kept_where_its_branches_can_be_told_apart() -> None:
    schema, notes = strict(
        {"a": {"oneOf": [{"type": "string"}, {"type": "integer"}]}, "b": {"anyOf": [{"type": "string"}, {}]}},
        required=["a", "b"],
    )
    assert schema["properties"]["a"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert schema["properties"]["b"]["type"] == "string"
    assert notes == ["oneOf", '{"anyOf":[{"type":"string"},{}]}']


def test_a_constant_is_an_enum_of_one() -> None:
    schema, notes = strict({"a": {"const": "x"}, "b": {"enum": [1, True, None, 1]}}, required=["a", "b"])
    assert schema["properties"]["a"] == {"type": "string", "enum": ["x"]}
    assert schema["properties"]["b"] == {"type": ["integer", "boolean", "null"], "enum": [1, True, None]}
    assert notes == ['const: "x"']


def test_a_single_allof_is_what_it_holds_and_several_are_text() -> None:
    schema, notes = strict(
        {
            "a": {"allOf": [{"type": "integer"}]},
            "b": {"allOf": [{"type": "integer"}, {"minimum": 1}]},
            "c": {"$ref": "#/$defs/nobody"},
            "d": {"anyOf": []},
            "e": {"enum": [[1], "x"]},
            "f": {"enum": "x"},
            "g": {"type": ["integer", "string"]},
            "h": {"anyOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "null"}]},
        },
        required=["a", "b", "c", "d", "e", "f", "g"],
    )
    made_of = schema["properties"]
    assert made_of["a"] == {"type": "integer"}
    assert [made_of[name]["type"] for name in "bcdef"] == ["string"] * 5
    assert made_of["g"] == {"type": ["integer", "string"]}
    assert made_of["h"] == {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}
    assert "optional" in notes


def test_what_is_nested_too_deeply_is_text() -> None:
    nested: Schema = {"type": "object", "properties": {"deep": {"type": "string"}}, "required": ["deep"]}
    for _ in range(7):
        nested = {"type": "object", "properties": {"deep": nested}, "required": ["deep"]}
    schema, _ = strict_schema(nested)
    at: Any = schema
    for _ in range(5):
        assert at["type"] == "object"
        at = at["properties"]["deep"]
    assert at["type"] == "string"


_types = st.sampled_from(["string", "integer", "object", "array", "null", "number", "boolean", "date"])
_schemas: st.SearchStrategy[Any] = st.recursive(
    st.booleans()
    | st.fixed_dictionaries({}, optional={"type": _types | st.lists(_types, max_size=2), "minimum": st.just(1)}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": _types | st.lists(_types, max_size=2),
            "properties": st.dictionaries(st.sampled_from(["a", "b", "*", "水"]), inner, max_size=2),
            "required": st.lists(st.sampled_from(["a", "b"]), max_size=2),
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
            "allOf": st.lists(inner, max_size=2),
            "enum": st.lists(st.sampled_from(["x", 1, 1.5, None, True]), max_size=3),
            "$ref": st.sampled_from(["#/$defs/a", "#/$defs/none"]),
            "$defs": st.dictionaries(st.just("a"), inner, max_size=1),
        },
    ),
    max_leaves=8,
)


@strategies.patient
@given(_schemas.filter(lambda schema: isinstance(schema, dict)))
def test_any_schema_ends_in_the_subset(schema: Schema) -> None:
    made_strict, _ = strict_schema(schema)
    Draft202012Validator.check_schema(made_strict)
    contract = p.ResponseContract(name="answer", answer_schema=schema)
    map_request(made.request(made.said("user", "a"), response_contract=contract), "openai_chat")
    again, notes = strict_schema(made_strict)
    assert again == made_strict
    assert notes == ()
