"""Each of the nine part types says what it is, and refuses what contradicts itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import names as p
from tests.protocol import strategies

LABELS: dict[str, Any] = {"trust_level": "TOOL_TRUSTED", "visibility": "MODEL_VISIBLE"}


@strategies.patient
@given(strategies.parts)
def test_a_part_is_recognised_by_its_type(part: p.Part) -> None:
    again = p.parse_part(part.model_dump_json())
    assert type(again) is type(part)
    assert again == part


def test_the_tool_result_of_the_specification_is_read() -> None:
    part = p.parse_part(
        {
            "type": "tool_result",
            "tool_call_id": "call-456",
            "status": "SUCCEEDED",
            "summary": "Found 4 pom.xml files. Root module uses Java 21.",
            "artifact_refs": ["artifact:search-output-789", "full-log-1"],
            **LABELS,
        }
    )
    assert isinstance(part, p.ToolResultPart)
    assert part.artifact_refs == ("search-output-789", "full-log-1")


def test_a_part_without_labels_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"trust_level is missing\. visibility is missing"):
        p.parse_part({"type": "text", "text": "a"})


def test_a_result_cannot_still_be_requested() -> None:
    with pytest.raises(ValidationError, match="use UNKNOWN"):
        p.ToolResultPart(tool_call_id="c", status=p.ToolStatus.REQUESTED, **LABELS)


@pytest.mark.parametrize("call_id", ["", None])
def test_a_call_without_an_id_is_refused(call_id: str | None) -> None:
    with pytest.raises(ValidationError, match="tool_call_id"):
        p.ToolCallPart.model_validate({"tool_call_id": call_id, "tool_name": "t", "arguments": {}, **LABELS})


def test_the_hash_of_the_arguments_is_derived() -> None:
    one = p.ToolCallPart(tool_call_id="c", tool_name="t", arguments={"a": 1, "b": [2]}, **LABELS)
    other = p.ToolCallPart(tool_call_id="d", tool_name="t", arguments={"b": [2], "a": 1}, **LABELS)
    assert one.arguments_hash == other.arguments_hash == p.arguments_hash({"a": 1, "b": [2]})


def test_a_hash_that_is_given_is_kept_because_arguments_may_have_been_redacted() -> None:
    part = p.ToolCallPart(
        tool_call_id="c", tool_name="t", arguments={"a": "[...]"}, arguments_hash="sha256:0", **LABELS
    )
    assert part.arguments_hash == "sha256:0"


def test_lines_of_a_snippet_do_not_run_backwards_but_a_snippet_may_be_empty() -> None:
    with pytest.raises(ValidationError, match="start_line 5 stands behind end_line 3"):
        p.FileSnippetPart(path="a.py", text="", start_line=5, end_line=3, **LABELS)
    assert p.FileSnippetPart(path="a.py", text="", start_line=1, end_line=0, **LABELS).total_lines is None


def test_counts_that_a_verifier_did_not_give_are_unknown_not_zero() -> None:
    part = p.VerificationPart(verdict=p.Verdict.INCONCLUSIVE, counts=p.CheckCounts(failed=0), **LABELS)
    assert (part.counts.passed, part.counts.failed) == (None, 0)


def test_details_may_not_hide_a_structured_field() -> None:
    with pytest.raises(ValidationError, match="verdict"):
        p.VerificationPart(verdict=p.Verdict.FAILED, details={"verdict": "passed"}, **LABELS)
    assert p.VerificationPart(verdict=p.Verdict.FAILED, details={"path": "x"}, **LABELS).details == {"path": "x"}


def test_a_tool_call_knows_whether_it_is_open_and_how_long_it_took() -> None:
    start = datetime(2026, 7, 3, 10, tzinfo=UTC)
    call = p.ToolCall(tool_call_id="c", parent_message_id="m", tool_name="t", started_at=start)
    assert call.is_open
    assert call.duration is None
    ended = call.model_copy(update={"status": p.ToolStatus.FAILED, "finished_at": start + timedelta(seconds=2)})
    assert not ended.is_open
    assert ended.duration == timedelta(seconds=2)
