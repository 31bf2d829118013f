"""The steps of a trajectory: an answer with the results of its calls is one step."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from ledgerkit.exporters.entries import Answer, Call, Check, Entry, Failure, Result, Summary, Told
from ledgerkit.exporters.losses import MESSAGE, Losses
from ledgerkit.exporters.marking import mark_of
from ledgerkit.importers.drafts import JsonObject
from ledgerkit.protocol.vocabulary import ToolStatus

_BESIDE: Final = "outcomes stand beside a trajectory, not in it"
_NO_PLACE: Final = "the format has no place for it"
_NO_THOUGHTS: Final = "the format has none for a step without a model call"
_ERRORS: Final = frozenset({ToolStatus.FAILED.value, ToolStatus.TIMED_OUT.value, ToolStatus.CANCELLED.value})
_TOTALS: Final = {
    "total_prompt_tokens": "prompt_tokens",
    "total_completion_tokens": "completion_tokens",
    "total_cached_tokens": "cached_tokens",
}


class Steps:
    """Collects the steps of one run.

    Attributes:
        messages: How many messages stand in them.
    """

    def __init__(self, losses: Losses) -> None:
        self.messages = 0
        self._losses = losses
        self._steps: list[JsonObject] = []
        self._asked: dict[str, JsonObject] = {}
        self._agents: JsonObject | None = None

    def take(self, entry: Entry) -> None:
        """Adds an entry, as a step or to the step that it belongs to."""
        if isinstance(entry, Check):
            self._losses.add(entry.kind, MESSAGE, _BESIDE)
            return
        if isinstance(entry, Failure):
            self._losses.add(entry.kind, MESSAGE, _NO_PLACE)
            return
        self.messages += entry.messages
        if isinstance(entry, Answer):
            self._answer(entry)
        elif isinstance(entry, Result):
            self._result(entry)
        elif isinstance(entry, Told):
            self._step(entry.role, entry, _content(entry.texts), extra=mark_of(entry) or None,
                       is_copied_context=entry.is_copied or None)  # fmt: skip
        elif isinstance(entry, Summary):
            self._step("system", entry, _content(entry.texts), extra={"context_management": {"type": "compaction"}})

    def _step(self, source: str, entry: Entry, message: object, **fields: object) -> JsonObject:
        step: JsonObject = {"step_id": len(self._steps) + 1}
        if entry.created_at is not None:
            step["timestamp"] = stamp(entry.created_at)
        step |= {"source": source, "message": message}
        step |= {name: value for name, value in fields.items() if value is not None}
        self._steps.append(step)
        return step

    def _answer(self, entry: Answer) -> None:
        thoughts = "\n\n".join(entry.thoughts) or None
        if thoughts and not entry.is_call and not entry.is_copied:
            self._losses.add("AGENT_THOUGHT_SUMMARY", "text", _NO_THOUGHTS, len(entry.thoughts))
            thoughts = None
        step = self._step(
            "agent",
            entry,
            _content(entry.texts),
            model_name=entry.model,
            reasoning_content=thoughts,
            tool_calls=[_call(each) for each in entry.calls] or None,
            metrics=_metrics(entry.usage) if entry.is_call and entry.usage else None,
            llm_call_count=None if entry.is_copied or entry.is_call else 0,
            is_copied_context=entry.is_copied or None,
            extra=mark_of(entry) or None,
        )
        self._agents = step
        self._asked |= {call.call_id: step for call in entry.calls}

    def _result(self, entry: Result) -> None:
        """A result stands in the step of its call; one of no call in the agent's last step."""
        step = self._asked.get(entry.call_id or "")
        result: JsonObject = {"source_call_id": entry.call_id} if step is not None else {}
        if step is None and entry.call_id is not None:
            self._losses.add(entry.kind, "tool_call_id", "the run holds no such call")
        result["content"] = _content(entry.texts)
        result["extra"] = {**({"is_error": True} if entry.status in _ERRORS else {}), **mark_of(entry)}
        step = step if step is not None else self._agents
        if step is None:
            step = self._step("system", entry, "")
        step.setdefault("observation", {"results": []})["results"].append(result)

    def refer(self, call_id: str, run_id: str) -> bool:
        """Says that a call began another run; false if there is no such call."""
        step = self._asked.get(call_id)
        if step is None:
            return False
        results: list[JsonObject] = step.setdefault("observation", {"results": []})["results"]
        result: JsonObject | None = next((each for each in results if each.get("source_call_id") == call_id), None)
        if result is None:
            result = {"source_call_id": call_id}
            results.append(result)
        result.setdefault("subagent_trajectory_ref", []).append({"trajectory_id": run_id})
        return True

    def listed(self) -> list[JsonObject]:
        """The steps."""
        return self._steps

    def totals(self) -> JsonObject:
        """Sums over the steps of which the figures are known."""
        metrics: list[JsonObject] = [step["metrics"] for step in self._steps if "metrics" in step]
        totals: JsonObject = {
            total: sum(each[name] for each in metrics if name in each)
            for total, name in _TOTALS.items()
            if any(name in each for each in metrics)
        }
        costs = [Decimal(str(each["cost_usd"])) for each in metrics if "cost_usd" in each]
        return {**totals, **({"total_cost_usd": float(sum(costs))} if costs else {}), "total_steps": len(self._steps)}


def stamp(moment: datetime) -> str:
    """A time as the format writes it: ISO 8601, in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _content(texts: list[str]) -> str | list[JsonObject]:
    """One text as it is, several as parts."""
    if len(texts) <= 1:
        return texts[0] if texts else ""
    return [{"type": "text", "text": text} for text in texts]


def _call(call: Call) -> JsonObject:
    return {"tool_call_id": call.call_id, "function_name": call.name, "arguments": call.arguments}


def _metrics(usage: JsonObject) -> JsonObject | None:
    """The figures of a call. Writers put cache writes and reasoning into ``extra``, so they stand there here too."""
    written = [usage[name] for name in ("cache_write_5m_tokens", "cache_write_1h_tokens") if usage[name] is not None]
    extra: JsonObject = {
        "cache_creation_input_tokens": sum(written) if written else None,
        "reasoning_tokens": usage["reasoning_tokens"],
    }
    cost: Any = usage["reported_cost"]
    known = {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "cached_tokens": usage["cache_read_tokens"],
        "cost_usd": None if cost is None else float(cost),
        "extra": {name: value for name, value in extra.items() if value is not None} or None,
    }
    return {name: value for name, value in known.items() if value is not None} or None
