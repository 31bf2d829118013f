"""What test runners of compiled languages print."""

from __future__ import annotations

from typing import Final

from ledgerkit.extract.verifiers.model import CheckKind
from ledgerkit.extract.verifiers.readers import COUNT_WORDS, WORD_FIRST, Reader

_T = CheckKind.TEST
SUITES: Final = {
    # pkg.go.dev/cmd/go "Testing flags", cmd/internal/test2json; counts only where -v or gotestsum prints them.
    "go-test": Reader(
        _T,
        summary=r"^[ \t]*--- (?:PASS|FAIL|SKIP): .*$",
        count=r"--- (?P<word>PASS|FAIL|SKIP): ",
        fields=COUNT_WORDS,
        passed=r"^ok  \t|^ok[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))|^PASS$",
        failed=r"^FAIL(?:$|\s)|^--- FAIL: |^panic: |\[(?:build|setup) failed\]|^FAIL:",
        nothing=r"\A(?![\s\S]*^ok\s(?!.*\[no tests to run\]))[\s\S]*\[no test(?: file)?s(?: to run)?\]",
        failing=r"^[ \t]*--- FAIL: (?P<name>\S+)|^FAIL[ \t]+(?P<name_>\S+)",
        errors=(
            r"^[ \t]+(?P<path>[\w./-]+\.go):(?P<line>\d+): (?P<message>.+)$",
            r"^(?P<path>[\w./-]+\.go):(?P<line>\d+):\d+: (?P<message>.+)$",
        ),
        is_summed=True,
    ),
    # doc.rust-lang.org/cargo/commands/cargo-test.html; library/test/src/formatters/pretty.rs.
    "cargo-test": Reader(
        _T,
        summary=r"^test result: .*$",
        fields=COUNT_WORDS,
        failed=r"^test result: FAILED|^error: could not compile|^error: test failed|^error\[E\d+\]",
        nothing=r"\A(?![\s\S]*^test result: (?!ok\. 0 passed; 0 failed))[\s\S]*^test result: ok\. 0 passed",
        failing=r"^test (?P<name>\S+(?: - .*)?) \.\.\. FAILED$",
        errors=(
            r"^thread '.*?' .*?panicked at (?P<path>[^\s:]+\.rs):(?P<line>\d+):\d+:\n(?P<message>.+)",
            r"^error(?:\[E\d+\])?: (?P<message>.+)\n[ \t]*--> (?P<path>[^\s:]+):(?P<line>\d+):\d+",
        ),
        is_summed=True,
    ),
    # nexte.st/docs/running: "Summary [ 0.1s] 3 tests run: 2 passed, 1 failed, 0 skipped".
    "nextest": Reader(
        _T,
        summary=r"^[ \t]*Summary \[.*$",
        fields=COUNT_WORDS,
        failed=r"^error: could not compile|^error: test run failed",
        nothing=r"Summary \[.*\]\s+0 tests run|^error: no tests to run",
        failing=r"^[ \t]*(?:FAIL|TIMEOUT|SIGABRT|SIGSEGV) \[.*?\]\s+(?:\(.*?\) )?(?P<name>.+)$",
        zero_is_enough=True,
        unfinished=frozenset({4}),
    ),
    # maven.apache.org/surefire: "Tests run: 3, Failures: 1, Errors: 0, Skipped: 0"; the last one is that of the build.
    "maven-test": Reader(
        _T,
        summary=r"^(?:\[\w+\] )?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+\s*$",
        count=WORD_FIRST,
        fields={"failures": "failed", "errors": "errors", "skipped": "skipped"},
        passed=r"^(?:\[INFO\] )?BUILD SUCCESS",
        failed=r"^(?:\[(?:INFO|ERROR)\] )?BUILD FAILURE|COMPILATION ERROR",
        is_summed=True,
        nothing=r"\A(?![\s\S]*Tests run: [1-9])[\s\S]*(?:No tests to run|Tests run: 0, )",
        failing=r"^\[ERROR\]\s+(?P<name>[\w.$]+(?:\.|:)\w+:\d+|\w+\([\w.$]+\))",
        errors=(
            r"^\[ERROR\] (?P<path>\S+\.(?:java|kt|scala)):\[(?P<line>\d+),\d+\] (?P<message>.+)$",
            r"^\[ERROR\]\s+(?P<path>[\w$]+Test\w*)(?:\.\w+|->\w+)*:(?P<line>\d+)(?:->\S+)? (?P<message>.+)$",
        ),
    ),
    # docs.gradle.org/current/userguide/java_testing.html: "12 tests completed, 1 failed" (if some failed).
    "gradle-test": Reader(
        _T,
        summary=r"^\d+ tests? completed.*$",
        fields=COUNT_WORDS,
        passed=r"^BUILD SUCCESSFUL",
        failed=r"^BUILD FAILED|^FAILURE: Build failed",
        nothing=r"\A(?![\s\S]*> Task \S*test\w*(?:$| UP| FROM))[\s\S]*:test\w* NO-SOURCE",
        failing=r"^(?P<name>\S.* > .+) FAILED$",
        errors=(
            r"^(?:e: (?:file://)?)?(?P<path>\S+\.(?:java|kt|groovy)):(?P<line>\d+)"
            r"(?::\d+)?:? (?:error: )?(?P<message>.+)$",
        ),
    ),
    # learn.microsoft.com/dotnet/core/tools/dotnet-test.
    "dotnet-test": Reader(
        _T,
        summary=r"^(?:Passed!|Failed!)\s+- Failed:.*$|^Test summary: .*$",
        count=WORD_FIRST,
        fields={**COUNT_WORDS, "succeeded": "passed"},
        failed=r"^Failed!|^Test Run Failed|: error CS\d+:|^Build FAILED",
        nothing=r"^No test (?:matches|is available)",
        failing=r"^[ \t]+Failed (?P<name>\S+)(?: \[.*\])?$",
        errors=(r"^[ \t]*(?P<path>\S+\.(?:cs|fs|vb))\((?P<line>\d+),\d+\): error (?P<message>.+?)(?: \[.*\])?$",),
        is_summed=True,
    ),
    # hexdocs.pm/ex_unit/ExUnit.CLIFormatter.html: "3 tests, 1 failure, 1 skipped"; "Result: ..." since 1.19.
    "exunit": Reader(
        _T,
        summary=r"^(?:\d+ (?:doctests?|propert(?:y|ies)|tests?|features?), )+\d+ failures?.*$|^Result: .*$",
        fields={**COUNT_WORDS, "invalid": "errors"},
        failed=r"^\*\* \((?:Mix|\w*Error|Ecto\S*)\) |^== Compilation error|\bCompilation failed due to warnings",
        nothing=(
            r"^(?:Result: )?0 tests, |^There are no tests to run|^The --only option was given"
            r"|^Paths given to .mix test. did not"
        ),
        failing=r"^[ \t]+\d+\) (?P<name>(?:test|property|doctest|feature) .+ \(\S+\))$",
        errors=(
            r"^[ \t]+\d+\) (?P<message>.+)\n[ \t]+(?P<path>\S+\.exs?):(?P<line>\d+)$",
            r"^\*\* \(\w+\) (?P<path>\S+\.exs?):(?P<line>\d+):(?:\d+:)? (?P<message>.+)$",
        ),
    ),
    # cmake.org/cmake/help/latest/manual/ctest.1.html: "100% tests passed, 0 tests failed out of 3".
    "ctest": Reader(
        _T,
        summary=r"^\d+% tests passed, \d+ tests failed out of \d+",
        count=r"(?P<n>\d+) tests (?P<word>failed)",
        fields=COUNT_WORDS,
        nothing=r"^No tests were found",
        failing=r"^[ \t]+\d+ - (?P<name>\S+) \((?:Failed|Timeout|Not Run|SEGFAULT|.*Exception.*)\)",
    ),
}
"""By tool. The comment names where the format is described."""
