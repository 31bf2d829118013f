"""The exported schemas are valid, complete and the same every time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import jsonschema as schemas
from ledgerkit.protocol import names as protocol

NAMES = [*schemas.MODELS, *schemas.UNIONS]


@pytest.mark.parametrize("name", [None, *NAMES])
def test_a_schema_is_valid_json_schema_2020_12(name: str | None) -> None:
    schema = protocol.json_schema(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


def test_the_whole_protocol_holds_every_model_and_union() -> None:
    definitions = protocol.json_schema()["$defs"]
    assert isinstance(definitions, dict)
    assert set(NAMES) <= set(definitions)


def test_every_public_model_of_the_package_has_a_schema() -> None:
    public = {
        name
        for name in protocol.__all__
        if isinstance(one := getattr(protocol, name), type) and issubclass(one, protocol.Model)
    }
    assert public - {"Model"} == set(schemas.MODELS)


@pytest.mark.slow
def test_two_processes_write_the_same_bytes() -> None:
    code = "import json; from ledgerkit.protocol.names import json_schema; print(json.dumps(json_schema()))"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert json.loads(runs[0]) == protocol.json_schema()


def test_an_answer_is_a_copy() -> None:
    protocol.json_schema("Usage").clear()
    assert protocol.json_schema("Usage")["title"] == "Usage"


def test_fields_are_described() -> None:
    properties = protocol.json_schema("Usage")["properties"]
    assert isinstance(properties, dict)
    assert properties["input_tokens"]["description"] == "All input tokens."  # type: ignore[index, call-overload]


def test_parts_are_told_apart_by_their_type() -> None:
    schema = protocol.json_schema("Part")
    mapping = schema["discriminator"]["mapping"]  # type: ignore[index, call-overload]
    assert set(mapping) == {part_type.value for part_type in protocol.PartType}  # type: ignore[arg-type]


def test_an_unknown_model_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ProtocolError, match="Did you mean 'AgentMessage'"):
        protocol.json_schema("AgentMesage")
