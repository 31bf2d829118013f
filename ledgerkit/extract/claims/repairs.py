"""Claims about repairs: what was fixed, and failures that are said to have been there before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ledgerkit.extract.claims.model import ANY_CHECK, Claim, ClaimClass, Polarity, Scope
from ledgerkit.extract.claims.moods import is_said
from ledgerkit.extract.claims.units import Unit
from ledgerkit.extract.claims.values import paths_in

_BROKEN: Final = (
    r"(?:failing|failed|broken|flaky)|(?:failures?|errors?|bugs?|crash(?:es)?|issues?|problems?|leaks?|races?|typos?|regressions?|"
    r"warnings?|violations?|deadlocks?|exceptions?|conflicts?|vulnerabilit(?:y|ies)|mismatch(?:es)?|edge cases?|"
    r"hangs?|timeouts?)"
)
_FIXED_ACTIVE: Final = re.compile(
    r"(?:^\W*|\b(?:i|we)(?:['’]ve| have)?\s+)(?:(?:just|also|now|already|successfully|"
    r"finally)\s+)*(?P<verb>fixed|resolved|corrected)\b"
    r"(?!\s*(?:in v?\d|by|point|size|width|length|cost|income|with)\b|-)(?P<object>[^.;\n]{0,120})",
    re.IGNORECASE,
)
_FIXED_PASSIVE: Final = re.compile(
    rf"(?P<object>\b(?:{_BROKEN})(?:\s+\w+){{0,5}}?)\s+(?:(?:is|are|has been|have been)\s+)(?:(?:now|all|"
    rf"successfully|fully|also)\s+)*"
    r"(?P<verb>fixed|resolved|corrected|gone)\b",
    re.IGNORECASE,
)
_OF_KIND: Final = (
    ("types", re.compile(r"\b(?:type|typescript|mypy|pyright|tsc|typing)\b", re.IGNORECASE)),
    ("lint", re.compile(r"\b(?:lint\w*|eslint|ruff|clippy|credo|biome|format(?:ting)?)\b", re.IGNORECASE)),
    ("build", re.compile(r"\b(?:build|compil\w+)\b", re.IGNORECASE)),
    (
        "test",
        re.compile(
            r"\b(?:failing|failed|broken|flaky)\s+(?:\w+\s+)?(?:tests?|specs?)\b|\b(?:tests?|specs?)\s+fail\w*",
            re.IGNORECASE,
        ),
    ),
)


def fixed_claims(unit: Unit) -> Iterator[Claim]:
    """What a sentence says was fixed.

    Example:
        >>> from ledgerkit.extract.claims.units import units
        >>> [one.subject for one in fixed_claims(units("I fixed the failing test.")[0])]
        ['test']
    """
    for pattern in (_FIXED_ACTIVE, _FIXED_PASSIVE):
        for found in pattern.finditer(unit.masked):
            what = found["object"]
            is_alone = re.fullmatch(r"\W*fixed\W*", unit.masked, re.IGNORECASE) is not None
            if not (what.strip(" .!:") or is_alone) or not is_said(
                unit, found.start("verb") if pattern is _FIXED_ACTIVE else found.start(), found.end()
            ):
                continue
            if pattern is _FIXED_PASSIVE:
                what = re.split(r"[.;:,]", unit.masked[max(0, found.start() - 24) : found.start()])[-1] + what
            kind = next(
                (kind for kind, word in _OF_KIND if word.search(what) and re.search(_BROKEN, what, re.IGNORECASE)), ""
            )
            scope = Scope.ALL if re.search(r"\ball\b", found[0], re.IGNORECASE) else Scope.UNSAID
            yield Claim(found.start(), found.end(), ClaimClass.FIXED, kind, scope=scope, paths=tuple(paths_in(unit)))
            return


_BASELINE: Final = re.compile(
    r"\b(?:pre-?existing|already (?:failing|broken|present|there)(?: on main| before)?|(?:failed|failing|broken|"
    r"existed) before (?:my|our|the|these|this) changes?|"
    r"(?:not (?:related to|caused by)|unrelated to) (?:my|our|the|these|this) changes?)\b",
    re.IGNORECASE,
)
_ABOUT_FAILURE: Final = re.compile(r"\b(?:fail\w*|errors?|warnings?|broken|lint\w*|issues?)\b", re.IGNORECASE)


def baseline_claims(unit: Unit) -> Iterator[Claim]:
    """What a sentence says was broken before.

    Example:
        >>> from ledgerkit.extract.claims.units import units
        >>> [one.subject for one in baseline_claims(units("The lint error is pre-existing.")[0])]
        ['lint']
    """
    found = _BASELINE.search(unit.masked)
    if found is None or not _ABOUT_FAILURE.search(unit.masked):
        return
    if not is_said(unit, found.start(), found.start(), is_denial_open=True):
        return
    kind = next((kind for kind, word in _OF_KIND[:3] if word.search(unit.masked)), "")
    if not kind:
        kind = "test" if re.search(r"\b(?:tests?|specs?)\b|test_\w+", unit.text, re.IGNORECASE) else ANY_CHECK
    yield Claim(0, len(unit.masked), ClaimClass.BASELINE, kind, Polarity.NEGATIVE)
