"""The tools that are installed run on small projects, and what they really print is read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ledgerkit.extract.verifiers import Outcome, read_check, recognise

Check = Callable[[str], Outcome]
TESTS = """
import pytest
def test_good(): pass
def test_bad(): assert 1 == 2
@pytest.mark.skip
def test_skipped(): pass
@pytest.fixture
def broken(): raise ValueError("no")
def test_error(broken): pass
"""
CASES = """
import unittest
class Cases(unittest.TestCase):
    def test_good(self): pass
    def test_bad(self): self.assertEqual(1, 2)
    def test_error(self): raise ValueError("no")
    @unittest.skip("later")
    def test_skipped(self): pass
"""


@pytest.fixture
def check(tmp_path: Path) -> Check:
    def run(line: str) -> Outcome:
        python = f"{sys.executable} -m"
        real = line.replace("pytest", f"{python} pytest -p no:cacheprovider").replace("ruff", f"{python} ruff")
        real = real.replace("python -m unittest", f"{python} unittest").replace("pyright", f"{python} pyright")
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(
            ["bash", "-c", real], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        (found,) = recognise(line)
        return read_check(found, done.stdout + done.stderr, done.returncode)

    return run


@pytest.mark.parametrize("options", ["", " -q --tb=line", " -v --tb=short", " --color=yes"])
def test_pytest_with_failures(check: Check, tmp_path: Path, options: str) -> None:
    (tmp_path / "test_a.py").write_text(TESTS)
    outcome = check(f"pytest{options}")
    assert (outcome.verdict.value, outcome.passed, outcome.failed, outcome.errors, outcome.skipped) == (
        "failed",
        1,
        1,
        1,
        1,
    )
    assert {"test_a.py::test_bad", "test_a.py::test_error"} <= set(outcome.failing)
    assert ("test_a.py", 4) in {(Path(one.path).name, one.line) for one in outcome.error_lines}


@pytest.mark.slow
def test_pytest_in_its_other_moods(check: Check, tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(TESTS)
    good = check("pytest -k good")
    assert (good.verdict.value, good.passed, good.failed) == ("passed", 1, None)
    assert check("pytest -qq -k good").verdict.value == "passed"
    assert check("pytest -k nothing").verdict.value == "inconclusive"
    assert check("pytest nowhere.py").verdict.value == "inconclusive"
    assert check("pytest --no-such-option").verdict.value == "inconclusive"
    assert check("pytest -q -k skipped").reason == "nothing was checked"
    piped = check("pytest -k good | tail -1")
    assert (piped.verdict.value, piped.passed) == ("inconclusive", 1)
    assert check("pytest | tail -3").verdict.value == "failed"
    assert check("pytest | wc -l").verdict.value == "inconclusive"
    assert check('pytest -q; echo "exit: $?"').verdict.value == "failed"
    assert check('pytest -q -k good; echo "exit: $?"').verdict.value == "passed"
    (tmp_path / "test_b.py").write_text("import no_such_module\n")
    broken = check("pytest")
    assert (broken.verdict.value, broken.errors, broken.failing) == ("failed", 1, ("test_b.py",))


def test_unittest(check: Check, tmp_path: Path) -> None:
    (tmp_path / "test_c.py").write_text(CASES)
    outcome = check("python -m unittest")
    assert (outcome.verdict.value, outcome.failed, outcome.errors, outcome.skipped) == ("failed", 1, 1, 1)
    assert len(outcome.failing) == 2
    assert {one.line for one in outcome.error_lines} == {5, 6}
    good = check("python -m unittest test_c.Cases.test_good")
    assert (good.verdict.value, good.passed) == ("passed", 1)
    (tmp_path / "empty").mkdir()
    assert check("python -m unittest discover -s empty").verdict.value == "inconclusive"


@pytest.mark.parametrize("form", ["full", "concise"])
def test_ruff(check: Check, tmp_path: Path, form: str) -> None:
    path = tmp_path / "a.py"
    path.write_text("import os\nx = 1\n")
    outcome = check(f"ruff check --isolated --select F --output-format {form} .")
    assert (outcome.verdict.value, outcome.errors) == ("failed", 1)
    assert [(one.path, one.line, one.message[:4]) for one in outcome.error_lines] == [("a.py", 1, "F401")]
    assert check("ruff check --isolated --select F --exit-zero .").verdict.value == "inconclusive"
    assert check("ruff check --isolated --select F --fix .").verdict.value == "passed"
    path.write_text("x  = 1\n")
    assert check("ruff format --isolated --check .").failing == ("a.py",)
    assert check("ruff format --isolated --check --output-format concise .").failing == ("a.py",)
    assert check("ruff check --isolated --select F .").verdict.value == "passed"
    assert check("ruff check --isolated --select F nowhere.py").verdict.value != "passed"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make(check: Check, tmp_path: Path) -> None:
    (tmp_path / "test_c.py").write_text(CASES)
    lines = [f"test:\n\t{sys.executable} -m unittest", "all:\n\ttrue", "silent-test:\n\ttrue"]
    (tmp_path / "Makefile").write_text("\n".join(lines) + "\n")
    outcome = check("make test")
    assert (outcome.verdict.value, outcome.failed, outcome.errors) == ("failed", 1, 1)
    assert check("make test | tail -1").verdict.value == "failed"
    assert check("make all").verdict.value == "passed"
    assert check("make silent-test").verdict.value == "inconclusive"


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_node(check: Check, tmp_path: Path) -> None:
    (tmp_path / "a.test.mjs").write_text(
        "import test from 'node:test';\nimport assert from 'node:assert';\n"
        "test('good', () => {});\ntest('bad', () => assert.equal(1, 2));\n"
    )
    outcome = check("node --test")
    assert (outcome.verdict.value, outcome.passed, outcome.failed) == ("failed", 1, 1)


@pytest.mark.slow
def test_pyright(check: Check, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x: int = 'a'\n")
    outcome = check("pyright")
    assert (outcome.verdict.value, outcome.errors, len(outcome.error_lines)) == ("failed", 1, 1)
    (tmp_path / "a.py").write_text("x: int = 1\n")
    assert check("pyright").verdict.value == "passed"
