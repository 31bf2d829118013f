"""Rules of calls and results: in pairs, adjacent, once, with ids that every interface takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.providers.gate.reading import Kind, Piece, Reading
from ledgerkit.providers.gate.violations import RuleName, Violation

_CALL_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(slots=True)
class _Walk:
    """Calls on a walk through the messages."""

    open: dict[str, Piece] = field(default_factory=dict[str, Piece])
    """Calls whose results must come next."""
    opened_in: int = -1
    passed: dict[str, Piece] = field(default_factory=dict[str, Piece])
    """Calls that something else followed."""
    answered: dict[str, Piece] = field(default_factory=dict[str, Piece])

    def interrupt(self) -> None:
        """Something stands where results were due."""
        self.passed |= self.open
        self.open = {}


def check_pairs(reading: Reading) -> Iterator[Violation]:
    """Every call is followed at once by exactly one result; every result has its call."""
    walk = _Walk()
    is_gemini = reading.interface is ProviderInterface.GEMINI
    for at, message in enumerate(reading.messages):
        for piece in message.pieces:
            if piece.kind is Kind.CALL:
                yield from _call(piece, at, walk, reading)
            elif piece.kind is Kind.RESULT:
                yield from _result(piece, walk, has_names=is_gemini)
            elif piece.kind is Kind.TEXT and at != walk.opened_in:
                walk.interrupt()
    walk.interrupt()
    for piece in walk.passed.values():
        yield Violation(RuleName.CALL_WITHOUT_RESULT, piece.path, "No result answers this call.")


def _call(piece: Piece, at: int, walk: _Walk, reading: Reading) -> Iterator[Violation]:
    known = piece.call_id in walk.open or piece.call_id in walk.passed
    has_ids = " " not in piece.call_id or reading.interface is not ProviderInterface.GEMINI
    if known or (has_ids and piece.call_id in walk.answered):
        yield Violation(RuleName.DUPLICATE_CALL_ID, piece.path, "Another call has this id.")
        return
    # Items stand alone: calls that follow each other directly are one turn's.
    is_same_turn = at == walk.opened_in or (
        reading.interface is ProviderInterface.OPENAI_RESPONSES
        and bool(walk.open)
        and not _answers_began(walk, at, reading)
    )
    if not is_same_turn:
        walk.interrupt()
    walk.answered.pop(piece.call_id, None)
    walk.open[piece.call_id] = piece
    walk.opened_in = at


def _answers_began(walk: _Walk, at: int, reading: Reading) -> bool:
    between = reading.messages[walk.opened_in + 1 : at]
    return any(piece.kind is Kind.RESULT for message in between for piece in message.pieces)


def _result(piece: Piece, walk: _Walk, *, has_names: bool) -> Iterator[Violation]:
    call = walk.open.pop(piece.call_id, None)
    if call is None and piece.call_id in walk.passed:
        call = walk.passed.pop(piece.call_id)
        yield Violation(RuleName.NOT_ADJACENT, piece.path, "The result does not stand right behind its call.")
    if call is None:
        if piece.call_id in walk.answered:
            yield Violation(RuleName.DUPLICATE_RESULT, piece.path, "Another result answers the same call.")
        else:
            yield Violation(RuleName.RESULT_WITHOUT_CALL, piece.path, "No call stands before this result.")
        return
    walk.answered[piece.call_id] = call
    if has_names and piece.name != call.name:
        yield Violation(RuleName.RESULT_NAME, piece.path, "The result names another tool than its call.")


def check_one_call(reading: Reading) -> Iterator[Violation]:
    """Where a turn may hold one call, none holds more."""
    if reading.form.one_call_per_turn:
        for message in reading.messages:
            for piece in [piece for piece in message.pieces if piece.kind is Kind.CALL][1:]:
                yield Violation(RuleName.ONE_CALL_PER_MESSAGE, piece.path, "A message holds one call here.")


def check_call_ids(reading: Reading) -> Iterator[Violation]:
    """Ids of calls are of a form that every interface takes."""
    for piece in reading.pieces:
        has_id = piece.kind is Kind.CALL and not (
            reading.interface is ProviderInterface.GEMINI and piece.call_id.startswith(f"{piece.name} ")
        )
        if has_id and not _CALL_ID.fullmatch(piece.call_id):
            yield Violation(RuleName.CALL_ID_FORM, piece.path, "Ids have 1 to 64 letters, digits, _ and -.")


def check_item_ids(reading: Reading) -> Iterator[Violation]:
    """Ids of items are the provider's own, or left out."""
    if reading.interface is ProviderInterface.OPENAI_RESPONSES:
        for at, item in enumerate(reading.body["input"]):
            prefix = {"function_call": "fc_", "function_call_output": "fc_", "reasoning": "rs_"}.get(item["type"], "")
            if not str(item.get("id", prefix)).startswith(prefix):
                yield Violation(RuleName.ITEM_ID_FORM, f"input[{at}].id", f"The id must begin with {prefix}.")


def check_reasoning(reading: Reading) -> Iterator[Violation]:
    """Reasoning is followed by what it led to."""
    has_items = reading.interface is ProviderInterface.OPENAI_RESPONSES
    followers = [*(message.role for message in reading.messages[1:]), None]
    for message, follower in zip(reading.messages, followers, strict=True):
        is_last = bool(message.pieces) and message.pieces[-1].kind is Kind.REASONING
        if is_last and not (has_items and follower == "assistant"):
            path = message.pieces[-1].path
            yield Violation(RuleName.REASONING_ALONE, path, "Nothing of the assistant follows this reasoning.")


def check_signatures(reading: Reading) -> Iterator[Violation]:
    """The first call of a turn carries the signature, if any does."""
    if reading.interface is ProviderInterface.GEMINI:
        for at, content in enumerate(reading.body["contents"]):
            calls = [part for part in content["parts"] if "functionCall" in part]
            if calls and "thoughtSignature" not in calls[0] and any("thoughtSignature" in part for part in calls):
                yield Violation(
                    RuleName.SIGNATURE_FIRST, f"contents[{at}].parts", "The first call carries the signature."
                )
