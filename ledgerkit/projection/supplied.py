"""What a caller adds to a context: a log seldom holds the policy, the profile, the contract or the tools' schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ledgerkit.protocol.contracts import PermissionProfile, RiskClass, TaskContract
from ledgerkit.protocol.requests import LlmRequestOptions, ToolDefinition
from ledgerkit.protocol.responses import ResponseContract


@dataclass(frozen=True)
class Supplied:
    """What stands in a context beside what the ledger recorded. What is not given is "not recorded", never invented.

    Attributes:
        platform_policy: The platform's policy, as text.
        org_policy: The organisation's policy, as text.
        permission_profile: What the agent may do; the recorded one, if there is one, when not given.
        task: The task contract; the recorded one, if there is one, when not given.
        tools: Tools that the model is told of.
        tool_risks: Greatest harm of what a tool can do, by its name; what is not named is of low risk.
        response_contract: The form of the answer; free text if not given.
        memory: Whether the run's working memory stands in the context. By default with a budget.
        repository_map: Whether a map of the files seen stands in it. By default with a budget.
        model: The model that is asked; the recorded one of the step if not given.
        options: How it is to answer.
        nonce: Mark of the boundaries; a function of the run's id if not given.
    """

    platform_policy: str | None = None
    org_policy: str | None = None
    permission_profile: PermissionProfile | None = None
    task: TaskContract | None = None
    tools: tuple[ToolDefinition, ...] = ()
    tool_risks: Mapping[str, RiskClass] = field(default_factory=dict[str, RiskClass])
    response_contract: ResponseContract | None = None
    memory: bool | None = None
    repository_map: bool | None = None
    model: str | None = None
    options: LlmRequestOptions = field(default_factory=LlmRequestOptions)
    nonce: str | None = None
