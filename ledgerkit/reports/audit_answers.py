"""What an answer of the audit report is, and what it is made with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Status = Literal["answered", "nothing_found", "not_recorded"]
_WORDS: Final[dict[Status, str]] = {
    "answered": "Answered",
    "nothing_found": "Nothing found",
    "not_recorded": "Not recorded",
}
MOST: Final = 50
"""Rows of one answer; the others are counted."""
_QUESTIONS: Final = (
    ("Why did the agent choose these files?", "files"),
    ("Which instructions did it follow, and from whom?", "instructions"),
    ("Which tools did it call?", "tools"),
    ("Which commands were run?", "commands"),
    ("Which output led to which decision?", "decisions"),
    ("Which errors occurred?", "errors"),
    ("Which verifiers failed?", "verifiers"),
    ("Why did it try a second strategy?", "second strategy"),
    ("Was a secret read?", "secrets"),
    ("Did it follow an instruction from an untrusted file?", "untrusted text"),
)
"""The ten questions of specification §1, and what each is called in a word."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One thing that the record says, and where."""

    text: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question.

    Attributes:
        number: The question's number, from 1.
        question: The question.
        short: The same in a word.
        status: Whether the record answers it.
        said: The answer in a sentence.
        rows: What it rests on.
        left_out: Rows that are not shown.
    """

    number: int
    question: str
    short: str
    status: Status
    said: str
    rows: tuple[AnswerRow, ...] = ()
    left_out: int = 0

    @property
    def words(self) -> str:
        """Its status for people."""
        return _WORDS[self.status]


def answer(number: int, rows: Sequence[AnswerRow], said: str, nothing: str, *, recorded: bool = True) -> Answer:
    """An answer: with its rows, with the sentence that says that nothing was found, or *not recorded*.

    Args:
        number: The question's number, from 1.
        rows: What the record says.
        said: The sentence where there are rows.
        nothing: The sentence where there are none.
        recorded: Whether the record could have held any.
    """
    question, short = _QUESTIONS[number - 1]
    if rows:
        shown = tuple(rows[:MOST])
        return Answer(number, question, short, "answered", said, shown, len(rows) - len(shown))
    return Answer(number, question, short, "nothing_found" if recorded else "not_recorded", nothing)
