"""Shell lines read into simple commands, with the place of every word.

A reader, not a shell: it knows quotes, operators, redirections, command substitution, here-documents and comments,
and reads anything else as words, so every text has an answer. One pass; nested command lines are read again at most
``MAX_DEPTH`` levels deep and nothing beyond ``MAX_CHARACTERS`` is read, so its time is bounded by the text's length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

MAX_CHARACTERS: Final = 65_536
MAX_DEPTH: Final = 3

_TOKEN: Final = re.compile(
    r"""
      (?P<space>(?:[ \t\r]|\\\n)+)
    | (?P<redirect>&>>?|(?:>>|>\||>&|<<<|<<-|<<|<>|<&|>|<))
    | (?P<operator>&&|\|\|?&?|;+|&|\n|[()])
    | (?P<substitution>\$\((?!\()|`)
    | (?P<single>\$?'[^']*'?)
    | (?P<double>\$?"(?:[^"\\]|\\.)*"?)
    | (?P<escape>\\.?)
    | (?P<variable>\$\{[^}\s]*\}?|\$)
    | (?P<plain>[^\s|&;()<>'"\\`$]+)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_NESTED: Final = re.compile(r"(?:[^\\$`]|\\.|\$(?!\())*(?:\$\(|`)", re.DOTALL)
_PARENTHESIS: Final = re.compile(r"[()]")
_ESCAPED_IN_DOUBLE: Final = re.compile(r'\\(["\\$`])')


@dataclass(frozen=True, slots=True)
class Word:
    """A word as the program would see it, and where it stands; quotes belong to its place, not to its value."""

    value: str
    start: int
    end: int
    inner: int
    """Where its value begins: behind an opening quote."""


@dataclass(frozen=True, slots=True)
class Redirection:
    """A redirection: its operator and what it points to."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Whether it writes to the target."""
        return ">" in self.operator and not self.operator.endswith("&")


@dataclass(slots=True)
class SimpleCommand:
    """A program with its words, and the redirections that belong to it."""

    words: list[Word] = field(default_factory=list[Word])
    redirections: list[Redirection] = field(default_factory=list[Redirection])
    documents: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Here-documents: their text and where it begins."""
    is_piped: bool = False
    """Whether it reads what the command before it prints."""


def read_shell(text: str, offset: int = 0, depth: int = 0) -> list[SimpleCommand]:
    """The simple commands of a shell text, in the order in which they begin.

    Args:
        text: The command line or script.
        offset: Added to every position.
        depth: How many command lines this one stands in.

    Example:
        >>> [[word.value for word in one.words] for one in read_shell("cd a && git log | head -3")]
        [['cd', 'a'], ['git', 'log'], ['head', '-3']]
    """
    return _Reader(text[:MAX_CHARACTERS], offset, depth).read()


class _Reader:
    def __init__(self, text: str, offset: int, depth: int) -> None:
        self.text, self.offset, self.depth = text, offset, depth
        self.commands: list[SimpleCommand] = []
        self.stack: list[SimpleCommand] = []
        self.current = SimpleCommand()
        self.pieces: list[str] = []
        self.begin = self.inner = 0
        self.redirect: str | None = None
        self.delimiters: list[tuple[str, SimpleCommand]] = []
        self.in_backticks = False

    def read(self) -> list[SimpleCommand]:
        self.commands.append(self.current)
        place = 0
        while place < len(self.text):
            if self.text[place] == "#" and not self.pieces and (place == 0 or self.text[place - 1].isspace()):
                place = self._end_of_line(place)
                continue
            found = _TOKEN.match(self.text, place)
            if found is None:  # unreachable: the last alternative takes any character
                break
            place = self._take(found)
        self._end_word(len(self.text))
        return [one for one in self.commands if one.words or one.redirections]

    def _take(self, found: re.Match[str]) -> int:
        kind, piece = found.lastgroup, found[0]
        if kind == "space":
            self._end_word(found.start())
        elif kind == "redirect":
            self._redirect(piece, found.start())
        elif kind == "operator":
            return self._operator(piece, found)
        elif kind == "substitution":
            self._substitution(piece, found.start())
        else:
            self._piece(kind or "other", piece, found.start())
        return found.end()

    def _piece(self, kind: str, piece: str, start: int) -> None:
        value, skipped = piece, 0
        if kind in ("single", "double"):
            quote = piece.index("'" if kind == "single" else '"') + 1
            skipped = quote
            value = piece[quote:-1] if len(piece) > quote and piece[-1] == piece[quote - 1] else piece[quote:]
            if kind == "double":
                self._nested(value, start + quote)
                value = _ESCAPED_IN_DOUBLE.sub(r"\1", value)
        elif kind == "escape":
            value, skipped = piece[1:], 1
        if not self.pieces:
            self.begin, self.inner = start, start + skipped
        self.pieces.append(value)

    def _nested(self, value: str, start: int) -> None:
        if self.depth >= MAX_DEPTH:
            return
        place = 0
        while (opened := _NESTED.match(value, place)) is not None:
            begin = opened.end()
            end = value.find("`", begin) if value[begin - 1] == "`" else _closing(value, begin)
            end = len(value) if end < 0 else end
            self.commands += read_shell(value[begin:end], self.offset + start + begin, self.depth + 1)
            place = end + 1

    def _redirect(self, piece: str, start: int) -> None:
        if self.pieces and "".join(self.pieces).isdigit():
            self.pieces = []
        self._end_word(start)
        self.redirect = piece

    def _operator(self, piece: str, found: re.Match[str]) -> int:
        self._end_word(found.start())
        self.redirect = None
        if piece == "(":
            self.stack.append(self.current)
        if piece == ")" and self.stack:
            self.current = self.stack.pop()
            return found.end()
        self._begin_command()
        self.current.is_piped = piece in ("|", "|&")
        return self._skip_documents(found.end()) if piece == "\n" and self.delimiters else found.end()

    def _substitution(self, piece: str, start: int) -> None:
        closes = piece == "`" and self.in_backticks
        self._end_word(start)
        if piece == "`":
            self.in_backticks = not self.in_backticks
        if closes:
            self.current = self.stack.pop() if self.stack else SimpleCommand()
            return
        self.stack.append(self.current)
        self._begin_command()

    def _begin_command(self) -> None:
        self.current = SimpleCommand()
        self.commands.append(self.current)

    def _end_word(self, end: int) -> None:
        if not self.pieces:
            return
        word = Word("".join(self.pieces), self.offset + self.begin, self.offset + end, self.offset + self.inner)
        self.pieces = []
        if self.redirect is None:
            self.current.words.append(word)
        elif self.redirect in ("<<", "<<-"):
            self.delimiters.append((word.value, self.current))
        else:
            self.current.redirections.append(Redirection(self.redirect, word))
        self.redirect = None

    def _skip_documents(self, place: int) -> int:
        for delimiter, command in self.delimiters:
            start = last = place
            while place < len(self.text):
                end = self._end_of_line(place)
                line, last, place = self.text[place:end].strip(), place, min(end + 1, len(self.text))
                if line == delimiter:
                    break
                last = place
            command.documents.append((self.text[start:last], self.offset + start))
        self.delimiters = []
        return place

    def _end_of_line(self, place: int) -> int:
        end = self.text.find("\n", place)
        return len(self.text) if end < 0 else end


def _closing(text: str, place: int) -> int:
    """Where the parenthesis closes that was opened before a place; -1 if it does not."""
    depth = 1
    for found in _PARENTHESIS.finditer(text, place):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.start()
    return -1
