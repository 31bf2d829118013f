"""The model's reply that an event of V0 keeps: which call of it the event is, what was said, what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.openhands.records import texts_of
from ledgerkit.importers.pieces import arguments_of
from ledgerkit.importers.shapes import is_object, nonempty_text, objects_of

_NO_ANSWERS: Final = frozenset({
    "None", "system", "recall", "null", "condensation", "condensation_request", "change_agent_state", "loop_recovery",
})  # fmt: skip


@dataclass(slots=True)
class Reply:
    """A reply. Several events share one if the model made several calls at once."""

    id: str | None = None
    model: str | None = None
    usage: object = None
    text: str = ""
    reasoning: str = ""
    call_id: str | None = None
    tool: str | None = None
    arguments: object = None


def reply_of(event: JsonObject) -> Reply:
    """The reply of an event; an empty one where none is kept."""
    about = event.get("tool_call_metadata")
    if not is_object(about):
        return Reply()
    reply = Reply(call_id=nonempty_text(about.get("tool_call_id")), tool=nonempty_text(about.get("function_name")))
    response = about.get("model_response")
    if not is_object(response):
        return reply
    reply.id, reply.model = nonempty_text(response.get("id")), nonempty_text(response.get("model"))
    reply.usage = response.get("usage")
    choices = objects_of(response.get("choices"))
    message = choices[0].get("message") if choices else None
    if not is_object(message):
        return reply
    reply.text = texts_of(message.get("content"))
    reply.reasoning = nonempty_text(message.get("reasoning_content")) or ""
    for call in objects_of(message.get("tool_calls")):
        function = call.get("function")
        if call.get("id") == reply.call_id and is_object(function):
            reply.tool = nonempty_text(function.get("name")) or reply.tool
            reply.arguments = arguments_of(function.get("arguments"))
    return reply


def replies_by_place(events: list[Any], order: list[str]) -> dict[int, str]:
    """The replies of answers that keep none (a message without a call), by the place of the event.

    Replies are listed in the order of the calls. Where as many of them as there are such answers stand between two
    that events name, they are theirs.

    Args:
        events: The events of a stream.
        order: Ids of the replies that the run's metrics list.
    """
    position = {reply: n for n, reply in enumerate(order)}
    found: dict[int, str] = {}
    waiting: list[int] = []
    last = -1
    for place, event in enumerate(events):
        if not is_object(event) or event.get("source") != "agent" or str(event.get("action")) in _NO_ANSWERS:
            continue
        reply = reply_of(event).id
        if reply is None:
            waiting.append(place)
        elif reply in position:
            found |= _paired(waiting, order[last + 1 : position[reply]])
            waiting, last = [], max(last, position[reply])
    return found | _paired(waiting, order[last + 1 :])


def _paired(places: list[int], replies: list[str]) -> dict[int, str]:
    return dict(zip(places, replies, strict=True)) if len(places) == len(replies) else {}
