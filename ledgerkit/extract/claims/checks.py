"""Claims about checks: tests, builds, linters and type checkers that passed or failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from ledgerkit.extract.claims.model import ANY_CHECK, PREVIOUS_CHECK, Claim, ClaimClass, Polarity, Scope
from ledgerkit.extract.claims.moods import is_said
from ledgerkit.extract.claims.units import CODE, Unit, code_spans
from ledgerkit.extract.claims.values import number_of, paths_in
from ledgerkit.extract.verifiers import recognise

_TEST: Final = (
    r"(?:tests?(?:[ -](?:suites?|cases?|runs?))?(?: results?)?|specs|test[ -]?suite|suite|pytest|jest|vitest|"
    r"rspec|mocha|"
    r"doctests?|unit[ -]tests?|integration[ -]tests?)"
)
_TYPES: Final = (
    r"(?:type[ -]?check(?:s|ing|er)?|types|mypy|(?:based)?pyright|tsc|"
    r"(?:the )?typescript(?: compilation| compiler| build| check)?(?=\s*:?\s*(?:compil|pass|check|clean|succe|✅|"
    r"is (?:clean|happy))))"
)
_LINT: Final = (
    r"(?:(?:lint(?:er|ing|s)?|eslint|ruff|flake8|clippy|biome|credo|golangci-lint|prettier|rubocop|pylint|"
    r"format(?:ting)?)(?: checks?)?|pre-commit(?: hooks?| checks?)?)"
)
_BUILD: Final = r"(?:builds?|compil(?:ation|e))"
_ANY: Final = r"(?:(?:quality )?(?:checks|gates)|everything)"
_KINDS: Final = (("types", _TYPES), ("test", _TEST), ("lint", _LINT), ("build", _BUILD), (ANY_CHECK, _ANY))
_SUBJECT: Final = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS)
_GOOD: Final = (
    r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|successful(?:ly)?|green|clean|happy|ok|compil(?:es|ed)|"
    r"buil(?:ds|t)(?: successfully| cleanly| fine)|✅|✓|✔)"
)
_FAIL: Final = r"(?:fail(?:s|ed|ing)?|broken|red|❌)"
_BETWEEN: Final = (
    rf"(?:[\s,:*+&/✅✓✔]|{CODE}++|\((?:[^()\n]){{0,60}}\)|\b(?:all|now|still|also|both|are|is|were|was|have|has|been|again|"
    r"run(?:s|ning)?|completed?|with|status|results?|in|and|the|fully|completely|successfully|cleanly|working|"
    r"lint|types?|typecheck|unit|integration)\b){1,12}?"
)
_NUMBER: Final = r"(?P<n>\d{1,3}(?:,\d{3})+|\d{1,7})"
_SUBJECT_PASSES: Final = re.compile(
    rf"(?<![\w-])(?:{_SUBJECT})(?P<mid>{_BETWEEN})(?P<pred>{_GOOD})(?![\w-])", re.IGNORECASE
)
_SUBJECT_FAILS: Final = re.compile(
    rf"(?<![\w-])(?:{_SUBJECT})(?P<mid>\s+(?:(?:is|are|were|was|still|all|now)\s+)*)(?P<pred>failing|broken|failed)(?![\w-])",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(
    rf"(?<![\w.#/-]){_NUMBER}\s*(?:(?:/|of\s+(?:the\s+)?)\s*(?P<of>\d{{1,7}})\s*)?(?:[a-z-]+\s+){{0,2}}?(?:tests?|specs?|doctests?|"
    rf"examples|test cases)"
    rf"\s*(?:[,:(]?\s*(?:all|now|are|is|have|still|also|both)\s+)*[,:(]?\s*(?P<pred>pass(?:es|ed|ing)?|succeed(?:ed)?|✅|green|"
    r"fail(?:s|ed|ing)?)(?![\w-])",
    re.IGNORECASE,
)
_SUMMARY: Final = re.compile(
    rf"(?<![\w.#/-]){_NUMBER}\s+(?:tests?|specs?|examples)(?:\s*\+\s*(?P<doctests>\d{{1,6}})\s+doctests?)?,\s*"
    r"(?P<failures>\d{1,6}|no|zero)\s+fail(?:ures?|ed|ing)",
    re.IGNORECASE,
)
_BARE_PASSED: Final = re.compile(
    rf"(?:\b{_TEST}\b[^.;\n]{{0,24}}?[:(,=]\s*|^\W*){_NUMBER}\s+passed(?![\w-])", re.IGNORECASE
)
_NO_ERRORS: Final = re.compile(
    r"\b(?P<no>no|zero|0)\s+(?P<what>lint(?:ing|er)?|eslint|ruff|type(?:script| checking)?|compil\w+|build)\s+"
    r"(?:errors?|issues?|warnings?|problems?)\b",
    re.IGNORECASE,
)
_SHORT: Final = re.compile(
    r"^\W*(?:(?:(?:it|they|that|this|everything)\s+)?(?:(?:all|now|still)\s+)*"
    r"(?P<pred>pass(?:es|ed)|(?:is\s+|are\s+)?(?:green|clean))"
    r"(?:\s+(?:cleanly|now|again|successfully|with no (?:errors|issues|warnings)))*\W*$|all\s+(?:clean|"
    r"green)(?=\s*[,;–—]))",
    re.IGNORECASE,
)
_CLEAN_FIRST: Final = re.compile(rf"^\W*clean\s+(?:{_SUBJECT})(?=\W*$|\s*[,;.])", re.IGNORECASE)
_PASSES_CODE: Final = re.compile(
    rf"(?:(?P<before>{CODE}+)\s+(?:(?:now|also|still|is|runs?|completely|all)\s+)*(?P<pred>passes|passed|passing|succeeds|succeeded|"
    rf"clean|✅|✓)(?![\w-])|\b(?P<verb>passes)\s+(?P<behind>{CODE}+))",
    re.IGNORECASE,
)
_WHOLE: Final = re.compile(
    r"\b(?:all|every|entire|whole|full|complete|everything)\b|\b(?:test[ -])?suite\b", re.IGNORECASE
)
_PART: Final = re.compile(
    r"\b(?:new|unit|integration|e2e|end-to-end|regression|existing|related|relevant|remaining|specific|focused|targeted|affected|"
    r"these|those|this|both|smoke|snapshot|component|api|backend|frontend|[\w-]+_tests?)\b",
    re.IGNORECASE,
)
_BEFORE_NOW: Final = re.compile(r"\b(?:were|was)\s+(?:all\s+)?(?:passing|green|clean|failing|broken)", re.IGNORECASE)
_KIND_OF: Final = {
    "lint": "lint",
    "eslint": "lint",
    "ruff": "lint",
    "type": "types",
    "compil": "build",
    "build": "build",
}


def verdict_claims(unit: Unit) -> Iterator[Claim]:
    """What a sentence says about checks that passed or failed.

    Example:
        >>> from ledgerkit.extract.claims.units import units
        >>> unit = units("All 5 tests pass, lint is clean.")[0]
        >>> [(one.subject, one.scope.value, one.numbers) for one in verdict_claims(unit)]
        [('test', 'all', (5,)), ('lint', 'unsaid', ())]
    """
    taken: list[tuple[int, int]] = []
    for claim in _found(unit):
        if all(claim.end <= first or claim.start >= last for first, last in taken):
            taken.append((claim.start, claim.end))
            if is_said(unit, claim.start, claim.end) and not _BEFORE_NOW.search(unit.masked):
                yield claim


def _found(unit: Unit) -> Iterator[Claim]:
    """Everything that may be a claim, the most specific first."""
    yield from _counted(unit)
    for found in _PASSES_CODE.finditer(unit.masked):
        yield from _of_code(unit, found)
    yield from _named(unit)
    for pattern in (_SHORT, _CLEAN_FIRST):
        if found := pattern.match(unit.masked):
            kind = PREVIOUS_CHECK if pattern is _SHORT else _kind(found)
            yield _claim(unit, (0, found.end()), kind)


def _counted(unit: Unit) -> Iterator[Claim]:
    for found in _SUMMARY.finditer(unit.masked):
        failures = number_of(found["failures"])
        tests = number_of(found["n"]) + (int(found["doctests"]) if found["doctests"] else 0)
        place = (_reach_back(unit, found.start()), found.end())
        polarity = Polarity.NEGATIVE if failures else Polarity.POSITIVE
        yield _claim(unit, place, "test", polarity, numbers=(failures or tests,))
    for found in _COUNTED.finditer(unit.masked):
        fails = found["pred"].lower().startswith("fail")
        polarity = Polarity.NEGATIVE if fails else Polarity.POSITIVE
        is_part = found["of"] is not None and found["of"] != found["n"]
        yield _claim(unit, found.span(), "test", polarity, numbers=(number_of(found["n"]),), may_be_all=not is_part)
    for found in _BARE_PASSED.finditer(unit.masked):
        yield _claim(unit, found.span(), "test", numbers=(number_of(found["n"]),))


def _named(unit: Unit) -> Iterator[Claim]:
    for found in _SUBJECT_PASSES.finditer(unit.masked):
        yield _claim(unit, found.span(), _kind(found))
    for found in _SUBJECT_FAILS.finditer(unit.masked):
        if found["mid"].strip():
            yield _claim(unit, found.span(), _kind(found), Polarity.NEGATIVE)
    for found in _NO_ERRORS.finditer(unit.masked):
        kind = next(kind for word, kind in _KIND_OF.items() if found["what"].lower().startswith(word))
        yield _claim(unit, found.span(), kind)


def _kind(found: re.Match[str]) -> str:
    return next(kind for kind, _ in _KINDS if found[kind])


def _of_code(unit: Unit, found: re.Match[str]) -> Iterator[Claim]:
    """``make lint`` passes: the check that the line runs."""
    group = "before" if found["before"] else "behind"
    for first, last, line in code_spans(unit):
        if first >= found.start(group) and last <= found.end(group):
            kinds = kinds_of(line)
            if kinds:
                yield _claim(unit, found.span(), kinds[0], commands=(line,))
            return


@lru_cache(maxsize=4_096)
def kinds_of(line: str) -> tuple[str, ...]:
    """The kinds of checks that a shell line runs; empty if none."""
    return tuple(check.kind.value for check in recognise(line)) if len(line) < 200 else ()


def _reach_back(unit: Unit, start: int) -> int:
    """The beginning of ``The suite passes:`` before the numbers, which are part of what is said."""
    found = re.search(rf"(?:{_TEST})\s+(?:{_GOOD})\s*[:(,—–-]*\s*$", unit.masked[:start], re.IGNORECASE)
    return found.start() if found else start


def _claim(
    unit: Unit,
    place: tuple[int, int],
    kind: str,
    polarity: Polarity = Polarity.POSITIVE,
    *,
    numbers: tuple[int, ...] = (),
    may_be_all: bool = True,
    commands: tuple[str, ...] = (),
) -> Claim:
    """A claim with its scope: what is named, or *all* that stands before the subject and belongs to it."""
    start, end = place
    before = unit.masked[max(0, start - 40) : start]
    around = re.split(r"[,;:.()—–]|\band\b", before)[-1] + unit.masked[start:end]
    named = tuple(paths_in(unit))
    scope = Scope.UNSAID
    opening = _WHOLE.search(around)
    if named or commands or _PART.search(around):
        scope = Scope.NAMED
    elif may_be_all and opening:
        scope = Scope.ALL
        start = min(start, end - len(around) + opening.start())
    return Claim(start, end, ClaimClass.VERDICT, kind, polarity, scope, numbers, named, commands)
