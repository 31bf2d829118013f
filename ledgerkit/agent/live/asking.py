"""One model call: the context from the ledger, the answer, and the action that its fields say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ledgerkit.agent.live.models import Model
from ledgerkit.agent.live.saying import Words
from ledgerkit.agent.live.setup import Setup
from ledgerkit.agent.live.standing import Standing
from ledgerkit.agent.model import ModelUnavailableError
from ledgerkit.errors import PayloadRefusedError, ProtocolError
from ledgerkit.ledger import Ledger
from ledgerkit.projection import Context
from ledgerkit.protocol.messages import AppendMessageCommand
from ledgerkit.protocol.responses import NEXT_ACTION_CONTRACT, NextActionResponse
from ledgerkit.protocol.usage import ModelCall
from ledgerkit.providers import ActionRefusal, Answer, next_action

_WAIT_SECONDS: Final = 1.0


@dataclass(frozen=True)
class Asked:
    """What an answer said.

    Attributes:
        context: What the model was given.
        answer: What it answered.
        call: The model call.
        action: The action, or why there is none.
    """

    context: Context
    answer: Answer
    call: ModelCall
    action: NextActionResponse | ActionRefusal


def ask_model(  # noqa: PLR0913 - a call's surroundings
    ledger: Ledger,
    setup: Setup,
    standing: Standing,
    model: Model,
    step: int,
    *,
    words: Words,
    say: Callable[[AppendMessageCommand], object],
    wait: Callable[[float], None],
) -> Asked | None:
    """Asks for the next action; ``None`` if the model could not be reached in as many attempts as the limits allow.

    Nothing is read out of sentences: an answer is an action by its fields, or it is none.
    """
    context = setup.context(ledger, words.run_id, step)
    before = sum(1 for message in standing.messages if _is_failure(message.idempotency_key, step))
    for attempt in range(setup.limits.max_attempts):
        try:
            answer = model.ask(context.request)
        except PayloadRefusedError:
            raise  # the request itself does not fit the interface: asking again changes nothing
        except (ModelUnavailableError, ProtocolError) as error:
            status = error.status if isinstance(error, ModelUnavailableError) else 0
            say(words.model_failed(step, before + attempt, str(error), status))
            if attempt + 1 < setup.limits.max_attempts:
                wait(_WAIT_SECONDS * 2**attempt)
            continue
        declared = {tool.name for tool in context.request.tools}
        action = next_action(answer, NEXT_ACTION_CONTRACT, allowed=declared)
        return Asked(context, answer, _call_of(answer, setup, words.run_id, step), action)
    return None


def _is_failure(key: str | None, step: int) -> bool:
    return key is not None and key.startswith(f"model-failed:{step}:")


def _call_of(answer: Answer, setup: Setup, run_id: str, step: int) -> ModelCall:
    """The model call; where the server gives no id, one by its place in the run."""
    call = answer.call or ModelCall(model=setup.model)
    more = {"call_id": call.call_id or f"{run_id}:{step}", "model": call.model or setup.model}
    return call.model_copy(update=more)
