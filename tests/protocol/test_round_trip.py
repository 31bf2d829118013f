"""Every model is equal to itself after a trip through JSON, and its JSON is what its schema says."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import jsonschema as schemas
from ledgerkit.protocol import names as protocol
from tests.protocol import strategies

NAMES = sorted(strategies.MODELS)


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(protocol.json_schema(name))


def test_there_is_a_strategy_for_every_public_model() -> None:
    assert set(schemas.MODELS) == set(strategies.MODELS)


@pytest.mark.parametrize("name", NAMES)
@strategies.thrifty
@given(data=st.data())
def test_a_model_survives_json_and_its_json_keeps_its_schema(name: str, data: st.DataObject) -> None:
    value: protocol.Model = data.draw(strategies.MODELS[name])
    text = value.model_dump_json()
    again = type(value).model_validate_json(text)
    assert again == value
    assert again.model_dump_json() == text
    objects = json.loads(text)
    assert type(value).model_validate(objects) == value
    assert type(value).model_validate(value.model_dump()) == value
    check: Any = validator(name)
    check.validate(objects)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_takes_no_field_that_it_does_not_know(name: str) -> None:
    with pytest.raises(ProtocolError, match="no_such_field"):
        protocol.parse(schemas.MODELS[name], {"no_such_field": 1})
