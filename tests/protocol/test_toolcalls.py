"""Equal arguments have equal hashes, different ones different hashes."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.names import arguments_hash, canonical_json
from tests.protocol import strategies


def reordered(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


@strategies.patient
@given(strategies.json_objects)
def test_the_order_of_keys_does_not_matter(arguments: dict[str, JsonValue]) -> None:
    assert arguments_hash(arguments) == arguments_hash(reordered(arguments))


@strategies.patient
@given(strategies.json_values)
def test_canonical_json_says_the_same_value(value: JsonValue) -> None:
    assert json.loads(canonical_json(value)) == value
    assert canonical_json(json.loads(canonical_json(value))) == canonical_json(value)


@strategies.patient
@given(st.dictionaries(strategies.texts, strategies.texts), st.dictionaries(strategies.texts, strategies.texts))
def test_different_arguments_have_different_hashes(one: dict[str, str], other: dict[str, str]) -> None:
    assert (one == other) == (arguments_hash(one) == arguments_hash(other))


def test_the_hash_is_the_sha256_of_sorted_compact_utf8() -> None:
    expected = hashlib.sha256('{"limit":5,"query":"é"}'.encode()).hexdigest()
    assert arguments_hash({"query": "é", "limit": 5}) == f"sha256:{expected}"


def test_arguments_that_are_no_object_count_as_its_value() -> None:
    assert arguments_hash("*** Begin Patch") == arguments_hash({"value": "*** Begin Patch"})


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": "\ud800"}, {"\ud800": 1}, {"a": b"x"}, {"a": {1}}])
def test_what_has_no_json_form_has_no_hash(value: object) -> None:
    with pytest.raises(ProtocolError, match="No canonical JSON"):
        arguments_hash(value)
