"""The closed vocabularies of the protocol: what a message, a part and a label may be.

Every enum here is a ``str`` enum, so its members are the very strings that stand in the stored
tables.  Kinds, trust levels and visibilities are those of the specification (§3, §7, §8).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class MessageKind(StrEnum):
    """What a ledger message is (specification §3). Not a provider role."""

    SYSTEM_INSTRUCTION = "SYSTEM_INSTRUCTION"
    DEVELOPER_INSTRUCTION = "DEVELOPER_INSTRUCTION"
    ORG_POLICY = "ORG_POLICY"
    REPOSITORY_INSTRUCTION = "REPOSITORY_INSTRUCTION"
    USER_TASK = "USER_TASK"
    AGENT_THOUGHT_SUMMARY = "AGENT_THOUGHT_SUMMARY"
    ASSISTANT_RESPONSE = "ASSISTANT_RESPONSE"
    TOOL_CALL_REQUEST = "TOOL_CALL_REQUEST"
    TOOL_CALL_RESULT = "TOOL_CALL_RESULT"
    FILE_OBSERVATION = "FILE_OBSERVATION"
    DIFF_OBSERVATION = "DIFF_OBSERVATION"
    VERIFIER_RESULT = "VERIFIER_RESULT"
    JUDGE_RESULT = "JUDGE_RESULT"
    APPROVAL_REQUEST = "APPROVAL_REQUEST"
    APPROVAL_DECISION = "APPROVAL_DECISION"
    RUN_SUMMARY = "RUN_SUMMARY"
    ERROR_EVENT = "ERROR_EVENT"


class TrustLevel(StrEnum):
    """Where the content of a part really comes from (specification §7), most trusted first."""

    PLATFORM_TRUSTED = "PLATFORM_TRUSTED"
    ORG_TRUSTED = "ORG_TRUSTED"
    USER_TRUSTED = "USER_TRUSTED"
    TOOL_TRUSTED = "TOOL_TRUSTED"
    MODEL_GENERATED = "MODEL_GENERATED"
    REPOSITORY_UNTRUSTED = "REPOSITORY_UNTRUSTED"
    NETWORK_UNTRUSTED = "NETWORK_UNTRUSTED"
    UNKNOWN = "UNKNOWN"

    @property
    def rank(self) -> int:
        """0 for the most trusted level; larger is less trusted."""
        return _TRUST_ORDER.index(self)

    @property
    def is_untrusted(self) -> bool:
        """Whether content of this level may inform but never instruct."""
        return self.rank >= _TRUST_ORDER.index(TrustLevel.REPOSITORY_UNTRUSTED)

    @classmethod
    def lowest(cls, levels: Iterable[TrustLevel]) -> TrustLevel:
        """The least trusted of some levels: the label of a whole made of such parts.

        Raises:
            ValueError: If there are no levels.
        """
        return max(levels, key=lambda level: level.rank)


_TRUST_ORDER = tuple(TrustLevel)


class Visibility(StrEnum):
    """Who may see a part (specification §8), widest first.

    ``REDACTED`` is as wide as ``MODEL_VISIBLE``: everybody sees the redacted form.
    """

    MODEL_VISIBLE = "MODEL_VISIBLE"
    REDACTED = "REDACTED"
    HUMAN_VISIBLE = "HUMAN_VISIBLE"
    AUDIT_ONLY = "AUDIT_ONLY"
    INTERNAL_ONLY = "INTERNAL_ONLY"

    @property
    def rank(self) -> int:
        """0 for the widest; larger is seen by fewer."""
        return _VISIBILITY_ORDER.index(self)

    @classmethod
    def widest(cls, levels: Iterable[Visibility]) -> Visibility:
        """The widest of some visibilities: the label of a message with such parts.

        Raises:
            ValueError: If there are none.
        """
        return min(levels, key=lambda level: level.rank)


_VISIBILITY_ORDER = tuple(Visibility)


class Audience(StrEnum):
    """Who looks: a model's context, a person's report or export, an audit report."""

    MODEL = "model"
    PEOPLE = "people"
    AUDIT = "audit"

    def may_see(self, visibility: Visibility) -> bool:
        """Whether this audience may see a part of that visibility (DESIGN, §8 of the specification)."""
        return visibility in _VISIBLE_TO[self]


_VISIBLE_TO: dict[Audience, frozenset[Visibility]] = {
    Audience.MODEL: frozenset({Visibility.MODEL_VISIBLE, Visibility.REDACTED}),
    Audience.PEOPLE: frozenset({Visibility.MODEL_VISIBLE, Visibility.REDACTED, Visibility.HUMAN_VISIBLE}),
    Audience.AUDIT: frozenset(
        {Visibility.MODEL_VISIBLE, Visibility.REDACTED, Visibility.HUMAN_VISIBLE, Visibility.AUDIT_ONLY}
    ),
}


class PartType(StrEnum):
    """The nine types of a message part (specification §6)."""

    TEXT = "text"
    JSON = "json"
    ARTIFACT_REF = "artifact_ref"
    FILE_SNIPPET = "file_snippet"
    DIFF = "diff"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    VERIFICATION = "verification"
    ERROR = "error"


class ToolStatus(StrEnum):
    """How a tool call stands (specification §16)."""

    REQUESTED = "REQUESTED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMED_OUT = "TIMED_OUT"
    UNKNOWN = "UNKNOWN"


class Verdict(StrEnum):
    """What a verifier said. A result that proves neither is ``inconclusive``, never ``passed``."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


class ArtifactLabel(StrEnum):
    """Whether an artifact may be projected.

    ``safe``: scanned, nothing found. ``redacted``: scanned, findings removed. ``restricted``: kept, never
    projected (hidden reasoning that a user chose to keep; content that was never scanned).
    """

    SAFE = "safe"
    REDACTED = "redacted"
    RESTRICTED = "restricted"

    @property
    def is_projectable(self) -> bool:
        """Whether projections, searches and pages for people may read it."""
        return self is not ArtifactLabel.RESTRICTED


class RunRelation(StrEnum):
    """How a run hangs on the run that it came from."""

    SUBAGENT = "subagent"
    REWIND = "rewind"
    FORK = "fork"
    RETRY = "retry"
    COMPACTION = "compaction"
    REVIEW = "review"
    """It holds judgements, or notes of people, about other runs; it comes from none."""


class Rendition(StrEnum):
    """What a part looks like in a context."""

    FULL = "full"
    EXCERPT = "excerpt"
    SUMMARY = "summary"
    REFERENCE = "reference"


class EvidenceKind(StrEnum):
    """What an evidence reference names."""

    MESSAGE = "message"
    TOOL_CALL = "tool-call"
    ARTIFACT = "artifact"
    FILE = "file"
    TASK = "task"


class ChangeType(StrEnum):
    """What happened to a file."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


class InstructionPriority(StrEnum):
    """How urgent an instruction is (specification §20); follows from its authority level."""

    CRITICAL = "CRITICAL"
    HIGH = "HIGH"
    NORMAL = "NORMAL"
    LOW = "LOW"


class LlmRole(StrEnum):
    """Who speaks in a request to a model (specification §4)."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ContextSection(StrEnum):
    """A section of a rendered context (specification §14 and §20)."""

    PLATFORM_POLICY = "platform_policy"
    ORG_POLICY = "org_policy"
    PERMISSION_PROFILE = "permission_profile"
    TASK_CONTRACT = "task_contract"
    RESPONSE_CONTRACT = "response_contract"
    REPOSITORY_INSTRUCTIONS = "repository_instructions"
    REPOSITORY_MAP = "repository_map"
    REPOSITORY_DATA = "repository_data"
    WORKING_MEMORY = "working_memory"
    VERIFIER = "verifier"
    RECENT_MESSAGES = "recent_messages"


class MemoryKind(StrEnum):
    """The three kinds of memory (specification §9): all of them projections."""

    RUN_WORKING_MEMORY = "run_working_memory"
    SESSION_SUMMARY = "session_summary"
    REPOSITORY_MEMORY = "repository_memory"


class ClaimOutcome(StrEnum):
    """What the evidence says about a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    STALE = "stale"
    UNVERIFIED = "unverified"


class NextAction(StrEnum):
    """What an agent wants to do next (specification §21)."""

    CALL_TOOL = "CALL_TOOL"
    REQUEST_APPROVAL = "REQUEST_APPROVAL"
    FINISH_WITH_PATCH = "FINISH_WITH_PATCH"
    FINISH_BLOCKED = "FINISH_BLOCKED"
    FINISH_FAILED = "FINISH_FAILED"
