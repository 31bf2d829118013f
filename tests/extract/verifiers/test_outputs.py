"""What each tool prints, in the shapes that its documentation describes, and what is read from it."""

from __future__ import annotations

import pytest

from ledgerkit.extract.verifiers import READERS, CheckKind, read_output

# tool, exit code (None: not recorded), output; verdict, (passed, failed, errors, skipped)
_N = None
CASES = [
    ("pytest", 0, "..s  [100%]\n2 passed, 1 skipped in 0.12s\n", "passed", (2, _N, _N, 1)),
    ("pytest", 1, "=== 1 failed, 2 passed, 1 warning in 0.12s (0:00:01) ===\n", "failed", (2, 1, _N, _N)),
    (
        "pytest",
        2,
        "!!! Interrupted: 1 error during collection !!!\n=== 1 error in 0.10s ===\n",
        "failed",
        (_N, _N, 1, _N),
    ),
    ("pytest", 5, "=== no tests ran in 0.01s ===\n", "inconclusive", (_N, _N, _N, _N)),
    ("pytest", _N, "3 deselected in 0.01s\n", "inconclusive", (_N, _N, _N, _N)),
    ("pytest", _N, "=== 3 passed, 1 xfailed in 2.00s ===", "passed", (3, _N, _N, _N)),
    ("pytest", _N, "\x1b[32m=== \x1b[1m3 passed\x1b[0m\x1b[32m in 0.1s\x1b[0m ===", "passed", (3, _N, _N, _N)),
    ("pytest", 1, "2 passed in 0.1s\nFAIL Required test coverage of 90% not reached.\n", "failed", (2, _N, _N, _N)),
    ("pytest", 0, "..  [100%]\n", "passed", (_N, _N, _N, _N)),
    ("pytest", 4, "ERROR: file or directory not found: x.py\n", "inconclusive", (_N, _N, _N, _N)),
    ("pytest", 1, "/usr/bin/python: No module named pytest\n", "inconclusive", (_N, _N, _N, _N)),
    ("pytest", 127, "bash: pytest: command not found\n", "inconclusive", (_N, _N, _N, _N)),
    ("pytest", 0, "... [3041 characters truncated] ...\n", "inconclusive", (_N, _N, _N, _N)),
    ("unittest", 0, "...\n-----\nRan 3 tests in 0.001s\n\nOK\n", "passed", (3, _N, _N, _N)),
    ("unittest", 0, "Ran 3 tests in 0.001s\n\nOK (skipped=1)\n", "passed", (_N, _N, _N, 1)),
    ("unittest", 1, "Ran 4 tests in 0.001s\n\nFAILED (failures=1, errors=2)\n", "failed", (_N, 1, 2, _N)),
    ("unittest", 5, "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", "inconclusive", (_N, _N, _N, _N)),
    ("unittest", 0, "", "inconclusive", (_N, _N, _N, _N)),
    (
        "jest",
        0,
        "Test Suites: 1 passed, 1 total\nTests:       2 skipped, 5 passed, 7 total\n",
        "passed",
        (5, _N, _N, 2),
    ),
    ("jest", 1, "Test Suites: 1 failed, 1 total\nTests:       1 failed, 5 passed, 6 total\n", "failed", (5, 1, _N, _N)),
    (
        "jest",
        _N,
        "Test Suites: 1 failed, 1 passed, 2 total\nTests:       5 passed, 5 total\n",
        "failed",
        (5, _N, _N, _N),
    ),
    ("jest", 1, "No tests found, exiting with code 1\n", "inconclusive", (_N, _N, _N, _N)),
    ("vitest", 0, " Test Files  1 passed (1)\n      Tests  3 passed | 1 skipped (4)\n", "passed", (3, _N, _N, 1)),
    ("vitest", 1, " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n", "failed", (2, 1, _N, _N)),
    ("vitest", 1, "No test files found, exiting with code 1\n", "inconclusive", (_N, _N, _N, _N)),
    ("mocha", 0, "\n  3 passing (5ms)\n  1 pending\n", "passed", (3, _N, _N, 1)),
    ("mocha", 2, "\n  1 passing (5ms)\n  2 failing\n", "failed", (1, 2, _N, _N)),
    ("mocha", 0, "\n  0 passing (1ms)\n\n", "inconclusive", (0, _N, _N, _N)),
    ("node-test", 0, "# tests 3\n# suites 0\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 1\n", "passed", (2, 0, 0, 1)),
    (
        "node-test",
        1,
        "\u2139 tests 2\n\u2139 pass 1\n\u2139 fail 1\n\u2139 cancelled 0\n\u2139 skipped 0\n",
        "failed",
        (1, 1, 0, 0),
    ),
    ("node-test", 0, "# tests 0\n# pass 0\n# fail 0\n", "inconclusive", (0, 0, _N, _N)),
    (
        "playwright",
        1,
        "  1 failed\n    [chromium] \u203a a.spec.ts:3:1 \u203a logs in ───\n  2 passed (3.1s)\n",
        "failed",
        (2, 1, _N, _N),
    ),
    ("playwright", 0, "  2 passed (3.1s)\n", "passed", (2, _N, _N, _N)),
    ("bun-test", 0, " 3 pass\n 0 fail\nRan 3 tests across 1 file. [9.00ms]\n", "passed", (3, 0, _N, _N)),
    ("bun-test", 1, " 3 pass\n 1 fail\n", "failed", (3, 1, _N, _N)),
    ("go-test", 0, "ok  \ta/b\t0.01s\n?   \ta/c\t[no test files]\n", "passed", (_N, _N, _N, _N)),
    ("go-test", 0, "?   \ta/c\t[no test files]\n", "inconclusive", (_N, _N, _N, _N)),
    (
        "go-test",
        0,
        "testing: warning: no tests to run\nPASS\nok  \ta\t0.1s [no tests to run]\n",
        "inconclusive",
        (_N, _N, _N, _N),
    ),
    (
        "go-test",
        1,
        "--- FAIL: TestA (0.00s)\n    a_test.go:7: no\nFAIL\nFAIL\ta/b\t0.1s\nFAIL\n",
        "failed",
        (_N, 1, _N, _N),
    ),
    ("go-test", 0, "--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\nPASS\nok  \ta\t0.1s\n", "passed", (1, _N, _N, 1)),
    ("go-test", 1, "# a\n./a.go:3:2: undefined: x\nFAIL\ta [build failed]\n", "failed", (_N, _N, _N, _N)),
    (
        "cargo-test",
        0,
        "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\n"
        "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\n",
        "passed",
        (3, 0, _N, 1),
    ),
    (
        "cargo-test",
        101,
        "test a::b ... FAILED\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n",
        "failed",
        (2, 1, _N, 0),
    ),
    (
        "cargo-test",
        101,
        "error[E0425]: cannot find value `x`\n --> src/lib.rs:3:5\nerror: could not compile `a`\n",
        "failed",
        (_N, _N, _N, _N),
    ),
    ("cargo-test", 0, "test result: ok. 0 passed; 0 failed; 0 ignored\n", "inconclusive", (0, 0, _N, 0)),
    ("nextest", 100, "     Summary [   0.1s] 3 tests run: 2 passed, 1 failed, 0 skipped\n", "failed", (2, 1, _N, 0)),
    (
        "mvn",
        0,
        "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n[INFO] BUILD SUCCESS\n",
        "passed",
        (_N, 0, 0, 1),
    ),
    (
        "mvn",
        1,
        "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE\n",
        "failed",
        (_N, 1, 0, 0),
    ),
    ("mvn", 0, "[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n", "inconclusive", (_N, _N, _N, _N)),
    ("gradle", 0, "> Task :test\n\nBUILD SUCCESSFUL in 3s\n", "passed", (_N, _N, _N, _N)),
    (
        "gradle",
        1,
        "ATest > adds() FAILED\n\n3 tests completed, 1 failed\n\nBUILD FAILED in 3s\n",
        "failed",
        (_N, 1, _N, _N),
    ),
    ("gradle", 0, "> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 3s\n", "inconclusive", (_N, _N, _N, _N)),
    (
        "dotnet-test",
        0,
        "Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4\n",
        "passed",
        (3, 0, _N, 1),
    ),
    (
        "dotnet-test",
        1,
        "Failed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4\n",
        "failed",
        (3, 1, _N, 0),
    ),
    ("exunit", 0, "Finished in 0.1 seconds\n2 doctests, 5 tests, 0 failures, 1 skipped\n", "passed", (_N, 0, _N, 1)),
    ("exunit", 2, "5 tests, 2 failures\n", "failed", (_N, 2, _N, _N)),
    ("exunit", 1, "** (Mix) Can't continue due to errors on dependencies\n", "failed", (_N, _N, _N, _N)),
    ("rspec", 1, "3 examples, 1 failure, 1 pending\n\nrspec ./a_spec.rb:4 # A adds\n", "failed", (_N, 1, _N, 1)),
    ("rspec", 0, "3 examples, 0 failures\n", "passed", (_N, 0, _N, _N)),
    ("phpunit", 0, "OK (3 tests, 5 assertions)\n", "passed", (_N, _N, _N, _N)),
    ("phpunit", 1, "FAILURES!\nTests: 3, Assertions: 5, Failures: 1.\n", "failed", (_N, 1, _N, _N)),
    ("minitest", 1, "5 runs, 6 assertions, 1 failures, 0 errors, 2 skips\n", "failed", (_N, 1, 0, 2)),
    ("ctest", 8, "67% tests passed, 1 tests failed out of 3\n", "failed", (_N, 1, _N, _N)),
    ("mypy", 0, "Success: no issues found in 3 source files\n", "passed", (_N, _N, _N, _N)),
    (
        "mypy",
        1,
        "a.py:3: error: Incompatible types  [assignment]\nFound 1 error in 1 file (checked 3 source files)\n",
        "failed",
        (_N, _N, 1, _N),
    ),
    ("mypy", _N, "a.py:3:5: error: Incompatible types  [assignment]\n", "failed", (_N, _N, _N, _N)),
    ("pyright", 0, "0 errors, 1 warning, 0 informations \n", "passed", (_N, _N, 0, _N)),
    (
        "pyright",
        1,
        "  /a/b.py:3:5 - error: no (reportX)\n1 error, 0 warnings, 0 informations \n",
        "failed",
        (_N, _N, 1, _N),
    ),
    ("pyright", 3, "config file could not be read\n", "inconclusive", (_N, _N, _N, _N)),
    ("tsc", 0, "", "passed", (_N, _N, _N, _N)),
    ("tsc", 2, "a.ts(1,7): error TS2322: no\n", "failed", (_N, _N, _N, _N)),
    ("tsc", 1, "a.ts:1:7 - error TS2322: no\n\nFound 1 error in a.ts:1\n", "failed", (_N, _N, 1, _N)),
    ("ruff", 0, "All checks passed!\n", "passed", (_N, _N, _N, _N)),
    ("ruff", 1, "a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n", "failed", (_N, _N, 1, _N)),
    ("ruff", 0, "Found 2 errors (2 fixed, 0 remaining).\n", "passed", (_N, _N, 0, _N)),
    ("ruff", 1, "Found 3 errors (2 fixed, 1 remaining).\n", "failed", (_N, _N, 1, _N)),
    ("ruff", 0, "Found 3 errors.\n", "inconclusive", (_N, _N, 3, _N)),
    (
        "ruff",
        0,
        "warning: No Python files found under the given path(s)\nAll checks passed!\n",
        "inconclusive",
        (_N, _N, _N, _N),
    ),
    ("ruff-format", 1, "Would reformat: a.py\n1 file would be reformatted\n", "failed", (_N, _N, _N, _N)),
    ("black", 0, "All done! ✨\n1 file would be left unchanged.\n", "passed", (_N, _N, _N, _N)),
    ("black", 1, "would reformat a.py\n1 file would be reformatted.\n", "failed", (_N, _N, _N, _N)),
    ("flake8", 1, "a.py:1:1: F401 'os' imported but unused\n", "failed", (_N, _N, _N, _N)),
    (
        "eslint",
        1,
        "/a/b.js\n  3:5  error  'x' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)\n",
        "failed",
        (_N, _N, 1, _N),
    ),
    ("eslint", 0, "✖ 2 problems (0 errors, 2 warnings)\n", "passed", (_N, _N, 0, _N)),
    ("eslint", 2, "Oops! Something went wrong! :(\n", "inconclusive", (_N, _N, _N, _N)),
    ("biome", 0, "Checked 4 files in 23ms. No fixes applied.\n", "passed", (_N, _N, _N, _N)),
    ("biome", 1, "Checked 4 files in 23ms. No fixes applied.\nFound 2 errors.\n", "failed", (_N, _N, 2, _N)),
    (
        "prettier",
        1,
        "Checking formatting...\n[warn] a.js\n[warn] Code style issues found in the above file.\n",
        "failed",
        (_N,) * 4,
    ),
    ("golangci-lint", 1, "a.go:3:2: unused (unused)\n1 issues:\n* unused: 1\n", "failed", (_N, _N, 1, _N)),
    ("golangci-lint", 3, "can't load config\n", "inconclusive", (_N, _N, _N, _N)),
    (
        "pre-commit",
        1,
        "ruff.....................Passed\nmypy.....................Failed\nx....(no files to check)Skipped\n",
        "failed",
        (1, 1, _N, 1),
    ),
    (
        "cargo-build",
        101,
        "error[E0425]: no\n --> src/a.rs:3:5\nerror: could not compile `a` (lib) due to 2 previous errors\n",
        "failed",
        (_N, _N, 2, _N),
    ),
    ("cargo-build", 0, "    Finished `dev` profile in 0.1s\n", "passed", (_N, _N, _N, _N)),
    ("go-build", 1, "# a\n./a.go:3:2: undefined: x\n", "failed", (_N, _N, _N, _N)),
    ("cc", 1, "a.c:3:5: error: 'x' undeclared\n", "failed", (_N, _N, _N, _N)),
    ("bundler", 0, "✓ built in 1.20s\n", "passed", (_N, _N, _N, _N)),
    ("python-build", 0, "Successfully built a-1.tar.gz and a-1.whl\n", "passed", (_N, _N, _N, _N)),
]


@pytest.mark.parametrize(("tool", "code", "text", "verdict", "counts"), CASES)
def test_a_verdict_with_the_counts_that_were_said(
    tool: str, code: int | None, text: str, verdict: str, counts: tuple[int | None, ...]
) -> None:
    outcome = read_output(tool, text, code)
    assert outcome.verdict.value == verdict, outcome
    assert (outcome.passed, outcome.failed, outcome.errors, outcome.skipped) == counts
    assert outcome.reason


def test_every_reader_has_a_shape_here() -> None:
    seen = {tool for tool, *_ in CASES} | {"maven-test", "maven-build", "gradle-test", "gradle-build"}
    assert set(READERS) - seen <= {
        "isort",
        "pylint",
        "shellcheck",
        "import-linter",
        "rubocop",
        "dotnet-build",
        "mix-compile",
    }


@pytest.mark.parametrize(
    ("tool", "text", "failing", "errors"),
    [
        (
            "pytest",
            "    def test_a():\n>       assert 1 == 2\nE       assert 1 == 2\n\ntests/test_a.py:2: AssertionError\n"
            "FAILED tests/test_a.py::test_a[x y] - assert 1 == 2\nERROR tests/test_b.py - NameError: no\n",
            ("tests/test_a.py::test_a[x y]", "tests/test_b.py"),
            [("tests/test_a.py", 2, "assert 1 == 2")],
        ),
        (
            "pytest",
            "tests/test_a.py:2: in test_a\n    f()\nE   ValueError: no\n",
            (),
            [("tests/test_a.py", 2, "ValueError: no")],
        ),
        (
            "unittest",
            "FAIL: test_a (t.T.test_a)\n-----\nTraceback (most recent call last):\n"
            '  File "/p/t.py", line 4, in test_a\n    self.fail()\nAssertionError: None\n',
            ("test_a (t.T.test_a)",),
            [("/p/t.py", 4, "AssertionError: None")],
        ),
        (
            "jest",
            "  ● sum \u203a adds\n\n    expect(received).toBe(expected)\n\n      at Object (sum.test.js:4:21)\n",
            ("sum \u203a adds",),
            [("sum.test.js", 4, "sum \u203a adds")],
        ),
        ("tsc", "src/a.ts(3,7): error TS2322: Type 'x'.\n", (), [("src/a.ts", 3, "TS2322: Type 'x'.")]),
        ("go-test", "--- FAIL: TestA/b (0.00s)\n    a_test.go:7: got 1\n", ("TestA/b",), [("a_test.go", 7, "got 1")]),
        (
            "cargo-test",
            "test a::b ... FAILED\nthread 'a::b' panicked at src/lib.rs:9:5:\nassertion failed: x\n",
            ("a::b",),
            [("src/lib.rs", 9, "assertion failed: x")],
        ),
        ("ruff", "F401 [*] `os` imported\n --> a.py:1:8\n", (), [("a.py", 1, "F401 [*] `os` imported")]),
        (
            "exunit",
            "  1) test adds (A.Test)\n     test/a_test.exs:5\n",
            ("test adds (A.Test)",),
            [("test/a_test.exs", 5, "test adds (A.Test)")],
        ),
    ],
)
def test_names_and_places_of_what_failed(
    tool: str, text: str, failing: tuple[str, ...], errors: list[tuple[str, int, str]]
) -> None:
    outcome = read_output(tool, text)
    assert outcome.failing == failing
    assert [tuple(one) for one in outcome.error_lines] == errors


def test_names_and_lines_are_capped_and_counts_are_not() -> None:
    text = "".join(f"FAILED t.py::test_{number} - no\n" for number in range(500)) + "=== 500 failed in 1.0s ===\n"
    outcome = read_output("pytest", text)
    assert (len(outcome.failing), outcome.failed) == (50, 500)


@pytest.mark.parametrize(
    ("kind", "code", "text", "verdict"),
    [
        ("test", 0, "> x@1.0.0 test\n> vitest\n Test Files  1 passed (1)\n      Tests  3 passed (3)\n", "passed"),
        ("test", 0, "> x@1.0.0 test\n> node run.js\n", "inconclusive"),
        (
            "test",
            2,
            "python -m pytest\n== 1 failed, 2 passed in 0.1s ==\nmake: *** [Makefile:3: test] Error 1\n",
            "failed",
        ),
        ("test", None, "make: *** [Makefile:3: test] Error 1\n", "failed"),
        ("test", 2, "make: *** No rule to make target 'test'.  Stop.\n", "failed"),
        ("types", 0, "> typecheck\n> tsc -b\n", "passed"),
        ("types", 2, "> tsc -b\na.ts(3,7): error TS2322: no\n", "failed"),
        ("lint", None, "0 issues.\nFAIL\ta/b\t1.7s\nFAIL\n", "inconclusive"),
        ("build", 1, 'npm error Missing script: "build"\n', "inconclusive"),
        ("build", 0, "a.c:3:5: error: no\nmake: [Makefile:2: all] Error 1 (ignored)\n", "inconclusive"),
    ],
)
def test_a_task_is_read_as_the_tools_that_spoke(kind: str, code: int | None, text: str, verdict: str) -> None:
    outcome = read_output("make", text, code, kind=CheckKind(kind))
    assert outcome.verdict.value == verdict, outcome
