"""How the words behind a program are read: its scope, and whether it is a check at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ledgerkit.extract.verifiers.model import CheckKind
from ledgerkit.extract.words import words

VERBS: Final = frozenset(words("run run-script r discover"))
"""First words that say only that something runs."""
MAX_SCOPE: Final = 500
"""How many characters of a scope are kept."""
_NEVER: Final = frozenset(words("--help -h --version -V --init --showConfig --show-config --list-tests --listTests"))


@dataclass(frozen=True, slots=True)
class Program:
    """How a program is used as a check."""

    kind: CheckKind
    tool: str
    takes: str = ""
    """Options whose value is the next word."""
    selects: str = ""
    """Options that narrow what is checked: they belong to the scope."""
    refuses: str = ""
    """Options that make it no check."""
    needs: str = ""
    """Options of which one must be there, else it changes files."""


def is_refused(program: Program, options: Iterator[str]) -> bool:
    """Whether options make a program no check."""
    given = {option.partition("=")[0] for option in options}
    return not given.isdisjoint(_NEVER.union(words(program.refuses))) or bool(
        program.needs and given.isdisjoint(words(program.needs))
    )


def scope_of(program: Program, rest: Sequence[str]) -> str:
    """The targets and selecting options among the words behind a program."""
    takers, selectors = words(program.takes), words(program.selects)
    kept: list[str] = []
    index = 0
    while index < len(rest):
        value = rest[index]
        option = value.partition("=")[0]
        takes = option == value and option in takers and index + 1 < len(rest)
        if not value.startswith(("-", "+")):
            kept += [value] if kept or value not in VERBS else []
        elif option in selectors or (len(option) > 2 and option[1] != "-" and option[:2] in selectors):
            kept += rest[index : index + 1 + takes]
        index += 1 + takes
    return " ".join(kept)[:MAX_SCOPE]
