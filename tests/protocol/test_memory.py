"""Nothing enters a memory without evidence."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import jsonschema
from ledgerkit.protocol import names as p

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ENTRIES = ["Blocker", "ChangedFile", "Decision", "Fact", "Failure", "Goal", "OpenProblem", "PlanItem", "RepositoryFact"]


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("fields", [{}, {"evidence_refs": []}])
def test_an_entry_without_evidence_is_refused(name: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="evidence_refs"):
        p.parse(jsonschema.MODELS[name], fields)


def test_a_fact_as_bare_text_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"known_facts\[0\]"):
        p.parse(p.WorkingMemory, {"run_id": "r", "known_facts": ["The code is probably fine now."]})


def test_the_working_memory_of_the_specification_can_be_said() -> None:
    memory = p.parse(
        p.WorkingMemory,
        {
            "run_id": "run-001",
            "task_goal": {"goal": "Upgrade legacy-client to 3.x", "evidence_refs": ["task:goal"]},
            "current_plan": [{"item": "Inspect Maven modules", "evidence_refs": ["message:m1"]}],
            "changed_files": [{"path": "service-a/pom.xml", "evidence_refs": ["tool-call:edit-1"]}],
            "known_facts": [{"fact": "mvn -pl service-a test passed.", "evidence_refs": ["tool-call:maven-test-018"]}],
            "open_problems": [{"problem": "Two tests fail.", "evidence_refs": ["artifact:test-output-004"]}],
            "blocked_by": [],
        },
    )
    assert memory.known_facts[0].outcome is p.ClaimOutcome.UNVERIFIED
    assert memory.known_facts[0].trust_level is p.TrustLevel.UNKNOWN


def test_the_summary_of_the_specification_can_be_said() -> None:
    summary = p.parse(
        p.Summary,
        {
            "summary_version": "1.0",
            "facts": [
                {"fact": "service-a uses 2.4.1", "evidence_refs": ["artifact:pom-read-001"], "confidence": "HIGH"}
            ],
            "decisions": [
                {"decision": "Limit changes", "reason": "Scope forbids service-b", "evidence_refs": ["task:scope"]}
            ],
            "open_problems": [],
            "changed_files": [],
            "discarded_details": ["Full Maven dependency tree omitted; stored in artifact:dep-tree-001"],
        },
    )
    assert summary.facts[0].confidence is p.Confidence.HIGH


def test_a_summary_says_what_it_leaves_out_even_if_it_is_nothing() -> None:
    with pytest.raises(ProtocolError, match="discarded_details is missing"):
        p.parse(p.Summary, {})
    assert p.Summary(discarded_details=()).summary_version == "1.0"


@pytest.mark.parametrize("version", ["1", "v1.0", "1.0.0", "", "1.0\n"])
def test_a_summary_is_versioned(version: str) -> None:
    with pytest.raises(ValidationError):
        p.Summary(summary_version=version, discarded_details=())


def snapshot(content: p.Model, runs: list[str], **fields: object) -> p.MemorySnapshot:
    sources = tuple(p.SourceRange(run_id=run, messages=p.MessageRange(first=0, last=9)) for run in runs)
    known = {"snapshot_id": "n", "snapshot_version": 1, "content": content, "sources": sources, "created_at": NOW}
    return p.MemorySnapshot.model_validate(known | fields)


def test_the_projection_type_follows_from_the_content() -> None:
    one = snapshot(p.WorkingMemory(run_id="r"), ["r"], session_id="s", run_id="r")
    assert one.projection_type is p.MemoryKind.RUN_WORKING_MEMORY


@pytest.mark.parametrize(
    ("content", "runs", "fields", "hint"),
    [
        (p.WorkingMemory(run_id="r"), ["q"], {"run_id": "r"}, "memory of run 'r'"),
        (p.WorkingMemory(run_id="r"), ["r"], {"run_id": "q"}, "memory of run 'r'"),
        (p.WorkingMemory(run_id="r"), ["r"], {"run_id": "r", "projection_type": "session_summary"}, "projection_type"),
        (p.Summary(discarded_details=()), ["r"], {}, "needs a session_id"),
        (p.Summary(discarded_details=()), ["r", "r"], {"session_id": "s"}, "stands twice"),
        (p.Summary(discarded_details=()), [], {"session_id": "s"}, "at least 1"),
        (p.RepositoryMemory(repository="a"), ["r"], {"repository": "b"}, "memory of 'a' in a snapshot of 'b'"),
    ],
)
def test_a_snapshot_that_does_not_belong_to_its_content_is_refused(
    content: p.Model, runs: list[str], fields: dict[str, object], hint: str
) -> None:
    with pytest.raises(ValidationError, match=hint):
        snapshot(content, runs, **fields)


def test_a_failure_does_not_end_before_it_begins() -> None:
    with pytest.raises(ProtocolError, match="first_failed_at 5"):
        p.parse(
            p.Failure,
            {
                "check": "c",
                "first_failed_at": 5,
                "last_failed_at": 4,
                "is_resolved": False,
                "evidence_refs": ["task:goal"],
            },
        )
