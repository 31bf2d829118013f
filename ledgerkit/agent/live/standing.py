"""How a run stands, read from its messages: what was answered, asked, begun and ended.

The rule: messages are found by their place in the run (their idempotency key), never by what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from ledgerkit.agent.live.saying import ANSWER, Call
from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.contracts import ApprovalDecision, ApprovalOutcome, ApprovalRequest
from ledgerkit.protocol.messages import AgentMessage
from ledgerkit.protocol.parts import ToolCallPart, ToolResultPart
from ledgerkit.protocol.refusals import parse
from ledgerkit.protocol.responses import NextActionResponse
from ledgerkit.protocol.usage import Usage
from ledgerkit.protocol.vocabulary import ToolStatus
from ledgerkit.safety.permissions import LabelledApproval

_NO_ANSWER: Final = -1


@dataclass
class Standing:
    """The messages of a run, by their place in it.

    Attributes:
        messages: All of them, in order.
    """

    messages: list[AgentMessage] = field(default_factory=list[AgentMessage])
    _by_key: dict[str, AgentMessage] = field(default_factory=dict[str, AgentMessage])

    @classmethod
    def of(cls, messages: Iterable[AgentMessage]) -> Standing:
        """How the run of some messages stands."""
        standing = cls()
        standing.learn(messages)
        return standing

    def learn(self, messages: Iterable[AgentMessage]) -> None:
        """Takes in messages; one that is there already changes nothing."""
        for message in messages:
            key = message.idempotency_key
            if key is not None and key not in self._by_key:
                self._by_key[key] = message
                self.messages.append(message)

    def get(self, key: str) -> AgentMessage | None:
        """The message at a place of the run."""
        return self._by_key.get(key)

    def at(self, key: str) -> AgentMessage:
        """The message at a place of the run.

        Raises:
            KeyError: If there is none.
        """
        return self._by_key[key]

    @property
    def last_step(self) -> int:
        """The last step that was answered; -1 before the first."""
        steps = [m.step for key, m in self._by_key.items() if key.startswith("answer:") and m.step is not None]
        return max(steps, default=_NO_ANSWER)

    def answer(self, step: int) -> AgentMessage:
        """The answer of a step."""
        return self.at(f"answer:{step}")

    def action(self, step: int) -> NextActionResponse | None:
        """The action that was read from a step's answer; ``None`` if it gave none."""
        data = _data(self.answer(step))
        return parse(NextActionResponse, data["action"]) if "action" in data else None

    def arguments_hash(self, step: int) -> str:
        """Hash of the arguments as the model gave them."""
        return str(_data(self.answer(step))["arguments_hash"])

    def refusals(self, step: int) -> int:
        """How many answers in a row up to a step gave no action."""
        count = 0
        while count <= step and "refused" in _data(self.answer(step - count)):
            count += 1
        return count

    def refused(self, step: int) -> tuple[str, str]:
        """Why a step's answer gave no action: the reason, and what was wrong with it."""
        data = _data(self.answer(step))
        return str(data["refused"]), str(data["problem"])

    def usage(self) -> Usage:
        """Tokens of all answers that said them."""
        told = [m.usage for key, m in self._by_key.items() if key.startswith("answer:") and m.usage is not None]
        inputs, outputs = (sum(getattr(one, name) or 0 for one in told) for name in ("input_tokens", "output_tokens"))
        return Usage(input_tokens=inputs, output_tokens=outputs)

    # Calls

    def intended(self, call: Call) -> ToolCallPart | None:
        """The recorded intent of a call."""
        message = self.get(f"call:{call.tool_call_id}")
        return None if message is None else cast("ToolCallPart", message.parts[0])

    def result(self, call: Call) -> ToolResultPart | None:
        """The recorded result of a call."""
        message = self.get(f"result:{call.tool_call_id}")
        return None if message is None else cast("ToolResultPart", message.parts[0])

    def open_calls(self) -> list[ToolCallPart]:
        """Calls that were begun and whose end nobody recorded."""
        begun = [
            cast("ToolCallPart", message.parts[0]) for key, message in self._by_key.items() if key.startswith("call:")
        ]
        return [
            part
            for part in begun
            if part.status is ToolStatus.REQUESTED and f"result:{part.tool_call_id}" not in self._by_key
        ]

    # Approvals

    def request(self, request_id: str) -> ApprovalRequest | None:
        """A request that was asked."""
        message = self.get(f"asked:{request_id}")
        return None if message is None else parse(ApprovalRequest, _data(message))

    def decision(self, request_id: str) -> ApprovalDecision | None:
        """What was decided about a request."""
        message = self.get(f"decided:{request_id}")
        return None if message is None else parse(ApprovalDecision, _data(message))

    def approvals(self, request_ids: Sequence[str]) -> list[LabelledApproval]:
        """Decisions about some requests, and every refusal of the run: what was denied once stays denied."""
        found = list[LabelledApproval]()
        for key, message in self._by_key.items():
            if not key.startswith("decided:"):
                continue
            try:
                decision = parse(ApprovalDecision, _data(message))
            except ProtocolError:
                continue  # a decision that cannot be read approves nothing
            if decision.request_id in request_ids or decision.outcome is ApprovalOutcome.DENIED:
                found.append(LabelledApproval(decision, message.parts[0].trust_level))
        return found


def _data(message: AgentMessage) -> dict[str, Any]:
    """What a message says in its structured part."""
    parts = [cast("dict[str, Any] | None", getattr(part, "data", None)) for part in message.parts]
    found = [data for data in parts if isinstance(data, dict)]
    notes = [data for data in found if data.get("note") == ANSWER]
    return (notes or found)[0]
