"""Characters that hide text, reorder it or imitate others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ledgerkit.safety.injection.marks import Detector, Mark

_TAGS: Final = "\U000e0000-\U000e007f"
_ZERO_WIDTH: Final = "\u200b-\u200d\u2060-\u2064\ufeff\u180e\u034f"
_SELECTORS: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_BIDI: Final = "\u202a-\u202e\u2066-\u2069"
_OVERRIDES: Final = frozenset("\u202d\u202e")
_FILLERS: Final = "\u115f\u1160\u3164\uffa0"
_PRIVATE: Final = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_JAMO: Final = "\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb"
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")

LOOK_ALIKES: Final = str.maketrans(
    # Small Cyrillic, Cyrillic capitals, Greek: only letters that most fonts draw like Latin ones.
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u04bb\u0501\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405"
    "\u03bf\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "aceopxyijshdqwABEKMHOPCTYXIJSoABEZHIKMNOPTYX",
)
"""Letters of other scripts, and the Latin letters that they look like."""

ALIKE: Final = "".join(map(chr, LOOK_ALIKES))
"""Those letters of other scripts."""
_LETTERS: Final = "A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u052f"
_FLAG: Final = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f"

_TAG_RUN: Final = re.compile(f"(?:{_FLAG})+|(?P<mark>[{_TAGS}]+)")
_SELECTOR_RUN: Final = re.compile(f"[{_SELECTORS}]{{2,}}")
_INSIDE: Final = re.compile(f"(?<=[{_LETTERS}0-9])[{_ZERO_WIDTH}]+(?=[{_LETTERS}0-9])|[{_ZERO_WIDTH}]{{4,}}")
_BIDI_RUN: Final = re.compile(f"[{_BIDI}]+")
_FILLER: Final = re.compile(f"(?<![{_JAMO}])[{_FILLERS}]+(?![{_JAMO}])")
_PRIVATE_RUN: Final = re.compile(f"[{_PRIVATE}]{{8,}}")
_WORD: Final = re.compile(f"[{_LETTERS}0-9_]+")
_OPENS: Final = "\u202a\u202b\u2066\u2067\u2068"
_CLOSES: Final = {"\u202c": "\u202a\u202b", "\u2069": "\u2066\u2067\u2068"}


def _tags(text: str) -> Iterable[Mark]:
    for found in _TAG_RUN.finditer(text):
        if found["mark"]:
            yield Mark(found.start(), found.end(), tag_text(found["mark"]))


def tag_text(run: str) -> str:
    """What a run of tag characters says."""
    return "".join(chr(code) for code in (ord(one) - 0xE0000 for one in run) if 0x20 <= code < 0x7F)


def _selectors(text: str) -> Iterable[Mark]:
    for found in _SELECTOR_RUN.finditer(text):
        yield Mark(found.start(), found.end(), selector_text(found[0]))


def selector_text(run: str) -> str:
    """The bytes that variation selectors stand for (VS1 is 0), read as UTF-8."""
    codes = (ord(one) for one in run)
    return bytes(c - 0xFE00 if c <= 0xFE0F else c - 0xE0100 + 16 for c in codes).decode("utf-8", "replace")


def _bidi(text: str) -> Iterable[Mark]:
    begin = 0
    for line in text.splitlines(keepends=True):
        runs = list(_BIDI_RUN.finditer(line))
        if runs and not _is_ordinary(line):
            yield from (Mark(begin + found.start(), begin + found.end()) for found in runs)
        begin += len(line)


def _is_ordinary(line: str) -> bool:
    """Whether a line reads from right to left and closes what it opens, without overrides."""
    if not _RIGHT_TO_LEFT.search(line) or not _OVERRIDES.isdisjoint(line):
        return False
    open_: list[str] = []
    for one in line:
        if one in _OPENS:
            open_.append(one)
        elif one in _CLOSES and (not open_ or open_.pop() not in _CLOSES[one]):
            return False
    return not open_


def _mixed(text: str) -> Iterable[Mark]:
    for found in _WORD.finditer(text):
        word = found[0]
        if word.isascii():
            continue
        plain = word.translate(LOOK_ALIKES)
        latin = sum(one.isascii() and one.isalpha() for one in word)
        other = sum(not one.isascii() for one in word)
        # A letter that has no Latin double makes it a word of its own script, or of a name with an accent.
        if latin >= 2 and other < latin and plain.isascii():
            yield Mark(found.start(), found.end(), plain)


def _of(rule_id: str, pattern: str, expression: re.Pattern[str]) -> Detector:
    def find(text: str) -> Iterable[Mark]:
        return (Mark(found.start(), found.end()) for found in expression.finditer(text))

    return Detector(rule_id, pattern, find)


CHARACTERS: Final = (
    Detector("unicode-tags", f"[{_TAGS}]", _tags),
    Detector("bidi-control", f"[{_BIDI}]", _bidi),
    _of("zero-width", f"[{_ZERO_WIDTH}]", _INSIDE),
    Detector("variation-selectors", f"[{_SELECTORS}]{{2}}", _selectors),
    _of("hangul-filler", f"[{_FILLERS}]", _FILLER),
    _of("private-use", f"[{_PRIVATE}]{{8}}", _PRIVATE_RUN),
    Detector("mixed-script", f"[A-Za-z][{ALIKE}]|[{ALIKE}][A-Za-z]", _mixed),
)
"""The detectors; every match holds a character that is not ASCII."""
