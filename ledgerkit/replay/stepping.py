"""A run step by step: what the model could have seen by then, what it wrote, what came back.

This is what was *visible by then*, not the exact context of the call: a client may have left things out, and the
system prompt and tool schemas are not in the logs. Exact contexts need a strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from ledgerkit import errors
from ledgerkit.displays import Displayed
from ledgerkit.protocol.vocabulary import Audience, Visibility

if TYPE_CHECKING:
    from ledgerkit.strategies import RunFrames, Strategy

_MODEL_SEES = [level.value for level in Visibility if Audience.MODEL.may_see(level)]
_ORDER = ("sequence_no", "part_index")
_FAILED = ("FAILED", "TIMED_OUT", "CANCELLED")


@dataclass(frozen=True, slots=True)
class Step(Displayed):
    """One model call of a run.

    Frames have the columns of the ``parts`` view and ``inherited`` (0 for parts of the run that this one branched
    off from, 1 for its own), in order.

    Attributes:
        number: Number of the call, from 0.
        call: Its row of ``model_calls``, with its cost if the calls were priced.
        spent: What the run's calls up to this one cost, in dollars; ``None`` if no price of them is known.
        unpriced: Calls up to this one whose price is not known.
        visible: Parts that its context may hold.
        entered: Those of them that no earlier call could see.
        wrote: Parts that the model wrote in this call.
        came_back: Results of the calls that it asked for.
        beside: What the client or a hook noted meanwhile, for people only.
        verdicts: Verdicts of checks that it asked for, or that were recorded by then (``verifier_results`` view).
    """

    number: int
    call: dict[str, Any]
    spent: Any
    unpriced: int
    visible: pl.DataFrame
    entered: pl.DataFrame
    wrote: pl.DataFrame
    came_back: pl.DataFrame
    beside: pl.DataFrame
    verdicts: pl.DataFrame

    @property
    def visible_tokens(self) -> int:
        """Tokens of the visible parts that were counted."""
        return int(self.visible["token_count"].fill_null(0).sum())


class Replay(Displayed):
    """Steps through a run. In a notebook it shows itself as a widget.

    Args:
        parts: Parts of the run (``parts`` view).
        calls: Its model calls (``model_calls`` view), priced or not.
        inherited: Parts of the runs that it branched off from, up to the branch, the eldest run's first; visible from
            its first step on.
        verdicts: Verdicts on its work (``verifier_results`` view).
        facts: Gives what is known of the run: ``run_id``, ``title`` and so on. Asked when it is shown.
        frames: Gives its steps and parts as strategies take them. Asked when contexts are shown.
        strategies: Strategies whose contexts are shown.

    Attributes:
        strategies: Strategies whose contexts a notebook shows; none: those that it picks.
    """

    def __init__(
        self,
        parts: pl.DataFrame,
        calls: pl.DataFrame,
        inherited: pl.DataFrame | None = None,
        verdicts: pl.DataFrame | None = None,
        *,
        facts: Callable[[], Mapping[str, Any]] | None = None,
        frames: Callable[[], RunFrames] | None = None,
        strategies: Sequence[Strategy] = (),
    ) -> None:
        own = parts.with_columns(inherited=pl.lit(1, pl.Int8)).sort(*_ORDER)
        if inherited is not None and inherited.height:
            before = inherited.with_columns(inherited=pl.lit(0, pl.Int8), visible_from=pl.lit(0, pl.Int32))
            own = pl.concat([before.select(own.columns), own])
        self._parts = own
        none = pl.DataFrame(schema={"step": pl.Int32, "verdict": pl.String})
        self._verdicts = none if verdicts is None else verdicts
        self._calls = calls.filter(pl.col("step").is_not_null()).sort("step").to_dicts()
        self._costs = [call.get("cost") for call in self._calls]
        self._facts, self._frames = facts, frames
        self.strategies = tuple(strategies)

    @property
    def parts(self) -> pl.DataFrame:
        """Its parts in order, those of runs that it branched off from first (``inherited`` is 0)."""
        return self._parts

    @property
    def verdicts(self) -> pl.DataFrame:
        """Verdicts on its work."""
        return self._verdicts

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Its model calls, one per step."""
        return self._calls

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What is known of the run; empty if nothing was given."""
        return self._facts() if self._facts is not None else {}

    @cached_property
    def frames(self) -> RunFrames:
        """Its steps and parts as strategies take them."""
        if self._frames is not None:
            return self._frames()
        from ledgerkit.strategies import run_frames

        return run_frames(self._parts.drop("inherited"), pl.DataFrame(self._calls, infer_schema_length=None))

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Step]:
        return (self.step(number) for number in range(len(self)))

    def step(self, number: int) -> Step:
        """One step; negative numbers count from the end.

        Raises:
            UnknownNameError: If the run has no such step.
        """
        at = number + len(self) if number < 0 else number
        if not 0 <= at < len(self):
            raise errors.UnknownNameError(
                f"No step {number}; the run has {f'the steps 0 to {len(self) - 1}' if len(self) else 'none'}.",
                name=str(number),
            )
        parts, call = self._parts, self._calls[at]
        seen = parts.filter(pl.col("part_visibility").is_in(_MODEL_SEES), pl.col("visible_from") <= at)
        own = parts.filter(pl.col("inherited") == 1)
        here = own.filter(pl.col("step") == at, pl.col("call_id").is_null())
        return Step(
            number=at,
            call=call,
            spent=sum(known) if (known := [cost for cost in self._costs[: at + 1] if cost is not None]) else None,
            unpriced=sum(cost is None for cost in self._costs[: at + 1]),
            visible=seen,
            entered=seen.filter(pl.col("visible_from") == at) if at else seen,
            wrote=own.filter(pl.col("call_id") == call["call_id"]),
            came_back=here.filter(pl.col("visible_from") > at, pl.col("part_visibility").is_in(_MODEL_SEES)),
            beside=here.filter(~pl.col("part_visibility").is_in(_MODEL_SEES)),
            verdicts=self._verdicts.filter(pl.col("step") == at),
        )

    def composition(self, strategy: Strategy | str = "AsRecorded", by: str = "section") -> pl.DataFrame:
        """What the contexts of a strategy consist of, step by step.

        Args:
            strategy: The strategy, or its name.
            by: ``section``, ``trust_level``, ``kind`` or ``tool_name``.

        Returns:
            ``step``, ``label``, ``tokens``; ``charts.context_composition`` draws it.

        Raises:
            UnknownNameError: If there is no such strategy or label.
        """
        from ledgerkit.replay.composition import composition
        from ledgerkit.strategies import parse_strategy, project

        chosen = parse_strategy(strategy) if isinstance(strategy, str) else strategy
        return composition(self.frames, project(self.frames, chosen).placements, by)

    def next_failure(self, at: int) -> int | None:
        """The next step after one in which a check or a call failed; ``None`` if there is none."""
        failed = self._verdicts.filter(pl.col("step") > at, pl.col("verdict") == "failed")["step"].to_list()
        own = self._parts.filter(
            pl.col("inherited") == 1, pl.col("step") > at, pl.col("status").str.to_uppercase().is_in(_FAILED)
        )
        steps = [step for step in (*failed, *own["step"].to_list()) if step < len(self)]
        return min(steps, default=None)

    def find(self, words: str, at: int = -1) -> int | None:
        """The next step after one in which some words were written or came back, in either case of letters.

        Args:
            words: What to look for, as it stands there.
            at: The step to look behind.
        """
        says = pl.concat_str([pl.col("text").fill_null(""), pl.col("data").fill_null("")], separator="\n")
        found = self._parts.filter(
            pl.col("inherited") == 1,
            pl.col("step").is_between(at + 1, len(self) - 1),
            says.str.to_lowercase().str.contains(words.lower(), literal=True),
        )["step"]
        return min(found.to_list(), default=None)

    def dearest(self) -> int | None:
        """The step that cost most, the first of them; ``None`` where no price is known."""
        costs = [(call["cost"], -number) for number, call in enumerate(self._calls) if call.get("cost") is not None]
        return -max(costs)[1] if costs else None

    def after(self) -> pl.DataFrame:
        """Parts that came after the last call, which no call of the run has seen."""
        return self._parts.filter(
            pl.col("visible_from") >= len(self), pl.col("step") >= len(self), pl.col("inherited") == 1
        )
