"""Messages and parts go into the columns of the history table and come back whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ledgerkit import tables
from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import names as p
from tests.protocol import strategies

LABELS: dict[str, Any] = {"trust_level": "TOOL_TRUSTED", "visibility": "MODEL_VISIBLE"}


def through_table(columns: dict[str, object]) -> dict[str, object]:
    row = tables.HISTORY.frame([dict.fromkeys(tables.HISTORY.names) | columns]).row(0, named=True)
    return {name: row[name] for name in columns}


@strategies.patient
@given(strategies.parts)
def test_a_part_survives_the_history_table(part: p.Part) -> None:
    assert p.part_from_columns(through_table(p.part_columns(part))) == part


@strategies.thrifty
@given(strategies.messages)
def test_a_message_survives_the_history_table(message: p.AgentMessage) -> None:
    parts = [p.part_from_columns(through_table(p.part_columns(part))) for part in message.parts]
    assert p.message_from_columns(through_table(p.message_columns(message)), parts) == message


def test_together_they_fill_every_column_that_the_store_does_not_compute() -> None:
    part = p.TextPart(text="a", **LABELS)
    message = p.AgentMessage(
        message_id="m",
        session_id="s",
        run_id="r",
        sequence_no=0,
        created_at=None,
        kind=p.MessageKind.USER_TASK,
        actor="u",
        parts=(part,),
    )
    filled = {*p.part_columns(part), *p.message_columns(message)}
    of_the_store = {"run_date", "revision", "part_index", "part_id", "byte_count", "content_id"}
    of_the_store |= {column.name for column in tables.HISTORY.of_role(tables.Role.PROOF)}
    assert filled | of_the_store == set(tables.HISTORY.names)
    assert not filled & of_the_store


def test_data_holds_the_arguments_the_value_or_the_structured_fields() -> None:
    call = p.ToolCallPart(tool_call_id="c", tool_name="t", arguments={"b": 1, "a": 2}, **LABELS)
    assert p.part_columns(call)["data"] == '{"a":2,"b":1}'
    diff = p.DiffPart(path="a", text="+x", change=p.ChangeType.CREATED, lines_added=1, details={"by": "me"}, **LABELS)
    assert p.part_columns(diff)["data"] == '{"by":"me","change":"created","lines_added":1}'
    assert p.part_columns(p.JsonPart(data=None, **LABELS))["data"] == "null"
    assert p.part_columns(p.TextPart(text="a", **LABELS))["data"] is None


def test_a_verdict_stands_in_the_data_and_in_the_status() -> None:
    part = p.VerificationPart(verdict=p.Verdict.FAILED, check="pytest", counts=p.CheckCounts(failed=2), **LABELS)
    columns = p.part_columns(part)
    assert columns["status"] == "failed"
    assert columns["data"] == '{"check":"pytest","counts":{"failed":2},"verdict":"failed"}'


@pytest.mark.parametrize(
    ("changed", "hint"),
    [
        ({"part_type": "txt"}, "Unknown part_type 'txt'. Did you mean 'text'"),
        ({"part_trust_level": "USER"}, "Did you mean 'USER_TRUSTED'"),
        ({"status": "FAILED"}, "Unknown field 'status'"),
        ({"data": "[1]"}, "data of a TextPart is an object, not list"),
        ({"data": "{"}, "data holds no JSON text"),
    ],
)
def test_columns_that_hold_no_part_are_refused(changed: dict[str, object], hint: str) -> None:
    columns = p.part_columns(p.TextPart(text="a", **LABELS)) | changed
    with pytest.raises(ProtocolError) as caught:
        p.part_from_columns(columns)
    assert hint in str(caught.value)


def test_columns_whose_labels_contradict_their_parts_are_refused() -> None:
    part = p.TextPart(text="a", **LABELS)
    message = p.AgentMessage(
        message_id="m",
        session_id="s",
        run_id="r",
        sequence_no=0,
        created_at=None,
        kind=p.MessageKind.USER_TASK,
        actor="u",
        parts=(part,),
    )
    with pytest.raises(ProtocolError, match="lowest trust"):
        p.message_from_columns(p.message_columns(message) | {"trust_level": "USER_TRUSTED"}, [part])
