"""What an agent may do, is asked to do and may spend: given by people, never by what the agent reads.

A tool that a permission profile does not name is denied. A credential is a lease to be redeemed at the execution
boundary: no model here has a field that could hold a secret. Money is in US dollars.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from ledgerkit.protocol.instructions import ANYTHING, Subject
from ledgerkit.protocol.model import Count, Flag, Identifier, Model, Money, StepNumber, Text, Time
from ledgerkit.protocol.references import EvidenceRef


class RiskClass(StrEnum):
    """How much harm an action can do, least first."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class NetworkAccess(StrEnum):
    """What of the network may be reached."""

    NONE = "none"
    LISTED_HOSTS = "listed_hosts"
    ALL = "all"


class ToolPermission(StrEnum):
    """What a permission profile says of a tool."""

    ALLOWED = "allowed"
    NEEDS_APPROVAL = "needs_approval"
    DENIED = "denied"


class SpendingLimits(Model):
    """What a run may spend, or has left; ``None`` where there is no limit, or none is known."""

    cost_usd: Money | None = None
    """US dollars."""
    steps: StepNumber | None = None
    """Model calls."""
    input_tokens: Count | None = None
    """Input tokens, cached ones included."""
    output_tokens: Count | None = None
    """Output tokens."""
    seconds: Count | None = None
    """Wall-clock seconds."""


class SuccessCheck(Model):
    """A check that decides whether the work is done."""

    name: Identifier
    """Name of the check, as verifier results give it."""
    command: Text | None = None
    """The whole command; a narrower one does not prove it."""
    scope: Text | None = None
    """What it covers."""
    is_required: Flag = True
    """Whether the work is not done while it fails."""


class TaskContract(Model):
    """What is to be done and within which limits. Evidence refers to its fields as ``task:goal``, ``task:scope``."""

    task_id: Identifier | None = None
    """The task, where it has an id."""
    goal: Annotated[Text, Field(min_length=1)]
    """What is to be reached."""
    scope: tuple[Text, ...] = ()
    """What belongs to the task."""
    allowed_changes: tuple[Text, ...] = ()
    """What may be changed."""
    forbidden_changes: tuple[Text, ...] = ()
    """What may not."""
    definition_of_done: tuple[Text, ...] = ()
    """When the task is done."""
    success_checks: tuple[SuccessCheck, ...] = ()
    """The checks that show it."""
    budget: SpendingLimits = SpendingLimits()
    """What it may cost."""

    @model_validator(mode="after")
    def _checks_have_names_of_their_own(self) -> TaskContract:
        _refuse_repeated("success check", [check.name for check in self.success_checks])
        return self


class PermissionProfile(Model):
    """What the platform lets an agent do."""

    name: Identifier
    """The profile."""
    allowed_tools: tuple[Identifier, ...] = ()
    """Tools that may be used freely."""
    approval_tools: tuple[Identifier, ...] = ()
    """Tools that need an approval each time."""
    denied_tools: tuple[Identifier, ...] = ()
    """Tools that may never be used."""
    readable_paths: tuple[Text, ...] = ()
    """Patterns of paths that may be read."""
    writable_paths: tuple[Text, ...] = ()
    """Patterns of paths that may be written."""
    denied_paths: tuple[Text, ...] = ()
    """Patterns of paths that may be neither; they win."""
    network: NetworkAccess = NetworkAccess.NONE
    """What of the network may be reached."""
    hosts: tuple[Identifier, ...] = ()
    """The hosts that may be reached, if only listed ones."""
    risk_class: RiskClass = RiskClass.LOW
    """Greatest risk of an action that needs no approval."""

    @model_validator(mode="after")
    def _says_one_thing_of_each(self) -> PermissionProfile:
        _refuse_repeated("tool", [*self.allowed_tools, *self.approval_tools, *self.denied_tools])
        if bool(self.hosts) != (self.network is NetworkAccess.LISTED_HOSTS):
            raise ValueError(f"hosts are listed if and only if network is 'listed_hosts'; it is {self.network.value!r}")
        return self

    def permission(self, tool_name: str) -> ToolPermission:
        """What the profile says of a tool; a tool that it does not name is denied."""
        if tool_name in self.allowed_tools:
            return ToolPermission.ALLOWED
        return ToolPermission.NEEDS_APPROVAL if tool_name in self.approval_tools else ToolPermission.DENIED


class CredentialLease(Model):
    """A right to use a credential for a time: a reference, never its value."""

    lease_id: Identifier
    """What the execution boundary redeems."""
    credential_name: Identifier
    """Which credential, by the name that its keeper gives it."""
    run_id: Identifier
    """The run that may use it."""
    tools: tuple[Identifier, ...] = Field(min_length=1)
    """Tools that may use it."""
    hosts: tuple[Identifier, ...] = ()
    """Hosts to which it may be sent."""
    issued_at: Time
    """From when."""
    expires_at: Time
    """Until when."""

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> CredentialLease:
        if self.expires_at <= self.issued_at:
            raise ValueError(f"expires_at {self.expires_at} is not after issued_at {self.issued_at}")
        return self


class ApprovalRequest(Model):
    """An action that an agent may not take on its own."""

    request_id: Identifier
    """The request."""
    action: Annotated[Text, Field(min_length=1)]
    """What it wants to do."""
    reason: Text
    """Why."""
    scope: tuple[Subject, ...] = Field(min_length=1)
    """What it is for, by subject: ``files/service-b/a.py``."""
    risk_class: RiskClass
    """How much harm it can do."""
    tool_call_id: Identifier | None = None
    """The call that waits for it."""
    arguments_hash: Identifier | None = None
    """The exact arguments that are to be approved."""
    evidence_refs: tuple[EvidenceRef, ...] = ()
    """What shows that it is needed."""
    requested_at: Time | None = None
    """When."""


class ApprovalOutcome(StrEnum):
    """What was decided."""

    APPROVED = "approved"
    DENIED = "denied"


class ApprovalDecision(Model):
    """The task owner's answer. It amends the task contract for its scope, and never a policy."""

    request_id: Identifier
    """The request that it answers."""
    outcome: ApprovalOutcome
    """What was decided."""
    decided_by: Identifier
    """Who decided."""
    scope: tuple[Subject, ...] = Field(min_length=1)
    """What it is for, by subject; it may be narrower than what was asked for."""
    arguments_hash: Identifier | None = None
    """The exact arguments that were approved; another call needs another approval."""
    note: Text | None = None
    """What was said about it."""
    decided_at: Time | None = None
    """When."""
    expires_at: Time | None = None
    """Until when it holds."""

    @model_validator(mode="after")
    def _names_its_scope(self) -> ApprovalDecision:
        if ANYTHING in self.scope:
            raise ValueError("an approval names what it is for; '*' is no scope")
        return self


def _refuse_repeated(what: str, names: list[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{what} named more than once: {', '.join(repeated)}")
