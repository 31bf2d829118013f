"""Claims about changes: files that were created, changed or deleted, and how many of something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ledgerkit.extract.claims.model import Claim, ClaimClass
from ledgerkit.extract.claims.moods import is_said
from ledgerkit.extract.claims.units import Unit
from ledgerkit.extract.claims.values import NUMBER, named_files, number_of

_CHANGE_OF: Final = {
    **dict.fromkeys(("created", "wrote", "written", "generated", "new"), "create"),
    **dict.fromkeys(("updated", "modified", "changed", "edited", "refactored", "rewrote", "added", "fixed"), "modify"),
    **dict.fromkeys(("deleted", "removed"), "delete"),
}
SPEAKER: Final = (
    r"(?:^[^\w\ue000]*(?:done[.!:,]?\s+)?|\b(?:i|we)(?:['’]ve| have)?\s+(?:(?:just|also|now|already|successfully|"
    r"have)\s+)*)"
)
_ACTIVE: Final = re.compile(
    rf"{SPEAKER}(?P<verb>created|wrote|generated|updated|modified|changed|edited|refactored|rewrote|added|deleted|removed)\b",
    re.IGNORECASE,
)
_FURTHER: Final = re.compile(
    r"(?:,|\band)\s+(?P<verb>created|updated|modified|deleted|removed|added|wrote)\b", re.IGNORECASE
)
_OTHER_OBJECT: Final = re.compile(r"[.;:]\s|\b(?:so|which|that|because|for|then|like|as|using|via|by|use|uses)\b")
_OBJECT: Final = re.compile(
    r"\s*(?:(?:the|a|an|new|old|unused|two|three|files?|scripts?|modules?|component|class|document|documentation|config(?:uration)?|helper|page|"
    r"existing|my|our|following|test|tests|stale|empty|simple|main|package)\s+){0,5}[:\s]*$",
    re.IGNORECASE,
)
_INTO: Final = re.compile(r"\b(?:to|in|into|from|at|inside|of)\s+(?:the\s+)?(?:new\s+|file\s+)*$", re.IGNORECASE)
_LIST: Final = re.compile(r"^\s*(?:,|and|&|,\s*and)\s*$", re.IGNORECASE)
_PASSIVE: Final = re.compile(
    r"^\s*(?:\((?P<marked>created|modified|updated|deleted|removed|edited|changed)(?=\s*(?:[)—–,:-]|by\b|in\b))|"
    r"(?:has been|have been|was|were|is now|are now)\s+(?:(?:successfully|also|now)\s+)*"
    r"(?P<verb>created|updated|modified|deleted|removed|written|generated|edited)\b)",
    re.IGNORECASE,
)
_FIRST_THEN: Final = re.compile(
    r"^\s*(?:[:—–-]|\s)+\s*(?P<verb>created|updated|modified|added|removed|refactored|rewrote)\b", re.IGNORECASE
)
_WRITTEN_TO: Final = re.compile(r"\b(?:written|saved|wrote it|saved it) to\s+(?:the\s+)?(?:file\s+)?$", re.IGNORECASE)
_LISTED: Final = re.compile(
    r"^\W*(?:files?\s+(?P<after>created|modified|updated|changed|deleted|removed|added)|"
    r"(?P<before>created|modified|updated|changed|deleted|new|added)\s+files?|(?P<alone>created|modified|updated|deleted))\b[^.\n]{0,20}:?\W*$",
    re.IGNORECASE,
)


def file_claims(unit: Unit) -> Iterator[Claim]:
    """The files that a unit says were created, changed or deleted.

    Example:
        >>> from ledgerkit.extract.claims.units import units
        >>> unit = units("I added a flag to `src/a.py` and removed `b.py`.")[0]
        >>> [(one.subject, one.paths) for one in file_claims(unit)]
        [('modify', ('src/a.py',)), ('delete', ('b.py',))]
    """
    files = list(dict.fromkeys(named_files(unit)))
    last: tuple[str, int] | None = None
    for start, end, path in sorted(files):
        change = _change(unit, start, end, last)
        if change and is_said(unit, start, start, allow=""):
            yield Claim(0 if start < 24 else start, end, ClaimClass.FILES, change, paths=(path,))
            last = (change, end)
        else:
            last = None


def _change(unit: Unit, start: int, end: int, last: tuple[str, int] | None) -> str:
    """What a unit says happened to the file that stands between two places; empty if nothing."""
    before, behind = unit.masked[:start], unit.masked[end:]
    if last and _LIST.match(unit.masked[last[1] : start]):
        return last[0]
    if found := _PASSIVE.match(behind):
        return _CHANGE_OF[(found["marked"] or found["verb"]).lower().split()[0]]
    if _WRITTEN_TO.search(before):
        return "create"
    return _by_place(unit, before, behind) or _by_verb(before)


def _by_place(unit: Unit, before: str, behind: str) -> str:
    """For a file that a unit begins with: the verb behind it, or what the list that it stands in is of."""
    if not before.strip(" :*-—–#\t🔧📝✨📁✅✓") and (found := _FIRST_THEN.match(behind)):
        return "create" if found["verb"].lower() == "created" else "modify"
    if before.strip(" :*-—–\t✅✓") or unit.kind != "bullet" or not (listed := _LISTED.match(unit.lead)):
        return ""
    if re.search(r"/|\band\b|&", unit.lead):
        return "modify"
    return _CHANGE_OF[(listed["after"] or listed["before"] or listed["alone"]).lower()]


def _by_verb(before: str) -> str:
    """What the speaker's last verb before a file says; empty if there is none that takes it as its object."""
    verbs = list(_ACTIVE.finditer(before))
    verbs += list(_FURTHER.finditer(before)) if verbs else []
    if not verbs:
        return ""
    verb = max(verbs, key=lambda found: found.start("verb"))
    between = before[verb.end() :]
    said = verb["verb"].lower()
    if _OBJECT.match(between):
        return "create" if said == "added" else _CHANGE_OF[said]
    is_near = len(between) < 90 and not _OTHER_OBJECT.search(between)
    return "modify" if is_near and _INTO.search(between) else ""


_COUNT_VERB: Final = re.compile(
    rf"{SPEAKER}(?P<verb>changed|modified|created|updated|added|deleted|removed|found|migrated|converted|replaced|renamed|edited|"
    rf"cleaned up|wrote)\s+(?:(?:a total of|all|exactly|"
    rf"about)\s+)?(?P<n>{NUMBER})\s+(?P<what>(?:[\w-]+\s+){{0,3}}?[\w-]*s)\b",
    re.IGNORECASE,
)
_COUNT_PASSIVE: Final = re.compile(
    rf"(?<![\w.-])(?P<n>{NUMBER})\s+(?P<what>(?:new |test |source )?files?)\s+(?:(?:were|was|are|is|have been)\s+)?"
    r"(?P<verb>changed|modified|created|updated|deleted|removed|added)\b",
    re.IGNORECASE,
)
_VAGUE: Final = re.compile(
    r"\b(?:about|around|roughly|approximately|some|several|at least|over|more than|up to|~)\s*$", re.IGNORECASE
)


def count_claims(unit: Unit) -> Iterator[Claim]:
    """The numbers of things that a unit says were changed or found.

    Example:
        >>> from ledgerkit.extract.claims.units import units
        >>> [(one.subject, one.numbers) for one in count_claims(units("I changed 3 files.")[0])]
        [('files changed', (3,))]
    """
    for pattern in (_COUNT_VERB, _COUNT_PASSIVE):
        for found in pattern.finditer(unit.masked):
            what, verb = " ".join(found["what"].lower().split()), found["verb"].lower()
            number = number_of(found["n"])
            if (
                number == 1
                or _VAGUE.search(unit.masked[: found.start("n")])
                or not is_said(unit, found.start("n"), found.end())
            ):
                continue
            is_files = what.split()[-1].rstrip("s") == "file" and verb != "found"
            subject = f"files {verb}" if is_files and what in ("file", "files") else what
            yield Claim(found.start("n"), found.end(), ClaimClass.COUNT, subject, numbers=(number,))
            return
