"""A run's entries as messages of the protocol, every part labelled by where its content really comes from.

The rule: labels follow from the entry alone. File content, search results and command output are the repository's,
untrusted even though a tool carried them; what the model said is the model's; what the agent program or the harness
said of its own is trusted as a tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from pydantic import JsonValue

from ledgerkit.agent.clock import SeededIds
from ledgerkit.agent.exchange import Response, TextBlock, ThinkingBlock, ToolUse
from ledgerkit.agent.observations import Kept, observation, report
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
from ledgerkit.protocol.messages import AgentMessage, AppendMessageCommand
from ledgerkit.protocol.parts import JsonPart, Part, TextPart, ToolCallPart
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.protocol.usage import ModelCall
from ledgerkit.protocol.vocabulary import EvidenceKind, MessageKind, TrustLevel, Visibility

PROVIDER: Final = "anthropic"
_SEEN: Final = Visibility.MODEL_VISIBLE
_PEOPLE: Final = Visibility.HUMAN_VISIBLE
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
            case Answered():
                return list(self._answered(entry))
            case Instructed() | Prompted():
                command = self._told(entry)
            case ToolFinished() | Compacted():
                command = self._learned(entry)
            case ApprovalAsked() | ApprovalDecided():
                command = self._approval(entry)
            case Verified() | ResultLost() | ModelFailed():
                command = self._reported(entry)
        return [self._placed(command)]

    def _placed(self, command: AppendMessageCommand) -> AgentMessage:
        at = command.created_at
        if at is None:
            raise ValueError("a recorded entry has a time")
        message_id, number = uuid7(at, self.ids.random_bytes(10)), self._sequence_no
        self._sequence_no += 1
        return command.to_message(message_id=message_id, sequence_no=number, created_at=None)

    def _place(self, entry: Entry, *, seen_at_once: bool = False) -> dict[str, Any]:
        """What every message of an entry has: where it belongs."""
        step = 0 if isinstance(entry, Instructed) else entry.step
        return {
            "session_id": self.session_id,
            "run_id": self.record.run_id,
            "created_at": entry.at,
            "step": step,
            "visible_from": step if seen_at_once else step + 1,
        }

    def _told(self, entry: Instructed | Prompted) -> AppendMessageCommand:
        place = self._place(entry, seen_at_once=True)
        if isinstance(entry, Instructed):
            labels: dict[str, Any] = {"trust_level": entry.trust_level, "visibility": _SEEN, "path": entry.path}
            part: Part = TextPart(text=entry.text, **labels)
            if entry.profile is not None:
                part = JsonPart(text=entry.text, data=entry.profile.model_dump(mode="json"), **labels)
            actor = _ACTORS.get(entry.trust_level, self.record.agent)
            return AppendMessageCommand(
                kind=entry.kind, actor=actor, parts=(part,), metadata={"name": entry.name}, **place
            )
        by_model = self.record.parent_call is not None
        trust = TrustLevel.MODEL_GENERATED if by_model else TrustLevel.USER_TRUSTED
        parts: list[Part] = [TextPart(text=entry.text, trust_level=trust, visibility=_SEEN)]
        if entry.contract is not None:
            contract = entry.contract.model_dump(mode="json")
            parts.append(JsonPart(data=contract, trust_level=trust, visibility=_PEOPLE))
        actor = "parent agent" if by_model else "user"
        return AppendMessageCommand(kind=MessageKind.USER_TASK, actor=actor, parts=tuple(parts), **place)

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
            place = self._place(entry)
            message = self._placed(
                AppendMessageCommand(kind=kind, actor=entry.response.model, parts=(part,), call=call, **place)
            )
            if isinstance(block, ToolUse):
                self._requests[block.tool_call_id] = message.message_id
            yield message

    def _learned(self, entry: ToolFinished | Compacted) -> AppendMessageCommand:
        place = self._place(entry)
        if isinstance(entry, ToolFinished):
            seen = observation(entry)
            self.kept |= seen.kept
            self._evidence = EvidenceRef(kind=EvidenceKind.TOOL_CALL, target=entry.call.tool_call_id)
            place["parent_message_id"] = self.request_message(entry.call)
            return AppendMessageCommand(kind=seen.kind, actor=entry.call.name, parts=seen.parts, **place)
        # A summary of what the repository said is no more trusted than the repository.
        part = TextPart(text=entry.response.text, trust_level=TrustLevel.REPOSITORY_UNTRUSTED, visibility=_SEEN)
        return AppendMessageCommand(
            kind=MessageKind.RUN_SUMMARY,
            actor=entry.response.model,
            parts=(part,),
            call=_model_call(entry.response),
            metadata={"reason": "compaction", "tokens_before": entry.tokens_before},
            **place,
        )

    def _approval(self, entry: ApprovalAsked | ApprovalDecided) -> AppendMessageCommand:
        call, place = entry.call, self._place(entry)
        place["parent_message_id"] = self.request_message(call)
        common: dict[str, Any] = {
            "request_id": f"approval-{call.tool_call_id}",
            "scope": (_subject(call, self.record.working_directory),),
            "arguments_hash": arguments_hash(dict(call.arguments)),
        }
        if isinstance(entry, ApprovalAsked):
            kind, actor, trust = MessageKind.APPROVAL_REQUEST, self.record.agent, TrustLevel.TOOL_TRUSTED
            common |= {"tool_call_id": call.tool_call_id, "requested_at": entry.at, "reason": entry.reason}
            request = ApprovalRequest(action=f"Run {call.name}", risk_class=RiskClass.HIGH, **common)
            data = request.model_dump(mode="json")
        else:
            kind, actor, trust = MessageKind.APPROVAL_DECISION, entry.by, TrustLevel.USER_TRUSTED
            outcome = ApprovalOutcome.APPROVED if entry.approved else ApprovalOutcome.DENIED
            decision = ApprovalDecision(outcome=outcome, decided_by=entry.by, decided_at=entry.at, **common)
            data = decision.model_dump(mode="json")
        part = JsonPart(data=data, trust_level=trust, visibility=_PEOPLE, tool_call_id=call.tool_call_id)
        return AppendMessageCommand(kind=kind, actor=actor, parts=(part,), **place)

    def _reported(self, entry: Verified | ResultLost | ModelFailed) -> AppendMessageCommand:
        place = self._place(entry)
        kind, actor = MessageKind.ERROR_EVENT, self.record.agent
        if isinstance(entry, Verified):
            kind, actor = MessageKind.VERIFIER_RESULT, "harness"
        if isinstance(entry, ResultLost):
            place["parent_message_id"] = self.request_message(entry.call)
        return AppendMessageCommand(kind=kind, actor=actor, parts=(report(entry),), **place)


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
        arguments=cast("dict[str, JsonValue]", dict(block.arguments)),
        started_at=at,
        path=path if isinstance(path, str) else None,
        **labels,
    )


def _subject(call: ToolUse, root: str) -> str:
    path = call.arguments.get("file_path")
    return f"files/{path.removeprefix(root).strip('/')}" if isinstance(path, str) else f"tools/{call.name}"
