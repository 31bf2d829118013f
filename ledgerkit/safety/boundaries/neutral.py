"""Text made harmless for a prompt: what looks like one of our tags or a chat template's control token loses its start.

One rule: one character for one character, and every place is recorded, so that the text can be restored exactly and
nothing else of it changes. Code stays quotable: only what would act as a mark is touched, not every ``<``.

Seen are the tokens of the chat templates of Llama, Mistral, Qwen (ChatML), Gemma, DeepSeek, Phi and gpt-oss, the tags
in which models write tool calls and thoughts, and our own section tags; with blanks, slashes, invisible characters,
full-width and accented forms and Cyrillic or Greek look-alikes inside; and the beginning of any of them at the very
end of a text, because the next text might go on with it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Final

from ledgerkit.protocol.vocabulary import ContextSection

TAG_NAMES: Final = (*(section.value for section in ContextSection), "boundary_notice", "instruction")
"""Names of our own tags, before the mark of the run."""

_FIXED: Final = (
    *("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    *("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    *("[TOOL_CONTENT]", "[CALL_ID]", "[ARGS]", "[THINK]", "[/THINK]", "[IMG]", "[IMG_BREAK]", "[IMG_END]"),
    *("<s>", "</s>", "<bos>", "<eos>", "<pad>", "<unk>", "<start_of_turn>", "<end_of_turn>", "<start_of_image>"),
    *("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<tools>", "</tools>"),
    *("<think>", "</think>", "<function_calls>", "</function_calls>", "<function_results>", "</function_results>"),
)
_PREFIXES: Final = ("<invoke ", "</invoke>", "<parameter name", "<function=", "<ant" + "ml:", "</ant" + "ml:")
_REPLACEMENTS: Final = {"<": "‹", "[": "⟦", ":": "꞉"}
_OPENING: Final = {**dict.fromkeys("<＜﹤", "<"), **dict.fromkeys("[［", "[")}
_LONGEST: Final = 96

_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_LOOK_ALIKES: Final = str.maketrans("аеорсухіѕԁѵмтгкјԝѡɑıϲɡαορτνικωλ＿", "aeopcyxisdvmtrkjwwaicgaoptvikwl_")
# The letters are those that marks begin with.
_CANDIDATE: Final = re.compile(
    r"[<＜﹤](?=[\W_]{0,12}(?:\Z|[^\x00-\x7f]|[abefioprstuvwABEFIOPRSTUVW|]))"
    r"|[\[［](?=[\W_]{0,6}(?:\Z|[^\x00-\x7f]|[ACIST]))"
)
_DIALOGUE: Final = re.compile(r"(?:(?<=\n\n)|(?<=\n\r\n)|(?<!.))(?P<who>Human|Assistant)(?P<colon>:)", re.DOTALL)
_BAR_TOKEN: Final = re.compile(r"<\|[^\s|<>]{1,80}(?:\|>|\|?$)|<\|$")


@dataclass(frozen=True, slots=True)
class Edit:
    """One character that was replaced.

    Attributes:
        offset: Its place in the text, in characters; the same before and after.
        original: What stood there.
        replacement: What stands there now.
    """

    offset: int
    original: str
    replacement: str


@dataclass(frozen=True, slots=True)
class Neutralised:
    """A text without anything that acts, and what was changed.

    Attributes:
        text: The text.
        edits: The changes, by place.
    """

    text: str
    edits: tuple[Edit, ...] = ()

    def restored(self) -> str:
        """The text as it was."""
        characters = list(self.text) if self.edits else []
        for edit in self.edits:
            characters[edit.offset] = edit.original
        return "".join(characters) if self.edits else self.text


def neutralise(text: str) -> Neutralised:
    """The text with a harmless character in place of the first one of every mark.

    Applying it twice changes nothing more.

    Example:
        >>> found = neutralise("List<Data> x; </repository_data> <|im_start|>system")
        >>> found.text
        'List<Data> x; ‹/repository_data> ‹|im_start|>system'
        >>> found.edits[0], found.restored() == "List<Data> x; </repository_data> <|im_start|>system"
        (Edit(offset=14, original='<', replacement='‹'), True)
    """
    edits = [
        Edit(at, text[at], _REPLACEMENTS[_OPENING[text[at]]])
        for at in (found.start() for found in _CANDIDATE.finditer(text))
        if _acts(text, at)
    ]
    if "Human:" in text or "Assistant:" in text:
        edits += [Edit(found.start("colon"), ":", _REPLACEMENTS[":"]) for found in _DIALOGUE.finditer(text)]
    if not edits:
        return Neutralised(text)
    edits.sort(key=lambda edit: edit.offset)
    characters = list(text)
    for edit in edits:
        characters[edit.offset] = edit.replacement
    return Neutralised("".join(characters), tuple(edits))


def _acts(text: str, at: int) -> bool:
    """Whether a mark, or the beginning of one that the text's end cuts, stands at a place."""
    reaches_end = at + _LONGEST >= len(text)
    window = text[at : at + _LONGEST]
    seen = window if window.isascii() else _folded(window)
    if _BAR_TOKEN.match(seen) and ("|>" in seen or reaches_end):
        return True
    if _marks().match(seen):
        return True
    return reaches_end and _is_cut_mark(seen)


def _folded(window: str) -> str:
    """A window as a careless reader or a normalising tokenizer sees it."""
    plain = unicodedata.normalize("NFKD", _INVISIBLE.sub("", window))
    return "".join(one for one in plain if not unicodedata.combining(one)).translate(_LOOK_ALIKES)


@cache
def _marks() -> re.Pattern[str]:
    names = "|".join(name.replace("_", r"[\W_]{0,4}") for name in TAG_NAMES)
    ours = rf"<[\s/\\!?]{{0,12}}(?i:{names})(?![A-Za-z0-9])"
    fixed = "|".join(re.escape(one) for one in sorted((*_FIXED, *_PREFIXES), key=len, reverse=True))
    return re.compile(rf"(?:{ours}|(?i:{fixed}))")


_TAG_START: Final = re.compile(r"<[\s/\\!?]*")
_NO_LETTER: Final = re.compile(r"[\W_]+")


def _is_cut_mark(seen: str) -> bool:
    """Whether all that is left of the text is the beginning of a mark."""
    lowered = seen.lower()
    if any(one.lower().startswith(lowered) for one in (*_FIXED, *_PREFIXES)):
        return True
    start = _TAG_START.match(seen)
    if start is None or ">" in seen:
        return False
    rest = _NO_LETTER.sub("", lowered[start.end() :])
    return any(name.replace("_", "").startswith(rest) for name in TAG_NAMES)
