"""What the agent, its model, its tools and the people beside it say, as messages for the recorder.

The rule: every message has an idempotency key made of its place in the run, so that writing it again after a crash adds
nothing; every part is labelled by where its content comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import JsonValue

from ledgerkit.agent.live.setup import PLATFORM_POLICY, Setup
from ledgerkit.agent.live.tools import ToolOutcome
from ledgerkit.agent.patches import hunks, unified_diff
from ledgerkit.projection import Context
from ledgerkit.projection.recorded import DIGEST
from ledgerkit.projection.written import profile_section, task_section
from ledgerkit.protocol.contracts import ApprovalDecision, ApprovalOutcome, ApprovalRequest
from ledgerkit.protocol.messages import AgentMessage, AppendMessageCommand
from ledgerkit.protocol.parts import (
    DiffPart,
    ErrorPart,
    JsonPart,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    VerificationPart,
)
from ledgerkit.protocol.responses import NextActionResponse
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.protocol.usage import ModelCall
from ledgerkit.protocol.vocabulary import ChangeType, MessageKind, ToolStatus, TrustLevel, Visibility
from ledgerkit.providers import ActionRefusal, Answer

AGENT: Final = "ledgerkit-agent"
_SEEN: Final = Visibility.MODEL_VISIBLE
_PEOPLE: Final = Visibility.HUMAN_VISIBLE
_AUDIT: Final = Visibility.AUDIT_ONLY
ANSWER: Final = "answer"
"""What the data of an answer's second part says of itself in ``note``: the action that was read from it."""


@dataclass(frozen=True)
class Call:
    """A call that an answer asked for, or one more try of it.

    Attributes:
        run_id: The run.
        step: The step that asked.
        tool_name: The tool.
        arguments: Its arguments.
        arguments_hash: Hash of the arguments that the model gave.
        asked_by: Id of the message that asked.
        actor: Who said it.
        attempt: 0 for the call itself, 1 for its first retry.
    """

    run_id: str
    step: int
    tool_name: str
    arguments: dict[str, JsonValue]
    arguments_hash: str
    asked_by: str
    actor: str
    attempt: int = 0

    @property
    def first_id(self) -> str:
        """Id of the call itself."""
        return f"call-{self.run_id[-8:]}-{self.step:04d}"

    @property
    def tool_call_id(self) -> str:
        """Its id: unique in the run, and the same however often the run is taken up."""
        return self.first_id if not self.attempt else f"{self.first_id}-retry-{self.attempt}"

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are those that the model gave: a ledger holds placeholders for secrets."""
        return arguments_hash(self.arguments) == self.arguments_hash


@dataclass(frozen=True)
class Words:
    """Makes the messages of one run.

    Attributes:
        session_id: The session.
        run_id: The run.
        clock: The time.
    """

    session_id: str
    run_id: str
    clock: Callable[[], datetime]

    def beginning(self, setup: Setup, org_policy: str | None) -> list[AppendMessageCommand]:
        """What governs the run, each with its own trust, and the task."""
        platform, org, user = TrustLevel.PLATFORM_TRUSTED, TrustLevel.ORG_TRUSTED, TrustLevel.USER_TRUSTED
        kinds = MessageKind
        policy = TextPart(text=PLATFORM_POLICY, trust_level=platform, visibility=_SEEN)
        settings = JsonPart(data=setup.as_data(), trust_level=platform, visibility=_AUDIT)
        profile = JsonPart(
            text=profile_section(setup.profile, "ledger").text, data=setup.profile.model_dump(mode="json"),
            trust_level=org, visibility=_SEEN,
        )  # fmt: skip
        task = JsonPart(
            text=task_section(setup.task, "ledger").text, data=setup.task.model_dump(mode="json"),
            trust_level=user, visibility=_SEEN,
        )  # fmt: skip
        said = [self._told(kinds.SYSTEM_INSTRUCTION, "platform", "platform_policy", policy, settings)]
        if org_policy is not None:
            text = TextPart(text=org_policy, trust_level=org, visibility=_SEEN)
            said.append(self._told(kinds.ORG_POLICY, "organisation", "org_policy", text))
        said.append(self._told(kinds.ORG_POLICY, "organisation", "profile", profile))
        said.append(self._told(kinds.USER_TASK, "user", "task", task))
        return said

    def answer(
        self, step: int, context: Context, answer: Answer, call: ModelCall, action: NextActionResponse | ActionRefusal
    ) -> AppendMessageCommand:
        """What the model answered: its words for the next context, the action that was read from it for the audit."""
        parts: list[Part] = []
        refused = isinstance(action, ActionRefusal)
        words = answer.text if refused else action.rationale_summary
        if words:
            parts.append(TextPart(text=words, trust_level=TrustLevel.MODEL_GENERATED, visibility=_SEEN))
        data: dict[str, JsonValue] = {"note": ANSWER}
        if refused:
            data |= {"refused": action.reason.value, "problem": action.problem}
        else:
            data |= {"action": action.model_dump(mode="json", by_alias=False)}
            data |= {"arguments_hash": arguments_hash(dict(action.tool_arguments or {}))}
        parts.append(JsonPart(data=data, trust_level=TrustLevel.MODEL_GENERATED, visibility=_AUDIT))
        metadata: dict[str, JsonValue] = {
            DIGEST: context.digest,
            "context_tokens": context.tokens,
            "strategy": context.strategy,
            "stop": answer.stop.value,
        }
        kind = MessageKind.ASSISTANT_RESPONSE
        more: dict[str, Any] = {"call": call, "metadata": metadata}
        return self._say(kind, call.model or "model", f"answer:{step}", step, *parts, **more)

    def refusal(self, step: int, refusal: ActionRefusal, parent: AgentMessage) -> AppendMessageCommand:
        """That an answer gave no action, with a hint for the next try."""
        return self._say(
            MessageKind.ERROR_EVENT, AGENT, f"refusal:{step}", step, refusal.part(), parent_message_id=parent.message_id
        )

    def model_failed(self, step: int, number: int, problem: str, status: int) -> AppendMessageCommand:
        """That a model call failed; it may be tried again."""
        data: dict[str, JsonValue] = {"status": status, "attempt": number, "is_retryable": True}
        part = ErrorPart(
            text=problem, data=data, error_category="model_unavailable", trust_level=TrustLevel.NETWORK_UNTRUSTED,
            visibility=_PEOPLE,
        )  # fmt: skip
        return self._say(MessageKind.ERROR_EVENT, AGENT, f"model-failed:{step}:{number}", step, part)

    def intent(self, call: Call, status: ToolStatus = ToolStatus.REQUESTED) -> AppendMessageCommand:
        """That a call is about to be carried out; or, with another status, that it will not be."""
        part = ToolCallPart(
            tool_call_id=call.tool_call_id, tool_name=call.tool_name, arguments=dict(call.arguments), status=status,
            started_at=self.clock(), path=_path_of(call), trust_level=TrustLevel.MODEL_GENERATED, visibility=_SEEN,
        )  # fmt: skip
        more: dict[str, Any] = {"parent_message_id": call.asked_by}
        if call.attempt:
            more["metadata"] = {"retry_of": call.first_id, "attempt": call.attempt}
        return self._say(
            MessageKind.TOOL_CALL_REQUEST, call.actor, f"call:{call.tool_call_id}", call.step, part, **more
        )

    def result(
        self, call: Call, outcome: ToolOutcome, started_at: datetime | None, summary: str | None
    ) -> AppendMessageCommand:
        """How a call ended."""
        data: JsonValue = None if outcome.exit_code is None else {"exit_code": outcome.exit_code}
        part = ToolResultPart(
            tool_call_id=call.tool_call_id, tool_name=call.tool_name, arguments_hash=call.arguments_hash,
            status=outcome.status, text=outcome.text, data=data, summary=summary, path=outcome.path,
            started_at=started_at, finished_at=None if started_at is None else self.clock(),
            error_category=outcome.error_category, trust_level=outcome.trust_level, visibility=_SEEN,
        )  # fmt: skip
        actor = call.tool_name if started_at is not None else AGENT
        parts = (part,) if outcome.change is None else (part, _diff(call, outcome, *outcome.change))
        return self._say(outcome.kind, actor, f"result:{call.tool_call_id}", call.step, *parts)

    def asked(self, request: ApprovalRequest, step: int, tool_name: str | None) -> AppendMessageCommand:
        """That a person is asked."""
        part = JsonPart(
            data=request.model_dump(mode="json"), text=f"{request.action} {request.reason}", tool_name=tool_name,
            tool_call_id=request.tool_call_id, trust_level=TrustLevel.MODEL_GENERATED, visibility=_PEOPLE,
        )  # fmt: skip
        return self._say(MessageKind.APPROVAL_REQUEST, AGENT, f"asked:{request.request_id}", step, part)

    def decided(self, decision: ApprovalDecision, step: int, *, for_model: bool) -> AppendMessageCommand:
        """What a person decided; the model is told where it was the model that asked."""
        is_yes = decision.outcome is ApprovalOutcome.APPROVED
        words = f"{'Approved' if is_yes else 'Denied'}: request {decision.request_id}."
        part = JsonPart(
            data=decision.model_dump(mode="json"), text=f"{words} {decision.note or ''}".strip(),
            trust_level=TrustLevel.USER_TRUSTED, visibility=_SEEN if for_model else _PEOPLE,
        )  # fmt: skip
        kind, actor = MessageKind.APPROVAL_DECISION, decision.decided_by
        return self._say(kind, actor, f"decided:{decision.request_id}", step, part)

    def verified(self, step: int, key: str, *parts: VerificationPart | TextPart) -> AppendMessageCommand:
        """What a check of the work gave."""
        return self._say(MessageKind.VERIFIER_RESULT, "harness", f"check:{step}:{key}", step, *parts)

    def summary(self, step: int, data: dict[str, JsonValue], trust: TrustLevel) -> AppendMessageCommand:
        """How the run ended, with the summary that the ledger gives of it."""
        part = JsonPart(data=data, trust_level=trust, visibility=_PEOPLE)
        more: dict[str, Any] = {"metadata": {"reason": "finished", "ending": data["ending"]}}
        return self._say(MessageKind.RUN_SUMMARY, AGENT, "ended", step, part, **more)

    def _told(self, kind: MessageKind, actor: str, name: str, *parts: Part) -> AppendMessageCommand:
        more: dict[str, Any] = {"metadata": {"name": name}, "visible_from": 0}
        return self._say(kind, actor, f"begin:{name}", 0, *parts, **more)

    def _say(
        self,
        kind: MessageKind,
        actor: str,
        key: str,
        step: int,
        *parts: Part,
        **more: Any,  # noqa: ANN401
    ) -> AppendMessageCommand:
        fields: dict[str, Any] = {"visible_from": step + 1, "created_at": self.clock(), **more}
        return AppendMessageCommand(
            session_id=self.session_id, run_id=self.run_id, kind=kind, actor=actor, parts=tuple(parts), step=step,
            idempotency_key=key, **fields,
        )  # fmt: skip


def _diff(call: Call, outcome: ToolOutcome, before: str | None, after: str) -> DiffPart:
    """What a call changed, for people; the model is told that it did."""
    changed = [line for hunk in hunks(before or "", after) for line in hunk.lines]
    return DiffPart(
        text=unified_diff(outcome.path or "", before or "", after),
        change=ChangeType.CREATED if before is None else ChangeType.MODIFIED,
        lines_added=sum(line.startswith("+") for line in changed),
        lines_removed=sum(line.startswith("-") for line in changed),
        tool_call_id=call.tool_call_id, tool_name=call.tool_name, path=outcome.path,
        trust_level=TrustLevel.REPOSITORY_UNTRUSTED, visibility=_PEOPLE,
    )  # fmt: skip


def _path_of(call: Call) -> str | None:
    path = call.arguments.get("path")
    return path if isinstance(path, str) and path else None
