"""The agent's loop: ask the model, carry out what it asks for, until it asks for nothing.

The rule: every request, answer, result and failure goes to the recorder before the next one happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ledgerkit.agent.clock import Clock
from ledgerkit.agent.exchange import ChatMessage, Purpose, Request, Response, TextBlock, ToolResult, ToolSpec, ToolUse
from ledgerkit.agent.model import LOST_RESULT, Model, ModelUnavailableError
from ledgerkit.agent.outcomes import Outcome
from ledgerkit.agent.record import (
    Answered,
    ApprovalAsked,
    ApprovalDecided,
    Compacted,
    ModelFailed,
    Prompted,
    Recorder,
    ResultLost,
    ToolFinished,
)
from ledgerkit.agent.tools import Tools
from ledgerkit.agent.usage import request_tokens
from ledgerkit.errors import LedgerkitError
from ledgerkit.protocol.vocabulary import ToolStatus

COMPACTION_PROMPT = (
    "Summarise the conversation so far, so that the work can go on from the summary alone: the task in the user's "
    "words, what was read, changed and run with what result, what is open, and what you leave out."
)
CONTINUATION = "This session continues an earlier conversation that ran out of context. Its summary:\n\n"
DENIED = "The user doesn't want to proceed with this tool use. The tool use was rejected. Go on without it."
_RETRY_MS = 1000


class Ending(StrEnum):
    """How a stretch of work ended."""

    ANSWERED = "answered"
    INTERRUPTED = "interrupted"
    STEP_LIMIT = "step_limit"


class ResultLostError(LedgerkitError):
    """A tool ran and its result did not arrive: the session ended, the connection broke."""


class Approver(Protocol):
    """Decides on calls that need approval."""

    def reason(self, call: ToolUse) -> str | None:
        """Why a call needs approval; None if it does not."""
        ...

    def decide(self, call: ToolUse) -> tuple[bool, str]:
        """Whether it is approved, and by whom."""
        ...


@dataclass(slots=True)
class Conversation:
    """What the model is told, as it grows."""

    model: str
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    preamble: tuple[str, ...] = ()
    messages: list[ChatMessage] = field(default_factory=list[ChatMessage])

    def request(self, purpose: Purpose = "step") -> Request:
        """The request as it stands."""
        return Request(self.model, self.system, self.tools, tuple(self.messages), purpose=purpose)

    def say(self, text: str) -> None:
        """Add the user's words; the first ones follow the preamble."""
        head = () if self.messages else self.preamble
        blocks = tuple(TextBlock(t) for t in (*head, text))
        if self.messages and self.messages[-1].role == "user":
            blocks = (*self.messages.pop().blocks, *blocks)
        self.messages.append(ChatMessage("user", blocks))

    def hear(self, response: Response) -> None:
        """Add an answer, without its thinking."""
        kept = tuple(b for b in response.blocks if isinstance(b, TextBlock | ToolUse))
        self.messages.append(ChatMessage("assistant", kept))

    def learn(self, results: Sequence[ToolResult]) -> None:
        """Add the results of the last answer's calls."""
        self.messages.append(ChatMessage("user", tuple(results)))

    def restart(self, summary: str) -> None:
        """Put a summary in the place of everything said."""
        self.messages = []
        self.say(CONTINUATION + summary)


@dataclass(slots=True)
class Agent:
    """An agent at work on one conversation.

    Attributes:
        conversation: What the model is told.
        model: Who answers.
        tools: What carries out calls.
        recorder: Where everything is said.
        clock: The time.
        context_limit: Tokens of a request beyond which the conversation is compacted; None never compacts.
        step_limit: Model calls at most.
        approver: Who decides on calls that need approval.
        wait: Lets so many seconds pass before a failed call is tried again.
        step: Number of the next model call.
    """

    conversation: Conversation
    model: Model
    tools: Tools
    recorder: Recorder
    clock: Clock
    context_limit: int | None = None
    step_limit: int = 60
    approver: Approver | None = None
    wait: Callable[[float], None] = time.sleep
    step: int = 0

    def prompt(self, text: str, entry: Prompted | None = None) -> Ending:
        """Say something to the agent and let it work until it answers."""
        self.recorder.append(entry or Prompted(self.clock(), self.step, text))
        self.conversation.say(text)
        return self.work()

    def work(self) -> Ending:
        """Ask, act, repeat."""
        while self.step < self.step_limit:
            self._compact_if_long()
            response = self._ask()
            self.conversation.hear(response)
            if not response.tool_uses:
                return Ending.ANSWERED
            results, complete = self._act(response.tool_uses)
            self.conversation.learn(results)
            if not complete:
                return Ending.INTERRUPTED
        return Ending.STEP_LIMIT

    def _ask(self) -> Response:
        request, asked_at = self.conversation.request(), self.clock()
        response = self._complete(request)
        self.recorder.append(Answered(self.clock(), self.step, asked_at, request, response))
        self.step += 1
        return response

    def _complete(self, request: Request, attempts: int = 5) -> Response:
        for attempt in range(1, attempts):
            try:
                return self.model.complete(request)
            except ModelUnavailableError as error:
                failure = ModelFailed(self.clock(), self.step, error.status, str(error), attempt, _RETRY_MS * attempt)
                self.recorder.append(failure)
                self.wait(_RETRY_MS * attempt / 1000)
        return self.model.complete(request)

    def _act(self, calls: Sequence[ToolUse]) -> tuple[list[ToolResult], bool]:
        results: list[ToolResult] = []
        for call in calls:
            started_at = self.clock()
            try:
                outcome = self._carry_out(call)
            except ResultLostError:
                missing = calls[len(results) :]
                for lost in missing:
                    self.recorder.append(ResultLost(self.clock(), self.step - 1, lost))
                return results + [ToolResult(c.tool_call_id, LOST_RESULT, is_error=True) for c in missing], False
            self.recorder.append(ToolFinished(self.clock(), self.step - 1, started_at, call, outcome))
            results.append(ToolResult(call.tool_call_id, outcome.text, outcome.is_error))
        return results, True

    def _carry_out(self, call: ToolUse) -> Outcome:
        reason = self.approver.reason(call) if self.approver else None
        if self.approver and reason:
            self.recorder.append(ApprovalAsked(self.clock(), self.step - 1, call, reason))
            approved, by = self.approver.decide(call)
            self.recorder.append(ApprovalDecided(self.clock(), self.step - 1, call, approved, by))
            if not approved:
                return Outcome(DENIED, ToolStatus.CANCELLED, error_category="denied")
        return self.tools.run(call)

    def _compact_if_long(self) -> None:
        before = request_tokens(self.conversation.request())
        if self.context_limit is None or before <= self.context_limit or not self._has_worked():
            return
        self.conversation.say(COMPACTION_PROMPT)
        request, asked_at = self.conversation.request("compaction"), self.clock()
        response = self._complete(request)
        self.recorder.append(Compacted(self.clock(), self.step, asked_at, request, response, before))
        self.step += 1
        self.conversation.restart(response.text)

    def _has_worked(self) -> bool:
        return any(m.role == "assistant" for m in self.conversation.messages)
