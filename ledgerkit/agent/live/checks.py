"""Checks of the work by the harness, and short forms of long outputs: both by the readers of verifier output."""

from __future__ import annotations

from typing import Final

from ledgerkit.agent.live.commands import Ran, run_in
from ledgerkit.agent.workspace import Workspace
from ledgerkit.extract.verifiers import Outcome, read_check, recognise
from ledgerkit.protocol.contracts import SuccessCheck, TaskContract
from ledgerkit.protocol.parts import CheckCounts, TextPart, VerificationPart
from ledgerkit.protocol.vocabulary import TrustLevel, Verdict, Visibility

RUN_SCOPE: Final = "run"
_NAMES: Final = 5


def summary_of(command: str, output: str, exit_code: int | None) -> str | None:
    r"""What a command's output comes to, where it is that of a check that is known; ``None`` if not.

    Example:
        >>> summary_of("pytest -q", "F.\nFAILED tests/test_a.py::test_one\n1 failed, 1 passed in 0.1s\n", 1)
        'pytest: failed; 1 passed, 1 failed; failing: tests/test_a.py::test_one'
    """
    lines = list[str]()
    for check in recognise(command):
        read = read_check(check, output, exit_code, has_ended=exit_code is not None)
        lines.append("; ".join(f"{check.tool}: {read.verdict.value}" if not n else said
                               for n, said in enumerate(_said(read))))  # fmt: skip
    return "\n".join(lines) or None


def _said(read: Outcome) -> list[str]:
    counts = [
        f"{number} {name}"
        for name in ("passed", "failed", "errors", "skipped")
        if (number := getattr(read, name)) is not None
    ]
    errors = [f"{e.path}{'' if e.line is None else f':{e.line}'} {e.message}" for e in read.error_lines[:_NAMES]]
    said = ["", ", ".join(counts)]
    said.append(f"failing: {', '.join(read.failing[:_NAMES])}" if read.failing else "")
    said.append(f"errors: {'; '.join(errors)}" if errors else "")
    return said[:1] + [one for one in said[1:] if one]


def run_check(check: SuccessCheck, workspace: Workspace, seconds: float) -> tuple[VerificationPart | TextPart, ...]:
    """Runs a check of the task's contract: its verdict, and what it printed as repository text.

    The command is the contract's own, so its exit code is its verdict, unless its output is read as a failure.
    """
    command = check.command or ""
    ran = run_in(workspace.root, command, seconds)
    reads = [read_check(one, ran.output, ran.exit_code, has_ended=ran.exit_code is not None)
             for one in recognise(command)]  # fmt: skip
    read = reads[0] if len(reads) == 1 else None
    verdict = _verdict(ran, read)
    counts = CheckCounts() if read is None else CheckCounts(
        passed=read.passed, failed=read.failed, errors=read.errors, skipped=read.skipped
    )  # fmt: skip
    ended = f"exit code {ran.exit_code}" if ran.exit_code is not None else f"stopped after {seconds:g} s"
    part = VerificationPart(
        verdict=verdict, check=check.name, scope=check.scope or "suite", command=command, exit_code=ran.exit_code,
        counts=counts, failing=() if read is None else read.failing,
        text=f"Check {check.name!r}: {verdict.value} ({ended}).",
        trust_level=TrustLevel.TOOL_TRUSTED, visibility=Visibility.MODEL_VISIBLE,
    )  # fmt: skip
    if not ran.output:
        return (part,)
    untrusted = TrustLevel.REPOSITORY_UNTRUSTED
    return part, TextPart(text=ran.output, trust_level=untrusted, visibility=Visibility.MODEL_VISIBLE)


def _verdict(ran: Ran, read: Outcome | None) -> Verdict:
    if ran.exit_code is None:
        return Verdict.INCONCLUSIVE
    if ran.exit_code or (read is not None and read.verdict is Verdict.FAILED):
        return Verdict.FAILED
    return Verdict.PASSED


def outcome_of(task: TaskContract, verdicts: dict[str, Verdict]) -> VerificationPart:
    """The verdict on the whole run: passed if every required check did, failed if one failed."""
    required = [verdicts[check.name] for check in task.success_checks if check.is_required and check.command]
    verdict = Verdict.PASSED if required and set(required) == {Verdict.PASSED} else Verdict.INCONCLUSIVE
    if Verdict.FAILED in required:
        verdict = Verdict.FAILED
    return VerificationPart(
        verdict=verdict, check="success checks", scope=RUN_SCOPE, trust_level=TrustLevel.TOOL_TRUSTED,
        visibility=Visibility.HUMAN_VISIBLE,
    )  # fmt: skip
