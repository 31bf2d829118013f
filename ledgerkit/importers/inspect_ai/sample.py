"""One reading of a sample: its events in order, then what only its last conversation and its outcome say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, RecordDraft
from ledgerkit.importers.inspect_ai.contents import Attachments, texts_of
from ledgerkit.importers.inspect_ai.evaluation import NAME, Evaluation
from ledgerkit.importers.inspect_ai.events import error_message, limit_message
from ledgerkit.importers.inspect_ai.prompts import task_of
from ledgerkit.importers.inspect_ai.scores import is_judged, score_message
from ledgerkit.importers.inspect_ai.walking import Walk
from ledgerkit.importers.pieces import digest, note_message, unknown_message
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import RunRelation, TrustLevel

_APART: Final = frozenset({
    "messages", "events", "events_data", "attachments", "transcript", "scores", "error_retries", "error", "limit",
    "input", "output", "timelines", "files",
})  # fmt: skip
_MET: Final = "stands in the events"


class SampleReading:
    """The state of one reading.

    Args:
        sample: The sample.
        evaluation: The evaluation that it belongs to.
        place: Number and offset of its member or document.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """

    def __init__(
        self, sample: JsonObject, evaluation: Evaluation, place: tuple[int, int], *, keep_reasoning: bool
    ) -> None:
        self._sample = sample
        self._evaluation = evaluation
        self._place = place
        self._session = evaluation.session_of(sample)
        self._attachments = Attachments(sample)
        self._walk = Walk(sample, self._attachments, evaluation.model, self.draft, keep_reasoning=keep_reasoning)

    def draft(self, record_type: str, said: object, messages: list[MessageDraft], run: str = "") -> RecordDraft:
        """A record of the sample."""
        number, offset = self._place
        is_attempt = run.startswith("attempt:") and "/" not in run
        relation = RunRelation.RETRY if is_attempt else RunRelation.SUBAGENT if run else None
        own = digest([run, record_type, said])
        return RecordDraft(
            number, offset, record_type, own, session=self._session, run_key=run, relation=relation, messages=messages
        )

    def records(self) -> Iterator[RecordDraft]:
        """The records of the sample."""
        yield self._about()
        retries: Any = self._sample.get("error_retries")
        for number, retry in enumerate(retries if is_list(retries) else [], 1):
            yield from self._attempt(retry, number)
        yield from self._walk.events(self._events())
        yield from self._walk.messages(self._sample.get("messages"), _MET)
        yield from self._outcome()

    def _events(self) -> object:
        transcript = self._sample.get("transcript")
        return self._sample.get("events") or (transcript.get("events") if is_object(transcript) else None)

    def _about(self) -> RecordDraft:
        """What is known of the sample beside its conversation. No model was shown it: it holds the right answer."""
        about = {name: value for name, value in self._sample.items() if name not in _APART and value not in (None, {})}
        files = self._sample.get("files")
        if files:
            about["files"] = sorted(map(str, files)) if is_object(files) or is_list(files) else files
        if not self._has_input():
            about["input"] = self._sample.get("input")
        said: JsonObject = self._attachments.whole({**about, **self._evaluation.described()})
        draft = self.draft("sample", said, [note_message({"note": "sample", **said}, NAME, TrustLevel.UNKNOWN)])
        draft.facts = self._evaluation.facts_of(self._sample)
        return draft

    def _has_input(self) -> bool:
        task = task_of(self._sample)
        said = (self._attachments.whole(m.get("content")) for m in objects_of(self._sample.get("messages")))
        return any(texts_of(content) == task for content in said)

    def _attempt(self, retry: object, number: int) -> Iterator[RecordDraft]:
        """An earlier attempt that an error ended."""
        run = f"attempt:{number}"
        if not is_object(retry):
            yield self.draft("error_retry", [number, retry], [unknown_message(retry, NAME)], run)
            return
        walk = self._walk.of_attempt(run)
        yield from walk.events(retry.get("events"))
        said = {name: value for name, value in retry.items() if name != "events"}
        draft = self.draft("error_retry", [number, said], [error_message(self._attachments.whole(said))], run)
        draft.facts = self._evaluation.facts_of(self._sample)
        yield draft

    def _outcome(self) -> Iterator[RecordDraft]:
        error, limit = self._sample.get("error"), self._sample.get("limit")
        if error and "error" not in self._walk.met:
            yield self.draft("error", error, [error_message(self._attachments.whole(error))])
        if is_object(limit) and "sample_limit" not in self._walk.met:
            yield self.draft("limit", limit, [limit_message(limit)])
        if not self._walk.has_said:
            yield from self._walk.messages(_input_of(self._sample), _MET)
        scores = self._sample.get("scores")
        named: JsonObject = scores if is_object(scores) else {}
        for number, (name, score) in enumerate(named.items()):
            whole = self._attachments.whole(score)
            judged = is_object(whole) and is_judged(name, whole, self._walk.graders)
            message = score_message(
                name,
                whole,
                judged=judged,
                is_share=self._evaluation.counts_right_answers(name),
                scope="score" if number else "run",  # the first scorer is the one that counts
                answered=self._answered(),
            )
            yield self.draft("score", [name, score], [message])
        if scores and not is_object(scores):
            yield self.draft("score", scores, [unknown_message(scores, NAME)])

    def _answered(self) -> str:
        """What the model answered at last."""
        output = self._attachments.whole(self._sample.get("output"))
        choices = objects_of(output.get("choices")) if is_object(output) else []
        message = choices[0].get("message") if choices else None
        said = texts_of(message.get("content")) if is_object(message) else ""
        return said or (nonempty_text(output.get("completion")) or "" if is_object(output) else "")


def _input_of(sample: JsonObject) -> list[Any]:
    given = sample.get("input")
    if isinstance(given, str) and given:
        return [{"role": "user", "content": given, "source": "input"}]
    return given if is_list(given) else []
