"""The programs that are checks: one entry a tool. Data only.

A tool is recognised by its program and, where it has subcommands, by the word or two that follow; ``-m x`` is
the module ``x`` of Python. Options are those of each tool's ``--help``.
"""

from __future__ import annotations

from typing import Final

from ledgerkit.extract.verifiers.model import CheckKind
from ledgerkit.extract.verifiers.programs import Program

_T, _B, _L, _Y = CheckKind.TEST, CheckKind.BUILD, CheckKind.LINT, CheckKind.TYPES

_JS_TAKES: Final = (
    "-t --testNamePattern --config -c --project --reporter --testPathPattern --maxWorkers -w --grep --testTimeout "
    "--pool --environment --dir --root"
)
_JS_SELECTS: Final = (
    "-t --testNamePattern --testPathPattern --project --grep --changed --onlyChanged -o --bail --findRelatedTests"
)
_GO: Final = (
    "-run -skip -count -timeout -tags -bench -p -parallel -coverprofile -covermode -o -ldflags -gcflags -mod -shuffle "
    "-benchtime -C --format"
)
_CARGO: Final = (
    "-D -W -A -p --package --features -F --test --bin --example --bench --target --manifest-path --profile -j --jobs "
    "--color --exclude --message-format --target-dir -E --filter-expr"
)
_CARGO_SELECTS: Final = "-p --package --test --bin --lib --bins --doc --example --exclude -E --tests"
_MVN: Final = "-pl --projects -f --file -P -T -s --settings -rf"
_GRADLE: Final = "--tests -p --project-dir -x --exclude-task -c -b --console"

_ENTRIES: Final[tuple[tuple[str, Program], ...]] = (
    (
        "pytest, py.test",
        Program(
            _T,
            "pytest",
            "-k -m -n -c -p -o -W -r --tb --maxfail --rootdir --ignore --cov --cov-report --durations --timeout "
            "--junitxml --deselect --confcutdir --basetemp --log-level --capture --import-mode --dist",
            "-k -m -x --maxfail --deselect --ignore --ignore-glob --lf --last-failed --exitfirst --sw --stepwise",
            "--collect-only --co --fixtures --markers --setup-plan --cache-show",
        ),
    ),
    (
        "-m unittest, manage.py test, django-admin test",
        Program(
            _T,
            "unittest",
            "-k -s -p -t --start-directory --pattern --settings --parallel --tag",
            "-k -s -p -f --failfast --tag --exclude-tag",
        ),
    ),
    ("jest, react-scripts test", Program(_T, "jest", _JS_TAKES, _JS_SELECTS)),
    ("vitest, vitest run, vitest related", Program(_T, "vitest", _JS_TAKES, _JS_SELECTS)),
    (
        "mocha",
        Program(
            _T,
            "mocha",
            "-g --grep -f --fgrep -r --require -R --reporter -t --timeout --config --spec",
            "-g --grep -f --fgrep -b --bail",
        ),
    ),
    ("node --test", Program(_T, "node-test", "--test-name-pattern --import --require -r", "--test-name-pattern")),
    (
        "playwright test",
        Program(
            _T,
            "playwright",
            "-g --grep --project -c --config --workers --reporter",
            "-g --grep --project -x",
            "--list --ui",
        ),
    ),
    ("bun test", Program(_T, "bun-test", "-t --timeout --preload", "-t --bail")),
    ("go test, gotestsum, gotest", Program(_T, "go-test", _GO, "-run -skip -short -tags -failfast", "-list -c")),
    ("cargo test, cargo t", Program(_T, "cargo-test", _CARGO, _CARGO_SELECTS, "--no-run")),
    ("cargo nextest, cargo nextest run", Program(_T, "nextest", _CARGO, _CARGO_SELECTS)),
    ("mvn test", Program(_T, "mvn", _MVN, "-pl --projects -Dtest -Dit.test")),
    ("gradle test", Program(_T, "gradle", _GRADLE, "--tests -x")),
    ("dotnet test", Program(_T, "dotnet-test", "--filter -c --configuration -f --logger -v", "--filter", "-t")),
    ("dotnet build", Program(_B, "dotnet-build", "-c --configuration -f -v -o")),
    (
        "mix test",
        Program(
            _T,
            "exunit",
            "--only --exclude --include --seed --max-failures",
            "--only --exclude --include --stale --failed --max-failures",
        ),
    ),
    ("rspec", Program(_T, "rspec", "-e --example -t --tag -f --format -r -P", "-e --example -t --tag --fail-fast")),
    (
        "phpunit, pest",
        Program(
            _T,
            "phpunit",
            "--filter --group --testsuite -c --configuration",
            "--filter --group --testsuite --stop-on-failure",
        ),
    ),
    ("rails test, rake test", Program(_T, "minitest", "-n --name", "-n --name")),
    ("ctest", Program(_T, "ctest", "-R -E -L -j --test-dir --timeout -C", "-R -E -L --rerun-failed", "-N")),
    ("mypy, dmypy run", Program(_Y, "mypy", "-p -m -c --config-file --python-version --package", "-p -m -c --package")),
    (
        "pyright, basedpyright",
        Program(_Y, "pyright", "-p --project --level --pythonversion", "--level", "--createstub --watch -w"),
    ),
    ("tsc, vue-tsc", Program(_Y, "tsc", "-p --project --module --target --lib --outDir", "-p --project", "-w --watch")),
    ("cargo check", Program(_Y, "cargo-build", _CARGO, _CARGO_SELECTS)),
    ("cargo build, cargo b", Program(_B, "cargo-build", _CARGO, _CARGO_SELECTS)),
    ("cargo clippy", Program(_L, "cargo-build", _CARGO, _CARGO_SELECTS)),
    ("go build, go install", Program(_B, "go-build", _GO, "-tags")),
    ("go vet", Program(_L, "go-build", _GO, "-tags")),
    (
        "ruff check",
        Program(
            _L,
            "ruff",
            "--select --ignore --config --output-format --extend-select",
            "--select --ignore --exit-zero",
            "--show-files --show-settings",
        ),
    ),
    ("ruff format", Program(_L, "ruff-format", "--config", needs="--check --diff")),
    ("black", Program(_L, "black", "-l --line-length --config -t", needs="--check --diff")),
    ("isort", Program(_L, "isort", needs="--check --check-only -c --diff")),
    (
        "flake8",
        Program(_L, "flake8", "--max-line-length --select --ignore --config", "--select --ignore --exit-zero"),
    ),
    ("pylint", Program(_L, "pylint", "--disable --enable --rcfile -d -e", "--disable --enable -E --errors-only -d -e")),
    (
        "eslint",
        Program(
            _L, "eslint", "--ext -c --config --rule --format -f --max-warnings", "--rule --quiet", "--print-config"
        ),
    ),
    ("next lint, react-scripts lint", Program(_L, "eslint")),
    (
        "biome check, biome lint, biome ci",
        Program(_L, "biome", "--max-diagnostics --only --skip", "--only --skip --changed --staged"),
    ),
    ("prettier", Program(_L, "prettier", "--config --ignore-path", needs="--check -c --list-different -l")),
    (
        "golangci-lint run",
        Program(
            _L,
            "golangci-lint",
            "--enable --disable --enable-only -E -D -c --config --timeout",
            "--enable-only --disable-all --enable --disable --new --new-from-rev --issues-exit-code",
        ),
    ),
    ("shellcheck", Program(_L, "shellcheck", "-e -s -f -S", "-e -S")),
    ("pre-commit run", Program(_L, "pre-commit", "--files", "--all-files --files -a")),
    ("lint-imports", Program(_L, "import-linter", "--config")),
    ("rubocop", Program(_L, "rubocop", "--only -c", "--only")),
    ("cmake --build", Program(_B, "cc", "-j --target -t --config --build")),
    ("ninja", Program(_B, "cc", "-C -j")),
    ("gcc, g++, cc, c++, clang, clang++", Program(_B, "cc", "-o -I -L -x -include -MF")),
    (
        "vite build, next build, webpack, react-router build, rollup, nuxt build, astro build",
        Program(_B, "bundler", "-c --config --mode"),
    ),
    ("-m build", Program(_B, "python-build", "-o --outdir")),
    ("mix compile", Program(_B, "mix-compile")),
)
PROGRAMS: Final = {name: program for names, program in _ENTRIES for name in names.split(", ")}
"""By program, and program with its first words."""
