"""Which characters every tokenizer sorts alike: those whose category no newer version of Unicode can have changed.

The patterns ask whether a character is a letter, a mark, a number or white space. Two tokenizers built with different
versions of Unicode answer alike for characters that both know, and may differ for one that only the newer knows:
U+18D09 is a letter since Unicode 17, so with ``'s`` behind it it has five tokens, or six. A text with a character that
is not settled is therefore left to tiktoken.

Settled are the characters of Unicode 3.2 (every Python has its table) and the blocks that hold symbols and emoji only.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

_SYMBOLS: Final = "\u2000-\u2bff\U0001f000-\U0001faff"
_IDEOGRAPHS: Final = "\U00020000-\U0002a6d6"
_UNSETTLED: Final = frozenset({"Cn", "Cs"})


def is_settled(text: str) -> bool:
    """Whether each character of a text is settled. Lone surrogates are not.

    >>> is_settled("Grüße, 世界 ✅ 👍"), is_settled(chr(0x18D09)), is_settled(chr(0xD800))
    (True, False, False)
    """
    return text.isascii() or _settled_text().fullmatch(text) is not None


@functools.cache
def _settled_text() -> re.Pattern[str]:
    return re.compile(f"[{''.join(_ranges())}{_SYMBOLS}{_IDEOGRAPHS}]*+")


def _ranges() -> Iterator[str]:
    """The settled characters of the basic plane, as ranges of a character class."""
    category = unicodedata.ucd_3_2_0.category
    settled = (code for code in range(0x10000) if category(chr(code)) not in _UNSETTLED)
    for _, run in itertools.groupby(enumerate(settled), key=lambda pair: pair[1] - pair[0]):
        codes = [code for _, code in run]
        yield f"\\u{codes[0]:04x}-\\u{codes[-1]:04x}"
