"""Calls of an agent at work: permitted, asked for, carried out, cancelled, or of unknown outcome.

The rule: approval before intent, intent before the call, the call before its result. That order is what makes a crash
harmless at any instant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from ledgerkit.agent.live.checks import summary_of
from ledgerkit.agent.live.ending import Approve, Ending
from ledgerkit.agent.live.models import Model
from ledgerkit.agent.live.permitting import permission, request_for
from ledgerkit.agent.live.saying import AGENT, Call, Words
from ledgerkit.agent.live.setup import Setup
from ledgerkit.agent.live.standing import Standing
from ledgerkit.agent.live.tools import Tool, ToolOutcome, use_tool
from ledgerkit.agent.workspace import Workspace
from ledgerkit.errors import ConfigurationError
from ledgerkit.ledger import Ledger
from ledgerkit.protocol.contracts import ApprovalOutcome, ApprovalRequest, RiskClass
from ledgerkit.protocol.messages import AppendMessageCommand
from ledgerkit.protocol.responses import NextActionResponse
from ledgerkit.protocol.vocabulary import ToolStatus
from ledgerkit.safety.permissions import PermissionDecision, PermissionEffect
from ledgerkit.store.recorder import Recorder

UNKNOWN_OUTCOME: Final = (
    "The outcome of this call is unknown: it was begun, and the agent stopped before its result was recorded. It may "
    "have been carried out, in part or as a whole."
)
_NOT_RECORDED: Final = (
    "The call was not carried out: its arguments held a secret, which the ledger does not keep, and the agent was "
    "restarted in between."
)


@dataclass
class CallWork(ABC):
    """The calls and questions of a run at work.

    Attributes:
        ledger: Where contexts come from.
        recorder: Where messages go.
        words: Makes messages.
        setup: What the run is set up with.
        standing: How it stands.
        model: Who is asked what to do.
        tools: What may be used, by name.
        workspace: Where tools work.
        approve: Whom to ask.
        wait: Lets seconds pass.
    """

    ledger: Ledger
    recorder: Recorder
    words: Words
    setup: Setup
    standing: Standing
    model: Model
    tools: Mapping[str, Tool]
    workspace: Workspace
    approve: Approve
    wait: Callable[[float], None]
    _said: dict[int, NextActionResponse] = field(default_factory=dict[int, NextActionResponse])
    """Actions as the model said them in this process; the ledger holds them without secrets."""
    _waiting_for: ApprovalRequest | None = None

    @abstractmethod
    def _ask(self, step: int) -> Ending | None:
        """Goes on to the next step."""

    def _say(self, *commands: AppendMessageCommand) -> None:
        self.standing.learn(self.recorder.append_many(commands))

    def _recover(self) -> None:
        """Gives every call that was begun and did not end the outcome that is known of it: none."""
        for part in self.standing.open_calls():
            request = self.standing.at(f"call:{part.tool_call_id}")
            step, attempt = request.step or 0, request.metadata.get("attempt", 0)
            call = self._call(step, int(str(attempt)))
            outcome = ToolOutcome(UNKNOWN_OUTCOME, ToolStatus.UNKNOWN, error_category="outcome_unknown")
            self._say(self.words.result(call, outcome, None, None))

    # Calls

    def _after_call(self, step: int) -> Ending | None:
        call = self._call(step, self._attempts(step))
        intent, result = self.standing.intended(call), self.standing.result(call)
        if intent is None:
            return self._first(call)
        if result is None:  # it was not to be carried out, and the process ended before saying so
            self._say(self.words.result(call, _cancelled("The call was not carried out."), None, None))
        elif result.status is ToolStatus.UNKNOWN:
            return self._again(call)
        else:
            return self._ask(step + 1)
        return None

    def _attempts(self, step: int) -> int:
        """The last attempt of a step's call that was begun; 0 before the first."""
        attempt = 0
        while self.standing.intended(self._call(step, attempt + 1)) is not None:
            attempt += 1
        return attempt

    def _call(self, step: int, attempt: int) -> Call:
        action = self._said.get(step) or self.standing.action(step)
        if action is None or action.tool_name is None:
            raise ConfigurationError(f"Step {step} of the run asked for no call, and the ledger holds one.")
        answer = self.standing.answer(step)
        arguments, exact = dict(action.tool_arguments or {}), self.standing.arguments_hash(step)
        actor = AGENT if attempt else answer.actor
        return Call(
            self.words.run_id, step, action.tool_name, arguments, exact, answer.message_id, actor, attempt
        )  # fmt: skip

    def _first(self, call: Call) -> Ending | None:
        if not call.is_whole:
            return self._cancel(call, _NOT_RECORDED, "arguments_not_recorded")
        request_id = f"approval-{call.tool_call_id}"
        decided = self._decide_permission(call, (request_id, f"request-{call.step - 1}"))
        if decided.effect is PermissionEffect.ALLOW:
            return self._carry_out(call)
        if decided.effect is PermissionEffect.DENY or self.standing.decision(request_id) is not None:
            return self._cancel(call, f"Not permitted: {decided.reason}", decided.rule.value)
        risk = self.setup.risks.get(call.tool_name, RiskClass.CRITICAL)
        request = request_for(call, request_id, decided.reason, risk, self.words.clock())
        return self._put(request, call.step, call.tool_name)

    def _again(self, call: Call) -> Ending | None:
        """A call with an unknown outcome: a person says whether it runs again."""
        request_id = f"again-{call.tool_call_id}"
        decision = self.standing.decision(request_id)
        if decision is None:
            tool = self.tools[call.tool_name]
            risk = RiskClass.HIGH if tool.is_destructive else tool.risk
            request = request_for(call, request_id, UNKNOWN_OUTCOME, risk, self.words.clock(), again=True)
            return self._put(request, call.step, call.tool_name)
        if decision.outcome is not ApprovalOutcome.APPROVED:
            return self._ask(call.step + 1)
        retry = self._call(call.step, call.attempt + 1)
        if not retry.is_whole:
            return self._cancel(retry, _NOT_RECORDED, "arguments_not_recorded")
        decided = self._decide_permission(retry, (request_id,))
        if decided.effect is not PermissionEffect.ALLOW:
            return self._cancel(retry, f"Not permitted: {decided.reason}", decided.rule.value)
        return self._carry_out(retry)

    def _decide_permission(self, call: Call, requests: tuple[str, ...]) -> PermissionDecision:
        parts, now = self.ledger.run(self.words.run_id).parts(), self.words.clock()
        approvals = self.standing.approvals(requests)
        return permission(self.setup, call, parts, approvals, now, self.workspace.shown_as)

    def _cancel(self, call: Call, reason: str, category: str) -> None:
        result = self.words.result(call, _cancelled(reason, category), None, None)
        self._say(self.words.intent(call, ToolStatus.CANCELLED), result)

    def _carry_out(self, call: Call) -> None:
        self._say(self.words.intent(call))
        started_at: datetime = self.words.clock()
        seconds = self.setup.limits.tool_seconds
        outcome = use_tool(self.tools[call.tool_name], self.workspace, call.arguments, seconds)
        command, summary = call.arguments.get("command"), None
        if isinstance(command, str):
            summary = summary_of(command, outcome.text, outcome.exit_code)
        self._say(self.words.result(call, outcome, started_at, summary))

    # People

    def _put(
        self, request: ApprovalRequest, step: int, tool_name: str | None, *, for_model: bool = False
    ) -> Ending | None:
        """Asks a person, after the question is on record: the recorded one, where it was asked before."""
        request = self.standing.request(request.request_id) or request
        self._say(self.words.asked(request, step, tool_name))
        decision = self.approve(request)
        if decision is None:
            self._waiting_for = request
            return Ending.WAITING
        if decision.request_id != request.request_id:
            raise ConfigurationError(
                f"The decision is about request {decision.request_id!r}; {request.request_id!r} was asked."
            )
        self._say(self.words.decided(decision, step, for_model=for_model))
        return None

    def _after_request(self, step: int, action: NextActionResponse) -> Ending | None:
        """The model asks for an approval of what it wants to do next."""
        if self.standing.get(f"decided:request-{step}") is not None:
            return self._ask(step + 1)
        name = action.tool_name or "-"
        arguments, exact = dict(action.tool_arguments or {}), self.standing.arguments_hash(step)
        answer = self.standing.answer(step)
        call = Call(self.words.run_id, step, name, arguments, exact, answer.message_id, answer.actor)
        risk = self.setup.risks.get(name, RiskClass.CRITICAL)
        request = request_for(call, f"request-{step}", action.rationale_summary, risk, self.words.clock())
        return self._put(request, step, action.tool_name, for_model=True)


def _cancelled(reason: str, category: str = "cancelled") -> ToolOutcome:
    return ToolOutcome(reason, ToolStatus.CANCELLED, error_category=category)
