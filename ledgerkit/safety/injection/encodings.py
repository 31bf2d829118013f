"""Other spellings of a text: encodings, invisible characters taken out, look-alikes made plain.

Whatever comes out of here is read again by the rules for plain text.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final
from urllib.parse import unquote_plus

from ledgerkit.safety.injection.characters import ALIKE, LOOK_ALIKES, selector_text, tag_text
from ledgerkit.safety.injection.marks import Mark

_LONGEST: Final = 65_536
_MOST: Final = 50
_SHORTEST: Final = 12

SPELLED: Final = (
    "[\uff21-\uff3a\uff41-\uff5a\uff0f\uff1c\uff1e\U0001d400-\U0001d7ff\u200b-\u200d\u2060-\u2064\ufeff\u00ad]"
    f"|[A-Za-z][{ALIKE}]|[{ALIKE}][A-Za-z]"
)
"""What a text must match to be spelled plainly."""

_INVISIBLE: Final = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff\u00ad]")
_STYLED: Final = re.compile("[\uff01-\uff5e\U0001d400-\U0001d7ff]")


@dataclass(frozen=True, slots=True)
class Plain:
    """A text spelled plainly, and where each of its characters stands in the text as it was."""

    text: str
    places: tuple[int, ...] | None
    """Null where each character stands in its own place."""

    def mark(self, start: int, end: int) -> Mark:
        """The place of ``start`` to ``end`` in the text as it was."""
        if self.places is None:
            return Mark(start, end)
        return Mark(self.places[start], self.places[end - 1] + 1)


def spell_plainly(text: str) -> Plain:
    r"""The text without invisible characters, with plain letters for styled and look-alike ones.

    Example:
        >>> spell_plainly("ig\u200bn\u043ere").text
        'ignore'
    """
    plain = _STYLED.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text).translate(LOOK_ALIKES)
    if len(plain) != len(text):
        return Plain(text, None)
    places = tuple(place for place, one in enumerate(plain) if not _INVISIBLE.match(one))
    if len(places) == len(plain):
        return Plain(plain, None)
    return Plain("".join(plain[place] for place in places), places)


def _reads_as_text(decoded: str) -> bool:
    head = decoded[:400]
    letters = sum(one.isprintable() or one in "\n\t\r" for one in head)
    return letters >= 0.95 * len(head) and " " in head


def _base64(run: str) -> str | None:
    # Lines of wrapped base64 are one stretch; URL-safe letters are as good.
    letters = re.sub(r"\s+", "", run).rstrip("=").replace("-", "+").replace("_", "/")
    # Names and paths have these letters as well: the first bytes tell.
    if not _reads_as_text(_bytes_of(letters[:64]).decode("utf-8", "ignore")):
        return None
    told = _bytes_of(letters).decode("utf-8", "replace")
    return told if _reads_as_text(told) else None


def _bytes_of(letters: str) -> bytes:
    whole = letters[: len(letters) - (len(letters) % 4 == 1)]
    try:
        return base64.b64decode(whole + "=" * (-len(whole) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _hexadecimal(run: str) -> str | None:
    digits = re.sub(r"\\x|\\u00|[\s:]", "", run)
    try:
        return bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("utf-8")
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Encoding:
    """A way to write text in other signs.

    Attributes:
        trigger: What a text must match to be read, in the words of Polars.
        run: A stretch so written.
        decode: What a stretch says; null if it is not so written after all.
    """

    trigger: str
    run: re.Pattern[str]
    decode: Callable[[str], str | None]

    def decode_runs(self, text: str) -> Iterable[Mark]:
        """The stretches of a text that decode to text, with what they say."""
        decoded = ((found, self.decode(found[0][:_LONGEST])) for found in self.run.finditer(text))
        told = (
            Mark(found.start(), found.end(), says)
            for found, says in decoded
            if says is not None and len(says) >= _SHORTEST and _reads_as_text(says)
        )
        return islice(told, _MOST)


_B64: Final = "A-Za-z0-9+/_-"
_IN_ADDRESS: Final = "A-Za-z0-9'.,:_~+-"

ENCODINGS: Final = (
    Encoding(r"[0-9a-fA-F]{40}", re.compile(rf"(?<![{_B64}])[0-9a-fA-F]{{40,}}(?![{_B64}])"), _hexadecimal),
    Encoding(
        rf"[{_B64}]{{40}}",
        re.compile(rf"(?<![{_B64}])[{_B64}]{{40,}}(?:\r?\n[ \t]*[{_B64}]{{4,}})*={{0,2}}"),
        _base64,
    ),
    Encoding(
        r"(?:\\x[0-9a-fA-F]{2}){8}|(?:\\u00[0-9a-fA-F]{2}){8}",
        re.compile(r"(?:\\x[0-9a-fA-F]{2}){8,}|(?:\\u00[0-9a-fA-F]{2}){8,}"),
        _hexadecimal,
    ),
    Encoding(
        r"(?:&#x?[0-9a-fA-F]{2,5}; ?){6}",
        re.compile(r"(?:&#(?:[xX][0-9a-fA-F]{2,4}|[0-9]{2,5}); ?){6,}"),
        html.unescape,
    ),
    Encoding(
        rf"(?:%[0-9A-Fa-f]{{2}}[{_IN_ADDRESS}]*){{3}}",
        re.compile(rf"(?<![{_IN_ADDRESS}])(?:[{_IN_ADDRESS}]*%[0-9A-Fa-f]{{2}}){{3,}}[{_IN_ADDRESS}]*"),
        unquote_plus,
    ),
    Encoding("[\U000e0020-\U000e007e]{8}", re.compile("[\U000e0020-\U000e007e]{8,}"), tag_text),
    Encoding(
        "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8}",
        re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}"),
        selector_text,
    ),
)
"""The encodings that are read."""

ROT13_WORDS: Final = tuple(
    codecs.encode(word, "rot13")
    for word in ("ignore", "disregard", "instruction", "prompt", "assistant", "system", "do not", "never", "agent")
)
"""What a text holds, in small letters, if it may be shifted by thirteen letters."""


def rot13(text: str) -> str:
    """The text with its Latin letters shifted by thirteen; each stays in its place.

    Example:
        >>> rot13("vtaber")
        'ignore'
    """
    return codecs.encode(text, "rot13")
