"""Passed needs proof: whatever a text says, no exit code but 0 and nothing that hides it gives ``passed``."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit.extract.verifiers import READERS, CheckKind, Outcome, Shown, read_check, read_output, recognise
from ledgerkit.extract.verifiers.reading import SAYS_PASSED

PIECES = [
    "=== 3 passed in 0.1s ===",
    "2 failed, 1 passed in 0.2s",
    "Ran 3 tests in 0.1s",
    "OK",
    "FAILED (failures=1)",
    "PASS",
    "FAIL",
    "ok  \ta/b\t0.1s",
    "Tests:       5 passed, 5 total",
    "Test Suites: 1 failed, 1 total",
    "All checks passed!",
    "Found 3 errors.",
    "Success: no issues found in 3 source files",
    "0 errors, 0 warnings, 0 informations",
    "BUILD SUCCESS",
    "BUILD FAILED",
    "0 issues.",
    "test result: ok. 3 passed; 0 failed; 0 ignored",
    "\x1b[32m",
    "\x1b]0;title\x07",
    "\r",
    "a.py:1:2: error: no",
    "3 tests, 0 failures",
    "... [99 characters truncated] ...",
    "make: *** [x] Error 1",
    "Checked 4 files in 2ms.",
    "\u2713 built in 1s",
    "9" * 40 + " passed",
]
TEXTS = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=6).map("\n".join))
TOOLS = st.sampled_from([*READERS, "npm", "make", "no-such-tool"])
LINES = ["pytest", "python -m unittest", "npm test", "go test ./...", "ruff check .", "make", "tsc", "cargo test"]


def numbers(outcome: Outcome) -> list[int]:
    return [n for n in (outcome.passed, outcome.failed, outcome.errors, outcome.skipped) if n]


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(
    TOOLS,
    TEXTS,
    st.one_of(st.none(), st.integers(-(2**31), 2**31)),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, *CheckKind]),
    st.sampled_from(Shown),
)
def test_any_text_has_an_answer_and_another_exit_code_is_never_passed(
    tool: str, text: str, code: int | None, is_known: bool | None, kind: CheckKind | None, shown: Shown
) -> None:
    outcome = read_output(tool, text, code, is_exit_known=is_known, kind=kind, shown=shown)
    assert outcome.reason
    assert outcome.verdict.value != "passed" or not code
    assert outcome.verdict.value != "passed" or is_known is not False


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(LINES),
    TEXTS,
    st.sampled_from([None, 0, 1]),
    st.sampled_from(
        ["{} | tail -5", "{} | cat", "{} || true", "{}; echo done", "{} &", "({}) | head", "! {}", "x=$({})"]
    ),
)
def test_what_hides_the_exit_code_never_gives_passed(line: str, text: str, code: int | None, around: str) -> None:
    (check,) = recognise(around.format(line))
    assert read_check(check, text, code).verdict.value != "passed"


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["pytest", "jest", "mypy", "rspec", "phpunit"]), TEXTS)
def test_numbers_stand_in_the_text(tool: str, text: str) -> None:
    said = {int(number) for number in re.findall(r"\d+", text) if len(number) < 10}
    assert set(numbers(read_output(tool, text))) <= said


def test_counts_of_a_hidden_run_are_kept_and_the_reason_says_so() -> None:
    (check,) = recognise("pytest | tail -2")
    outcome = read_check(check, "5 passed in 0.1s\n", 0)
    assert (outcome.verdict.value, outcome.passed) == ("inconclusive", 5)
    assert outcome.reason == f"{SAYS_PASSED} ('| tail' after it)"


def test_partial_counts_are_not_given() -> None:
    text = "--- PASS: TestA (0.1s)\n--- FAIL: TestB (0.1s)\nFAIL\n"
    assert read_output("go-test", text, 1).passed == 1
    assert read_output("go-test", text, 1, shown=Shown.END).passed is None


@pytest.mark.parametrize(
    ("line", "text", "code", "verdict"),
    [
        ("cd nowhere && pytest", "bash: line 1: cd: nowhere: No such file or directory\n", 1, "inconclusive"),
        ("timeout 5 pytest", "test_a.py ...", 124, "inconclusive"),
        ("pytest", "test_a.py ..Segmentation fault (core dumped)\n", 139, "inconclusive"),
        ("pytest", "3 passed in 0.1s\n", 1, "inconclusive"),
        ("pytest", "1 failed in 0.1s\n", 0, "inconclusive"),
        ("pytest && git push", "3 passed in 0.1s\n! [rejected]\n", 1, "inconclusive"),
        ("ruff check . && pytest", "Found 1 error.\n", 1, "failed inconclusive"),
        ("ruff check . && pytest", "All checks passed!\n3 passed in 0.1s\n", 0, "passed passed"),
        ("ruff check . && pytest", "All checks passed!\n1 failed in 0.1s\n", 1, "inconclusive failed"),
        ("pytest a && pytest b", "1 passed in 0.1s\n2 passed in 0.1s\n", 0, "passed passed"),
        ("pytest a; pytest b", "1 passed in 0.1s\n2 failed in 0.1s\n", 1, "inconclusive failed"),
        ("pytest > log", "", 0, "passed"),
        ("python -m unittest > log 2>&1", "", 0, "inconclusive"),
        ("pytest; echo code=$?", "3 passed in 0.1s\ncode=0\n", 0, "passed"),
        ("pytest; echo code=$?", "3 passed in 0.1s\ncode=1\n", 0, "inconclusive"),
        ("pytest | tail -1; echo ${PIPESTATUS[0]}", "3 passed in 0.1s\n0\n", 0, "passed"),
        ("pytest | tail -1; echo $?", "3 passed in 0.1s\n0\n", 0, "inconclusive"),
    ],
)
def test_the_line_decides_what_an_exit_code_proves(line: str, text: str, code: int, verdict: str) -> None:
    found = [read_check(check, text, code).verdict.value for check in recognise(line)]
    assert " ".join(found) == verdict


@pytest.mark.parametrize(
    "piece", ["E x\n", "\n", "1 passed, ", "a.py:1: in x\n    y\n", "\x1b]", ".", "(", " ", "\u25cf x\n", "FAIL x\n"]
)
def test_long_texts_are_read_in_bounded_time(piece: str) -> None:
    for tool in ("pytest", "jest", "make"):
        read_output(tool, piece * (60_000 // len(piece)), 1)
