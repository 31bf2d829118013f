"""What a run knew before a compaction, and whether the summary tells of it.

Only literal signs count: a name, the words of a sentence, a line that says that something failed. A summary may say
the same in other words; then it is called lost although a reader would find it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

from ledgerkit.extract.claims import ANY_CHECK, PREVIOUS_CHECK, ClaimClass, Polarity, read_claims
from ledgerkit.memory.rules.contents import OVERLAP, content_words
from ledgerkit.memory.working import files, intentions, outcomes
from ledgerkit.memory.working.proposals import accepted_items
from ledgerkit.memory.working.record import RunRecord
from ledgerkit.protocol.memory import EvidencedBase, PlanStatus
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.vocabulary import MessageKind, Verdict

_FAILS: Final = re.compile(r"\b(?:fail\w*|error\w*|broken|breaks?|red|unresolved|crash\w*|not pass\w*)\b|[❌✗✘]", re.I)
_DENIED: Final = re.compile(
    r"\b(?:no|zero|0|without|any|fixed|resolved|solved)\b[^.;\n]{0,30}\b(?:fail\w*|error\w*)|"
    r"\b(?:fail\w*|errors?)\b[^.;\n]{0,20}\b(?:fixed|resolved|solved|gone)\b",
    re.I,
)
_PASSES: Final = re.compile(r"\b(?:pass(?:es|ed|ing)?|green|succeed\w*|fixed|resolved)\b|[✅✓✔]", re.I)
_WORDS_OF: Final = {
    "test": re.compile(r"\b(?:tests?|specs?|suites?|assertions?)\b", re.I),
    "build": re.compile(r"\b(?:builds?|compil\w+)\b", re.I),
    "lint": re.compile(r"\b(?:lint\w*|style|format\w*)\b", re.I),
    "types": re.compile(r"\b(?:types?|typecheck\w*|tsc|mypy|pyright)\b", re.I),
}
_LAST_NAME: Final = re.compile(r"[^\s/:.\\>]+$")


@dataclass(frozen=True)
class Remembered:
    """Something that the run knew: what kind of thing, what it is, where that stands, and the rule that asks for it."""

    kind: str
    subject: str
    rule: str
    refs: tuple[EvidenceRef, ...]
    is_told: bool


@dataclass(frozen=True)
class Told:
    """A summary, and what can be found in it."""

    text: str

    @cached_property
    def lines(self) -> list[str]:
        """Its lines that hold anything."""
        return [line for line in self.text.splitlines() if line.strip()]

    @cached_property
    def failing_kinds(self) -> frozenset[str]:
        """Kinds of checks that it says have failed, in a sentence that is read as a claim."""
        said = [c for c in read_claims(self.text) if c.claim_class is ClaimClass.VERDICT]
        return frozenset(c.subject for c in said if c.polarity is Polarity.NEGATIVE)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that carry it."""
        return frozenset(_words_of(self.text))

    def holds(self, name: str) -> bool:
        """Whether a name stands in it, as a whole."""
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.text) is not None

    def says(self, sentence: str) -> bool:
        """Whether most of the words of a sentence stand in it."""
        wanted = _words_of(sentence)
        return not wanted or len(wanted & self.words) >= OVERLAP * len(wanted)

    def fails(self, check: outcomes.Check) -> bool:
        """Whether it says that a check fails."""
        kind = str(check.row["kind"] or "")
        if self.failing_kinds & {kind, ANY_CHECK, PREVIOUS_CHECK}:
            return True
        failing: list[str] = check.row["failing"] or []
        names = {last[0] for one in failing if (last := _LAST_NAME.search(one))}
        about = [*names, check.name.removesuffix("s"), *([check.key[1]] if check.key[1] else [])]
        word = _WORDS_OF.get(kind)
        for line in self.lines:
            is_about = any(name in line for name in about) or (word is not None and word.search(line))
            named = any(name in line for name in names)
            if is_about and _FAILS.search(line) and not _DENIED.search(line):
                return True
            if named and not _PASSES.search(line) and not _DENIED.search(line):
                return True
        return False


def remembered(record: RunRecord, told: Told) -> Iterator[Remembered]:
    """Everything that a run knew: its task, failing checks, changed files, open plan and accepted problems.

    Args:
        record: The rows of the run before the compaction.
        told: The summary.
    """
    yield from _tasks(record, told)
    for check in outcomes.standing(outcomes.checks(record)):
        if check.verdict == Verdict.FAILED.value:
            yield Remembered("failing check", check.name, "R16", check.refs, told.fails(check))
    for problem in accepted_items(record.parts).open_problems:
        yield _of("open problem", problem.problem, "R16", problem, told.says(problem.problem))
    for item in intentions.plan(record):
        if item.status not in (PlanStatus.DONE, PlanStatus.DROPPED):
            yield _of("open plan item", item.item, "R16", item, told.says(item.item))
    yield from _files(record, told)


def _tasks(record: RunRecord, told: Told) -> Iterator[Remembered]:
    """The first task that somebody gave, and the last."""
    first = intentions.goal(record)
    tasks = record.parts.filter(
        pl.col("kind") == MessageKind.USER_TASK.value, pl.col("text").str.strip_chars() != ""
    ).sort("sequence_no", "part_index")
    last = intentions.goal(RunRecord(record.run_id, tasks.tail(1), *_rest(record))) if tasks.height > 1 else None
    for goal in (first, last):
        if goal is not None:
            yield _of("task", goal.goal, "R15", goal, told.says(goal.goal))


def _rest(record: RunRecord) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    return record.tool_calls, record.verifier_results, record.file_changes


def _files(record: RunRecord, told: Told) -> Iterator[Remembered]:
    """Changed files by their names; a name that several have needs its folder, too."""
    changed = files.changed_files(record)
    names = Counter(one.path.rstrip("/").rpartition("/")[2] for one in changed)
    for one in changed:
        pieces = one.path.rstrip("/").split("/")
        name = pieces[-1] if names[pieces[-1]] == 1 else "/".join(pieces[-2:])
        yield _of("changed file", one.path, "R17", one, told.holds(name))


def _of(kind: str, subject: str, rule: str, entry: EvidencedBase, is_told: bool) -> Remembered:  # noqa: FBT001
    return Remembered(kind, subject, rule, entry.evidence_refs, is_told)


def _words_of(text: str) -> frozenset[str]:
    found = pl.select(content_words(pl.lit(text))).item()
    return frozenset(word.strip("./-_") for word in found) - {""}
