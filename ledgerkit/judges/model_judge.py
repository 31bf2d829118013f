"""A judge that asks a model: bounded input, several votes, retries, a cost cap, and every answer kept word for word."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Final, Protocol

from pydantic import Field, JsonValue

from ledgerkit.cost import PriceBook
from ledgerkit.errors import ConfigurationError, ModelUnavailableError, ProtocolError
from ledgerkit.judges.case import DEFAULT_TOKENS, Case
from ledgerkit.judges.judge import Assessment, RawAnswer
from ledgerkit.judges.judgement import Judgement, Reason
from ledgerkit.judges.prompting import request_of
from ledgerkit.judges.rubric import Rubric
from ledgerkit.judges.spending import Meter
from ledgerkit.judges.votes import Panel, Shown, Vote, read_vote, settled
from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.protocol.model import Model, Ratio
from ledgerkit.protocol.requests import LlmRequest, LlmRequestOptions
from ledgerkit.protocol.usage import ModelCall
from ledgerkit.protocol.vocabulary import Audience
from ledgerkit.providers import read_answer
from ledgerkit.tokens import count

_WORTH_ANOTHER_TRY: Final = frozenset({0, 408, 409, 425, 429})


class AskedModel(Protocol):
    """Whoever is asked; :class:`ledgerkit.providers.http.HttpModel` is."""

    @property
    def name(self) -> str:
        """The model, as its server calls it."""
        ...

    @property
    def interface(self) -> ProviderInterface:
        """What its server speaks."""
        ...

    def send(self, request: LlmRequest, /) -> bytes:
        """The body of its answer, as it came.

        Raises:
            ModelUnavailableError: If no answer came.
        """
        ...


class Backoff(Model):
    """How often a call is tried again, and how long is waited in between."""

    attempts: Annotated[int, Field(strict=True, ge=1, le=20)] = 3
    """Tries of one vote."""
    first_seconds: Ratio = 1.0
    """Wait before the second try."""
    factor: Annotated[Ratio, Field(ge=1)] = 2.0
    """How much longer each further wait is."""

    def seconds(self, attempt: int) -> float:
        """How long to wait after a try that failed, counted from 0.

        Example:
            >>> [Backoff().seconds(attempt) for attempt in range(3)]
            [1.0, 2.0, 4.0]
        """
        return self.first_seconds * self.factor**attempt


DEFAULT_BACKOFF: Final = Backoff()


@dataclass(frozen=True)
class ModelJudge:
    """Asks a model, several times, and takes the answer of more than half.

    It may lift what the rules leave unverified, and never overrules a rule that failed: see
    :func:`ledgerkit.judges.combined`. Whoever uses its judgements should calibrate it first.

    Attributes:
        model: Whom to ask.
        rubric: What to ask.
        votes: How many votes; an odd number cannot be a tie.
        temperature: Of the model; ``None`` leaves it to the server.
        max_input_tokens: Of all exhibits together.
        max_output_tokens: Of one answer.
        backoff: Tries and waits.
        cost_cap_usd: US dollars that all its calls together may cost. A call that could cross it is not made.
        prices: Where prices come from; the bundled list if not given.
        provider: Who serves the model, for its price.
        audience: Whose eyes: parts that this audience may not see are not sent. A model is a model; say ``people`` only
            for a server that people's data may go to.
        wait: Lets seconds pass.
        clock: Tells the day whose prices hold.
    """

    model: AskedModel
    rubric: Rubric
    votes: int = 3
    temperature: float | None = None
    max_input_tokens: int = DEFAULT_TOKENS
    max_output_tokens: int = 2_000
    backoff: Backoff = DEFAULT_BACKOFF
    cost_cap_usd: Decimal | None = None
    prices: PriceBook | None = None
    provider: str | None = None
    audience: Audience = Audience.MODEL
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        if self.votes < 1:
            raise ConfigurationError("A model judge needs one vote at least.")
        meter = Meter(self.model.name, self.provider, self.prices, self.cost_cap_usd)
        meter.check(self.clock())
        object.__setattr__(self, "meter", meter)

    @property
    def judge_id(self) -> str:
        """The judge: the model that it asks."""
        return f"model:{self.model.name}"

    @property
    def version(self) -> str:
        """How it asks: everything that its answers depend on beside model, rubric and case."""
        warmth = "default" if self.temperature is None else f"{self.temperature:g}"
        return (
            f"1;interface={self.model.interface};votes={self.votes};temperature={warmth};"
            f"input={self.max_input_tokens};output={self.max_output_tokens};audience={self.audience}"
        )

    def assess(self, case: Case) -> Judgement:
        """The judgement of a case."""
        return self.assess_recorded(case).judgement

    def assess_recorded(self, case: Case) -> Assessment:
        """The judgement of a case, with all that was answered."""
        shown = {one.name: Shown(one.reference, one.may_prove) for one in case.exhibits}
        answers, votes, costs = list[RawAnswer](), list[Vote](), list[Decimal | None]()
        stopped: Reason | None = None
        for number in range(self.votes):
            request = request_of(case, self.rubric, self.model.name, self._options(number))
            tokens = count(request.model_dump_json())
            if not self.meter.allows(tokens, self.max_output_tokens, self.clock()):
                stopped = Reason.COST_CAP
                break
            tried = self._tried(request, number, costs)
            answers += tried
            votes.append(read_vote(tried[-1], self.model.interface, self.rubric, shown))
        cost_usd = None if any(one is None for one in costs) else sum((one or Decimal(0) for one in costs), Decimal(0))
        panel = Panel(self.judge_id, self.version, self.rubric, case.subject)
        return Assessment(
            settled(panel, votes, self.votes, cost_usd, stopped), tuple(answers), self._brief(case, stopped)
        )

    def _options(self, vote: int) -> LlmRequestOptions:
        return LlmRequestOptions(max_output_tokens=self.max_output_tokens, temperature=self.temperature, seed=vote)

    def _tried(self, request: LlmRequest, vote: int, costs: list[Decimal | None]) -> list[RawAnswer]:
        """What was answered to one request, try after try; the last is what counts."""
        tried = list[RawAnswer]()
        for attempt in range(self.backoff.attempts):
            try:
                body = self.model.send(request)
            except ModelUnavailableError as error:
                tried.append(RawAnswer(vote, attempt, "", str(error)))
                if not _is_worth_another_try(error.status) or attempt + 1 == self.backoff.attempts:
                    break
                self.wait(self.backoff.seconds(attempt))
                continue
            call = self._call(body)
            costs.append(self.meter.add(call.usage, self.clock()))
            tried.append(RawAnswer(vote, attempt, body.decode("utf-8", "replace"), call=call))
            break
        return tried

    def _call(self, body: bytes) -> ModelCall:
        """The call, as far as its answer says; a malformed answer was paid for too."""
        try:
            call = read_answer(self.model.interface, body).call
        except ProtocolError:
            call = None
        found = call or ModelCall(model=self.model.name)
        return found.model_copy(update={"model": found.model or self.model.name, "provider": self.provider})

    def _brief(self, case: Case, stopped: Reason | None) -> dict[str, JsonValue]:
        exhibits: list[JsonValue] = [
            {"name": one.name, "reference": one.reference, "may_prove": one.may_prove} for one in case.exhibits
        ]
        return {
            "interface": self.model.interface.value,
            "votes": self.votes,
            "stopped": None if stopped is None else stopped.value,
            "rubric": self.rubric.model_dump(mode="json"),
            "exhibits": exhibits,
            "left_out": case.left_out,
        }


def _is_worth_another_try(status: int) -> bool:
    return status in _WORTH_ANOTHER_TRY or status >= 500
