"""One reading of a trajectory: what it says of the run, its steps, and the trajectories within it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ledgerkit.importers.atif.identity import (
    NAME,
    agent_of,
    embedded_key,
    is_trajectory,
    key_before,
    run_key_of,
    session_of,
)
from ledgerkit.importers.atif.results import Calls, is_result, result_message, subagents_of
from ledgerkit.importers.atif.steps import AGENT, Turn, answer_messages, source_of, told_message, without_bulk
from ledgerkit.importers.drafts import JsonObject, Link, MessageDraft, Node, RecordDraft, RunFacts
from ledgerkit.importers.marks import facts_of, lower, unmarked
from ledgerkit.importers.pieces import digest, micros, note_message, unknown_message
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.importers.tool_words import has_no_words
from ledgerkit.protocol.vocabulary import RunRelation, TrustLevel

_NAMED: Final = ("schema_version", "session_id", "trajectory_id", "agent")
_OPENING: Final = frozenset(_NAMED)
_RUNS: Final = frozenset({"steps", "subagent_trajectories"})


def records_of(item: Line, *, keep_reasoning: bool) -> Iterator[RecordDraft]:
    """The records of a document, those of its subagents behind its own.

    Args:
        item: The document.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """
    waiting: list[tuple[JsonObject, str | None]] = [(item.value, None)]
    session = session_of(item.value)
    while waiting:
        trajectory, parent = waiting.pop(0)
        reading = _Reading(item, trajectory, session, parent, keep_reasoning=keep_reasoning)
        yield from reading.records()
        waiting += [(inner, reading.run_key) for inner in reading.inner]


class _Reading:
    """The state of one reading.

    Args:
        item: The document.
        trajectory: The document itself, or a trajectory within it.
        session: The session of the document.
        parent: The run that a trajectory within it belongs to.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """

    def __init__(
        self, item: Line, trajectory: JsonObject, session: str, parent: str | None, *, keep_reasoning: bool
    ) -> None:
        self._item = item
        self._trajectory = trajectory
        self._session = session
        self._keep = keep_reasoning
        self._parent = parent if parent is not None else key_before(trajectory)
        self._relation = (
            RunRelation.SUBAGENT if parent is not None else RunRelation.COMPACTION if self._parent else None
        )
        self.run_key = run_key_of(trajectory)
        listed: Any = trajectory.get("subagent_trajectories")
        subagents: list[Any] = listed if is_list(listed) else []
        # Within a document the version may be left out.
        self.inner = [each for each in subagents if is_trajectory(_with_version(each))]
        self._others = [each for each in subagents if not is_trajectory(_with_version(each))]
        self._held = {name for each in self.inner if (name := nonempty_text(each.get("trajectory_id")))}
        self._calls = Calls()
        self._agent = (nonempty_text(agent_of(trajectory).get("name")) or "").lower()
        self._turn = Turn(is_subagent=self._relation is RunRelation.SUBAGENT, agent=self._agent)

    def records(self) -> Iterator[RecordDraft]:
        """The records of the run."""
        agent = agent_of(self._trajectory)
        opening = {name: value for name in _NAMED if (value := self._trajectory.get(name)) is not None}
        first = self._draft("trajectory", opening, [_note("trajectory", opening)])
        first.facts = RunFacts(
            agent=nonempty_text(agent.get("name")),
            agent_version=nonempty_text(agent.get("version")),
            parent_run=self._parent,
            **facts_of(unmarked(self._trajectory, "extra")[1]),
        )
        yield first
        steps: list[Any] = self._trajectory["steps"]
        for number, step in enumerate(steps):
            yield from self._step(step, number)
        rest = {k: v for k, v in self._trajectory.items() if k not in _OPENING | _RUNS and v is not None}
        if rest:
            yield self._draft("final", rest, [_note("final_metrics", rest)])
        for other in self._others:
            yield self._draft("unknown", other, [unknown_message(other, NAME)])

    def _draft(self, record_type: str, said: object, messages: list[MessageDraft]) -> RecordDraft:
        if self._item.flags and messages:
            messages[0].metadata = {**messages[0].metadata, "repaired": list(self._item.flags)}
        return RecordDraft(
            self._item.number,
            self._item.offset,
            record_type,
            digest([self.run_key, record_type, said]),
            session=self._session,
            run_key=self.run_key,
            relation=self._relation,
            messages=messages,
        )

    def _step(self, step: object, number: int) -> Iterator[RecordDraft]:
        source = source_of(step)
        if not is_object(step) or source is None:
            yield self._draft("step/unknown", [number, step], [unknown_message(step, NAME)])
            self._turn.after(step)
            return
        step, mark = unmarked(step, "extra")
        said = {name: value for name, value in without_bulk(step).items() if name != "observation"}
        draft = self._draft(f"step/{source}", [number, said], [])
        draft.created_at = micros(step.get("timestamp"))
        if source == AGENT:
            self._answer(draft, step, number)
        else:
            message, draft.node = told_message(step, source, self._turn)
            draft.messages = [message]
        lower(draft.messages, mark)
        if rest := self._turn.rest_of(step):
            draft.messages.append(_note("step", rest))
        if self._item.flags:
            draft.messages[0].metadata = {**draft.messages[0].metadata, "repaired": list(self._item.flags)}
        yield draft
        yield from self._results(step, number, source)
        self._turn.after(step)

    def _answer(self, draft: RecordDraft, step: JsonObject, number: int) -> None:
        model = nonempty_text(step.get("model_name")) or nonempty_text(agent_of(self._trajectory).get("model_name"))
        asked = self._calls.ask(step, draft.created_at)
        draft.messages = answer_messages(step, asked, model, keep=self._keep)
        draft.node = Node.CALL
        draft.call_id = f"{self._session}/{self.run_key}/{step.get('step_id', number)}#{number}"
        # Since 1.7 a step says how many calls it took: an answer that a program gave took none.
        draft.is_model_call = not step.get("is_copied_context") and step.get("llm_call_count") != 0
        if not draft.is_model_call:
            draft.call_id = None

    def _results(self, step: JsonObject, number: int, source: str) -> Iterator[RecordDraft]:
        observation = step.get("observation")
        listed: Any = observation.get("results") if is_object(observation) else None
        results: list[Any] = listed if is_list(listed) else []
        for place, marked in enumerate(results):
            if not is_result(marked):
                yield self._draft("result/unknown", [number, place, marked], [unknown_message(marked, NAME)])
                continue
            result, mark = unmarked(marked, "extra")
            message = result_message(result, self._calls.answered(result), self._agent)
            lower([message], mark)
            draft = self._draft("result", [number, place, result], [message])
            draft.created_at = micros(step.get("timestamp"))
            draft.node = Node.RESULT if source == AGENT else Node.PASSIVE
            call_id = message.parts[0].tool_call_id
            named = self._held.intersection(subagents_of(result)) if call_id else ()
            draft.links = [Link(embedded_key(name), call_id) for name in sorted(named) if call_id]
            yield draft
        beside = {k: v for k, v in observation.items() if k != "results"} if is_object(observation) else observation
        if beside or (listed is not None and not is_list(listed)):
            yield self._draft("result/unknown", [number, observation], [unknown_message(observation, NAME)])


def _note(name: str, value: JsonObject) -> MessageDraft:
    """A fact of the run: figures and names are the program's own, words may be anybody's."""
    trust = TrustLevel.TOOL_TRUSTED if has_no_words(value) else TrustLevel.UNKNOWN
    return note_message({"note": name, **value}, NAME, trust)


def _with_version(value: object) -> object:
    return {"schema_version": "ATIF-", **value} if is_object(value) else value
