"""Contracts and permissions say one thing of each tool, and no model has room for a secret."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import names as p
from tests.protocol import strategies

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def test_the_contract_of_the_specification_can_be_said() -> None:
    contract = p.TaskContract(
        goal="Upgrade legacy-client to 3.x.",
        scope=("service-a module only",),
        allowed_changes=("production code", "tests", "pom.xml"),
        forbidden_changes=("deployment manifests", "secrets", "generated files"),
        definition_of_done=("compile passes", "unit tests for service-a pass"),
        success_checks=(p.SuccessCheck(name="unit tests", command="mvn -pl service-a test"),),
    )
    assert p.parse(p.TaskContract, contract.model_dump_json()) == contract


def test_two_checks_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="success check named more than once: tests"):
        p.TaskContract(goal="g", success_checks=(p.SuccessCheck(name="tests"), p.SuccessCheck(name="tests")))


@strategies.patient
@given(strategies.profiles())
def test_a_profile_says_one_thing_of_each_tool(profile: p.PermissionProfile) -> None:
    said = {
        p.ToolPermission.ALLOWED: profile.allowed_tools,
        p.ToolPermission.NEEDS_APPROVAL: profile.approval_tools,
        p.ToolPermission.DENIED: profile.denied_tools,
    }
    for permission, tools in said.items():
        assert all(profile.permission(tool) is permission for tool in tools)


def test_a_tool_that_a_profile_does_not_name_is_denied() -> None:
    profile = p.PermissionProfile(name="read-only", allowed_tools=("read",))
    assert profile.permission("Read") is p.ToolPermission.DENIED


@pytest.mark.parametrize("other", ["approval_tools", "denied_tools"])
def test_a_tool_that_is_allowed_and_something_else_is_refused(other: str) -> None:
    fields: dict[str, Any] = {"name": "n", "allowed_tools": ["shell"], other: ["shell"]}
    with pytest.raises(ProtocolError, match="tool named more than once: shell"):
        p.parse(p.PermissionProfile, fields)


@pytest.mark.parametrize(
    "fields", [{"network": "listed_hosts"}, {"hosts": ["a.example"]}, {"network": "all", "hosts": ["a"]}]
)
def test_hosts_are_listed_if_and_only_if_they_count(fields: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="hosts are listed if and only if"):
        p.parse(p.PermissionProfile, {"name": "n"} | fields)


def lease(**changed: object) -> dict[str, object]:
    known: dict[str, object] = {
        "lease_id": "l",
        "credential_name": "test-database",
        "run_id": "r",
        "tools": ["run_tests"],
        "issued_at": NOW,
        "expires_at": NOW + timedelta(minutes=5),
    }
    return known | changed


@pytest.mark.parametrize("field", ["value", "secret", "token", "password"])
def test_a_lease_has_no_place_for_a_value(field: str) -> None:
    with pytest.raises(ProtocolError, match=f"Unknown field '{field}'"):
        p.parse(p.CredentialLease, lease(**{field: "x"}))


@pytest.mark.parametrize("changed", [{"expires_at": NOW}, {"tools": []}])
def test_a_lease_ends_and_is_for_some_tool(changed: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        p.parse(p.CredentialLease, lease(**changed))


@pytest.mark.parametrize("scope", [[], ["*"], ["files/../etc"]])
def test_an_approval_names_its_scope(scope: list[str]) -> None:
    fields = {"request_id": "q", "outcome": "approved", "decided_by": "owner"}
    assert p.parse(p.ApprovalDecision, fields | {"scope": ["files/service-b/one.java"]})
    with pytest.raises(ProtocolError, match="scope"):
        p.parse(p.ApprovalDecision, fields | {"scope": scope})
