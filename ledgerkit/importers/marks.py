"""Labels that an export of ledgerkit wrote into another format's place for extras; they can only lower what is guessed.

Other formats have no trust labels, so a reader guesses them from who speaks. An export says beside a message what it
was. Since anybody can write such a mark, it is believed only where it lowers: trust never rises by it, and a kind
becomes one of no more authority. How a call ended is no label: that is a fact which a log may state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, PartType, ToolStatus, TrustLevel

MARK: Final = "ledgerkit"
"""Name of the mark among a record's extras."""

_TOLD: Final = (
    MessageKind.SYSTEM_INSTRUCTION, MessageKind.ORG_POLICY, MessageKind.DEVELOPER_INSTRUCTION, MessageKind.USER_TASK,
    MessageKind.REPOSITORY_INSTRUCTION,
)  # fmt: skip
"""Kinds of what a model is told, by falling authority."""
_RETURNED: Final = (MessageKind.TOOL_CALL_RESULT, MessageKind.FILE_OBSERVATION, MessageKind.DIFF_OBSERVATION)
"""Kinds of what a tool returns: none has authority."""
_FACTS: Final = ("task_id", "title", "repository", "branch", "working_directory")
_ENDED: Final = frozenset(ToolStatus) - {ToolStatus.REQUESTED}


def unmarked(record: JsonObject, place: str) -> tuple[JsonObject, JsonObject]:
    """A record without its mark, and the mark.

    Args:
        record: The record.
        place: The field with its extras.
    """
    extras = record.get(place)
    mark = extras.get(MARK) if is_object(extras) else None
    if not is_object(extras) or not is_object(mark):
        return record, {}
    rest = {name: value for name, value in extras.items() if name != MARK}
    plain = {name: value for name, value in record.items() if name != place}
    return ({**plain, place: rest} if rest else plain), mark


def facts_of(mark: JsonObject) -> dict[str, str]:
    """What a mark says of a run, by names of ``RunFacts``."""
    return {name: value for name in _FACTS if (value := nonempty_text(mark.get(name)))}


def lower(messages: Iterable[MessageDraft], mark: JsonObject) -> None:
    """Lowers the labels of messages to what a mark says; what it says that would raise them is passed over."""
    if not mark:
        return
    trust, kind, status = (mark.get(name) for name in ("trust_level", "kind", "status"))
    for message in messages:
        if isinstance(trust, str) and trust in TrustLevel.__members__:
            for part in message.parts:
                part.trust = TrustLevel.lowest((part.trust, TrustLevel(trust)))
        if isinstance(kind, str) and kind in _followers(message.kind):
            message.kind = MessageKind(kind)
        if isinstance(status, str) and status in _ENDED:
            for part in message.parts:
                part.status = ToolStatus(status) if part.part_type is PartType.TOOL_RESULT else part.status


def _followers(kind: MessageKind) -> tuple[MessageKind, ...]:
    """The kinds that a message of a kind may turn out to be."""
    if kind in _TOLD:
        return _TOLD[_TOLD.index(kind) :]
    return _RETURNED if kind in _RETURNED else ()
