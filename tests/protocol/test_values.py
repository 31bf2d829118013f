"""Values that JSON, UTF-8 or a column cannot hold are refused where they enter."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import names as p
from tests.protocol import strategies

LABELS: dict[str, Any] = {"trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
any_text = st.text(st.characters(exclude_categories=()), max_size=10)


def nested(depth: int) -> JsonValue:
    value: JsonValue = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", ["a\ud800", ["\udfff"], {"k": "\ud83d"}, {"\ud83d": 1}])
def test_a_lone_surrogate_is_refused_wherever_it_stands(value: JsonValue) -> None:
    with pytest.raises(ValidationError, match="lone surrogate"):
        p.JsonPart(data=value, **LABELS)


def test_a_lone_surrogate_in_json_text_is_refused_with_what_to_do() -> None:
    with pytest.raises(ProtocolError, match="replace_lone_surrogates"):
        p.parse_part('{"type": "text", "text": "a\\ud800", "trust_level": "UNKNOWN", "visibility": "AUDIT_ONLY"}')


@strategies.patient
@given(st.recursive(any_text, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3)))
def test_after_replacing_lone_surrogates_every_text_is_allowed(value: JsonValue) -> None:
    clean = p.replace_lone_surrogates(value)
    part = p.JsonPart(data=clean, **LABELS)
    assert p.parse_part(part.model_dump_json()) == part
    assert p.replace_lone_surrogates(clean) == clean


@strategies.patient
@given(strategies.json_values)
def test_replacing_lone_surrogates_changes_nothing_else(value: JsonValue) -> None:
    assert p.replace_lone_surrogates(value) == value


def test_a_surrogate_pair_becomes_the_character_that_it_means() -> None:
    assert p.replace_lone_surrogates("\ud83d\ude00 \ude00\ud83d") == "😀 ��"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_have_are_refused(number: float) -> None:
    with pytest.raises(ValidationError, match="JSON has no number"):
        p.JsonPart(data={"deep": [number]}, **LABELS)


def test_json_is_allowed_up_to_a_depth_at_which_a_whole_message_can_be_read_back() -> None:
    part = p.JsonPart(data=nested(p.MAX_JSON_DEPTH), **LABELS)
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
    assert p.parse_message(message.model_dump_json()) == message
    with pytest.raises(ValidationError, match="nested deeper"):
        p.JsonPart(data=nested(p.MAX_JSON_DEPTH + 1), **LABELS)


def test_a_structure_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValidationError, match="nested deeper"):
        p.JsonPart(data=loop, **LABELS)


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, {"a": {1}}, b"x", datetime(2026, 1, 1, tzinfo=UTC)])
def test_python_values_without_a_json_form_are_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        p.JsonPart.model_validate({"data": value, **LABELS})


def test_an_integer_larger_than_any_column_survives_json_and_one_that_cannot_be_read_back_is_refused() -> None:
    part = p.JsonPart(data=10**4000, **LABELS)
    assert p.parse_part(part.model_dump_json()) == part
    with pytest.raises(ValidationError, match="Write it as text"):
        p.JsonPart(data=10**5000, **LABELS)


def test_changing_the_object_that_was_handed_in_does_not_change_the_part() -> None:
    inner: list[JsonValue] = [1]
    part = p.JsonPart(data={"list": inner}, **LABELS)
    inner.append(2)
    assert part.data == {"list": [1]}


def test_a_model_cannot_be_changed() -> None:
    part = p.TextPart(text="a", **LABELS)
    with pytest.raises(ValidationError, match="frozen"):
        part.text = "b"


def call(**times: object) -> p.ToolCall:
    return p.ToolCall.model_validate({"tool_call_id": "c", "parent_message_id": "m", "tool_name": "t"} | times)


def test_times_are_written_in_utc_with_six_digits() -> None:
    moment = datetime(2026, 7, 3, 12, 0, tzinfo=timezone(timedelta(hours=2)))
    written = json.loads(call(started_at=moment).model_dump_json())["started_at"]
    assert written == "2026-07-03T10:00:00.000000Z"


def test_digits_finer_than_microseconds_are_cut_off() -> None:
    assert call(started_at="2026-07-03T10:00:00.123456789Z").started_at == datetime(2026, 7, 3, 10, 0, 0, 123456, UTC)


@strategies.patient
@given(strategies.times)
def test_a_time_is_the_same_moment_in_utc(moment: datetime) -> None:
    stored = call(started_at=moment).started_at
    assert stored == moment
    assert stored is not None
    assert stored.tzinfo is UTC


@pytest.mark.parametrize(
    "value",
    [
        1_780_000_000,
        1.78e9,
        "1780000000",
        "2026-07-03",
        "2026-07-03T10:00:00",
        datetime(2026, 7, 3, 10),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
        True,
    ],
)
def test_numbers_dates_times_without_a_zone_and_times_out_of_range_are_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        call(started_at=value)


@pytest.mark.parametrize(
    ("field", "value"), [("step", "3"), ("step", 3.0), ("step", True), ("step", 2**31), ("step", -1)]
)
def test_counts_are_whole_numbers_that_fit_their_column(field: str, value: object) -> None:
    with pytest.raises(ValidationError):
        p.TraceContext.model_validate({"session_id": "s", "run_id": "r", field: value})


@pytest.mark.parametrize("value", [0.1, True, "0.0000000001", "-1", "NaN", "1e10"])
def test_amounts_that_are_not_whole_nano_dollars_are_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        p.SpendingLimits.model_validate({"cost_usd": value})


def test_an_amount_is_exact() -> None:
    limits = p.SpendingLimits(cost_usd=Decimal("999999999.999999999"))
    assert p.SpendingLimits.model_validate_json(limits.model_dump_json()).cost_usd == Decimal("999999999.999999999")


@pytest.mark.parametrize("value", ["", "text", "text/", "te xt/plain", "text/plain\n", "текст/plain"])
def test_a_content_type_is_a_media_type(value: str) -> None:
    with pytest.raises(ValidationError):
        p.TextPart(text="a", content_type=value, **LABELS)
