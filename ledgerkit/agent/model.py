"""Models behind one protocol, and the scripted one.

The rule: the loop asks and the model answers; nothing else of the agent knows whether a script or a server answers.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from dataclasses import dataclass
from typing import Protocol

from ledgerkit.agent.clock import SeededIds, SimulatedClock
from ledgerkit.agent.exchange import Request, Response, TextBlock, ThinkingBlock, ToolResult, ToolUse
from ledgerkit.agent.usage import PromptCache
from ledgerkit.errors import LedgerkitError, ModelUnavailableError
from ledgerkit.protocol.usage import Usage

LOST_RESULT = "[Tool result missing due to internal error]"
"""What the agent puts in the place of a result that never arrived, because providers want one for every call."""

_OVERLOADED = 529


class Model(Protocol):
    """Whatever answers requests."""

    def complete(self, request: Request) -> Response:
        """Answer a request.

        Raises:
            ModelUnavailableError: If the call failed and may be tried again.
        """
        ...


class ScriptEndedError(LedgerkitError):
    """A scripted model was asked for more than its script holds."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that a script makes."""

    tool: str
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class Move:
    """One answer of a script."""

    text: str | None = None
    thinking: str | None = None
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """What a script is shown after its move: results of its calls, or the user's next words."""

    results: tuple[ToolResult, ...] = ()
    prompt: str | None = None

    @property
    def is_lost(self) -> bool:
        """Whether a result did not arrive."""
        return any(r.text == LOST_RESULT for r in self.results)


Script = Generator[Move, Seen, None]
"""Yields moves, is sent what came of them."""


class ScriptedModel:
    """Plays a script. Usage and latency are simulated by stated rules (:mod:`ledgerkit.agent.usage`).

    Args:
        script: The moves.
        ids: Where message, request and call ids come from.
        clock: Moved on by the simulated latency of each call.
        cache: The provider's prompt cache.
        overloads: Numbers of the calls, from 0, that fail once before they succeed.
    """

    def __init__(
        self,
        script: Script,
        *,
        ids: SeededIds,
        clock: SimulatedClock,
        cache: PromptCache,
        overloads: Collection[int] = (),
    ) -> None:
        self._script = script
        self._ids = ids
        self._clock = clock
        self._cache = cache
        self._overloads = set(overloads)
        self._calls = 0
        self._kept: Seen | None = None

    def complete(self, request: Request) -> Response:
        """The script's next move, or a summary of the conversation where one is asked for."""
        if self._calls in self._overloads:
            self._overloads.remove(self._calls)
            self._clock.spend(1.5)
            raise ModelUnavailableError("Overloaded", _OVERLOADED)
        if request.purpose == "compaction":
            self._kept = _seen(request)
            move = Move(text=summary_of(request))
        else:
            move = self._next_move(request)
        self._calls += 1
        return self._answer(request, move)

    def _next_move(self, request: Request) -> Move:
        try:
            if not self._calls:
                return next(self._script)
            seen, self._kept = self._kept or _seen(request), None
            return self._script.send(seen)
        except StopIteration as error:
            raise ScriptEndedError("The script has no further move. End the run, or extend the script.") from error

    def _answer(self, request: Request, move: Move) -> Response:
        blocks: list[TextBlock | ThinkingBlock | ToolUse] = []
        if move.thinking:
            blocks.append(ThinkingBlock(move.thinking))
        if move.text:
            blocks.append(TextBlock(move.text))
        blocks += [ToolUse(self._ids.tool_call(), call.tool, call.arguments) for call in move.calls]
        usage = self._cache.measure(request, blocks, self._clock())
        self._clock.spend(_latency_seconds(usage))
        return Response(self._ids.message(), self._ids.request(), request.model, tuple(blocks), usage)


def _latency_seconds(usage: Usage) -> float:
    computed = (usage.fresh_input_tokens or 0) + (usage.cache_write_5m_tokens or 0)
    return 0.9 + computed / 6000 + (usage.output_tokens or 0) / 70


def _seen(request: Request) -> Seen:
    last = request.messages[-1].blocks
    results = tuple(b for b in last if isinstance(b, ToolResult))
    prompts = [b.text for b in last if isinstance(b, TextBlock)]
    return Seen(results, prompts[-1] if prompts else None)


def summary_of(request: Request) -> str:
    """A summary of a conversation, made from its blocks alone: what was read, changed and run, and what came of it."""
    uses = {b.tool_call_id: b for m in request.messages for b in m.blocks if isinstance(b, ToolUse)}
    results = {b.tool_call_id: b for m in request.messages for b in m.blocks if isinstance(b, ToolResult)}
    task = next(b.text for b in reversed(request.messages[0].blocks) if isinstance(b, TextBlock))
    lines = ["1. Task:", f"   {task}", "", "2. Work so far:"]
    for key, use in uses.items():
        lines.append(f"   - {_described(use)}: {_last_line(results[key]) if key in results else 'no result'}")
    lines += ["", "3. Left out: full contents of the files that were read, and full command output."]
    return "\n".join(lines)


def _described(use: ToolUse) -> str:
    keys = ("command", "file_path", "pattern", "description")
    return f"{use.name} " + next((str(use.arguments[key]) for key in keys if key in use.arguments), "")


def _last_line(result: ToolResult) -> str:
    lines = [line.strip() for line in result.text.splitlines() if line.strip()]
    outcome = lines[-1] if lines else "no output"
    return ("failed, " if result.is_error else "") + outcome[:160]
