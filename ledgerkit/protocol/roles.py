"""A message kind is not a provider role: one table says how each kind is spoken to a model (specification §4).

No table entry lets untrusted content instruct: where a kind would stand in an instruction position and the content
may not, it is said by the user role instead, inside a boundary.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from ledgerkit.protocol.model import Flag, Model
from ledgerkit.protocol.requests import may_instruct
from ledgerkit.protocol.vocabulary import ContextSection, LlmRole, MessageKind, PartType, TrustLevel


class KindRole(Model):
    """How messages of a kind are spoken to a model."""

    kind: MessageKind
    """The kind."""
    role: LlmRole
    """The role that speaks them."""
    fallback: LlmRole | None = None
    """The role where a provider lacks the first one, or where no tool call is open to be answered."""
    block: PartType = PartType.TEXT
    """The form: text, a tool call or a tool result."""
    in_boundary: Flag = False
    """Whether the content stands inside a boundary that marks it as data, whatever its trust."""
    section: ContextSection | None = None
    """The section that it belongs to; ``None``: its place in the conversation."""
    only_if_selected: Flag = False
    """Whether it is not sent unless a strategy selects it."""


_ROWS: Final = (
    KindRole(kind=MessageKind.SYSTEM_INSTRUCTION, role=LlmRole.SYSTEM),
    KindRole(kind=MessageKind.ORG_POLICY, role=LlmRole.SYSTEM),
    KindRole(kind=MessageKind.DEVELOPER_INSTRUCTION, role=LlmRole.DEVELOPER, fallback=LlmRole.SYSTEM),
    KindRole(
        kind=MessageKind.REPOSITORY_INSTRUCTION,
        role=LlmRole.USER,
        in_boundary=True,
        section=ContextSection.REPOSITORY_INSTRUCTIONS,
    ),
    KindRole(kind=MessageKind.USER_TASK, role=LlmRole.USER),
    KindRole(kind=MessageKind.AGENT_THOUGHT_SUMMARY, role=LlmRole.ASSISTANT),
    KindRole(kind=MessageKind.ASSISTANT_RESPONSE, role=LlmRole.ASSISTANT),
    KindRole(kind=MessageKind.TOOL_CALL_REQUEST, role=LlmRole.ASSISTANT, block=PartType.TOOL_CALL),
    *(
        KindRole(kind=kind, role=LlmRole.TOOL, fallback=LlmRole.USER, block=PartType.TOOL_RESULT, in_boundary=True)
        for kind in (MessageKind.TOOL_CALL_RESULT, MessageKind.FILE_OBSERVATION, MessageKind.DIFF_OBSERVATION)
    ),
    KindRole(
        kind=MessageKind.VERIFIER_RESULT,
        role=LlmRole.TOOL,
        fallback=LlmRole.USER,
        block=PartType.TOOL_RESULT,
        in_boundary=True,
        section=ContextSection.VERIFIER,
    ),
    KindRole(kind=MessageKind.APPROVAL_DECISION, role=LlmRole.DEVELOPER, fallback=LlmRole.SYSTEM),
    KindRole(kind=MessageKind.RUN_SUMMARY, role=LlmRole.USER, in_boundary=True, section=ContextSection.WORKING_MEMORY),
    *(
        KindRole(kind=kind, role=LlmRole.USER, in_boundary=True, only_if_selected=True)
        for kind in (MessageKind.JUDGE_RESULT, MessageKind.APPROVAL_REQUEST, MessageKind.ERROR_EVENT)
    ),
)

ROLE_OF_KIND: Final[Mapping[MessageKind, KindRole]] = MappingProxyType({row.kind: row for row in _ROWS})
"""One row per message kind."""


def provider_role(
    kind: MessageKind, trust_level: TrustLevel, supported: Collection[LlmRole], *, call_is_open: bool
) -> LlmRole:
    """The role that speaks a part to one provider.

    Args:
        kind: Kind of the part's message.
        trust_level: Trust of the part.
        supported: Roles that the provider has.
        call_is_open: Whether the part answers a tool call that the context holds and nothing has answered yet.

    Returns:
        The role of the kind, or its fallback; the user role for content that may not instruct, and where the
        provider has neither.

    Example:
        >>> provider_role(
        ...     MessageKind.DEVELOPER_INSTRUCTION, TrustLevel.ORG_TRUSTED, {LlmRole.SYSTEM}, call_is_open=False
        ... )
        <LlmRole.SYSTEM: 'system'>
    """
    row = ROLE_OF_KIND[kind]
    candidates = (row.fallback,) if row.role is LlmRole.TOOL and not call_is_open else (row.role, row.fallback)
    role = next((one for one in candidates if one is not None and one in supported), LlmRole.USER)
    if role in (LlmRole.SYSTEM, LlmRole.DEVELOPER) and not may_instruct(trust_level):
        return LlmRole.USER
    return role
