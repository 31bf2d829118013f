"""Secrets that a name gives away: assignments, options of command lines, sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from ledgerkit.safety.redaction.names import name_before, type_by_name
from ledgerkit.safety.redaction.places import ENV_LINE, Place, accepts, value_at
from ledgerkit.safety.redaction.values import has_uuid, is_phrase, is_reference, is_stopped, looks_random

Reader = Callable[[str, int], Iterable[Place]]
"""Given a text and where a value begins, the secrets there."""

_SEPARATOR: Final = re.compile(r"[\s\"'\]\\]*(?:=>|:=|\?=|[=:>,]|[ \t])[\s\"'`\\(rbf]*$")
_SPACES: Final = re.compile(r"[ \t]{2,}")


def read_assignment(text: str, start: int) -> Iterator[Place]:
    """A name, a sign of assignment and a value."""
    head = text[max(0, start - 130) : start]
    cut = _SEPARATOR.search(head)
    if cut is None:
        return
    name = name_before(head, cut.start())
    kind = type_by_name(name)
    if kind is None:
        return
    begin, end, quote = value_at(text, start)
    value = text[begin:end]
    if end - begin < 6:
        return
    is_line = not quote and ENV_LINE.search(head) is not None
    if not quote and _is_code(text, end, value, kind, is_upper=name.isupper(), is_line=is_line):
        return
    if accepts(_SPACES.sub(" ", value), kind, is_quoted=bool(quote) or (is_line and name.isupper())):
        yield Place(begin, end, _settled(kind, value))


def _is_code(text: str, end: int, value: str, kind: str, *, is_upper: bool, is_line: bool) -> bool:
    """Whether a value without quotes is rather an expression of a program."""
    follows = text[end : end + 2]
    if follows[:1] in {"(", "["} or (follows[:1] == "." and follows[1:].isalpha()):
        return True
    if is_upper or (len(value) >= 12 and looks_random(value) and not is_reference(value)):
        return False
    if kind == "password" and is_phrase(value):
        return False
    digits = sum(map(str.isdigit, value))
    return len(value) < 10 - 2 * is_line or digits < (1 if is_line and kind == "password" else 2)


def _settled(kind: str, value: str) -> str:
    """The type that is written: doubtful names become ``key``."""
    del value
    return "api-key" if kind in {"key", "session-key"} else kind


def explicit(kind: str) -> Reader:
    """A value at a place where a program or a protocol expects a secret of a kind."""

    def read(text: str, start: int) -> Iterator[Place]:
        begin, end, quote = value_at(text, start)
        if accepts(text[begin:end], kind, is_quoted=bool(quote), is_explicit=True):
            yield Place(begin, end, kind)

    return read


def read_option(text: str, start: int) -> Iterator[Place]:
    """The value behind an option of a command line, or behind a name in a list of arguments."""
    head = text[max(0, start - 90) : start]
    found = re.search(r"--?([\w.-]+)[\"']?[\s,=]+[\"']{0,2}$", head)
    kind = type_by_name(found[1]) if found else None
    if kind is None:
        return
    begin, end, quote = value_at(text, start)
    if accepts(text[begin:end], "token" if kind == "key" else kind, is_quoted=bool(quote), is_explicit=True):
        yield Place(begin, end, _settled(kind, ""))


def read_phrase(text: str, start: int) -> Iterator[Place]:
    """Twelve words or more that open a wallet."""
    found = re.compile(r"(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8}").match(text, start, start + 300)
    if found and len(set(found[0].split())) >= 9:
        yield Place(start, found.end(), "seed-phrase")


def read_prose(text: str, start: int) -> Iterator[Place]:
    """A value in running text behind a word such as *token*."""
    begin, end, _ = value_at(text, start)
    value = text[begin:end]
    if (
        len(value) >= 12
        and " " not in value
        and not is_stopped(value)
        and not is_reference(value)
        and not has_uuid(value)
    ):
        mixed = any(map(str.islower, value)) and any(map(str.isupper, value)) and sum(map(str.isdigit, value)) >= 2
        if mixed and looks_random(value, least=12):
            yield Place(begin, end, "credential")


def read_said(text: str, start: int) -> Iterator[Place]:
    """A value of which a sentence says that it is a password."""
    begin, end, quote = value_at(text, start)
    value = text[begin:end]
    if accepts(value, "password", is_quoted=bool(quote)) and sum(map(str.isdigit, value)) >= 1:
        yield Place(begin, end, "password")
