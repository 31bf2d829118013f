"""Steps and history of a run laid side by side.

The trajectory says what the agent did; the history says what the model was told, and it alone has tool calls with
their ids. Steps that the agent had the model do again (no command, a blocked one) are in no history, and what a
history processor or another agent added is in no step, so the two are matched by what they say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.shapes import is_object, objects_of

_COMPARABLE: Final = 4_000_000
"""Beyond so many pairs, what stands behind the common beginning is left unmatched."""


@dataclass(slots=True)
class Turn:
    """One answer of the model and what came of it.

    Attributes:
        step: The trajectory's step; ``None`` where only the history has it.
        item: The history's item; ``None`` where only the trajectory has it.
        replies: What the history tells the model after it.
    """

    step: JsonObject | None
    item: JsonObject | None = None
    replies: list[Any] = field(default_factory=list[Any])

    def text(self, name: str) -> str:
        """A text of the turn (``thought``, ``action``), of the step if it has one."""
        for source in (self.step, self.item):
            if source is not None and isinstance(source.get(name), str):
                return source[name]
        return ""

    @property
    def is_reworded(self) -> bool:
        """Whether the history has the step's command with other words around it, as edited demonstrations do."""
        return self.item is not None and text_of(self.item.get("content")).strip() != self.response.strip()

    @property
    def response(self) -> str:
        """What the model wrote."""
        if self.step is not None and isinstance(self.step.get("response"), str):
            return self.step["response"]
        return text_of(self.item.get("content")) if self.item else ""


def text_of(content: object) -> str:
    """The text of a history item's content: a text, or blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in objects_of(content) if isinstance(block.get("text"), str))


def is_answer(item: object) -> bool:
    """Whether a history item was written by the model in this run, not in a demonstration."""
    return is_object(item) and item.get("role") == "assistant" and not item.get("is_demo")


def laid_out(steps: list[Any], history: list[Any]) -> tuple[list[Any], list[Turn | object]]:
    """What stands before the first answer, and the turns in order; a step that is no object stands as it is."""
    first = next((n for n, item in enumerate(history) if is_answer(item)), len(history))
    said = _answers(history[first:])
    turns: list[Turn | object] = []
    taken = 0
    for number, place in _matches([_signature(step) for step in steps], [_signature(turn.item) for turn in said]):
        if place is None:
            turns.append(Turn(steps[number]) if is_object(steps[number]) else steps[number])
            continue
        turns += said[taken:place]
        turns.append(Turn(steps[number], said[place].item, said[place].replies))
        taken = place + 1
    return history[:first], [*turns, *said[taken:]]


def _matches(steps: list[tuple[str, str]], items: list[tuple[str, str]]) -> Iterator[tuple[int, int | None]]:
    """For each step the place of its history item, in rising order."""
    begin = 0
    while begin < min(len(steps), len(items)) and steps[begin] == items[begin]:
        yield begin, begin
        begin += 1
    if (len(steps) - begin) * (len(items) - begin) > _COMPARABLE:
        items = items[:begin]
    matcher = SequenceMatcher(None, steps[begin:], items[begin:], autojunk=False)
    places: dict[int, int] = {}
    step_end = item_end = begin
    for block in matcher.get_matching_blocks():
        step_at, item_at = block.a + begin, block.b + begin
        if step_at - step_end == item_at - item_end:  # as many between on both sides: the same, if by the command only
            between = zip(range(step_end, step_at), range(item_end, item_at), strict=True)
            places |= {n: place for n, place in between if steps[n][0] == items[place][0]}
        places |= {step_at + n: item_at + n for n in range(block.size)}
        step_end, item_end = step_at + block.size, item_at + block.size
    for number in range(begin, len(steps)):
        yield number, places.get(number)


def _signature(said: object) -> tuple[str, str]:
    """What a step and the history item of the same answer have in common."""
    if not is_object(said):
        return "\0", repr(said)  # no action of a history item
    whole = said.get("response") if "response" in said else text_of(said.get("content"))
    return _stripped(said.get("action")), _stripped(said.get("thought")) or _stripped(whole)


def _answers(history: list[Any]) -> list[Turn]:
    turns: list[Turn] = []
    for item in history:
        if is_answer(item):
            turns.append(Turn(None, item))
        elif turns:
            turns[-1].replies.append(item)
    return turns


def _stripped(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def prompts_of(step: JsonObject) -> Iterator[tuple[str, list[JsonObject]]]:
    """The prompts that a step repeats whole (``messages`` in 1.0, ``query`` since)."""
    for name in ("messages", "query"):
        items = objects_of(step.get(name))
        if items and any(items):
            yield name, items
