"""What the protocol does not allow is refused with the field, the value and what was perhaps meant."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ledgerkit.errors import LedgerkitError, ProtocolError
from ledgerkit.protocol import names as p
from tests.protocol import strategies

MESSAGE: dict[str, Any] = {
    "message_id": "m",
    "session_id": "s",
    "run_id": "r",
    "sequence_no": 0,
    "created_at": None,
    "kind": "USER_TASK",
    "actor": "user",
    "parts": [{"type": "text", "text": "a", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}],
}


def refused(**changed: object) -> str:
    with pytest.raises(ProtocolError) as caught:
        p.parse_message(MESSAGE | changed)
    assert isinstance(caught.value, LedgerkitError)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def refused_part(**changed: object) -> str:
    return refused(parts=[MESSAGE["parts"][0] | changed])


@pytest.mark.parametrize(
    ("changed", "hint"),
    [
        ({"kind": "USER_TAKS"}, "Unknown kind 'USER_TAKS'. Did you mean 'USER_TASK'"),
        ({"kind": "user_task"}, "Did you mean 'USER_TASK'"),
        ({"kind": None}, "Unknown kind None"),
        ({"messageId": "m"}, "Unknown field 'messageId'. Did you mean 'message_id'"),
        ({"sequence_no": "0"}, "sequence_no is '0': should be a valid integer."),
        ({"sequence_no": -1}, "sequence_no is -1: should be greater than or equal to 0."),
        ({"created_at": 5}, "created_at: a time is a datetime or a text like"),
        ({"metadata": [1]}, "metadata is of type list"),
        ({"metadata": {"a": "\ud800"}}, "metadata: lone surrogate"),
        ({"parts": []}, "parts is of type list"),
        (
            {"call": {"usage": {"input_tokens": 1, "cache_read_tokens": 2}}},
            "call.usage: 2 cache tokens are more than the 1",
        ),
        (
            {"call": {"usage": {"input_token": 1}}},
            "Unknown field of call.usage 'input_token'. Did you mean 'input_tokens'",
        ),
        ({"trust_level": "UNKNOWN"}, "trust_level is UNKNOWN, but the lowest trust of the parts is USER_TRUSTED"),
    ],
)
def test_a_message_is_refused_in_words(changed: dict[str, Any], hint: str) -> None:
    assert hint in refused(**changed)


@pytest.mark.parametrize(
    ("changed", "hint"),
    [
        ({"type": "txt"}, "Unknown parts[0].type 'txt'. Did you mean 'text'"),
        ({"trust_level": "USER"}, "Unknown parts[0].trust_level 'USER'. Did you mean 'USER_TRUSTED'"),
        ({"visibility": "PUBLIC"}, "Unknown parts[0].visibility 'PUBLIC'"),
        ({"sumary": "b"}, "Unknown field of parts[0] 'sumary'. Did you mean 'summary'"),
        ({"evidence_refs": ["artefact:1"]}, "parts[0].evidence_refs[0]: Unknown kind of evidence reference 'artefact'"),
        ({"content_type": "text"}, "parts[0].content_type is 'text'"),
    ],
)
def test_a_part_of_a_message_is_refused_by_its_path(changed: dict[str, Any], hint: str) -> None:
    assert hint in refused_part(**changed)


def test_a_part_without_a_type_is_told_all_types() -> None:
    text = refused(parts=[{"text": "a"}])
    assert "parts[0].type is missing. Known: text, json, artifact_ref" in text


def test_consequences_of_a_problem_are_not_told_as_problems() -> None:
    text = refused_part(trust_level="USER")
    assert text == "Not an AgentMessage. Unknown parts[0].trust_level 'USER'. Did you mean 'USER_TRUSTED'?"


def test_many_problems_are_counted_and_the_first_ones_told() -> None:
    with pytest.raises(ProtocolError, match=r"session_id is missing\. run_id is missing\..*And [0-9]+ more\."):
        p.parse_message({})


def test_what_is_no_json_is_said_to_be_none() -> None:
    with pytest.raises(ProtocolError, match="Invalid JSON"):
        p.parse_message("{")


def test_a_long_value_is_shown_only_in_part() -> None:
    long = "x" * 10_000
    assert "an integer of" in refused(sequence_no=10**5000)
    for changed in ({"sequence_no": long}, {"kind": long}, {long: 1}, {"parts": [{"type": long}]}):
        assert len(refused(**changed)) < 600
    assert len(refused_part(evidence_refs=[f"file:{long}#{long}"])) < 600
    assert len(refused_part(evidence_refs=[long])) < 600


def test_an_error_message_can_be_written_wherever_utf8_can() -> None:
    refused(kind="\ud800").encode()
    refused(actor="\ud800").encode()


def test_an_instance_is_handed_back_as_it_is() -> None:
    message = p.parse_message(MESSAGE)
    assert p.parse(p.AgentMessage, message) is message


@strategies.patient
@given(strategies.messages, st.data())
def test_a_message_with_a_changed_value_is_read_or_refused_but_never_breaks(
    message: p.AgentMessage, data: st.DataObject
) -> None:
    objects = json.loads(message.model_dump_json())
    where = data.draw(st.sampled_from(sorted(objects)))
    objects[where] = data.draw(strategies.json_values)
    with contextlib.suppress(ProtocolError):
        p.parse_message(objects)


def test_constructors_raise_what_pydantic_raises_which_is_a_value_error_too() -> None:
    with pytest.raises(ValidationError):
        p.TextPart.model_validate({"text": 1})
    assert issubclass(ValidationError, ValueError)
