"""What an agent does next, and does: one move at a time, each decided by how the run stands.

The rule: a move either adds messages, or ends the stretch of work. The order in which they are added is what makes a
crash harmless: approval before intent, intent before the call, the call before its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from ledgerkit.agent.live.asking import ask_model
from ledgerkit.agent.live.checks import outcome_of, run_check, summary_of
from ledgerkit.agent.live.ending import AgentEnd, Approve, Ending
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
from ledgerkit.protocol.parts import VerificationPart
from ledgerkit.protocol.responses import NextActionResponse
from ledgerkit.protocol.vocabulary import NextAction, ToolStatus, TrustLevel, Verdict
from ledgerkit.providers import ActionRefusal, RefusalReason
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
class Work:
    """A run at work.

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

    def go_on(self) -> AgentEnd:
        """Makes moves until the stretch of work ends."""
        self._recover()
        ending = self._ended()
        while ending is None:
            ending = self._move()
        words = self.words
        steps = self.standing.last_step + 1
        return AgentEnd(words.session_id, words.run_id, ending, steps, self._waiting_for)

    def _ended(self) -> Ending | None:
        message = self.standing.get("ended")
        return None if message is None else Ending(str(message.metadata["ending"]))

    def _recover(self) -> None:
        """Gives every call that was begun and did not end the outcome that is known of it: none."""
        for part in self.standing.open_calls():
            request = self.standing.at(f"call:{part.tool_call_id}")
            step, attempt = request.step or 0, request.metadata.get("attempt", 0)
            call = self._call(step, int(str(attempt)))
            outcome = ToolOutcome(UNKNOWN_OUTCOME, ToolStatus.UNKNOWN, error_category="outcome_unknown")
            self._say(self.words.result(call, outcome, None, None))

    def _say(self, *commands: AppendMessageCommand) -> None:
        self.standing.learn(self.recorder.append_many(commands))

    # Moves

    def _move(self) -> Ending | None:
        step = self.standing.last_step
        if step < 0:
            return self._ask(0)
        action = self._said.get(step) or self.standing.action(step)
        if action is None:
            return self._after_refusal(step)
        match action.next_action:
            case NextAction.CALL_TOOL:
                return self._after_call(step)
            case NextAction.REQUEST_APPROVAL:
                return self._after_request(step, action)
            case NextAction.FINISH_WITH_PATCH:
                return self._after_patch(step)
            case NextAction.FINISH_BLOCKED | NextAction.FINISH_FAILED:
                is_blocked = action.next_action is NextAction.FINISH_BLOCKED
                return self._end(step, Ending.BLOCKED if is_blocked else Ending.FAILED)

    def _ask(self, step: int) -> Ending | None:
        if (over := self._over_limit(step)) is not None:
            return self._end(max(step - 1, 0), over)
        asked = ask_model(
            self.ledger, self.setup, self.standing, self.model, step, words=self.words, say=self._say, wait=self.wait
        )
        if asked is None:
            return Ending.MODEL_UNAVAILABLE
        if isinstance(asked.action, NextActionResponse):
            self._said[step] = asked.action
        self._say(self.words.answer(step, asked.context, asked.answer, asked.call, asked.action))
        return None

    def _over_limit(self, step: int) -> Ending | None:
        budget, used = self.setup.task.budget, self.standing.usage()
        if step >= self.setup.limits.max_steps:
            return Ending.STEP_LIMIT
        began = self.standing.messages[0].created_at
        spent = {
            "steps": step,
            "input_tokens": used.input_tokens or 0,
            "output_tokens": used.output_tokens or 0,
            "seconds": 0 if began is None else int((self.words.clock() - began).total_seconds()),
        }
        limits = {name: getattr(budget, name) for name in spent}
        is_spent = any(limit is not None and spent[name] >= limit for name, limit in limits.items())
        if budget.cost_usd is not None and not is_spent:
            cost = self.ledger.run(self.words.run_id).facts["cost"]
            is_spent = cost is not None and cost >= budget.cost_usd
        return Ending.BUDGET_SPENT if is_spent else None

    def _after_refusal(self, step: int) -> Ending | None:
        if self.standing.get(f"refusal:{step}") is None:
            answer = self.standing.answer(step)
            reason, problem = self.standing.refused(step)
            self._say(self.words.refusal(step, ActionRefusal(RefusalReason(reason), problem), answer))
        if self.standing.refusals(step) >= self.setup.limits.max_refusals:
            return self._end(step, Ending.FAILED)
        return self._ask(step + 1)

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

    # Ends

    def _after_patch(self, step: int) -> Ending | None:
        """Holds the work against the contract's checks; one that must pass and does not sends the agent back."""
        verdicts = dict[str, Verdict]()
        required = dict[str, bool]()
        for check in self.setup.task.success_checks:
            if check.command is None:
                continue
            key = f"check:{step}:{check.name}"
            if self.standing.get(key) is None:
                self._say(self.words.verified(step, check.name, *run_check(check, self.workspace, self._seconds)))
            part = self.standing.at(key).parts[0]
            verdicts[check.name] = part.verdict if isinstance(part, VerificationPart) else Verdict.INCONCLUSIVE
            required[check.name] = check.is_required
        if all(verdicts[name] is Verdict.PASSED for name, counts in required.items() if counts):
            return self._end(step, Ending.FINISHED, verdicts)
        return self._ask(step + 1)

    @property
    def _seconds(self) -> float:
        return self.setup.limits.tool_seconds

    def _end(self, step: int, ending: Ending, verdicts: dict[str, Verdict] | None = None) -> Ending:
        if verdicts:
            self._say(self.words.verified(step, "outcome", outcome_of(self.setup.task, verdicts)))
        summary = self.ledger.summarise(self.words.run_id)
        items = [*summary.facts, *summary.decisions, *summary.open_problems, *summary.changed_files]
        trust = TrustLevel.lowest([TrustLevel.TOOL_TRUSTED, *(item.trust_level for item in items)])
        data: dict[str, JsonValue] = {
            "note": "run summary",
            "ending": ending.value,
            "summary": summary.model_dump(mode="json"),
        }
        self._say(self.words.summary(step, data, trust))
        return ending


def _cancelled(reason: str, category: str = "cancelled") -> ToolOutcome:
    return ToolOutcome(reason, ToolStatus.CANCELLED, error_category=category)
