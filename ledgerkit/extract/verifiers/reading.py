"""The verdict of a check, from what it printed and how it exited.

One rule above all: ``passed`` needs proof. An exit code that is the check's own decides, if the output does not
contradict it; without one the tool's own summary decides; everything else is ``inconclusive``, with the reason.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from ledgerkit.extract.verifiers.check_readers import CHECK_READERS
from ledgerkit.extract.verifiers.compiled_suites import SUITES as COMPILED_SUITES
from ledgerkit.extract.verifiers.model import CheckKind, Outcome, Shown
from ledgerkit.extract.verifiers.readers import Reader, Report, lines_of, report_of
from ledgerkit.extract.verifiers.script_suites import SUITES as SCRIPT_SUITES
from ledgerkit.protocol.vocabulary import Verdict

MAX_CHARACTERS: Final = 262_144
"""How much of an output is read: its end."""
SAYS_PASSED: Final = "the summary says passed, but the exit code is hidden"
"""The reason of a check that its output alone would call passed."""
READERS: Final = {**SCRIPT_SUITES, **COMPILED_SUITES, **CHECK_READERS}
"""How each tool's output is read, by its name."""

# ECMA-48: control sequences and strings; and what terminals overwrite.
_CONTROL: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CUT: Final = re.compile(
    r"(?i)(?:\.\.\.|…) ?\[?\d[\d,]* (?:characters?|chars?|lines?|tokens?|bytes) (?:truncated|omitted)"
    r"|output (?:was )?truncated|truncated output|<response clipped>|^Output too large|^<persisted-output>"
    r"|\[\.{3} omitted \d+ of \d+ lines",
    re.MULTILINE,
)
_STOPPED: Final = re.compile(
    r"(?i)^(?:error: )?(?:command timed out|the operation was aborted|\[?request interrupted)", re.MULTILINE
)
_NOT_RUN: Final = re.compile(
    r"(?i)command not found|^(?:\S+: )?(?:line \d+: )?(?:cd|source|\.): .*no such file"
    r"|No module named '?(?:pytest|mypy|ruff|unittest)\b|^npm err(?:or|!) missing script|ERR_PNPM_NO_SCRIPT"
    r"|Command \"?\S+\"? not found|could not determine executable to run|No rule to make target|no tasks? .* found"
    r"|error: could not find `Cargo.toml`|go: go\.mod file not found"
    r"|^(?:bash|sh|zsh): .*: (?:permission denied|no such file)",
    re.MULTILINE,
)
_RUNNER_FAILED: Final = re.compile(
    r"^(?:npm ERR!|npm error code|error Command failed|g?make(?:\[\d+\])?: \*\*\* |error: Recipe `|\S+: exit \d+ \("
    r"|\[\S+\] ERROR task failed|task: Failed to run|error: script .* exited with code)|ELIFECYCLE",
    re.MULTILINE,
)
_MAX_LINE: Final = 1_000
_SIGNALS: Final = 128
_NOT_ITS_VERDICT: Final = frozenset({124, 126, 127})


def read_output(
    tool: str,
    text: str,
    exit_code: int | None = None,
    *,
    is_exit_known: bool | None = None,
    kind: CheckKind | None = None,
    shown: Shown = Shown.WHOLE,
) -> Outcome:
    """What a check's output says.

    Args:
        tool: The tool, as ``recognise`` names it; one that is not known is read as a task runner is.
        text: What it printed.
        exit_code: How the command line exited.
        is_exit_known: Whether that is how the check exited; false where the line hides it, so that nothing can prove
            that the check passed. If not given, an exit code is the check's, and without one its summary decides.
        kind: What a task runner's task is about.
        shown: What of the output reached the text.

    Example:
        >>> read_output("pytest", "=== 1 failed, 2 passed in 0.1s ===").verdict.value
        'failed'
        >>> read_output("pytest", "", 0).verdict.value, read_output("pytest", "", 0, is_exit_known=False).reason
        ('passed', 'no summary, and the exit code is not known')
    """
    known = exit_code is not None if is_exit_known is None else is_exit_known and exit_code is not None
    cleaned, is_cut = _clean(text if shown < Shown.CHANGED else "")
    is_partial = is_cut or shown is not Shown.WHOLE
    reader, report = _read(tool, cleaned, kind)
    if reader.is_summed and is_partial:
        report = replace(report, counts={})
    if known and exit_code is not None:
        verdict, reason = _by_exit_code(exit_code, reader, report, cleaned, is_cut=is_cut)
    else:
        is_hidden = is_exit_known is False or bool(exit_code) or shown is not Shown.WHOLE
        verdict, reason = _by_output(report, reader, cleaned, is_cut=is_partial, is_hidden=is_hidden)
    if verdict is Verdict.PASSED and _STOPPED.search(cleaned[-2_000:]):
        verdict, reason = Verdict.INCONCLUSIVE, "it was stopped"
    return Outcome(
        verdict,
        *(report.counts.get(name) for name in ("passed", "failed", "errors", "skipped")),
        failing=report.failing,
        error_lines=() if verdict is Verdict.PASSED else report.error_lines,  # warnings may look like errors
        is_truncated=is_cut,
        reason=reason,
        lines=_lines_of(reader, cleaned, text),
    )


def _lines_of(reader: Reader, cleaned: str, text: str) -> tuple[int, int] | None:
    """The lines that say so, as the whole text counts them."""
    before = max(len(text) - MAX_CHARACTERS, 0)
    if cleaned.count("\n") != text.count("\n", before):  # a control string went over several lines, or nothing is shown
        return None
    found, offset = lines_of(reader, cleaned), text.count("\n", 0, before)
    return None if found is None else (found[0] + offset, found[1] + offset)


def _clean(text: str) -> tuple[str, bool]:
    """The text without colours and what a terminal overwrites, and whether some of it was cut."""
    plain = _CONTROL.sub("", text[-MAX_CHARACTERS:])
    lines = (line.rstrip("\r").rpartition("\r")[2][:_MAX_LINE] for line in plain.split("\n"))
    cleaned = "\n".join(lines)
    return cleaned, len(text) > MAX_CHARACTERS or _CUT.search(cleaned) is not None


def _by_exit_code(code: int, reader: Reader, report: Report, text: str, *, is_cut: bool) -> tuple[Verdict, str]:
    if code == 0:
        return _by_zero(reader, report, is_cut=is_cut)
    if report.says_failed:
        return Verdict.FAILED, f"exit code {code}"
    if code in _NOT_ITS_VERDICT or code >= _SIGNALS or code < 0:
        return Verdict.INCONCLUSIVE, f"it did not run to its end (exit code {code})"
    if report.says_passed:
        return Verdict.INCONCLUSIVE, f"the output says passed, the exit code is {code}"
    if report.says_nothing or code in reader.unfinished or _NOT_RUN.search(text) or _STOPPED.search(text):
        return Verdict.INCONCLUSIVE, f"nothing was checked (exit code {code})"
    return Verdict.FAILED, f"exit code {code}"


def _by_zero(reader: Reader, report: Report, *, is_cut: bool) -> tuple[Verdict, str]:
    is_listing = reader.kind in (CheckKind.LINT, CheckKind.TYPES) and bool(report.error_lines)
    if report.says_failed or (is_listing and not report.says_passed):
        return Verdict.INCONCLUSIVE, "the output says failed, the exit code is 0"
    if report.says_nothing or _is_all_skipped(reader, report):
        return Verdict.INCONCLUSIVE, "nothing was checked"
    if report.says_passed:
        return Verdict.PASSED, "exit code 0 and the tool's summary"
    if is_cut and reader.kind is CheckKind.TEST:
        return Verdict.INCONCLUSIVE, "the output was cut before a summary"
    if reader.zero_is_enough:
        return Verdict.PASSED, "exit code 0"
    return Verdict.INCONCLUSIVE, "exit code 0, but nothing says that something was checked"


def _by_output(report: Report, reader: Reader, text: str, *, is_cut: bool, is_hidden: bool) -> tuple[Verdict, str]:
    cut = "the output was cut before a summary" if is_cut else "no summary, and the exit code is not known"
    has_errors = bool(report.error_lines) and reader.kind is not CheckKind.TEST
    rules = (
        (report.says_failed, Verdict.FAILED, "the tool's summary"),
        (report.says_nothing or _is_all_skipped(reader, report), Verdict.INCONCLUSIVE, "nothing was checked"),
        (report.says_passed and is_hidden, Verdict.INCONCLUSIVE, SAYS_PASSED),
        (report.says_passed, Verdict.PASSED, "the tool's summary"),
        (has_errors, Verdict.FAILED, "errors in the output"),
        (_NOT_RUN.search(text) is not None, Verdict.INCONCLUSIVE, "it did not run"),
    )
    return next(((verdict, why) for holds, verdict, why in rules if holds), (Verdict.INCONCLUSIVE, cut))


def _is_all_skipped(reader: Reader, report: Report) -> bool:
    counts = report.counts
    return reader.kind is CheckKind.TEST and counts.get("skipped", 0) > 0 and counts.get("passed") == 0


def _read(tool: str, text: str, kind: CheckKind | None) -> tuple[Reader, Report]:
    """The reader of a tool and its report; of a task runner, those of the tools whose output is there."""
    if tool in ("mvn", "gradle"):
        family = "maven" if tool == "mvn" else "gradle"
        tool = f"{family}-test" if kind in (None, CheckKind.TEST) else f"{family}-build"
    reader = READERS.get(tool)
    return (reader, report_of(reader, text)) if reader is not None else _read_task(text, kind)


def _read_task(text: str, kind: CheckKind | None) -> tuple[Reader, Report]:
    """A task may run several tools: those of its kind count, the others can only keep it from having passed."""
    spoken = [(one, report) for one in READERS.values() if not (report := report_of(one, text)).is_silent]
    is_test = kind is CheckKind.TEST
    alike = [pair for pair in spoken if kind is None or (pair[0].kind is CheckKind.TEST) == is_test]
    fitting = [pair for pair in alike if pair[0].kind is kind] or alike
    reader, report = max(
        fitting, key=lambda pair: pair[1].evidence, default=(Reader(kind or CheckKind.BUILD), Report())
    )
    troubled = _RUNNER_FAILED.search(text) is not None or any(other.says_failed for _, other in spoken)
    passes = [other.says_passed for _, other in fitting if not (is_test and other.is_only_lines)]
    failed = report.says_failed or (troubled and not any(passes))
    report = replace(report, says_failed=failed, says_passed=not troubled and bool(passes) and all(passes))
    return replace(reader, zero_is_enough=kind is not None and not is_test, unfinished=frozenset[int]()), report
