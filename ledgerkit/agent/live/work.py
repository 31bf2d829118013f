"""What an agent does next, and does: one move at a time, each decided by how the run stands.

The rule: a move either adds messages, or ends the stretch of work. The order in which they are added is what makes a
crash harmless: approval before intent, intent before the call, the call before its result.
"""

from __future__ import annotations

from pydantic import JsonValue

from ledgerkit.agent.live.asking import ask_model
from ledgerkit.agent.live.calling import CallWork
from ledgerkit.agent.live.checks import outcome_of, run_check
from ledgerkit.agent.live.ending import AgentEnd, Ending
from ledgerkit.protocol.parts import VerificationPart
from ledgerkit.protocol.responses import NextActionResponse
from ledgerkit.protocol.vocabulary import NextAction, TrustLevel, Verdict
from ledgerkit.providers import ActionRefusal, RefusalReason


class Work(CallWork):
    """A run at work, from its first question to its end."""

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
