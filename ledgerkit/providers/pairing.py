"""Every call is followed at once by exactly one result, and every result stands behind its call.

Interfaces refuse anything else (science: "No tool output found…", "Did not find N tool_result block(s)…"). Nothing is
thrown away for it: a result without a call becomes text, a call without a result gets a placeholder, a result that
stands elsewhere moves to its call.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ledgerkit.protocol.vocabulary import LlmRole, ToolStatus
from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.told import MAPPER, joined, told
from ledgerkit.providers.turns import Answered, Called, Said, Turn

NO_RESULT: Final = "(no result is recorded)"
"""Stands where no result answers a call."""
DETACHED_RESULT: Final = "(result of a tool call that is not shown)"
"""Stands before a result without a call."""

_CALL_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(slots=True)
class _Match:
    """One call of the conversation and the results that were found for it."""

    turn: int
    call: Called
    results: list[tuple[int, Answered]] = field(default_factory=list[tuple[int, Answered]])


def pair(turns: Sequence[Turn], notes: list[Note]) -> list[Turn]:
    """The same conversation, with calls and results in pairs.

    Args:
        turns: One for each message, as :func:`~ledgerkit.providers.turns.spell` gives them.
        notes: Takes what was changed.
    """
    matches = [_Match(at, call) for at, turn in enumerate(turns) for call in turn.calls]
    detached = _match(turns, matches)
    _give_own_ids(matches, notes)
    by_turn: dict[int, list[_Match]] = {}
    for match in matches:
        by_turn.setdefault(match.turn, []).append(match)
    paired: list[Turn] = []
    at = 0
    while at < len(turns):
        if turns[at].calls:
            end = at + 1
            while end < len(turns) and turns[end].calls:
                end += 1
            paired += _exchange(turns, at, end, [match for turn in range(at, end) for match in by_turn[turn]], notes)
            at = end
            continue
        if turns[at].role is LlmRole.TOOL:
            paired += _as_text(turns[at], detached, notes)
        else:
            paired.append(turns[at])
        at += 1
    return paired


def _match(turns: Sequence[Turn], matches: list[_Match]) -> set[str]:
    """Finds for every result its call; gives the places of those that have none."""
    by_id: dict[str, list[_Match]] = {}
    for match in matches:
        by_id.setdefault(match.call.call_id, []).append(match)
    detached: set[str] = set()
    for at, turn in enumerate(turns):
        for result in turn.results:
            found = _call_of(by_id.get(result.call_id, []), at, turns)
            if found is None:
                detached.add(result.where)
            else:
                found.results.append((at, result))
    return detached


def _call_of(candidates: list[_Match], at: int, turns: Sequence[Turn]) -> _Match | None:
    """The nearest call before a result that nothing answers, else the first one after it, else one it adds to."""
    waiting = [match for match in candidates if not match.results]
    before = [match for match in waiting if match.turn < at]
    if before:
        nearest = max(match.turn for match in before)
        return next(match for match in before if match.turn == nearest)
    if waiting:
        return waiting[0]
    for match in candidates:
        first = match.results[0][0]
        if first <= at and all(turn.role is LlmRole.TOOL for turn in turns[first:at]):
            return match
    return None


def _give_own_ids(matches: list[_Match], notes: list[Note]) -> None:
    taken = {match.call.call_id for match in matches if _CALL_ID.fullmatch(match.call.call_id)}
    used: set[str] = set()
    for number, match in enumerate(matches):
        old = match.call.call_id
        if _CALL_ID.fullmatch(old) and old not in used:
            used.add(old)
            continue
        new = _fresh_id(old, number, taken)
        taken.add(new)
        used.add(new)
        match.call = replace(match.call, call_id=new)
        notes.append(Note(NoteKind.RENAMED_CALL_ID, match.call.where, old, new))


def _fresh_id(old: str, number: int, taken: set[str]) -> str:
    # An id that is merely not allowed keeps its new one whatever stands around it; only a second use counts calls.
    attempt = 0
    while True:
        salt = f"{attempt}\0" if attempt else ""
        new = f"call_{hashlib.sha256((salt + old).encode()).hexdigest()[:24]}"
        if new not in taken:
            return new
        attempt += number + 1


def _exchange(turns: Sequence[Turn], start: int, end: int, matches: list[_Match], notes: list[Note]) -> list[Turn]:
    """A turn with calls and the turn that answers them."""
    head = turns[start]
    if end - start > 1:
        notes.append(Note(NoteKind.MERGED_MESSAGES, head.where))
    texts = tuple(text for turn in turns[start:end] for text in turn.texts)
    after = end
    while after < len(turns) and turns[after].role is LlmRole.TOOL:
        after += 1
    results = tuple(_result(match, range(end, after), notes) for match in matches)
    return [
        Turn(LlmRole.ASSISTANT, head.where, texts, tuple(match.call for match in matches)),
        Turn(LlmRole.TOOL, results[0].where, results=results),
    ]


def _result(match: _Match, expected: range, notes: list[Note]) -> Answered:
    call = match.call
    if not match.results:
        notes.append(Note(NoteKind.SYNTHESISED_RESULT, call.where))
        return Answered(call.call_id, call.tool_name, told(NO_RESULT, MAPPER), ToolStatus.UNKNOWN, call.where)
    at, first = match.results[0]
    if at not in expected:
        notes.append(Note(NoteKind.MOVED_RESULT, first.where))
    if len(match.results) > 1:
        notes.append(Note(NoteKind.MERGED_RESULTS, first.where))
    everyone = [result for _, result in match.results]
    return replace(
        first,
        call_id=call.call_id,
        tool_name=call.tool_name,
        text=joined([result.text for result in everyone]),
        status=everyone[-1].status,
    )


def _as_text(turn: Turn, detached: set[str], notes: list[Note]) -> list[Turn]:
    """The results of a turn that have no call, said by the user."""
    texts: list[Said] = []
    for result in turn.results:
        if result.where in detached:
            notes.append(Note(NoteKind.RESULT_AS_TEXT, result.where, result.call_id))
            texts += [Said(told(DETACHED_RESULT, MAPPER), result.where), Said(result.text, result.where)]
    return [Turn(LlmRole.USER, turn.where, tuple(texts))] if texts else []
