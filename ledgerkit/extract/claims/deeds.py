"""Claims about deeds: commands that were run, what nothing uses, and that the work is done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ledgerkit.extract.claims.changes import SPEAKER
from ledgerkit.extract.claims.model import Claim, ClaimClass, Scope
from ledgerkit.extract.claims.moods import is_said
from ledgerkit.extract.claims.units import CODE, Unit, code_spans
from ledgerkit.extract.claims.values import is_command

_RAN: Final = re.compile(
    rf"{SPEAKER}(?P<verb>ran|executed|re-?ran)\s+(?:the\s+|a\s+|command\s+)*(?P<code>{CODE}+)", re.IGNORECASE
)
_GIT: Final = re.compile(
    rf"{SPEAKER}(?P<active>committed(?: and pushed)?|pushed)\b|"
    r"\b(?:all |everything |changes? |work |fix(?:es)? )+(?:(?:is|are|has been|have been|was|were)\s+)?(?:now "
    r")?(?P<passive>committed(?: and pushed)?|pushed)\b|"
    r"\b(?:force[- ]|complete and |done and |fixed and )(?P<joined>pushed)\b",
    re.IGNORECASE,
)


def command_claims(unit: Unit) -> Iterator[Claim]:
    """The commands that a unit says were run, commits and pushes included.

    Example:
        >>> from ledgerkit.extract.claims.units import units
        >>> [one.commands for one in command_claims(units("Committed and pushed.")[0])]
        [('git commit', 'git push')]
    """
    for found in _RAN.finditer(unit.masked):
        line = next((line for first, _, line in code_spans(unit) if first == found.start("code")), "")
        if is_command(line) and is_said(unit, found.start("verb"), found.end()):
            yield Claim(found.start("verb"), found.end(), ClaimClass.COMMAND, "ran", commands=(line,))
    if found := _GIT.search(unit.masked):
        verb = (found["active"] or found["passive"] or found["joined"]).lower()
        behind = unit.masked[found.end() : found.end() + 20]
        if is_said(unit, found.start(), found.end()) and not re.match(
            r"\s+(?:to (?:the )?(?:idea|plan|fix)|back|down|up|for)\b|-", behind, re.IGNORECASE
        ):
            commands = tuple(f"git {word}" for word in ("commit", "push") if word in verb)
            yield Claim(found.start(), found.end(), ClaimClass.COMMAND, "ran", commands=commands)


_USES: Final = (
    r"(?:usages?|uses|references?|callers?|occurrences?|instances|imports?|call sites?|consumers|dependents|mentions)"
)
_NO_USES: Final = re.compile(
    rf"\bno\s+(?P<else>(?:other|more|remaining|further|additional|leftover)\s+)*(?:code |direct |external |"
    rf"internal )*{_USES}"
    rf"(?:\s+(?:of|to|for|in the code(?:base)? (?:of|to))\s+(?:the\s+)?(?:\w+\s+){{0,2}}?(?P<code>{CODE}+))?",
    re.IGNORECASE,
)
_NOTHING_USES: Final = re.compile(
    rf"\b(?:nothing|no (?:one|other (?:code|file|module)s?))\s*(?P<else>else)?\s+(?:uses|references|calls|"
    rf"imports|depends on)\s+(?:the\s+)?(?P<code>{CODE}+)",
    re.IGNORECASE,
)
_NOT_USED: Final = re.compile(
    rf"(?P<code>{CODE}+)\s+(?:\w+\s+){{0,2}}?(?:is|are)(?:n['’]t| not| never)\s+(?:\w+\s+)?(?:used|referenced|"
    rf"called|imported)"
    r"(?P<where>\s+(?:anywhere(?P<else>\s+else)?|(?P<else2>elsewhere)))",
    re.IGNORECASE,
)
_ONLY_USED: Final = re.compile(
    rf"(?P<code>{CODE}+)\s+(?:is|are)\s+only\s+(?:used|referenced|called|imported)\s+(?:in|by|from|within)\b",
    re.IGNORECASE,
)


def absence_claims(unit: Unit) -> Iterator[Claim]:
    """What a unit says nothing, or nothing else, uses.

    Example:
        >>> from ledgerkit.extract.claims.units import units
        >>> [(one.subject, one.scope.value) for one in absence_claims(units("No other callers of `f` exist.")[0])]
        [('f', 'unsaid')]
    """
    for pattern in (_NO_USES, _NOTHING_USES, _NOT_USED, _ONLY_USED):
        found = pattern.search(unit.masked)
        if found is None or found["code"] is None:
            continue
        name = next((inner for first, _, inner in code_spans(unit) if first == found.start("code")), "")
        is_other = pattern is _ONLY_USED or re.search(
            r"\b(?:other|else|elsewhere|additional|further)\b", found[0], re.IGNORECASE
        )
        if name and is_said(unit, found.start(), found.end(), is_denial_open=True):
            scope = Scope.UNSAID if is_other else Scope.ALL
            yield Claim(found.start(), found.end(), ClaimClass.ABSENCE, name.removesuffix("()"), scope=scope)
            return


_WORK: Final = (
    r"(?:implementation|refactor(?:ing)?|migration|feature|work|tasks?|changes?|fix|setup|integration|cleanup|"
    r"conversion|upgrade|todo app|"
    r"todos?|to-dos?|items?|steps?|batch|phases?)"
)
_FINISHED: Final = r"(?:complete[d]?|done|finished|implemented)"
_DONE: Final = re.compile(
    rf"^\W*(?:(?P<short>(?:all\s+)?done)(?=\s*[.!:]|\W*$)|"
    rf"(?:(?P<all>all|every)\s+)?(?:the\s+|of the\s+|\d+\s+|core\s+|remaining\s+|"
    rf"new\s+)*(?:\w+\s+){{0,2}}?(?P<work>{_WORK})\s+"
    rf"(?:(?:is|are|have been|has been)\s+)?(?:(?:now|all|fully|completely|"
    rf"successfully)\s+)*(?P<end>{_FINISHED})(?=\s*(?:[.!,:;)✅🎉—–-]|$|and\b|on\b|with\b))|"
    rf"(?:i|we)(?:['’]ve| have)\s+(?:now\s+)?(?:successfully|fully)\s+(?P<did>implemented|completed|finished)\b)",
    re.IGNORECASE,
)
_NOT_WORK: Final = re.compile(
    r"\b(?:tests?|builds?|lint\w*|checks?|download|import|command|search|script|analysis|review|exploration)\b",
    re.IGNORECASE,
)


def done_claims(unit: Unit) -> Iterator[Claim]:
    """Whether a unit says that the work is finished.

    Example:
        >>> from ledgerkit.extract.claims.units import units
        >>> [one.scope.value for one in done_claims(units("All tasks are complete.")[0])]
        ['all']
    """
    found = _DONE.match(unit.masked)
    if found is None or _NOT_WORK.search(found[0]) or not is_said(unit, found.end() - 1, found.end()):
        return
    if unit.kind == "bullet" and not found["short"] and not unit.is_ticked:
        return
    is_all = bool(found["all"]) or (found["short"] or "").lower().startswith("all")
    yield Claim(
        0,
        found.end(),
        ClaimClass.DONE,
        "tasks" if found["work"] and found["all"] else "work",
        scope=Scope.ALL if is_all else Scope.UNSAID,
    )
