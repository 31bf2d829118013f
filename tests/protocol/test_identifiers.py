"""Identifiers are ordered by time, and those of imports depend on nothing but what they name."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgerkit.protocol.names import is_uuid, unix_ms, uuid7, uuid8
from tests.protocol import strategies

milliseconds = st.integers(0, 2**48 - 1)
randomness = st.binary(min_size=10, max_size=16)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@strategies.patient
@given(milliseconds, st.lists(st.text()))
def test_the_id_of_an_import_has_version_8_and_its_time_in_front(ms: int, identity: list[str]) -> None:
    made = uuid.UUID(uuid8(ms, *identity))
    assert (made.version, made.variant, made.int >> 80) == (8, uuid.RFC_4122, ms)


@strategies.patient
@given(milliseconds, st.lists(st.text()), milliseconds, st.lists(st.text()))
def test_earlier_ids_sort_first_and_other_identities_have_other_ids(
    ms: int, identity: list[str], later: int, other: list[str]
) -> None:
    one, two = uuid8(ms, *identity), uuid8(later, *other)
    assert one == uuid8(ms, *identity)
    if ms != later:
        assert (one < two) == (ms < later)
    elif "\x1f".join(identity) != "\x1f".join(other):
        assert one != two


@strategies.patient
@given(st.datetimes(datetime(1970, 1, 1), timezones=st.just(UTC)), randomness)
def test_a_live_id_has_version_7_and_its_moment_in_front(moment: datetime, random: bytes) -> None:
    made = uuid.UUID(uuid7(moment, random))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert (
        EPOCH + timedelta(milliseconds=made.int >> 80) <= moment < EPOCH + timedelta(milliseconds=(made.int >> 80) + 1)
    )


def test_a_time_that_is_unknown_or_before_1970_counts_as_0() -> None:
    assert (unix_ms(None), unix_ms(datetime(1969, 12, 31, tzinfo=UTC))) == (0, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("019b76da-a800-7000-8000-000000000000", True),
        ("019B76DA-A800-7000-8000-000000000000", True),
        ("019b76daa80070008000000000000000", False),
        ("{019b76da-a800-7000-8000-000000000000}", False),
        ("msg-123", False),
        ("", False),
    ],
)
def test_only_the_usual_form_of_a_uuid_is_one(text: str, expected: bool) -> None:
    assert is_uuid(text) is expected
