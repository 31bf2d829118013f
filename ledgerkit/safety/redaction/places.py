"""Where a value begins and ends, and whether it can be the secret that its place promises."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ledgerkit.safety.redaction.values import (
    has_uuid,
    is_hex,
    is_reference,
    is_stopped,
    looks_like_password,
    looks_random,
)


class Place(NamedTuple):
    """A secret in a text that a reader accepted."""

    start: int
    end: int
    type: str


_LONGEST: Final = 6_000
_UNQUOTED: Final = re.compile(r"[^\s\x00\"'`<>\\]+")
_ARGUMENT: Final = re.compile(r"[^\s\x00\"'`<>;,&|(){}\[\]\\]+")
_PARAMETER: Final = re.compile(r"[^\s\x00\"'`<>&#;\\,)\]}]+")
_CONNECTION: Final = re.compile(r"[^\s\x00\"'`<>;\\]+")
_QUOTED: Final = {
    quote: re.compile(rf"(?:[^{quote}\\\n]|\\(?:[^\n{quote}]|{quote}(?![\s,;:)}}\]]|$)))+") for quote in "\"'`"
}
ENV_LINE: Final = re.compile(
    r"(?:^|[\n;\x00])[ \t]*(?:[-+][ \t]?)?(?:export[ \t]+|set[ \t]+|setx[ \t]+|ENV[ \t]+|declare -x[ \t]+|\$env:)?"
    r"[A-Za-z_][\w.-]*[ \t]*[=:][ \t]*$"
)


def value_at(text: str, start: int) -> tuple[int, int, str]:
    """Bounds of the value that begins at a place, and its quote (empty if it has none)."""
    before = text[start - 1] if start else ""
    if before in _QUOTED:
        found = _QUOTED[before].match(text, start, start + _LONGEST)
        end = found.end() if found else start
        while end > start and text[end - 1] in " \\\t":
            end -= 1
        return start, end, before
    head = text[max(0, start - 120) : start]
    if "?" in head[-100:] and re.search(r"[?&][\w.%\[\]-]*=$", head):
        kind = _PARAMETER
    elif ";" in text[start : start + 200] and re.search(r";\s*[\w ]+=$|^\s*[\w ]+=$|[\"'][\w ]+=[^\"']*$", head):
        kind = _CONNECTION
    else:
        kind = _UNQUOTED if ENV_LINE.search(head) else _ARGUMENT
    found = kind.match(text, start, start + _LONGEST)
    end = found.end() if found else start
    while end > start and text[end - 1] in ".,;:":
        end -= 1
    return start, end, ""


def accepts(value: str, kind: str, *, is_quoted: bool, is_explicit: bool = False) -> bool:
    """Whether a value can be the secret that its name promises.

    Args:
        value: The value.
        kind: What its name says that it is.
        is_quoted: It stands in quotes, or in a file of assignments.
        is_explicit: The place leaves no doubt (a header, an option of a program that takes a password there).
    """
    if len(value) < 6 or is_stopped(value) or (kind != "password" and " " in value):
        return False
    if is_reference(value) and not (kind == "password" and is_quoted and looks_random(value, least=12)):
        return False
    if kind == "password":
        return _is_password(value, is_quoted=is_quoted, is_explicit=is_explicit)
    if has_uuid(value):
        return len(value) == 36 and kind in {"token", "secret", "api-key"}
    if kind in {"key", "session-key", "session", "credential"}:
        # So many things are called a key that plain hexadecimal digits are more often a hash.
        return len(value) >= 20 and looks_random(value, least=20) and not (kind == "key" and is_hex(value))
    return looks_random(value, least=8 if is_explicit else 12)


def _is_password(value: str, *, is_quoted: bool, is_explicit: bool) -> bool:
    if " " in value:
        return (
            is_quoted
            and any(map(str.isdigit, value))
            and 2 <= len(value.split()) <= 5
            and not value.endswith((".", "!", "?"))
        )
    if is_quoted or is_explicit:
        return looks_like_password(value, least=6 if is_explicit else 8)
    return looks_like_password(value, least=8) and sum(map(str.isdigit, value)) >= 1
