"""What test runners of scripting languages print."""

from __future__ import annotations

from typing import Final

from ledgerkit.extract.verifiers.model import CheckKind
from ledgerkit.extract.verifiers.readers import COUNT_WORDS, WORD_FIRST, Reader

_T = CheckKind.TEST
_JS_PLACE: Final = r"[^\s()]+\.[cm]?[jt]sx?"
_JS_STACK: Final = (
    r"(?P<message>\S.*)\n(?:(?![ \t]*(?:●|FAIL\b)).*\n){1,30}?[ \t]*(?:at .*?\(?|\u276f )"
    rf"(?P<path>{_JS_PLACE}):(?P<line>\d+):\d+"
)

SUITES: Final = {
    # docs.pytest.org: "How to handle test failures", "Managing pytest's output", "Exit codes".
    "pytest": Reader(
        _T,
        summary=(
            r"^(?:=+ )?(?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun"
            r"|subtests (?:passed|failed))(?:, )?)+ in [\d.]+.*$"
        ),
        fields=COUNT_WORDS,
        failed=(
            r"^!+ (?:Interrupted|stopping after)|^(?:FAIL Required test coverage|ERROR: Coverage failure)"
            r"|^INTERNALERROR>"
        ),
        nothing=(
            r"^(?:=+ )?(?:no tests (?:ran|collected)|\d+ (?:skipped|deselected)(?:, \d+ (?:deselected|warnings?))*) in "
            r"|^ERROR: (?:file or directory )?not found:"
            r"|^ERROR: (?:usage:|unrecognized arguments)|^\w*: error: unrecognized arg"
        ),
        failing=r"^(?:FAILED|ERROR) (?P<name>\S*\.py\b.*?)(?: - .*)?$|^(?P<name_>\S+\.py::\S+) (?:FAILED|ERROR)\b",
        errors=(
            r"^E\s+(?P<message>\S.*)\n(?:E.*\n|[ \t]*\n){0,100}(?P<path>[^\s:]+\.py):(?P<line>\d+): \w+",
            r"^(?P<path>[^\s:]+\.py):(?P<line>\d+): in .+\n(?:    .*\n){0,50}E\s+(?P<message>.+)",
            r"^(?P<path>[^\s:]+\.py):(?P<line>\d+): (?P<message>\w+: .+)$",
        ),
        zero_is_enough=True,
        unfinished=frozenset({3, 4, 5}),
    ),
    # docs.python.org/3/library/unittest.html; unittest/runner.py.
    "unittest": Reader(
        _T,
        summary=r"^Ran \d+ tests? in .*\n+(?:OK|FAILED).*$|^(?:OK|FAILED) \(.*\)$|^OK$",
        count=r"(?P<word>failures|errors|skipped)=(?P<n>\d+)|^Ran (?P<n_>\d+) (?P<word_>tests?) in .*\n+OK$",
        fields={**COUNT_WORDS, "tests": "passed", "test": "passed"},
        passed=r"^Ran [1-9]\d* tests? in .*\n+OK",
        failed=r"^FAILED(?: \(.*\))?$",
        nothing=r"^NO TESTS RAN|^Ran 0 tests|^Ran (\d+) tests? in .*\n+OK \(skipped=\1\)$",
        failing=r"^(?:FAIL|ERROR): (?P<name>\S+ \(\S+\)(?: \[.*\]| \(.*\))*|\S+ \(unittest\S+\))",
        errors=(
            r'^  File "(?P<path>[^"]+)", line (?P<line>\d+), in .+\n(?:    .*\n){0,50}'
            r"(?P<message>\w[\w.]*(?:Error|Exception|Exit|Warning)\b.*)",
        ),
    ),
    # jestjs.io/docs/cli; jest-reporters/src/SummaryReporter.ts.
    "jest": Reader(
        _T,
        summary=r"^Tests:\s+.*total$",
        fields=COUNT_WORDS,
        failed=r"^Test Suites:.*\b[1-9]\d* failed|^Jest: .*threshold for",
        nothing=r"^No tests found|^Test Suites:\s+0 total|^Tests:\s+\d+ (?:skipped|todo), \d+ total$",
        failing=r"^[ \t]+● (?P<name>(?!Console$|Test suite failed to run)(?:[^\u203a\n]+ \u203a .+|\S.*))$",
        errors=(rf"^[ \t]+● {_JS_STACK}",),
        zero_is_enough=True,
    ),
    # vitest.dev/guide/reporters.
    "vitest": Reader(
        _T,
        summary=r"^[ \t]*Tests\s+(?!Files).*\(\d+\).*$",
        fields=COUNT_WORDS,
        failed=r"^[ \t]*Test Files\s.*\b[1-9]\d* failed|^[ \t]*Errors\s+\d+ errors?|⎯ Unhandled (?:Errors|Rejection)",
        nothing=r"^No test files found|^[ \t]*Tests\s+(?:no tests|\d+ (?:skipped|todo) \()",
        failing=r"^[ \t]*FAIL {1,3}(?P<name>\S.*\.[cm]?[jt]sx?\b.*)$",
        errors=(rf"^[ \t]*FAIL .*\n(?:[ \t]*FAIL .*\n){{0,20}}{_JS_STACK}",),
        zero_is_enough=True,
    ),
    # mochajs.org/#spec: "2 passing (5ms)", "1 failing", "1 pending".
    "mocha": Reader(
        _T,
        summary=r"^[ \t]*\d+ passing \(.*\)(?:\n[ \t]*\d+ (?:pending|failing))*",
        fields=COUNT_WORDS,
        nothing=r"^[ \t]*0 passing \(.*\)\n(?!\s*\d+ (?:pending|failing))|^Error: No test files found",
        errors=(rf"^  \d+\) {_JS_STACK}",),
    ),
    # nodejs.org/api/test.html#test-reporters: "# pass 3" (tap) and "i pass 3" (spec).
    "node-test": Reader(
        _T,
        summary=r"^[#\u2139] tests \d+\n(?:[#\u2139] \w+ [\d.]+\n?)*",
        count=r"[#\u2139] (?P<word>pass|fail|skipped|cancelled) (?P<n>\d+)",
        fields={**COUNT_WORDS, "cancelled": "errors"},
        nothing=r"^[#\u2139] tests 0$",
        failing=r"^not ok \d+ - (?P<name>.*?)(?: # .*)?$",
    ),
    # playwright.dev/docs/test-reporters: "  1 failed", "  1 skipped", "  3 passed (2.0s)".
    "playwright": Reader(
        _T,
        summary=r"^  \d+ (?:failed|passed|skipped|flaky|did not run|interrupted)\b.*(?:\n  .*)*",
        count=r"^  (?P<n>\d+) (?P<word>\w+)",
        fields=COUNT_WORDS,
        failed=r"^  \d+ (?:interrupted|did not run)",
        nothing=r"^Error: No tests found",
        failing=r"^    \[\w+\] \u203a (?P<name>.+?)\s*$",
        zero_is_enough=True,
    ),
    # bun.sh/docs/cli/test: " 3 pass", " 1 fail".
    "bun-test": Reader(
        _T,
        summary=r"^[ \t]*\d+ pass\n(?:\s*\d+ .*\n?)*",
        fields=COUNT_WORDS,
        nothing=r"^No tests found|^error: 0 test files",
        failing=r"^\(fail\) (?P<name>.+?)(?: \[[\d.]+m?s\])?$",
    ),
    # rspec.info: "3 examples, 1 failure, 1 pending".
    "rspec": Reader(
        _T,
        summary=r"^\d+ examples?, \d+ failures?.*$",
        fields={**COUNT_WORDS, "occurred": "errors"},
        failed=r"errors? occurred outside of examples",
        nothing=r"^0 examples, 0 failures(?!.*error)|^No examples found",
        failing=r"^rspec (?P<name>\S+)",
        errors=(r"^rspec (?P<path>\S+?):(?P<line>\d+) # (?P<message>.+)$",),
    ),
    # docs.phpunit.de: "OK (3 tests, 5 assertions)", "Tests: 3, Assertions: 5, Failures: 1."
    "phpunit": Reader(
        _T,
        summary=r"^OK \(\d+ tests?.*\)$|^Tests: \d+, Assertions: .*$|^[ \t]+Tests:\s+.*$",
        count=rf"{WORD_FIRST}|(?P<n_>\d+) (?P<word_>passed|failed|skipped)",
        fields=COUNT_WORDS,
        failed=r"^(?:FAILURES|ERRORS)!",
        nothing=r"^No tests executed",
        failing=r"^\d+\) (?P<name>\S+::\S+)",
        errors=(r"^\d+\) \S+::.*\n(?P<message>.+)\n(?:.*\n){1,20}?(?P<path>/\S+\.php):(?P<line>\d+)$",),
    ),
    # minitest: "5 runs, 6 assertions, 1 failures, 0 errors, 0 skips".
    "minitest": Reader(
        _T,
        summary=r"^\d+ (?:runs|tests), \d+ assertions, .*$",
        fields=COUNT_WORDS,
        nothing=r"^0 (?:runs|tests), ",
        failing=r"^(?:Failure|Error|FAIL):?\n?\s*(?P<name>\w\S*#\S+)",
        errors=(r"^[ \t]*(?P<message>\S+#\S+) \[(?P<path>\S+):(?P<line>\d+)\]:$",),
    ),
}
"""By tool. The comment names where the format is described."""
