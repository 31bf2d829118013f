"""How the output of a tool is read: its patterns are data, one engine applies them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ledgerkit.extract.verifiers.model import MAX_ERRORS, MAX_MESSAGE, MAX_NAMES, CheckKind, ErrorLine

NUMBER_FIRST: Final = r"(?P<n>\d+)\s+(?P<word>[A-Za-z]+)"
"""Counts as in ``3 failed``."""
WORD_FIRST: Final = r"(?P<word>[A-Za-z]+)\s*[:=]\s*(?P<n>\d+)"
"""Counts as in ``Failures: 3``."""
COUNT_WORDS: Final = {
    **dict.fromkeys(("passed", "pass", "passing", "successes"), "passed"),
    **dict.fromkeys(("failed", "fail", "failing", "failures", "failure"), "failed"),
    **dict.fromkeys(("error", "errors"), "errors"),
    **dict.fromkeys(("skipped", "skip", "skips", "pending", "ignored", "todo"), "skipped"),
}
"""What the usual words of counts mean."""
_MAX_MATCHES: Final = 5_000


@dataclass(frozen=True, slots=True)
class Reader:
    """What a tool prints. All patterns are of several lines; a named group says what is taken."""

    kind: CheckKind
    summary: str = ""
    """The line or lines that carry the counts."""
    count: str = NUMBER_FIRST
    """A number and its word, in a summary."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """The field that each word of a count is; a word that is not here is not counted."""
    passed: str = ""
    """Says that the whole run passed; empty if a summary without failures says so."""
    failed: str = ""
    """Says that it failed."""
    nothing: str = ""
    """Says that nothing was checked."""
    failing: str = ""
    """Names what failed (group ``name``)."""
    errors: tuple[str, ...] = ()
    """Where an error is (groups ``path``, ``line``, ``message``)."""
    is_summed: bool = False
    """Whether there is a summary for each part of the run, so that counts add up."""
    zero_is_enough: bool = False
    """Whether exit code 0 proves that something was checked and nothing was wrong."""
    unfinished: frozenset[int] = frozenset()
    """Exit codes of a run that did not come to a verdict (usage, crash), or had nothing to check."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a text says, before exit codes and cuts are weighed."""

    says_passed: bool = False
    says_failed: bool = False
    says_nothing: bool = False
    """That nothing was checked."""
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    failing: tuple[str, ...] = ()
    error_lines: tuple[ErrorLine, ...] = ()

    @property
    def is_silent(self) -> bool:
        """Whether the tool said nothing at all."""
        return not (self.says_passed or self.says_failed or self.says_nothing or self.error_lines)

    @property
    def is_only_lines(self) -> bool:
        """Whether it has nothing but lines that look like errors."""
        return not (self.says_passed or self.says_failed or self.says_nothing)

    @property
    def evidence(self) -> int:
        """How much it says about failures."""
        return 2 * self.says_failed + len(self.failing) + len(self.error_lines)


def report_of(reader: Reader, text: str) -> Report:
    """What a text says to a reader."""
    counts, is_summary = _counts(reader, text)
    failing = _names(reader.failing, text)
    failed = counts.get("failed", 0) > 0 or counts.get("errors", 0) > 0 or bool(failing) or _found(reader.failed, text)
    nothing = _found(reader.nothing, text)
    return Report(
        says_passed=not failed and not nothing and (_found(reader.passed, text) if reader.passed else is_summary),
        says_failed=failed,
        says_nothing=nothing and not failed,
        counts=counts,
        failing=failing,
        error_lines=_errors(reader.errors, text),
    )


def lines_of(reader: Reader, text: str) -> tuple[int, int] | None:
    """First and last line, from 1, of what a text says to a reader.

    These are the lines of the last summary; without one, of the first words of a verdict, or of the first failure.
    """
    found = max(_matches(reader.summary, text), key=re.Match[str].start, default=None)
    for pattern in (reader.failed, reader.passed, reader.nothing, reader.failing, *reader.errors):
        found = found or next(_matches(pattern, text), None)
    if found is None:
        return None
    said = found[0].strip("\n")
    first = text.count("\n", 0, found.start() + found[0].index(said)) + 1
    return first, first + said.count("\n")


def _found(pattern: str, text: str) -> bool:
    return bool(pattern) and re.search(pattern, text, re.MULTILINE) is not None


def _matches(pattern: str, text: str) -> Iterator[re.Match[str]]:
    if pattern:
        for number, found in enumerate(re.finditer(pattern, text, re.MULTILINE)):
            if number >= _MAX_MATCHES:
                return
            yield found


def _counts(reader: Reader, text: str) -> tuple[dict[str, int], bool]:
    """The counts of the last summary, or of all together; and whether there is a summary."""
    summaries = [found[0] for found in _matches(reader.summary, text)]
    counts: dict[str, int] = {}
    for summary in summaries if reader.is_summed else summaries[-1:]:
        for found in _matches(reader.count, summary):
            name = reader.fields.get(_group(found, "word").lower())
            number = _group(found, "n") or "1"
            if name is not None and len(number) < 10:
                counts[name] = counts.get(name, 0) + int(number)
    return counts, bool(summaries)


def _names(pattern: str, text: str) -> tuple[str, ...]:
    names = dict.fromkeys(_group(found, "name").strip()[:MAX_MESSAGE] for found in _matches(pattern, text))
    return tuple(name for name in names if name)[:MAX_NAMES]


def _errors(patterns: tuple[str, ...], text: str) -> tuple[ErrorLine, ...]:
    """Error lines in the order of the text, each place and message once."""
    found = [(one.start(), _error(one)) for pattern in patterns for one in _matches(pattern, text)]
    return tuple(dict.fromkeys(error for _, error in sorted(found, key=lambda pair: pair[0])))[:MAX_ERRORS]


def _error(found: re.Match[str]) -> ErrorLine:
    line = _group(found, "line")
    message = " ".join(_group(found, "message").split())[:MAX_MESSAGE]
    return ErrorLine(_group(found, "path")[:MAX_MESSAGE], int(line) if line and len(line) < 10 else None, message)


def _group(found: re.Match[str], name: str) -> str:
    """A group, under its name or, in the second branch of a pattern, its name and a line."""
    groups = found.groupdict()
    return groups.get(name) or groups.get(f"{name}_") or ""
