"""Which checks a shell line runs, on what, and whose exit code the line ends with."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit.extract.verifiers import Check, Shown, recognise
from ledgerkit.extract.verifiers.structure import read_line


def only(line: str) -> Check:
    (check,) = recognise(line)
    return check


@pytest.mark.parametrize(
    ("line", "kind", "tool", "scope"),
    [
        ("pytest", "test", "pytest", ""),
        ("cd a && python3 -m pytest -q -k 'a b' tests/x.py::y -x", "test", "pytest", "-k a b tests/x.py::y -x"),
        ("uv run --extra dev pytest --maxfail=1 tests", "test", "pytest", "--maxfail=1 tests"),
        ("poetry run python -m unittest discover -s tests -v", "test", "unittest", "-s tests"),
        ("coverage run -m pytest tests", "test", "pytest", "tests"),
        ("python manage.py test app", "test", "unittest", "app"),
        ("npx -y vitest run src/a.test.ts -t foo", "test", "vitest", "src/a.test.ts -t foo"),
        ("npx jest@29 a.test.js", "test", "jest", "a.test.js"),
        ("node node_modules/.bin/mocha spec", "test", "mocha", "spec"),
        ("node --test", "test", "node-test", ""),
        ("npx playwright test login", "test", "playwright", "login"),
        ("bun test", "test", "bun-test", ""),
        ("npm test", "test", "npm", "test"),
        ("npm run test:unit -- --watch=false", "test", "npm", "test:unit"),
        ("npm --prefix ui run typecheck", "types", "npm", "typecheck"),
        ("pnpm --filter web lint", "lint", "pnpm", "lint"),
        ("yarn workspace app build", "build", "yarn", "build"),
        ("make", "build", "make", ""),
        ("make -C x -j4 test", "test", "make", "test"),
        ("make check CFLAGS=-g", "test", "make", "check"),
        ("just typecheck", "types", "just", "typecheck"),
        ("tox -e py311", "test", "tox", "py311"),
        ("mise run lint", "lint", "mise", "lint"),
        ("cargo +nightly test --workspace foo", "test", "cargo-test", "foo"),
        ("cargo clippy -- -D warnings", "lint", "cargo-build", ""),
        ("cargo nextest run -p a", "test", "nextest", "-p a"),
        ("cargo build --release", "build", "cargo-build", ""),
        ("go test -v -run TestX ./...", "test", "go-test", "-run TestX ./..."),
        ("go vet ./...", "lint", "go-build", "./..."),
        ("mvn -q -pl core test", "test", "mvn", "-pl core test"),
        ("./mvnw package -DskipTests", "build", "mvn", "package"),
        ("./gradlew :app:testDebugUnitTest --tests Foo", "test", "gradle", ":app:testDebugUnitTest --tests Foo"),
        ("tsc --noEmit -p .", "types", "tsc", "-p ."),
        ("mypy --strict src", "types", "mypy", "src"),
        ("basedpyright", "types", "pyright", ""),
        ("ruff check --select E501 .", "lint", "ruff", "--select E501 ."),
        ("uvx ruff@latest check src", "lint", "ruff", "src"),
        ("ruff format --check .", "lint", "ruff-format", "."),
        ("black --check .", "lint", "black", "."),
        ("npx eslint . --ext .ts", "lint", "eslint", "."),
        ("mix test a.exs", "test", "exunit", "a.exs"),
        ("bundle exec rspec spec/a_spec.rb:3", "test", "rspec", "spec/a_spec.rb:3"),
        ("CI=1 sudo -u x env A=1 timeout 60 pytest", "test", "pytest", ""),
        ("bash -lc 'cd x && pytest a'", "test", "pytest", "a"),
        ("git ls-files '*.py' | xargs ruff check", "lint", "ruff", "…"),
        ("cmake --build build -j4", "build", "cc", "build"),
        ("python -m build", "build", "python-build", ""),
    ],
)
def test_a_check_has_a_kind_a_tool_and_a_scope(line: str, kind: str, tool: str, scope: str) -> None:
    check = only(line)
    assert (check.kind.value, check.tool, check.scope) == (kind, tool, scope)


@pytest.mark.parametrize(
    "line",
    [
        "pip install pytest",
        "git commit -m 'pytest passes'",
        "echo pytest",
        "cat pytest.ini | grep ruff",
        "pytest --version",
        "pytest --collect-only",
        "ruff format .",
        "black .",
        "prettier --write .",
        "npm ci",
        "npm install jest",
        "yarn add vitest",
        "npm run dev",
        "make clean",
        "make -n test",
        "go run test",
        "cargo test --no-run",
        "tsc --init",
        "which pytest",
        "python x.py",
        "cat <<EOF > run.sh\npytest\nEOF",
        "ls # pytest",
        "",
    ],
)
def test_what_is_no_check(line: str) -> None:
    assert recognise(line) == ()


@pytest.mark.parametrize(
    ("line", "zero", "failure"),
    [
        ("pytest", True, True),
        ("cd a && pytest", True, True),
        ("cd a; pytest", True, True),
        ("(cd a && pytest)", True, True),
        ("pytest 2>&1", True, True),
        ("pytest && echo ok", True, False),
        ("npm ci && pytest", True, False),
        ("pytest || true", False, True),
        ("pytest || exit 1", False, True),
        ("make x || pytest", False, True),
        ("pytest | tail -5", False, False),
        ("pytest |\n  tail -5", False, False),
        ("(cd a && pytest -x) 2>&1 | tail", False, False),
        ("pytest; echo done", False, False),
        ("pytest\necho done", False, False),
        ("pytest &", False, False),
        ("! pytest", False, False),
        ("x=$(pytest)", False, False),
        ('echo "$(pytest)"', False, False),
        ("if pytest; then echo; fi", False, False),
        ("for f in a b; do pytest $f; done", False, False),
        ("set -o pipefail; pytest | tee log", True, True),
        ("set -euo pipefail\npytest | grep x", True, False),
        ("set -e; pytest; ls", True, False),
        ("bash -c 'pytest | tail'", False, False),
        ("bash -c 'pytest' | tail", False, False),
        ("cat <<EOF > f\n a && b | c\nEOF\npytest", True, True),
    ],
)
def test_whose_exit_code_the_line_ends_with(line: str, zero: bool, failure: bool) -> None:
    check = only(line)
    assert (check.zero_is_own, check.failure_is_own) == (zero, failure)
    assert check.owns_exit_code or check.hidden_by


def test_in_a_chain_zero_is_that_of_all_and_another_code_that_of_one() -> None:
    checks = recognise("ruff check . && mypy . && pytest")
    assert [one.tool for one in checks] == ["ruff", "mypy", "pytest"]
    assert all(one.is_exit_known(0) and not one.is_exit_known(1) and not one.is_exit_known(None) for one in checks)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("pytest", Shown.WHOLE),
        ("pytest 2>/dev/null", Shown.WHOLE),
        ("pytest | tee log", Shown.WHOLE),
        ("pytest | tail -5", Shown.END),
        ("pytest | head -5", Shown.START),
        ("pytest | grep FAILED | tail -1", Shown.SELECTED),
        ("pytest | grep -c FAILED", Shown.CHANGED),
        ("pytest | wc -l", Shown.CHANGED),
        ("pytest > log 2>&1", Shown.NOTHING),
        ("pytest &> log; tail -3 log", Shown.END),
        ("pytest >/dev/null", Shown.NOTHING),
    ],
)
def test_what_of_the_output_is_shown(line: str, shown: Shown) -> None:
    assert only(line).shown is shown


def test_the_same_tool_twice_is_told_apart_by_its_kind() -> None:
    assert [one.is_repeated for one in recognise("pytest a; pytest b")] == [True, True]
    assert [one.is_repeated for one in recognise("npm run lint && npm test")] == [False, False]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "pytest",
                "a",
                "|",
                "||",
                "&&",
                ";",
                "&",
                "\n",
                "(",
                ")",
                "$(",
                "`",
                '"',
                "'",
                "if",
                "fi",
                "{",
                "}",
                "<<E",
                "E",
                "!",
                ">",
                "#",
                "tail",
                "true",
                "set -e",
                "\\",
            ]
        ),
        max_size=14,
    )
)
def test_any_line_has_an_answer(pieces: list[str]) -> None:
    line = " ".join(pieces)
    read_line(line)
    for check in recognise(line):
        assert check.tool == "pytest"


@pytest.mark.long
def test_lines_nested_without_end_are_read_in_bounded_time() -> None:
    recognise("(" * 20_000 + "pytest" + ")" * 20_000)
    recognise("pytest && " * 5_000)
    recognise('"$(' * 2_000 + "pytest")
