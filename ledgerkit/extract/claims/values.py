"""Numbers, files and command lines that a sentence names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ledgerkit.extract.claims.units import CODE, QUOTED, Unit, code_spans
from ledgerkit.extract.patterns import COMMAND_LIKE, is_file_name
from ledgerkit.extract.words import words

NUMBER_WORDS: Final = {
    **{
        word: number
        for number, word in enumerate(words("zero one two three four five six seven eight nine ten eleven twelve"))
    },
    "no": 0,
}
NUMBER: Final = r"\d{1,3}(?:,\d{3})+|\d{1,7}|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_PATH: Final = re.compile(r"(?<![\w/.@:~-])[\w.@+~/-]{1,300}(?![\w/])")
_LINES: Final = re.compile(r"(?::\d+(?:[-–]\d+)?|#L\d+(?:-L?\d+)?|\(\d+\))$")
_PRODUCTS: Final = frozenset(
    words(
        "node.js next.js vue.js react.js express.js three.js d3.js chart.js nuxt.js socket.io e.g i.e asp.net "
        "deno.land bun.sh"
    )
)
_COMMAND: Final = re.compile(COMMAND_LIKE)


def number_of(text: str) -> int:
    """The number that digits or a word say.

    Example:
        >>> number_of("1,204"), number_of("Three")
        (1204, 3)
    """
    return NUMBER_WORDS[text.lower()] if text.lower() in NUMBER_WORDS else int(text.replace(",", ""))


def path_of(text: str) -> str | None:
    """The file that a word or code span names; ``None`` if it names none.

    Example:
        >>> path_of("src/a.py:12-19"), path_of("Node.js"), path_of("main()"), path_of("Makefile")
        ('src/a.py', None, None, 'Makefile')
    """
    value = _LINES.sub("", text.strip().rstrip(".,;:"))
    if value.lower() in _PRODUCTS or not re.fullmatch(r"[\w.@+~/\\-]{1,300}", value):
        return None
    return value if is_file_name(value, only_known=True) else None


def named_files(unit: Unit) -> Iterator[tuple[int, int, str]]:
    """Files that a unit names, in code spans or in its words, with their places in it."""
    spans = code_spans(unit)
    for start, end, inner in spans:
        if (path := path_of(inner)) is not None:
            yield start, end, path
    for found in _PATH.finditer(unit.masked):
        word = found[0].rstrip(".,;:")
        is_covered = CODE in word or QUOTED in word
        if "." in word and not is_covered and (path := path_of(word)) is not None:
            yield found.start(), found.start() + len(word), path


def paths_in(unit: Unit) -> list[str]:
    """The files that a unit names, once each."""
    return list(dict.fromkeys(path for _, _, path in named_files(unit)))


def is_command(text: str) -> bool:
    """Whether a code span reads like a command line.

    Example:
        >>> is_command("npm run lint"), is_command("count"), is_command("x = 1")
        (True, False, False)
    """
    return _COMMAND.match(text) is not None and path_of(text) is None
