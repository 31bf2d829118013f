"""A message's labels follow from its parts; what a writer hands in becomes that message."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from pydantic import ValidationError

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import names as p
from tests.protocol import strategies

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def text_part(trust: p.TrustLevel, visibility: p.Visibility = p.Visibility.MODEL_VISIBLE) -> p.TextPart:
    return p.TextPart(text="a", trust_level=trust, visibility=visibility)


def message(*parts: p.Part, **fields: object) -> p.AgentMessage:
    known: dict[str, object] = {
        "message_id": "m",
        "session_id": "s",
        "run_id": "r",
        "sequence_no": 0,
        "created_at": NOW,
        "kind": p.MessageKind.USER_TASK,
        "actor": "user",
    }
    return p.AgentMessage.model_validate({"parts": parts} | known | fields)


@strategies.patient
@given(strategies.messages)
def test_a_message_has_the_lowest_trust_and_the_widest_visibility_of_its_parts(one: p.AgentMessage) -> None:
    assert all(part.trust_level.rank <= one.trust_level.rank for part in one.parts)
    assert any(part.trust_level is one.trust_level for part in one.parts)
    assert all(part.visibility.rank >= one.visibility.rank for part in one.parts)
    assert any(part.visibility is one.visibility for part in one.parts)


def test_labels_are_derived() -> None:
    one = message(
        text_part(p.TrustLevel.USER_TRUSTED, p.Visibility.AUDIT_ONLY),
        text_part(p.TrustLevel.REPOSITORY_UNTRUSTED, p.Visibility.HUMAN_VISIBLE),
    )
    assert (one.trust_level, one.visibility) == (p.TrustLevel.REPOSITORY_UNTRUSTED, p.Visibility.HUMAN_VISIBLE)


def test_a_trust_above_that_of_the_parts_is_refused() -> None:
    with pytest.raises(ValidationError, match="lowest trust of the parts is NETWORK_UNTRUSTED"):
        message(text_part(p.TrustLevel.NETWORK_UNTRUSTED), trust_level=p.TrustLevel.USER_TRUSTED)


def test_a_trust_below_that_of_the_parts_is_refused_too() -> None:
    with pytest.raises(ValidationError, match="lowest trust of the parts is USER_TRUSTED"):
        message(text_part(p.TrustLevel.USER_TRUSTED), trust_level=p.TrustLevel.UNKNOWN)


def test_a_visibility_other_than_the_widest_is_refused() -> None:
    with pytest.raises(ValidationError, match="widest of the parts is AUDIT_ONLY"):
        message(text_part(p.TrustLevel.UNKNOWN, p.Visibility.AUDIT_ONLY), visibility=p.Visibility.MODEL_VISIBLE)


def test_a_message_without_parts_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        message()


@strategies.patient
@given(strategies.commands)
def test_a_command_becomes_the_message_that_it_says(command: p.AppendMessageCommand) -> None:
    made = command.to_message(message_id="m7", sequence_no=7, created_at=NOW)
    assert (made.message_id, made.sequence_no) == ("m7", 7)
    assert made.created_at == (command.created_at or NOW)
    assert (made.trust_level, made.visibility) == (command.trust_level, command.visibility)
    assert (made.parts, made.metadata, made.call) == (command.parts, command.metadata, command.call)
    assert p.parse_message(made.model_dump_json()) == made


def test_a_command_has_no_labels_to_set() -> None:
    with pytest.raises(ProtocolError, match="Unknown field 'trust_level'"):
        p.parse(p.AppendMessageCommand, {"trust_level": "PLATFORM_TRUSTED"})


def test_a_range_holds_both_its_ends() -> None:
    some = p.MessageRange(first=3, last=5)
    assert [number for number in range(8) if number in some] == [3, 4, 5]
    assert len(some) == 3


def test_a_range_that_runs_backwards_is_refused() -> None:
    with pytest.raises(ValidationError, match="messages 5 to 3 run backwards"):
        p.MessageRange(first=5, last=3)


def test_a_decision_summary_keeps_its_evidence() -> None:
    command = p.decision_summary(
        "Inspect the Maven modules, because there are several pom.xml files.",
        ["artifact:repo-map-001", "tool-call:search-files-004"],
        session_id="s",
        run_id="r",
        actor="model-1",
        step=4,
    )
    assert command.kind is p.MessageKind.AGENT_THOUGHT_SUMMARY
    assert command.trust_level is p.TrustLevel.MODEL_GENERATED
    assert [str(ref) for ref in command.parts[0].evidence_refs] == [
        "artifact:repo-map-001",
        "tool-call:search-files-004",
    ]


def test_a_decision_summary_without_evidence_is_refused() -> None:
    with pytest.raises(ValueError, match="needs evidence"):
        p.decision_summary("It is fine.", [], session_id="s", run_id="r", actor="model-1")


def test_the_usage_of_a_message_is_that_of_its_call() -> None:
    usage = p.Usage(input_tokens=10, output_tokens=2)
    assert message(text_part(p.TrustLevel.MODEL_GENERATED), call=p.ModelCall(call_id="c", usage=usage)).usage == usage
    assert message(text_part(p.TrustLevel.MODEL_GENERATED)).usage is None


def test_a_call_or_source_of_which_nothing_is_known_is_refused() -> None:
    for model in (p.ModelCall, p.SourceRecord):
        with pytest.raises(ValidationError, match="nothing is known"):
            model()
