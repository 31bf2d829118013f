"""What came of a call of a model: its answer with what it cost, or the error that it ended with."""

from __future__ import annotations

from typing import Any

from ledgerkit.importers.drafts import JsonObject, MessageDraft
from ledgerkit.importers.inspect_ai.contents import Attachments
from ledgerkit.importers.inspect_ai.conversation import Conversation
from ledgerkit.importers.inspect_ai.evaluation import NAME
from ledgerkit.importers.inspect_ai.events import error_message
from ledgerkit.importers.inspect_ai.usage import usage_of
from ledgerkit.importers.pieces import micros, note_message
from ledgerkit.importers.shapes import is_object, nonempty_text, objects_of
from ledgerkit.importers.tool_words import has_no_words
from ledgerkit.protocol.vocabulary import TrustLevel


class Answer:
    """The output of a call.

    Args:
        event: The call.
        attachments: The sample's.
        model: The model of the evaluation, for calls that name none.
    """

    def __init__(self, event: JsonObject, attachments: Attachments, model: str | None) -> None:
        output: Any = attachments.whole(event.get("output"))
        self._event = event
        self._output: JsonObject = output if is_object(output) else {}
        self._error = attachments.whole(event.get("error"))
        self._asked = nonempty_text(event.get("model")) or model
        choices = [choice.get("message") for choice in objects_of(self._output.get("choices"))]
        self.choices = [{**each, "role": "assistant"} for each in choices if is_object(each)]

    @property
    def said(self) -> list[object]:
        """What the answer is known by."""
        told = [[each.get("content"), each.get("tool_calls")] for each in self.choices]
        return [told, self._output.get("usage"), self._error]

    def messages(self, run: Conversation, settings: JsonObject) -> list[MessageDraft]:
        """The answer, the error and what audits need beside them.

        Args:
            run: The run that the answer belongs to.
            settings: Tools and settings of the call that no call before it had.
        """
        messages: list[MessageDraft] = []
        if self.choices:
            run.meet(self.choices[0])
            model = nonempty_text(self._output.get("model")) or self._asked
            messages += run.answer(self.choices[0], model, micros(self._event.get("timestamp")))
            self._charge(messages)
        if self._error:
            messages.append(error_message({"message": self._error}, "model_call"))
        beside = {**settings, "choices": self.choices[1:]} if len(self.choices) > 1 else settings
        if beside:
            # Descriptions of tools and prompts may be anybody's words.
            trust = TrustLevel.TOOL_TRUSTED if has_no_words(beside) else TrustLevel.UNKNOWN
            messages.append(note_message({"note": "model_call", **beside}, NAME, trust))
        return messages

    def _charge(self, messages: list[MessageDraft]) -> None:
        usage = usage_of(self._output.get("usage"))
        marks: JsonObject = {n: v for n in ("cache", "role", "retries") if (v := self._event.get(n)) is not None}
        if self._event.get("cache") == "read" and usage:  # the usage of the call that was made long ago
            marks["cached_usage"], usage = self._output["usage"], None
        messages[0].usage, messages[0].metadata = usage, marks
        service, mark, _ = (self._asked or "").partition("/")
        for each in messages:
            each.provider = service if mark and each.model else None
