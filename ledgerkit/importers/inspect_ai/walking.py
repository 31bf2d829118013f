"""The events of a sample in their order: calls of models and tools, and the messages that came with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, Link, MessageDraft, Node, RecordDraft
from ledgerkit.importers.inspect_ai.answers import Answer
from ledgerkit.importers.inspect_ai.contents import Attachments
from ledgerkit.importers.inspect_ai.conversation import Conversation, is_message
from ledgerkit.importers.inspect_ai.evaluation import NAME
from ledgerkit.importers.inspect_ai.events import LEFT_OUT, event_messages
from ledgerkit.importers.inspect_ai.prompts import Pool, results_in, settings_of, task_of
from ledgerkit.importers.inspect_ai.scores import score_message
from ledgerkit.importers.inspect_ai.spans import Spans, agent_key, flat, scorer_of
from ledgerkit.importers.marks import lower, unmarked
from ledgerkit.importers.pieces import arguments_of, call_part, micros, unknown_message
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, RunRelation

Drafting = Callable[[str, object, list[MessageDraft], str], RecordDraft]
_NO_ANSWER: Final = "a call without an answer, whose prompt holds nothing new"
_RUNNING: Final = "a tool that was still running"
_SCORED: Final = "stands among the sample's scores"
_UNSTABLE: Final = frozenset({"uuid", "working_start", "working_time", "pending", "events"})


class Walk:
    """The events of one attempt at a sample.

    Attributes:
        met: Types of the events so far.
        graders: Scorers that asked a model.
        has_said: Whether any message was met.
    """

    def __init__(
        self,
        sample: JsonObject,
        attachments: Attachments,
        model: str | None,
        draft: Drafting,
        *,
        keep_reasoning: bool,
        run: str = "",
    ) -> None:
        self.met: set[str] = set()
        self.graders: set[str] = set()
        self.has_said = False
        self._given = (sample, attachments, model, draft)
        self._sample, self._attachments, self._model, self._draft = self._given
        self._keep = keep_reasoning
        self._main = run
        self._pool = Pool(sample, attachments)
        self._runs: dict[str, Conversation] = {}
        self._settings: set[str] = set()
        self._told: dict[str, list[JsonObject]] = {}
        self._told_of: Counter[str] = Counter()
        self._spans = Spans(())
        self._number = 0
        self._where = "event"

    def of_attempt(self, run: str) -> Walk:
        """A walk through the events of an earlier attempt."""
        return Walk(*self._given, keep_reasoning=self._keep, run=run)

    def events(self, listed: object) -> Iterator[RecordDraft]:
        """The records of the events, in their order."""
        found = flat(listed)
        events = [event for event, _ in found]
        self._spans = Spans(events)
        # What the model was told of a result may differ from it: cut, or an error put in words.
        final = self._sample.get("messages") if not self._main else None
        asked = (event for event in events if is_object(event) and event.get("event") == "model")
        self._told = results_in(chain((self._pool.raw_prompt_of(event) for event in asked), [final]))
        for event, is_inner in found:
            self._number += 1
            self._where = "inner_event" if is_inner else "event"
            yield from self._event(event)

    def _event(self, event: object) -> Iterator[RecordDraft]:
        if not is_object(event):
            yield self._draft(
                f"{self._where}/unknown", [self._number, event], [unknown_message(event, NAME)], self._main
            )
            return
        kind = str(event.get("event"))
        self.met.add(kind)
        if kind == "step":
            self._spans.step(event)
        if kind == "model":
            yield from self._asked(event)
        elif kind == "tool":
            yield from self._used(event)
        else:
            yield self._other(event, kind)

    def _other(self, event: JsonObject, kind: str) -> RecordDraft:
        if why := LEFT_OUT.get(kind):
            return self._left_out(event, why)
        if kind == "score":
            scores = self._sample.get("scores")
            if not event.get("intermediate") and not self._main and is_object(scores) and scores:
                return self._left_out(event, _SCORED)
            whole = self._attachments.whole(event.get("score"))
            name = nonempty_text(event.get("scorer")) or scorer_of(self._spans.path_of(event)) or "score"
            judged = name in self.graders
            messages = [score_message(name, whole, judged=judged, is_share=False, scope="intermediate")]
        else:
            messages = event_messages(self._attachments.whole(event))
        run = self._main if kind in ("score", "error", "sample_limit") else self._run(event).key
        return self._placed(event, self._draft(f"{self._where}/{kind}", self._said(event), messages, run))

    def _said(self, event: JsonObject) -> list[object]:
        """What an event is known by: a log that a newer version wrote anew has more fields, and ids."""
        at = [self._number, event.get("event"), event.get("timestamp")]
        if event.get("event") == "tool":
            return [*at, event.get("id"), event.get("function")]
        said = {name: value for name, value in event.items() if name not in _UNSTABLE and value not in (None, False)}
        return [*at, said]

    def _left_out(self, event: JsonObject, why: str) -> RecordDraft:
        draft = self._draft(f"{self._where}/{event.get('event')}", self._said(event), [], self._main)
        draft.skipped = why
        return draft

    def _placed(self, event: JsonObject, draft: RecordDraft) -> RecordDraft:
        """Says on a record when it was, and below which spans."""
        at = micros(event.get("completed")) if event.get("event") == "model" else None
        draft.created_at = at if at is not None else micros(event.get("timestamp"))
        names = [name for span in self._spans.path_of(event) if (name := nonempty_text(span.get("name")))]
        if names and draft.messages:
            draft.messages[0].metadata = {**draft.messages[0].metadata, "span": "/".join(names)}
        return draft

    def _run(self, event: JsonObject) -> Conversation:
        own = self._spans.run_of(event)
        return self._conversation("/".join(filter(None, (self._main, own))), is_main=not own)

    def _conversation(self, key: str, *, is_main: bool) -> Conversation:
        if key not in self._runs:
            relation = (RunRelation.RETRY if key else None) if is_main else RunRelation.SUBAGENT
            task = task_of(self._sample)
            self._runs[key] = Conversation(key, relation, task, keep_reasoning=self._keep)
        return self._runs[key]

    def messages(self, listed: object, why: str) -> Iterator[RecordDraft]:
        """The last conversation: what of it stands in no event."""
        run = self._conversation(self._main, is_main=True)
        whole: Any = self._attachments.whole(listed)
        for message, is_new in run.new_of(whole if is_list(whole) else []):
            if is_new:
                yield self._told_record(run, message, "message")
            else:
                draft = self._draft(f"message/{message['role']}", message, [], run.key)
                draft.skipped = why
                yield draft

    def _told_record(self, run: Conversation, message: object, where: str) -> RecordDraft:
        if not is_message(message):
            return self._draft(f"{where}/unknown", message, [unknown_message(message, NAME)], run.key)
        self.has_said = True
        messages, node = run.told(message)
        lower(messages, unmarked(message, "metadata")[1])
        draft = self._draft(f"{where}/{message['role']}", message, messages, run.key)
        draft.node = node
        if where == "message" and node is Node.CALL and message.get("source") == "generate":
            # No event holds the call (they were not logged): the answer shows that there was one.
            draft.is_model_call, draft.call_id = True, f"{draft.session}/{run.key}/message/{draft.digest}"
        return draft

    def _asked(self, event: JsonObject) -> Iterator[RecordDraft]:
        """A call of a model: what its prompt holds that is new, and its answer."""
        run = self._run(event)
        if run.key != self._main and (scorer := scorer_of(self._spans.path_of(event))):
            self.graders.add(scorer)
        for message, is_new in run.new_of(self._pool.prompt_of(event)):
            if is_new:
                draft = self._told_record(run, message, "input")
                draft.created_at = micros(event.get("timestamp"))
                yield draft
        yield self._answered(event, run)

    def _answered(self, event: JsonObject, run: Conversation) -> RecordDraft:
        answer = Answer(event, self._attachments, self._model)
        self.has_said = self.has_said or bool(answer.choices)
        messages = answer.messages(run, settings_of(event, self._attachments, self._settings))
        at = [self._number, "model", event.get("timestamp")]
        draft = self._placed(event, self._draft(f"{self._where}/model", [*at, answer.said], messages, run.key))
        draft.skipped = None if messages else _NO_ANSWER
        if answer.choices:
            draft.node, draft.is_model_call = Node.CALL, True
            draft.call_id = f"{draft.session}/{run.key}/{nonempty_text(event.get('uuid')) or self._number}"
        return draft

    def _used(self, event: JsonObject) -> Iterator[RecordDraft]:
        """A tool at work: what it returned, in the words in which the model was told."""
        if event.get("pending"):
            yield self._left_out(event, _RUNNING)
            return
        whole: JsonObject = self._attachments.whole({k: v for k, v in event.items() if k != "events"})
        native = whole.get("id")
        own = self._run(event)
        run = next((each for each in (own, *self._runs.values()) if each.holds_call(native)), own)
        messages: list[MessageDraft] = []
        if not run.holds_call(native):
            part = call_part(
                str(native), nonempty_text(whole.get("function")), arguments_of(whole.get("arguments")),
                micros(event.get("timestamp")),
            )  # fmt: skip
            derived: JsonObject = {"derived": ["kind"]}
            messages.append(MessageDraft(MessageKind.TOOL_CALL_REQUEST, "solver", [part], metadata=derived))
        told = self._told_about(str(native))
        messages.append(run.result(told or whole, whole))
        if told is not None:
            run.meet(told)
        draft = self._placed(event, self._draft(f"{self._where}/tool", self._said(event), messages, run.key))
        draft.node = Node.RESULT
        call_id = messages[-1].parts[0].tool_call_id
        if call_id and (span := nonempty_text(event.get("agent_span_id"))):
            draft.links = [Link("/".join(filter(None, (self._main, agent_key(span)))), call_id)]
        yield draft

    def _told_about(self, native: str) -> JsonObject | None:
        """What the model was told of a call's result; the next one if the id was used again."""
        listed, number = self._told.get(native, []), self._told_of[native]
        self._told_of[native] += 1
        return self._attachments.whole(listed[number]) if number < len(listed) else None
