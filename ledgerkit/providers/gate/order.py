"""Rules of roles: who begins, who ends, whose turn it is, and who may instruct."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.protocol.requests import may_instruct
from ledgerkit.protocol.vocabulary import LlmRole
from ledgerkit.providers.gate.reading import Kind, Reading
from ledgerkit.providers.gate.violations import RuleName, Violation
from ledgerkit.providers.told import JOINT, Origin

_INSTRUCTING: Final = ("system", "developer")


def _said(reading: Reading) -> list[tuple[str, str]]:
    """Role and path of each message that is no instruction."""
    return [(one.role, one.path) for one in reading.messages if one.role not in _INSTRUCTING]


def check_beginning(reading: Reading) -> Iterator[Violation]:
    """The user begins, where an interface wants it."""
    said = _said(reading)
    if reading.form.begins_with_user and said and said[0][0] != "user":
        yield Violation(RuleName.BEGINS_WITH_USER, said[0][1], "The first message must be the user's.")


def check_end(reading: Reading) -> Iterator[Violation]:
    """The user or a result ends, where an interface wants it: newest models take no beginning of an answer."""
    if reading.form.ends_with_user and reading.messages and reading.messages[-1].role not in ("user", "tool"):
        yield Violation(RuleName.ENDS_WITH_USER, reading.messages[-1].path, "The last message must be the user's.")


def check_turns(reading: Reading) -> Iterator[Violation]:
    """User and assistant take turns, where an interface wants it."""
    if not reading.form.merges:
        return
    for (before, _), (role, path) in pairwise(_said(reading)):
        if before == role and role != "tool":
            yield Violation(RuleName.ROLES_ALTERNATE, path, f"Two messages of the {role} follow each other.")
        elif before == "tool" and role == "user" and reading.form.replies_between:
            yield Violation(RuleName.ROLES_ALTERNATE, path, "The user speaks right behind a result.")


def check_instruction_place(reading: Reading) -> Iterator[Violation]:
    """One system message at the head, where an interface takes no other."""
    if reading.interface is ProviderInterface.LOCAL:
        for at, message in enumerate(reading.messages):
            if message.role in _INSTRUCTING and at:
                yield Violation(RuleName.INSTRUCTION_PLACE, message.path, "Only the first message may instruct.")


def check_instruction_roles(reading: Reading) -> Iterator[Violation]:
    """Only roles that the interface has; system and developer are not mixed in a chat."""
    seen: set[str] = set()
    for message in reading.messages:
        if message.role not in _INSTRUCTING:
            continue
        seen.add(message.role)
        if not reading.payload.capabilities.supports(LlmRole(message.role)):
            yield Violation(RuleName.INSTRUCTION_ROLES, f"{message.path}.role", f"There is no {message.role} here.")
        elif len(seen) > 1 and reading.interface is ProviderInterface.OPENAI_CHAT:
            yield Violation(RuleName.INSTRUCTION_ROLES, f"{message.path}.role", "Use system or developer, not both.")


def check_instruction_trust(reading: Reading) -> Iterator[Violation]:
    """Every character in an instruction position is of someone who may instruct."""
    origins: dict[str, list[Origin]] = {}
    for origin in reading.payload.origins:
        origins.setdefault(origin.path, []).append(origin)
    for piece in reading.instructing:
        mine = origins.get(piece.path, [])
        low = next((one for one in mine if not may_instruct(one.trust_level)), None)
        if low is not None:
            sentence = f"{low.trust_level} content may inform, not instruct."
            yield Violation(RuleName.INSTRUCTION_TRUST, piece.path, sentence)
        elif not _covers(piece.text, mine):
            yield Violation(RuleName.INSTRUCTION_TRUST, piece.path, "Nobody knows who says all of this.")


def _covers(text: str, origins: list[Origin]) -> bool:
    """Whether spans tile a text, with nothing but a joint between two of them."""
    at = 0
    for number, origin in enumerate(origins):
        start = at if number == 0 else at + len(JOINT)
        if origin.start != start or origin.end is None or (number and text[at:start] != JOINT):
            return False
        at = origin.end
    return at == len(text)


def check_empty(reading: Reading) -> Iterator[Violation]:
    """No empty text, where an interface refuses it."""
    if not reading.form.keeps_empty_text:
        for piece in (*reading.head, *reading.pieces):
            if piece.kind in (Kind.TEXT, Kind.RESULT) and not piece.text.strip():
                yield Violation(RuleName.EMPTY_TEXT, piece.path, "Empty text is refused here.")


def check_words(reading: Reading) -> Iterator[Violation]:
    """Every message says something."""
    for message in reading.messages:
        if not message.pieces:
            yield Violation(RuleName.SAYS_NOTHING, message.path, "The message has neither content nor calls.")
