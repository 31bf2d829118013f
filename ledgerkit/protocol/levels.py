"""The levels of the instruction stack: which one a part has, by what it is and whom it is from."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from ledgerkit.protocol.vocabulary import InstructionPriority, MessageKind, TrustLevel


class AuthorityLevel(IntEnum):
    """Where an instruction stands: 1 is the strongest."""

    PLATFORM_POLICY = 1
    ORGANISATION_POLICY = 2
    PERMISSION_PROFILE = 3
    TASK_CONTRACT = 4
    APPROVAL_DECISION = 5
    REPOSITORY_INSTRUCTION = 6
    FILE_CONVENTION = 7
    ASSISTANT_SUGGESTION = 8

    @property
    def priority(self) -> InstructionPriority:
        """CRITICAL for level 1, HIGH for 2 and 3, NORMAL for 4 and 5, LOW for the rest."""
        return _PRIORITIES[self]

    @property
    def binds(self) -> bool:
        """Whether instructions of this level decide (1 to 5) or only inform (6 to 8)."""
        return self <= AuthorityLevel.APPROVAL_DECISION

    @property
    def is_policy(self) -> bool:
        """Whether the level stands above the task, out of reach of any approval (1 to 3)."""
        return self <= AuthorityLevel.PERMISSION_PROFILE


_PRIORITIES: Final = dict(
    zip(
        AuthorityLevel,
        [InstructionPriority.CRITICAL]
        + [InstructionPriority.HIGH] * 2
        + [InstructionPriority.NORMAL] * 2
        + [InstructionPriority.LOW] * 3,
        strict=True,
    )
)
_LEVEL_OF_KIND: Final = {
    MessageKind.SYSTEM_INSTRUCTION: AuthorityLevel.PLATFORM_POLICY,
    MessageKind.ORG_POLICY: AuthorityLevel.ORGANISATION_POLICY,
    MessageKind.DEVELOPER_INSTRUCTION: AuthorityLevel.PERMISSION_PROFILE,
    MessageKind.USER_TASK: AuthorityLevel.TASK_CONTRACT,
    MessageKind.APPROVAL_DECISION: AuthorityLevel.APPROVAL_DECISION,
    MessageKind.REPOSITORY_INSTRUCTION: AuthorityLevel.REPOSITORY_INSTRUCTION,
    MessageKind.AGENT_THOUGHT_SUMMARY: AuthorityLevel.ASSISTANT_SUGGESTION,
    MessageKind.ASSISTANT_RESPONSE: AuthorityLevel.ASSISTANT_SUGGESTION,
}
STRONGEST_OF_TRUST: Final = {
    TrustLevel.PLATFORM_TRUSTED: AuthorityLevel.PLATFORM_POLICY,
    TrustLevel.ORG_TRUSTED: AuthorityLevel.ORGANISATION_POLICY,
    TrustLevel.USER_TRUSTED: AuthorityLevel.TASK_CONTRACT,
    TrustLevel.REPOSITORY_UNTRUSTED: AuthorityLevel.REPOSITORY_INSTRUCTION,
    TrustLevel.MODEL_GENERATED: AuthorityLevel.ASSISTANT_SUGGESTION,
}


def authority_of(kind: MessageKind, trust_level: TrustLevel) -> AuthorityLevel | None:
    """The level at which a part of a message may instruct; ``None`` for data, which may not.

    The kind says what the message is, the trust where its content comes from; the weaker of both counts. Text of a
    repository has a level only as a repository instruction, not where it was pasted into a task.

    Example:
        >>> authority_of(MessageKind.USER_TASK, TrustLevel.USER_TRUSTED)
        <AuthorityLevel.TASK_CONTRACT: 4>
        >>> authority_of(MessageKind.TOOL_CALL_RESULT, TrustLevel.TOOL_TRUSTED) is None
        True
    """
    level, strongest = _LEVEL_OF_KIND.get(kind), STRONGEST_OF_TRUST.get(trust_level)
    if level is None or strongest is None:
        return None
    if trust_level.is_untrusted and kind is not MessageKind.REPOSITORY_INSTRUCTION:
        return None
    return max(level, strongest)
