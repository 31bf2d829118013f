"""Hostile text made harmless for display.

One rule: what acts on a display instead of standing on it is shown as a visible mark.  Nothing is dropped, so a reader
sees that it was there; line feeds and tabs stay.

Marked are control characters (C0, DEL, C1, and with ESC and CSI every terminal sequence), characters that reorder or
hide text (bidirectional controls, zero-width and filler characters, tags, variation selectors, interlinear
annotation), the line and paragraph separators, lone surrogates and noncharacters.  Variation selectors and joiners
that build an emoji are left alone.  C0 and DEL become their control pictures (␛), all others ⟨U+202E⟩.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

_DELETE: Final = 0x7F
_LAST_OF_PLANE_0: Final = 0xFFFF
_CONTROL_PICTURES: Final = 0x2400
_DELETE_PICTURE: Final = "\u2421"

_ACTING: Final = (
    (0x00, 0x08),  # C0 without tab and line feed
    (0x0B, 0x1F),
    (_DELETE, 0x9F),  # DEL and C1: NEL, CSI, OSC, …
    (0xAD, 0xAD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # invisible Khmer vowels
    (0x180B, 0x180F),  # Mongolian selectors and vowel separator
    (0x200B, 0x200F),  # zero-width space, joiners, left-to-right and right-to-left marks
    (0x2028, 0x202E),  # separators, embeddings and overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, isolates, deprecated formats
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),  # lone surrogates
    (0xFDD0, 0xFDEF),  # noncharacters
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),  # unassigned; interlinear annotation
    (0xFFFE, 0xFFFF),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tags and further variation selectors
)
_HOSTILE: Final = re.compile("[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _ACTING) + "]")

_PICTOGRAPHS: Final = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_JOINER: Final = "\u200d"
_IN_EMOJI: Final = {
    "\ufe0e": re.compile(f"(?<=[#*0-9{_PICTOGRAPHS}])"),
    "\ufe0f": re.compile(f"(?<=[#*0-9{_PICTOGRAPHS}])"),
    _JOINER: re.compile(f"(?<=[\ufe0f{_PICTOGRAPHS}]){_JOINER}(?=[{_PICTOGRAPHS}])"),
}
_MARKS: Final[dict[str, str]] = {}


def inert_json(text: str) -> str:
    r"""JSON that means the same, in which nothing acts on a display: what would is escaped.

    Example:
        >>> inert_json('{"a": "\u202e"}')
        '{"a": "\\u202e"}'
    """
    return _HOSTILE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code <= _LAST_OF_PLANE_0:
        return f"\\u{code:04x}"
    high, low = divmod(code - _LAST_OF_PLANE_0 - 1, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def inert_terminal(text: str) -> str:
    r"""The text with a visible mark for each character that would act on a display.

    The marks are ordinary characters, so a text that already holds one looks the same; applying this twice changes
    nothing more.

    Example:
        >>> inert_terminal("\x1b[31mred\u202e")
        '␛[31mred⟨U+202E⟩'
    """
    return _HOSTILE.sub(_mark, text)


def inert_html(text: str) -> str:
    r"""The text as ``inert_terminal`` has it, escaped for HTML text and for quoted attribute values.

    Example:
        >>> inert_html('<b title="x">\x07')
        '&lt;b title=&quot;x&quot;&gt;␇'
    """
    return escape(inert_terminal(text), quote=True)


def _mark(match: re.Match[str]) -> str:
    character = match[0]
    mark = _MARKS.get(character)
    if mark is not None:
        return mark
    emoji = _IN_EMOJI.get(character)
    if emoji is None:
        return _MARKS.setdefault(character, _mark_of(ord(character)))
    return character if emoji.match(match.string, match.start()) else _mark_of(ord(character))


def _mark_of(code: int) -> str:
    if code < ord(" "):
        return chr(_CONTROL_PICTURES + code)
    return _DELETE_PICTURE if code == _DELETE else f"⟨U+{code:04X}⟩"
