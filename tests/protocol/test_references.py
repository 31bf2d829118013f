"""A reference is one word that reads back as itself, whatever stands in its path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.names import AgentMessage, CharRange, EvidenceKind, EvidenceRef, LineRange, TextPart
from tests.protocol import strategies


@strategies.patient
@given(strategies.evidence_refs)
def test_a_reference_reads_back_as_itself(ref: EvidenceRef) -> None:
    assert EvidenceRef.parse(str(ref)) == ref


@strategies.patient
@given(strategies.evidence_refs)
def test_a_reference_is_one_word(ref: EvidenceRef) -> None:
    assert str(ref).split() == [str(ref)]


@strategies.patient
@given(st.text(max_size=30) | st.builds("{}:{}".format, st.sampled_from(EvidenceKind), strategies.awkward_targets))
def test_any_text_is_either_refused_or_read_as_a_reference_with_one_form(text: str) -> None:
    try:
        ref = EvidenceRef.parse(text)
    except ProtocolError:
        return
    assert EvidenceRef.parse(str(ref)) == ref
    assert str(EvidenceRef.parse(str(ref))) == str(ref)


@strategies.patient
@given(strategies.evidence_refs, strategies.evidence_refs)
def test_different_references_have_different_texts(one: EvidenceRef, other: EvidenceRef) -> None:
    assert (one == other) == (str(one) == str(other))


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("artifact:repo-map-001", EvidenceKind.ARTIFACT, "repo-map-001"),
        ("tool-call:maven-test-018", EvidenceKind.TOOL_CALL, "maven-test-018"),
        ("task:scope", EvidenceKind.TASK, "scope"),
        ("file:C:/src/a.py", EvidenceKind.FILE, "C:/src/a.py"),
        ("message:019b76da-a800-7000-8000-000000000000", EvidenceKind.MESSAGE, "019b76da-a800-7000-8000-000000000000"),
        ("file:my notes.md", EvidenceKind.FILE, "my notes.md"),
        ("file:%C3%A9.md", EvidenceKind.FILE, "é.md"),
    ],
)
def test_the_forms_of_the_specification_are_read(text: str, kind: EvidenceKind, target: str) -> None:
    assert EvidenceRef.parse(text) == EvidenceRef(kind=kind, target=target)


def test_ranges_are_read() -> None:
    assert EvidenceRef.parse("file:a.py#L10-L20").range == LineRange(first=10, last=20)
    assert EvidenceRef.parse("file:a.py#L10") == EvidenceRef.parse("file:a.py#L10-L10")
    assert EvidenceRef.parse("message:m#c100-180").range == CharRange(start=100, end=180)


def test_a_path_may_look_like_a_range() -> None:
    ref = EvidenceRef(kind=EvidenceKind.FILE, target="a#L1-L2", range=LineRange(first=3, last=4))
    assert str(ref) == "file:a%23L1-L2#L3-L4"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "Known: message"),
        ("repo-map-001", "Known: message"),
        ("artefact:1", "Did you mean 'artifact'"),
        ("Message:1", "Did you mean 'message'"),
        ("file:", "names no file"),
        ("file:#L1-L2", "names no file"),
        ("file:C#/a.py", "'%23'"),
        ("file:a#L1-L2#L3-L4", "'%23'"),
        ("file:100%.txt", "'%25'"),
        ("file:%ff", "not UTF-8"),
        ("file:a#", "'%23'"),
        ("file:a#L0-L2", "lines count from 1"),
        ("file:a#L9-L2", "nothing runs backwards"),
        ("file:a#c5-5", "nothing runs backwards"),
        ("file:a#L\uff11-L\uff12", "'%23'"),
        ("file:a#L1-L9999999999999", "'%23'"),
    ],
)
def test_what_is_no_reference_is_refused_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        EvidenceRef.parse(text)
    assert hint in str(caught.value)


def test_a_lone_surrogate_in_a_path_is_refused() -> None:
    with pytest.raises(ValueError, match="lone surrogate"):
        EvidenceRef.parse("file:a\udcff")
    with pytest.raises(ValueError, match="lone surrogate"):
        EvidenceRef(kind=EvidenceKind.FILE, target="a\udcff")


def test_a_reference_is_a_text_in_json_and_may_be_given_as_one() -> None:
    part = TextPart.model_validate(
        {"text": "a", "trust_level": "UNKNOWN", "visibility": "AUDIT_ONLY", "evidence_refs": ["task:goal"]}
    )
    assert part.evidence_refs == (EvidenceRef.parse("task:goal"),)
    assert '"evidence_refs":["task:goal"]' in part.model_dump_json()


def test_references_can_be_collected_in_a_set() -> None:
    assert len({EvidenceRef.parse("file:a#L1"), EvidenceRef.parse("file:a#L1-L1"), EvidenceRef.parse("file:a")}) == 2


def test_a_message_names_the_reference_that_it_cannot_read() -> None:
    with pytest.raises(ValueError, match="artefact"):
        AgentMessage.model_validate({"parts": [{"type": "text", "evidence_refs": ["artefact:1"]}]})
