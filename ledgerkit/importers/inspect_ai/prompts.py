"""What a model was given with a call: its messages, in newer logs out of a pool, and its tools and settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.inspect_ai.contents import Attachments, texts_of
from ledgerkit.importers.pieces import digest
from ledgerkit.importers.shapes import is_list, is_object, objects_of

_SETTINGS: Final = ("tools", "tool_choice", "config")
_PAIR: Final = 2


class Pool:
    """The messages of a sample that its calls refer to by ranges."""

    def __init__(self, sample: JsonObject, attachments: Attachments) -> None:
        data = sample.get("events_data")
        messages: Any = data.get("messages") if is_object(data) else None
        self._attachments = attachments
        self._messages: list[Any] = attachments.whole(messages) if is_list(messages) else []

    def prompt_of(self, event: JsonObject) -> list[Any]:
        """The messages that a call was given, with their attachments."""
        if is_list(event.get("input_refs")):
            return self.raw_prompt_of(event)
        return [self._attachments.whole(message) for message in self.raw_prompt_of(event)]

    def raw_prompt_of(self, event: JsonObject) -> list[Any]:
        """The messages that a call was given, as they stand."""
        refs: Any = event.get("input_refs")
        if not is_list(refs):
            given: Any = event.get("input")
            return given if is_list(given) else []
        prompt: list[Any] = []
        for ref in refs:
            if is_list(ref) and len(ref) == _PAIR and all(type(end) is int and end >= 0 for end in ref):
                prompt += self._messages[ref[0] : ref[1]]
            elif type(ref) is int and 0 <= ref < len(self._messages):
                prompt.append(self._messages[ref])
        return prompt


def settings_of(event: JsonObject, attachments: Attachments, known: set[str]) -> JsonObject:
    """Tools and settings of a call, if no call before it had the same."""
    given = attachments.whole({name: value for name in _SETTINGS if (value := event.get(name))})
    own = digest(given)
    if not given or own in known:
        return {}
    known.add(own)
    return given


def task_of(sample: JsonObject) -> str:
    """What a sample asks for, as a text."""
    given = sample.get("input")
    if isinstance(given, str):
        return given
    return next((texts_of(m.get("content")) for m in objects_of(given) if m.get("role") == "user"), "")


def results_in(prompts: Iterable[object]) -> dict[str, list[JsonObject]]:
    """Results as models were told them, by the ids of their calls; an id that was used again has several."""
    found: dict[str, list[JsonObject]] = {}
    for prompt in prompts:
        here: dict[str, list[JsonObject]] = defaultdict(list)
        for message in objects_of(prompt):
            if message.get("role") == "tool" and isinstance(name := message.get("tool_call_id"), str):
                here[name].append(message)
        found |= {name: listed for name, listed in here.items() if len(listed) > len(found.get(name, ()))}
    return found
