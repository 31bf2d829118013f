"""From what a pattern found to a secret, or to nothing: the last word on every candidate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from ledgerkit.safety.redaction.engine import OWN, Hit, rule_name
from ledgerkit.safety.redaction.places import Place
from ledgerkit.safety.redaction.readers import readers
from ledgerkit.safety.redaction.ruleset import Family, families, prefix_families, prefix_of, prefix_types, shapes
from ledgerkit.safety.redaction.secrets import PLACEHOLDER
from ledgerkit.safety.redaction.values import entropy, has_uuid, is_stopped, is_wordy, looks_random

_LONGEST: Final = 4_000
_RENAMED: Final = {"generic-credential-uri": "url-password"}
_LONG_RUN: Final = re.compile(r"[A-Za-z0-9+/=]*")
_BARE_HEX: Final = re.compile(r"(?:[0-9a-f]{16,}|[0-9A-F]{16,})$")
_NEXT_LINE: Final = re.compile(
    r"(?:[ \t]*(?:[\"'`][ \t]*[+.&]?|\\))?[ \t]*\r?\n[ \t]*"
    r"(?:[+\-|>#][ \t]*|\d{1,5}[→:|\t][ \t]*)?(?:[+.&][ \t]*)?[rbf]?[\"'`]?"
    r"([A-Za-z0-9+/=_.~-]{3,})(?=[\"'`]?[,;)\]}]*[ \t]*(?:\\?\r?\n|\\|$)|[\"'`])"
)


@cache
def _tails() -> dict[str, re.Pattern[str]]:
    return {family.name: re.compile(family.tail + "+") for family in families().values()}


def judge(text: str, hit: Hit) -> Iterable[Place]:
    """The secrets at a place where a pattern has found something.

    Args:
        text: The text, in the reading in which the pattern found it.
        hit: What it found.
    """
    if not hit.rule.startswith(OWN):
        return _builtin(text, hit)
    name = rule_name(hit.rule)
    if (reader := readers().get(name)) is not None:
        return [place for place in reader(text, hit.start) if _is_clean(text, place)]
    if name in shapes():
        return _shaped(text, hit, name)
    return _prefixed(text, hit.start)


def _is_clean(text: str, place: Place) -> bool:
    return (place.end > place.start and PLACEHOLDER.search(text, max(0, place.start - 70), place.end + 1) is None) or (
        not any(
            found.end() > place.start and found.start() < place.end
            for found in PLACEHOLDER.finditer(text, max(0, place.start - 70), place.end + 70)
        )
    )


def _builtin(text: str, hit: Hit) -> Iterator[Place]:
    """A finding of Kingfisher's own rules, as long as it is no placeholder and no plain name."""
    value = text[hit.start : hit.end]
    if not hit.is_visible or len(value) < 8:
        return
    prefix = prefix_of(value)
    place = Place(hit.start, hit.end, prefix_types().get(prefix) or type_of_builtin(hit.rule))
    bare = value.removeprefix(prefix)
    if "\n" not in value and (is_stopped(bare) or not (looks_random(bare, least=8) or _is_long_token(bare))):
        return
    if not _is_in_run(text, hit.start, hit.end) and _is_clean(text, place):
        yield place


def _is_long_token(value: str) -> bool:
    return len(value) >= 32 and entropy(value) > 3.3 and not is_wordy(value, 0.5)


@cache
def type_of_builtin(rule: str) -> str:
    """The secret type for one of Kingfisher's rules.

    Example:
        >>> type_of_builtin("betterleaks.github-pat.1"), type_of_builtin("betterleaks.generic-credential-uri")
        ('github-pat', 'url-password')
    """
    name = re.sub(r"^.*[/]|^[a-z]+\.(?=[a-z0-9])", "", rule.lower())
    kind = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\.\d+$", "", name)).strip("-")[:40]
    return _RENAMED.get(kind, kind) or "secret"


def _shaped(text: str, hit: Hit, name: str) -> Iterator[Place]:
    shape = shapes()[name]
    if text.endswith("base64,", 0, hit.start):
        return  # the beginning of a file in a data URI: a source map, a font
    value = text[hit.start : hit.end]
    place = Place(hit.start, hit.end, shape.type)
    if not shape.is_certain and (is_stopped(value) or not looks_random(value, least=8)):
        return
    if shape.is_certain and (len(set(value)) < 5 or "EXAMPLE" in value):
        return
    if not _is_in_run(text, hit.start, hit.end) and _is_clean(text, place):
        yield place


def _is_in_run(text: str, start: int, end: int) -> bool:
    """Whether a short token is rather a piece of a long stretch of base64."""
    if end - start > 100:
        return False
    left = start
    while left and start - left < 100 and (text[left - 1].isalnum() or text[left - 1] in "+/="):
        left -= 1
    if left == start:
        return False
    right = _LONG_RUN.match(text, end, end + 100)
    return (right.end() if right else end) - left - (end - start) >= 60 and not text[left:start].endswith("=")


def _prefixed(text: str, start: int) -> Iterator[Place]:
    """A token that is known by its prefix."""
    prefix = prefix_of(text[start : start + 30])
    if not prefix:
        return
    family = prefix_families()[prefix]
    found = _tails()[family.name].match(text, start + len(prefix), start + _LONGEST)
    if found is None:
        return
    end = found.end()
    while text[end - 1] in ".-":
        end -= 1
    tail = text[start + len(prefix) : end]
    last = end
    if (joined := _over_lines(text, end, tail, family)) is not None:
        tail, last = joined
    if is_token(prefix, tail, family) and not _is_in_run(text, start, end):
        place = Place(start, last, prefix_types()[prefix])
        if _is_clean(text, place):
            yield place


def is_token(prefix: str, tail: str, family: Family) -> bool:
    """Whether what stands behind a prefix makes it a token."""
    least = max(family.least - max(0, len(prefix) - 6), 10)
    if len(tail) < least or is_stopped(tail):
        return False
    longest = max(re.split(r"[_.-]", tail), key=len)
    short = len(prefix) <= 4
    if has_uuid(tail):
        return True
    return (
        looks_random(tail, least=10)
        and len(longest) >= (12 if short else 6)
        and looks_random(longest, least=6 if not short else 10)
    )


def _over_lines(text: str, end: int, tail: str, family: Family) -> tuple[str, int] | None:
    """A token's tail with what stands of it in the next lines, and where that ends."""
    del family
    parts = [tail]
    last = end
    for _ in range(4):
        more = next_line(text, last, "".join(parts))
        if more is None:
            break
        piece, last = more
        parts.append(piece)
    return ("".join(parts), last) if len(parts) > 1 else None


def next_line(text: str, end: int, head: str) -> tuple[str, int] | None:
    """What a line break has cut off a value: the rest, and where it ends.

    The next line must hold nothing but characters of a token, and these must not be a word.
    """
    found = _NEXT_LINE.match(text, end, end + 600)
    if found is None:
        return None
    piece = found[1]
    digits = sum(map(str.isdigit, piece))
    mixed = any(map(str.islower, piece)) and any(map(str.isupper, piece[1:]))
    if is_stopped(piece + "abcd") or not (digits or (mixed and not is_wordy(piece, 0.5))) or "=" in piece.rstrip("="):
        return None
    if (
        piece.count(".") > 1
        or piece.startswith(("-", "."))
        or (len(piece) < 6 and not looks_random(head + piece, least=12))
    ):
        return None
    if digits and (is_wordy(piece) or piece.isdigit() or re.match(r"[\d.,:-]+$", piece)):
        return None
    return piece, found.end(1)
