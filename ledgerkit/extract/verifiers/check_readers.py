"""What linters, type checkers, compilers and build tools print."""

from __future__ import annotations

from typing import Final

from ledgerkit.extract.verifiers.compiled_suites import SUITES
from ledgerkit.extract.verifiers.model import CheckKind
from ledgerkit.extract.verifiers.readers import Reader

_B, _L, _Y = CheckKind.BUILD, CheckKind.LINT, CheckKind.TYPES
_ERRORS: Final = {"error": "errors", "errors": "errors"}
_PLACE: Final = r"^(?P<path>[^\s:][^\n:]*):(?P<line>\d+):"
_RUST: Final = r"^error(?:\[E\d+\]|\[?[\w:]*\]?): (?P<message>.+)\n[ \t]*--> (?P<path>[^\s:]+):(?P<line>\d+):\d+"
_GO: Final = r"^(?:vet: )?(?P<path>[\w./-]+\.go):(?P<line>\d+):\d+: (?P<message>.+)$"
_MAVEN, _GRADLE = SUITES["maven-test"], SUITES["gradle-test"]

CHECK_READERS: Final = {
    # mypy.readthedocs.io/en/stable/command_line.html: "Found 2 errors in 1 file (checked 3 source files)".
    "mypy": Reader(
        _Y,
        summary=r"^Found \d+ errors? in \d+ files?.*$",
        fields=_ERRORS,
        passed=r"^Success: no issues found in \d+ source files?",
        nothing=r"There are no \.py\[i\] files|^mypy: (?:error|can't read)",
        errors=(r"^(?P<path>[^\s:][^\n:]*\.pyi?):(?P<line>\d+):(?:\d+:)? error: (?P<message>.+)$",),
    ),
    # microsoft.github.io/pyright/#/command-line: "1 error, 0 warnings, 0 informations".
    "pyright": Reader(
        _Y,
        summary=r"^\d+ errors?, \d+ warnings?, .*$",
        fields=_ERRORS,
        nothing=r"^No (?:source|configuration) files? found",
        errors=(r"^[ \t]*(?P<path>/?[^\s:][^\n:]*):(?P<line>\d+):\d+ - error: (?P<message>.+)$",),
        unfinished=frozenset({2, 3, 4}),
    ),
    # typescriptlang.org/docs/handbook/compiler-options.html; silent if all is well, unless --watch or --pretty.
    "tsc": Reader(
        _Y,
        summary=r"^Found \d+ errors?(?: in .*)?\.?$",
        fields=_ERRORS,
        nothing=r"^error TS(?:18003|5\d{3}|6053)",
        failed=r"^error TS(?!18003|5\d{3}|6053)\d+:",
        errors=(
            r"^(?P<path>[^\s(][^\n(]*)\((?P<line>\d+),\d+\): error (?P<message>TS\d+: .+)$",
            r"^(?P<path>[^\s:][^\n:]*):(?P<line>\d+):\d+ - error (?P<message>TS\d+: .+)$",
        ),
        zero_is_enough=True,
    ),
    # docs.astral.sh/ruff/linter/#exit-codes: "Found 3 errors.", "(1 fixed, 2 remaining)", "All checks passed!".
    "ruff": Reader(
        _L,
        summary=r"^Found \d+ errors?(?: \(.*remaining\))?\.$",
        count=r"(?:\(\d+ fixed, (?P<n>\d+) (?P<word>remaining)|^Found (?P<n_>\d+) (?P<word_>errors?)\.)",
        fields={**_ERRORS, "remaining": "errors"},
        passed=r"^All checks passed!|^Found \d+ errors? \(\d+ fixed, 0 remaining\)",
        nothing=r"^warning: (?:No Python files found|Failed to (?:lint|format) .*No such file)",
        errors=(
            _PLACE + r"\d+: (?P<message>(?:[A-Z]+\d+|SyntaxError:|invalid-syntax:).*)$",
            r"^(?P<message>(?:[A-Z]+\d+|invalid-syntax:?) .+)\n[ \t]*--> (?P<path>[^\s:]+):(?P<line>\d+):\d+",
        ),
        unfinished=frozenset({2}),
        zero_is_enough=True,
    ),
    "ruff-format": Reader(
        _L,
        summary=r"^\d+ files? (?:would be reformatted|already formatted).*$",
        failed=r"^Would reformat: |\d+ files? would be reformatted",
        failing=(
            r"^(?:Would reformat: |unformatted: .+\n[ \t]*--> )(?P<name>[^\n:]+)"
            r"|^(?P<name_>[^\s:][^\n:]*):\d+:\d+: unformatted:"
        ),
        nothing=r"^warning: (?:No Python files found|Failed to (?:lint|format) .*No such file)",
        unfinished=frozenset({2}),
        zero_is_enough=True,
    ),
    # black.readthedocs.io: "1 file would be reformatted, 2 files would be left unchanged."
    "black": Reader(
        _L,
        summary=r"^(?:\d+ files? would be .*|All done!.*)$",
        failed=r"^would reformat |\d+ files? would (?:be reformatted|fail)",
        failing=r"^(?:would reformat|error: cannot format) (?P<name>[^\n:]+)",
        nothing=r"^No Python files are present|^No Path provided",
        unfinished=frozenset({123}),
        zero_is_enough=True,
    ),
    "isort": Reader(_L, failing=r"^ERROR: (?P<name>.+?) Imports are incorrectly sorted", zero_is_enough=True),
    # flake8.pycqa.org, default format "path:row:col: code text".
    "flake8": Reader(_L, errors=(_PLACE + r"\d+: (?P<message>[A-Z]+\d+ .+)$",), zero_is_enough=True),
    # pylint.readthedocs.io: exit code is a bit field, 32 is a usage error.
    "pylint": Reader(
        _L,
        summary=r"^Your code has been rated at .*$",
        errors=(_PLACE + r"\d+: (?P<message>[EF]\d{4}: .+)$",),
        unfinished=frozenset({32}),
        zero_is_enough=True,
    ),
    # eslint.org/docs/latest/use/formatters (stylish): "✖ 2 problems (1 error, 1 warning)"; exit code 2 is a crash.
    "eslint": Reader(
        _L,
        summary=r"^✖ \d+ problems? \(.*\)$",
        fields=_ERRORS,
        passed=r"^✖ \d+ problems? \(0 errors, |No ESLint warnings or errors",
        failed=r"^ESLint found too many warnings",
        nothing=r"^No files matching|all of the files matching the glob pattern",
        errors=(r"^[ \t]+(?P<line>\d+):\d+\s+error\s+(?P<message>\S.*?)\s*$",),
        unfinished=frozenset({2}),
        zero_is_enough=True,
    ),
    # biomejs.dev/reference/cli: "Checked 4 files in 23ms. No fixes applied.", "Found 2 errors."
    "biome": Reader(
        _L,
        summary=r"^Found \d+ errors?\.$",
        fields=_ERRORS,
        passed=r"^Checked [1-9]\d* files? in (?![\s\S]*^Found \d+ errors?)",
        failed=r"Some errors were emitted",
        nothing=r"^Checked 0 files|No files were processed",
        errors=(r"^(?P<path>[^\s:][^\n:]*):(?P<line>\d+):\d+ (?P<message>(?:lint|syntax|assist|parse|format)\S*).*━",),
        zero_is_enough=True,
    ),
    # prettier.io/docs/cli#--check.
    "prettier": Reader(
        _L,
        summary=r"^All matched files use Prettier code style!",
        failed=r"^\[warn\] Code style issues",
        failing=r"^\[(?:warn|error)\] (?P<name>(?!Code style issues)\S+\.\w+)(?:: |$)",
        nothing=r"No files matching the pattern|No files matching the given",
        unfinished=frozenset({2}),
        zero_is_enough=True,
    ),
    # golangci-lint.run: "0 issues." (v2), silence (v1); exit code 1 is issues, others are errors of the run.
    "golangci-lint": Reader(
        _L,
        summary=r"^[1-9]\d* issues[:.]",
        count=r"(?P<n>\d+) (?P<word>issues)",
        fields={"issues": "errors"},
        passed=r"^0 issues\.",
        nothing=r"no go files to analyze",
        errors=(_PLACE + r"\d+: (?P<message>.+\(\w[\w, -]*\))$",),
        unfinished=frozenset({2, 3, 4, 5, 6, 7}),
        zero_is_enough=True,
    ),
    "shellcheck": Reader(_L, errors=(r"^In (?P<path>.+) line (?P<line>\d+):\n(?P<message>.*)",), zero_is_enough=True),
    # pre-commit.com: "ruff....Passed" / "Failed" / "Skipped", one line a hook.
    "pre-commit": Reader(
        _L,
        summary=r"^\S.{0,150}?\.{3,150}(?:\(.{0,80}\))?(?:Passed|Failed|Skipped)$",
        count=r"(?P<word>Passed|Failed|Skipped)$",
        fields={"passed": "passed", "failed": "failed", "skipped": "skipped"},
        failing=r"^(?P<name>\S.{0,150}?)\.{3,150}(?:\(.{0,80}\))?Failed$",
        is_summed=True,
    ),
    # import-linter.readthedocs.io: "Contracts: 3 kept, 1 broken."
    "import-linter": Reader(
        _L,
        summary=r"^Contracts: .*$",
        fields={"kept": "passed", "broken": "failed"},
        failing=r"^(?P<name>\S.*) BROKEN$",
        zero_is_enough=True,
    ),
    # docs.rubocop.org: "3 files inspected, 1 offense detected".
    "rubocop": Reader(
        _L,
        summary=r"^\d+ files? inspected, .*$",
        fields={"offense": "errors", "offenses": "errors"},
        nothing=r"^0 files inspected",
        errors=(_PLACE + r"\d+: (?P<message>[CWEF]: .+)$",),
        zero_is_enough=True,
    ),
    # doc.rust-lang.org/rustc/json.html: "could not compile `x` (lib) due to 2 previous errors".
    "cargo-build": Reader(
        _B,
        summary=r"^error: could not compile .* due to (?:\d+ )?previous errors?.*$",
        count=r"(?P<n>\d+) previous (?P<word>errors?)",
        fields=_ERRORS,
        passed=r"^[ \t]*Finished ",
        failed=r"^error: could not compile|^error\[E\d+\]: |^error: .+\n[ \t]*--> ",
        errors=(_RUST,),
        zero_is_enough=True,
    ),
    # pkg.go.dev/cmd/go: silent if all is well.
    "go-build": Reader(
        _B,
        failed=r"^# \S+\n(?:\S+\.go:\d+|ld:)|^\S+\.go:\d+:\d+: |^vet: ",
        nothing=r"matched no packages|^no Go files in",
        errors=(_GO,),
        zero_is_enough=True,
    ),
    "maven-build": Reader(_B, passed=_MAVEN.passed, failed=_MAVEN.failed, errors=_MAVEN.errors, zero_is_enough=True),
    "gradle-build": Reader(
        _B, passed=_GRADLE.passed, failed=_GRADLE.failed, errors=_GRADLE.errors, zero_is_enough=True
    ),
    "dotnet-build": Reader(
        _B,
        summary=r"^[ \t]*\d+ Error\(s\)",
        count=r"(?P<n>\d+) (?P<word>Error)\(s\)",
        fields=_ERRORS,
        passed=r"^Build succeeded",
        failed=r"^Build FAILED",
        errors=SUITES["dotnet-test"].errors,
        zero_is_enough=True,
    ),
    # gcc.gnu.org/onlinedocs/gcc/Diagnostic-Message-Formatting-Options.html; ninja; the linker.
    "cc": Reader(
        _B,
        failed=(
            r"^ninja: build stopped|^collect2: error|^\S*ld(?:\.\w+)?: .*(?:undefined|cannot find)|^FAILED: "
            r"|^\S+:\d+:\d+: (?:fatal )?error: "
        ),
        errors=(_PLACE + r"(?:\d+:)? (?:fatal )?error: (?P<message>.+)$",),
        zero_is_enough=True,
    ),
    # vite.dev, nextjs.org, webpack.js.org.
    "bundler": Reader(
        _B,
        passed=(
            r"✓ built in |^webpack .* compiled successfully"
            r"|✓ Compiled successfully(?![\s\S]*(?:Failed to compile|Type error))"
        ),
        failed=(
            r"^(?:x|✗) Build failed|error during build:|^Failed to compile|> Build (?:error|failed)"
            r"|compiled with \d+ errors?|^Build failed"
        ),
        errors=(
            r"^(?:\./)?(?P<path>[\w./@-]+\.[cm]?[jt]sx?):(?P<line>\d+):\d+\n(?P<message>(?:Type e|E|Module|Syntax).+)",
            r"^ERROR in (?P<path>[^\s:]+)(?::(?P<line>\d+):\d+)?.*\n(?P<message>.+)",
        ),
        zero_is_enough=True,
    ),
    "python-build": Reader(
        _B, passed=r"^Successfully built \S", failed=r"^ERROR (?:Backend|Failed|Missing)", zero_is_enough=True
    ),
    "mix-compile": Reader(
        _B,
        failed=r"^== Compilation error|^\*\* \(\w*Error\)|Compilation failed due to warnings",
        errors=(
            r"^\*\* \(\w+\) (?P<path>\S+\.exs?):(?P<line>\d+):(?:\d+:)? (?P<message>.+)$",
            r"^[ \t]*error: (?P<message>.+)\n(?:.*\n){1,8}?\s*└─ (?P<path>[^\s:]+):(?P<line>\d+)",
        ),
        zero_is_enough=True,
    ),
}
"""By tool. The comment names where the format is described."""
