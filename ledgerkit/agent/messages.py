"""A run's entries as messages of the protocol, every part labelled by where its content really comes from.

The rule: labels follow from the entry alone. File content, search results and command output are the repository's,
untrusted even though a tool carried them; what the model said is the model's; what the agent program or the harness
said of its own is trusted as a tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ledgerkit.agent.clock import SeededIds
from ledgerkit.agent.exchange import Response, TextBlock, ThinkingBlock, ToolUse
from ledgerkit.agent.observations import Kept, observation
from ledgerkit.agent.record import (
    Answered,
    ApprovalAsked,
    ApprovalDecided,
    Compacted,
    Entry,
    Instructed,
    ModelFailed,
    Prompted,
    ResultLost,
    RunRecord,
    ToolFinished,
    Verified,
)
from ledgerkit.protocol.contracts import ApprovalDecision, ApprovalOutcome, ApprovalRequest, RiskClass
from ledgerkit.protocol.identifiers import uuid7
from ledgerkit.protocol.messages import AgentMessage
from ledgerkit.protocol.parts import CheckCounts, ErrorPart, JsonPart, Part, TextPart, ToolCallPart, VerificationPart
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.protocol.usage import ModelCall
from ledgerkit.protocol.vocabulary import EvidenceKind, MessageKind, TrustLevel, Visibility

PROVIDER: Final = "anthropic"
_SEEN: Final = Visibility.MODEL_VISIBLE
_PEOPLE: Final = Visibility.HUMAN_VISIBLE
_COUNTS: Final = re.compile(r"\b(\d+) (passed|failed|errors?|skipped)\b")
_FAILING: Final = re.compile(r"^FAILED (\S+)", re.MULTILINE)
_ACTORS: Final = {TrustLevel.PLATFORM_TRUSTED: "platform", TrustLevel.ORG_TRUSTED: "organisation"}


@dataclass(slots=True)
class MessageMaker:
    """Turns the entries of one run into messages.

    Attributes:
        session_id: The session.
        record: The run.
        ids: Where message ids get their random part from.
        kept: Contents that messages only refer to, by content id, filled on the way.
    """

    session_id: str
    record: RunRecord
    ids: SeededIds
    kept: dict[str, Kept] = field(default_factory=dict[str, Kept])
    _sequence_no: int = 0
    _requests: dict[str, str] = field(default_factory=dict[str, str])
    _evidence: EvidenceRef = field(default_factory=lambda: EvidenceRef(kind=EvidenceKind.TASK, target="goal"))

    def request_message(self, call: ToolUse) -> str | None:
        """Id of the message that asked for a call."""
        return self._requests.get(call.tool_call_id)

    def messages(self, entry: Entry) -> list[AgentMessage]:
        """The messages of one entry, in order."""
        match entry:
            case Instructed():
                return [self._instructed(entry)]
            case Prompted():
                return [self._prompted(entry)]
            case Answered():
                return list(self._answered(entry))
            case Compacted():
                return [self._compacted(entry)]
            case ToolFinished():
                return [self._finished(entry)]
            case ApprovalAsked() | ApprovalDecided():
                return [self._approval(entry)]
            case Verified():
                return [self._verified(entry)]
            case ResultLost() | ModelFailed():
                return [self._failed(entry)]

    def _message(
        self, kind: MessageKind, actor: str, at: datetime, step: int, parts: tuple[Part, ...], **more: Any
    ) -> AgentMessage:
        message = AgentMessage(
            session_id=self.session_id,
            run_id=self.record.run_id,
            message_id=uuid7(at, self.ids.random_bytes(10)),
            sequence_no=self._sequence_no,
            kind=kind,
            actor=actor,
            parts=parts,
            created_at=at,
            step=step,
            **({"visible_from": step + 1} | more),
        )
        self._sequence_no += 1
        return message

    def _instructed(self, entry: Instructed) -> AgentMessage:
        labels: dict[str, Any] = {"trust_level": entry.trust_level, "visibility": _SEEN, "path": entry.path}
        part: Part = TextPart(text=entry.text, **labels)
        if entry.profile is not None:
            part = JsonPart(text=entry.text, data=entry.profile.model_dump(mode="json"), **labels)
        actor = _ACTORS.get(entry.trust_level, self.record.agent)
        return self._message(entry.kind, actor, entry.at, 0, (part,), visible_from=0, metadata={"name": entry.name})

    def _prompted(self, entry: Prompted) -> AgentMessage:
        of_model = self.record.parent_call is not None
        trust = TrustLevel.MODEL_GENERATED if of_model else TrustLevel.USER_TRUSTED
        parts: list[Part] = [TextPart(text=entry.text, trust_level=trust, visibility=_SEEN)]
        if entry.contract is not None:
            contract = entry.contract.model_dump(mode="json")
            parts.append(JsonPart(data=contract, trust_level=trust, visibility=_PEOPLE))
        actor = "parent agent" if of_model else "user"
        task = MessageKind.USER_TASK
        return self._message(task, actor, entry.at, entry.step, tuple(parts), visible_from=entry.step)

    def _answered(self, entry: Answered) -> Iterator[AgentMessage]:
        kinds, call = MessageKind, _model_call(entry.response)
        labels: dict[str, Any] = {"trust_level": TrustLevel.MODEL_GENERATED, "visibility": _SEEN}
        for block in entry.response.blocks:
            match block:
                case ThinkingBlock():
                    shown: dict[str, Any] = labels | {"visibility": _PEOPLE, "evidence_refs": (self._evidence,)}
                    kind, part = kinds.AGENT_THOUGHT_SUMMARY, TextPart(text=block.text, **shown)
                case TextBlock():
                    kind, part = kinds.ASSISTANT_RESPONSE, TextPart(text=block.text, **labels)
                case ToolUse():
                    kind, part = kinds.TOOL_CALL_REQUEST, _call_part(block, entry.at, labels)
            message = self._message(kind, entry.response.model, entry.at, entry.step, (part,), call=call)
            if isinstance(block, ToolUse):
                self._requests[block.tool_call_id] = message.message_id
            yield message

    def _compacted(self, entry: Compacted) -> AgentMessage:
        # A summary of what the repository said is no more trusted than the repository.
        part = TextPart(text=entry.response.text, trust_level=TrustLevel.REPOSITORY_UNTRUSTED, visibility=_SEEN)
        model, call = entry.response.model, _model_call(entry.response)
        metadata = {"tokens_before": entry.tokens_before, "reason": "compaction"}
        return self._message(
            MessageKind.RUN_SUMMARY, model, entry.at, entry.step, (part,), call=call, metadata=metadata
        )

    def _finished(self, entry: ToolFinished) -> AgentMessage:
        seen = observation(entry)
        self.kept |= seen.kept
        self._evidence = EvidenceRef(kind=EvidenceKind.TOOL_CALL, target=entry.call.tool_call_id)
        parent = self._requests.get(entry.call.tool_call_id)
        return self._message(seen.kind, entry.call.name, entry.at, entry.step, seen.parts, parent_message_id=parent)

    def _approval(self, entry: ApprovalAsked | ApprovalDecided) -> AgentMessage:
        call = entry.call
        parent = self._requests.get(call.tool_call_id)
        common: dict[str, Any] = {
            "request_id": f"approval-{call.tool_call_id}",
            "scope": (_subject(call, self.record.working_directory),),
            "arguments_hash": arguments_hash(dict(call.arguments)),
        }
        if isinstance(entry, ApprovalAsked):
            kind, actor, trust = MessageKind.APPROVAL_REQUEST, self.record.agent, TrustLevel.TOOL_TRUSTED
            extra: dict[str, Any] = {"tool_call_id": call.tool_call_id, "requested_at": entry.at}
            words = {"action": f"Run {call.name}", "reason": entry.reason}
            data = ApprovalRequest(risk_class=RiskClass.HIGH, **common, **extra, **words).model_dump(mode="json")
        else:
            kind, actor, trust = MessageKind.APPROVAL_DECISION, entry.by, TrustLevel.USER_TRUSTED
            outcome = ApprovalOutcome.APPROVED if entry.approved else ApprovalOutcome.DENIED
            decision = ApprovalDecision(outcome=outcome, decided_by=entry.by, decided_at=entry.at, **common)
            data = decision.model_dump(mode="json")
        part = JsonPart(data=data, trust_level=trust, visibility=_PEOPLE, tool_call_id=call.tool_call_id)
        return self._message(kind, actor, entry.at, entry.step, (part,), parent_message_id=parent)

    def _verified(self, entry: Verified) -> AgentMessage:
        part = VerificationPart(
            trust_level=TrustLevel.TOOL_TRUSTED,
            visibility=_PEOPLE,
            verdict=entry.verdict,
            check=entry.check,
            scope=entry.scope,
            command=entry.command,
            exit_code=entry.exit_code,
            counts=_counts(entry.output),
            failing=tuple(_FAILING.findall(entry.output)),
            text=entry.output,
        )
        return self._message(MessageKind.VERIFIER_RESULT, "harness", entry.at, entry.step, (part,))

    def _failed(self, entry: ResultLost | ModelFailed) -> AgentMessage:
        labels: dict[str, Any] = {"trust_level": TrustLevel.TOOL_TRUSTED, "visibility": _PEOPLE}
        parent = None
        if isinstance(entry, ResultLost):
            parent = self._requests.get(entry.call.tool_call_id)
            text = "The session ended before the result of this call was recorded."
            names = {"tool_call_id": entry.call.tool_call_id, "tool_name": entry.call.name}
            part = ErrorPart(text=text, data={"is_retryable": True}, error_category="result_lost", **names, **labels)
        else:
            data = {"status": entry.status, "attempt": entry.attempt, "retry_ms": entry.retry_ms, "is_retryable": True}
            part = ErrorPart(text=entry.error, data=data, error_category="model_unavailable", **labels)
        return self._message(
            MessageKind.ERROR_EVENT, self.record.agent, entry.at, entry.step, (part,), parent_message_id=parent
        )


def call_id_of(response: Response) -> str:
    """Id of a model call: the provider's message id and request id."""
    return f"{response.message_id}:{response.request_id}"


def _model_call(response: Response) -> ModelCall:
    return ModelCall(
        call_id=call_id_of(response),
        model=response.model,
        provider=PROVIDER,
        service_tier="standard",
        usage=response.usage,
    )


def _call_part(block: ToolUse, at: datetime, labels: Mapping[str, Any]) -> ToolCallPart:
    path = block.arguments.get("file_path")
    return ToolCallPart(
        tool_call_id=block.tool_call_id,
        tool_name=block.name,
        arguments=dict(block.arguments),
        started_at=at,
        path=path if isinstance(path, str) else None,
        **labels,
    )


def _subject(call: ToolUse, root: str) -> str:
    path = call.arguments.get("file_path")
    return f"files/{path.removeprefix(root).strip('/')}" if isinstance(path, str) else f"tools/{call.name}"


def _counts(output: str) -> CheckCounts:
    found = {name.rstrip("s") if name.startswith("error") else name: int(n) for n, name in _COUNTS.findall(output)}
    return CheckCounts(
        passed=found.get("passed"),
        failed=found.get("failed"),
        errors=found.get("error"),
        skipped=found.get("skipped"),
    )
