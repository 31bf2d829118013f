"""One reading of a trajectory: its attempts, and of each the opening, the steps and the outcome."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, PartDraft, RecordDraft
from ledgerkit.importers.pieces import digest, media_part, note_message, text_part, unknown_message
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_list, is_object, objects_of
from ledgerkit.importers.swe_agent import outcome
from ledgerkit.importers.swe_agent.outcome import NAME
from ledgerkit.importers.swe_agent.steps import answer_messages, calls_of, result_message
from ledgerkit.importers.swe_agent.turns import Turn, laid_out, prompts_of, text_of
from ledgerkit.protocol.vocabulary import MessageKind, PartType, RunRelation, TrustLevel

_REPEATED: Final = "repeats a step of the trajectory"
_REWORDED: Final = "other words for a step of the trajectory, whose own count"
_PROMPT: Final = "the prompt of a step, which repeats what stands before it"
_CHOSEN: Final = "repeats an attempt"
_RUN_FIELDS: Final = frozenset({"trajectory", "history", "info", "replay_config", "environment", "attempts"})


class Reading:
    """The state of one reading.

    Args:
        item: The document.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """

    def __init__(self, item: Line, *, keep_reasoning: bool) -> None:
        self._item = item
        self._keep = keep_reasoning
        self._run_key = ""
        self._number = 0
        self._calls: dict[str, int] = {}
        self._model: str | None = None
        attempts = [a for a in outcome.attempts_of(item.value) if is_object(a)]
        self._runs: list[JsonObject] = attempts or [item.value]
        self._session = _identity(self._runs[0], item.value)

    def records(self) -> Iterator[RecordDraft]:
        """The records of all attempts, then what the document says of them together."""
        document: JsonObject = self._item.value
        has_attempts = self._runs[0] is not document
        for number, run in enumerate(self._runs):
            self._run_key = f"attempt:{number}" if number else ""
            self._calls, self._number = {}, 0
            yield from self._run(run)
        self._run_key = ""
        rest = {k: v for k, v in document.items() if k not in _RUN_FIELDS}
        if has_attempts:
            yield from self._chosen(document)
            rest |= {"attempts": len(self._runs), "info": _without_submission(document.get("info"))}
        if rest:
            yield self._draft("document", rest, [note_message({"note": "document", **rest}, NAME, TrustLevel.UNKNOWN)])
        for other in outcome.attempts_of(document):
            if not is_object(other):
                yield self._unknown(other)

    def _chosen(self, document: JsonObject) -> Iterator[RecordDraft]:
        """The retry agent repeats the chosen attempt beside the attempts."""
        listed: list[Any] = document["trajectory"] if is_list(document.get("trajectory")) else []
        for step in listed:
            yield self._left_out("step", step, _CHOSEN)

    def _draft(self, record_type: str, said: Any, messages: list[MessageDraft]) -> RecordDraft:  # noqa: ANN401 - any JSON value
        self._number += 1
        draft = RecordDraft(
            self._item.number,
            self._item.offset,
            record_type,
            digest([self._run_key, self._number, said]),
            session=self._session,
            run_key=self._run_key,
            relation=RunRelation.RETRY if self._run_key else None,
            messages=messages,
        )
        if self._item.flags and messages:
            messages[0].metadata = {**messages[0].metadata, "repaired": list(self._item.flags)}
        return draft

    def _left_out(self, record_type: str, said: Any, why: str) -> RecordDraft:  # noqa: ANN401 - any JSON value
        draft = self._draft(record_type, said, [])
        draft.skipped = why
        return draft

    def _unknown(self, value: object) -> RecordDraft:
        return self._draft("unknown", value, [unknown_message(value, NAME)])

    def _run(self, run: JsonObject) -> Iterator[RecordDraft]:
        config = outcome.config_of(run)
        self._model = outcome.model_of(config)
        steps: list[Any] = run["trajectory"] if is_list(run.get("trajectory")) else []
        history: list[Any] = run["history"] if is_list(run.get("history")) else []
        opening, turns = laid_out(steps, history)
        first = objects_of(steps)[:1]
        facts = outcome.facts_of(run, config, outcome.state_of(first[0]) if first else {})
        for draft in self._all(run, config, opening, turns):
            draft.facts, facts = (None, facts) if draft.skipped else (facts, None)
            yield draft

    def _all(
        self, run: JsonObject, config: JsonObject, opening: list[Any], turns: list[Turn | object]
    ) -> Iterator[RecordDraft]:
        for item in opening:
            yield self._told(item)
        for number, turn in enumerate(turns):
            if isinstance(turn, Turn):
                yield from self._turn(turn, number)
            else:
                yield self._unknown(turn)
        info = run.get("info")
        if is_object(info) and info:
            asked = next((turn.text("action") for turn in reversed(turns) if isinstance(turn, Turn)), "")
            messages = list(outcome.info_messages(info, config, run.get("environment"), asked))
            draft = self._draft("info", info, messages)
            # The file of a run that goes on is written anew; what a later reading finds replaces this.
            draft.native_id = f"{self._session}/{self._run_key}/info"
            draft.provisional = info.get("exit_status") is None
            yield draft

    def _told(self, item: object) -> RecordDraft:
        """What the model is told before it answers, or beside the results."""
        if not is_object(item):
            return self._unknown(item)
        role = item.get("role")
        if item.get("is_demo") or item.get("message_type") == "demonstration":
            trust = TrustLevel.MODEL_GENERATED if role == "assistant" else TrustLevel.REPOSITORY_UNTRUSTED
            messages = [MessageDraft(MessageKind.DEVELOPER_INSTRUCTION, "demonstration", _parts(item, trust))]
            return self._draft("history/demonstration", item, messages)
        if role == "system":
            messages = [MessageDraft(MessageKind.SYSTEM_INSTRUCTION, "operator", _parts(item, TrustLevel.ORG_TRUSTED))]
            return self._draft("history/system", item, messages)
        if role == "user":
            draft = self._draft("history/task", item, [])
            draft.messages = [MessageDraft(MessageKind.USER_TASK, "user", _parts(item, TrustLevel.USER_TRUSTED))]
            draft.node = Node.PROMPT
            return draft
        return self._unknown(item)

    def _turn(self, turn: Turn, number: int) -> Iterator[RecordDraft]:
        for _, prompt in prompts_of(turn.step) if turn.step is not None else ():
            for item in prompt:
                if item.get("message_type") == "user":  # only what asks the model to answer anew is of this type
                    yield self._draft("step/requery", item, [_asked_anew(item)])
        calls = calls_of(turn, number, self._calls)
        actor = self._model or "assistant"
        messages = answer_messages(turn, calls, actor, keep_reasoning=self._keep)
        for message in messages:
            message.model = self._model
        where = "step" if turn.step is not None else "history"
        said = [turn.text("action"), turn.text("thought"), turn.response]
        draft = self._draft(f"{where}/answer", said, messages)
        draft.node, draft.is_model_call = Node.CALL, True
        draft.call_id = f"{self._session}/{self._run_key}/{number}"
        yield draft
        yield from self._left_out_of(turn)
        if (result := result_message(turn, calls)) is not None:
            told = turn.replies[:1]
            draft = self._draft(f"{where}/observation", [turn.step and turn.step.get("observation"), told], [result])
            draft.node = Node.RESULT if calls else Node.PASSIVE
            yield draft
        yield from self._beside(turn, calls)

    def _left_out_of(self, turn: Turn) -> Iterator[RecordDraft]:
        if turn.step is None:
            return
        if turn.item is not None:
            why = _REWORDED if turn.is_reworded else _REPEATED
            yield self._left_out("history/answer", turn.item.get("content"), why)
        for name, _ in prompts_of(turn.step):
            yield self._left_out(f"step/{name}", None, _PROMPT)

    def _beside(self, turn: Turn, calls: list[PartDraft]) -> Iterator[RecordDraft]:
        """What the model was told beside the result: by people, by another agent, by the agent's program."""
        for item in turn.replies[1:]:
            draft = self._told(item)
            for part in (part for message in draft.messages for part in message.parts):
                if draft.record_type == "history/task":
                    part.trust = TrustLevel.UNKNOWN
            if draft.record_type == "unknown" and is_object(item) and item.get("role") == "tool":
                extra = result_message(Turn(None, turn.item, [item]), calls)
                draft.record_type, draft.node = "history/observation", Node.RESULT
                draft.messages = [extra] if extra else draft.messages
            yield draft


def _identity(run: JsonObject, document: JsonObject) -> str:
    """What a run is known by. No format has an id; a run's first step is known by the time that it took.

    Where that is not recorded, only the same document is the same run: another run of the task may begin alike.
    """
    steps = objects_of(run.get("trajectory"))
    took = steps[0].get("execution_time") if steps else None
    if isinstance(took, float) and took > 0:
        first = {name: value for name, value in steps[0].items() if name not in ("messages", "query")}
        return f"run:{digest([run.get('environment'), first])}"
    return f"document:{digest(document)}"


def _parts(item: JsonObject, trust: TrustLevel) -> list[PartDraft]:
    content = item.get("content")
    media = [
        media_part(address.get("url"), None, trust)
        for block in objects_of(content)
        if is_object(address := block.get("image_url"))
    ]
    return [text_part(text_of(content), trust), *media]


def _asked_anew(item: JsonObject) -> MessageDraft:
    """What the agent's program told the model of an answer that it could not use. It may quote a shell's words."""
    part = PartDraft(
        part_type=PartType.ERROR,
        trust=TrustLevel.UNKNOWN,
        text=text_of(item.get("content")),
        error_category="format_error",
    )
    return MessageDraft(MessageKind.ERROR_EVENT, NAME, [part])


def _without_submission(info: object) -> object:
    return {k: v for k, v in info.items() if k != "submission"} if is_object(info) else info
