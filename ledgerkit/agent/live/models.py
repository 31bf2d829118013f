"""Models behind one protocol: a script, and any server that speaks a known interface.

The rule: a model is given a request that was projected from the ledger, and nothing else; whoever answers keeps no
state that a restart would lose.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pydantic import JsonValue

from ledgerkit.agent.model import ScriptEndedError
from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.protocol.requests import LlmRequest
from ledgerkit.protocol.responses import NextActionResponse
from ledgerkit.protocol.usage import ModelCall, Usage
from ledgerkit.providers import Answer, AnsweredText, StopReason
from ledgerkit.tokens import count

SCRIPTED: Final = "scripted"
"""Provider of answers that a script gave."""

ScriptedAnswer = NextActionResponse | Mapping[str, JsonValue] | str


class Model(Protocol):
    """Whatever answers requests."""

    @property
    def name(self) -> str:
        """The model that requests ask for."""
        ...

    def ask(self, request: LlmRequest, /) -> Answer:
        """Answers a request.

        Raises:
            ModelUnavailableError: If the call failed and may be tried again.
            ProtocolError: If what came back is no answer of the interface.
        """
        ...


@dataclass(frozen=True)
class ScriptedModel:
    """Gives the answers of a list: at step 0 the first, and so on, whatever it is told.

    It goes by the step that the request names, so that a run which is taken up after a crash gets the answers that it
    would have had. Its tokens are counted (o200k_base) on the request's and the answer's JSON; nobody is billed.

    Attributes:
        answers: Actions, or texts just as a model would say them, malformed ones included.
        name: The model's name.

    Example:
        >>> from ledgerkit.protocol.requests import LlmRequest, TraceContext
        >>> trace = TraceContext(session_id="s", run_id="r", step=0)
        >>> model = ScriptedModel([{"nextAction": "FINISH_BLOCKED", "rationaleSummary": "No access."}])
        >>> model.ask(LlmRequest(request_id="q", model="m", trace=trace)).text
        '{"nextAction": "FINISH_BLOCKED", "rationaleSummary": "No access."}'
    """

    answers: Sequence[ScriptedAnswer]
    name: str = SCRIPTED

    def ask(self, request: LlmRequest) -> Answer:
        """The answer for the request's step.

        Raises:
            ScriptEndedError: If the script holds no answer for it.
        """
        step = 0 if request.trace is None else request.trace.step
        if step >= len(self.answers):
            raise ScriptEndedError(
                f"The script has {len(self.answers)} answers, and step {step} asks for one more. Extend the script."
            )
        text = _said(self.answers[step])
        usage = Usage(input_tokens=count(request.model_dump_json()), output_tokens=count(text))
        call = ModelCall(call_id=request.request_id, model=self.name, provider=SCRIPTED, usage=usage)
        return Answer(ProviderInterface.LOCAL, (AnsweredText(text),), call, StopReason.FINISHED, "stop")


def _said(answer: ScriptedAnswer) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, NextActionResponse):
        return answer.model_dump_json(exclude_none=True)
    return json.dumps(dict(answer), ensure_ascii=False)
