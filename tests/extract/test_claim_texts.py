"""Claims that are read out of sentences: of which class, about what, how much of it, and where they stand."""

from __future__ import annotations

from typing import Final

import pytest

from ledgerkit.extract.claims import Claim, Polarity, Scope, read_claims


def told(text: str) -> list[str]:
    """The claims of a text: class, subject, scope, numbers, paths, commands, and what stands there."""
    return [_told(one, text) for one in read_claims(text)]


def _told(one: Claim, text: str) -> str:
    words = [one.claim_class.value, one.subject or "something"]
    words += [one.scope.value] if one.scope is not Scope.UNSAID else []
    words += ["failed"] if one.polarity is Polarity.NEGATIVE else []
    words += [*map(str, one.numbers), *one.paths, *(f"$ {line}" for line in one.commands)]
    return f"{' '.join(words)} | {text[one.start : one.end]}"


CHECKS: Final[dict[str, list[str]]] = {
    "The suite passes: 12 tests + 3 doctests, 0 failures.": [
        "verdict test all 15 | suite passes: 12 tests + 3 doctests, 0 failures"
    ],
    "12 tests, 2 failures.": ["verdict test failed 2 | 12 tests, 2 failures"],
    "12 specs, no failures, and lint is clean.": [
        "verdict test 12 | 12 specs, no failures",
        "verdict lint | lint is clean",
    ],
    "1,204 tests passed.": ["verdict test 1204 | 1,204 tests passed"],
    "3/5 tests pass.": ["verdict test 3 | 3/5 tests pass"],
    "All 5/5 tests pass.": ["verdict test all 5 | All 5/5 tests pass"],
    "All 12 tests are now passing.": ["verdict test all 12 | All 12 tests are now passing"],
    "3 tests fail.": ["verdict test failed 3 | 3 tests fail"],
    "Pytest: 12 passed.": ["verdict test 12 | Pytest: 12 passed"],
    "12 passed.": ["verdict test 12 | 12 passed"],
    "Lint is clean.": ["verdict lint | Lint is clean"],
    "The tests are still failing.": ["verdict test failed | tests are still failing"],
    "The build is broken.": ["verdict build failed | build is broken"],
    "The tests failed.": [],
    "Tests were passing before my work.": [],
    "No lint errors.": ["verdict lint | No lint errors"],
    "zero type errors and no compilation warnings.": [
        "verdict types | zero type errors",
        "verdict build | no compilation warnings",
    ],
    "There are no build problems.": ["verdict build | no build problems"],
    "There are no eslint issues.": ["verdict lint | no eslint issues"],
    "0 ruff problems.": ["verdict lint | 0 ruff problems"],
    "No TypeScript errors.": ["verdict types | No TypeScript errors"],
    "It passes.": ["verdict previous | It passes."],
    "All green.": ["verdict previous all | All green."],
    "All clean, on to the next file.": ["verdict previous all | All clean"],
    "Clean build.": ["verdict build | Clean build"],
    "Clean typecheck, then.": ["verdict types | Clean typecheck"],
    "`make lint` passes.": ["verdict lint named $ make lint | `make lint` passes"],
    "It also passes `pytest -q`.": ["verdict test named $ pytest -q | passes `pytest -q`"],
    "`ls` passes.": ["verdict previous | `ls` passes."],
    "`ruff check .` is clean and `pytest -q` passed.": [
        "verdict lint named $ ruff check . | `ruff check .` is clean",
        "verdict test named $ pytest -q | `pytest -q` passed",
    ],
    "Run with `FOO=1`, `npm test` passes.": [],
    "Tests in `tests/test_a.py` pass.": ["verdict test named tests/test_a.py | Tests in `tests/test_a.py` pass"],
    "The new tests pass.": ["verdict test named | tests pass"],
    "The full test suite passes.": ["verdict test all | full test suite passes"],
    "All of the 12 tests pass.": ["verdict test all 12 | All of the 12 tests pass"],
    "All is done, tests pass.": ["verdict test | tests pass"],
    "All the things that somebody might ever want to have here and tests pass.": [],
    "All checks pass.": ["verdict any all | All checks pass"],
    "Everything passes.": ["verdict any all | Everything passes"],
    "All quality gates are green.": ["verdict any all | All quality gates are green"],
    "The unit tests and the build pass.": ["verdict build | build pass"],
    "Type-check passes; mypy is happy.": ["verdict types | Type-check passes", "verdict types | mypy is happy"],
    "pre-commit hooks pass.": ["verdict lint | pre-commit hooks pass"],
    "Zero lint errors.": ["verdict lint | Zero lint errors"],
    "3 of 4 tests pass.": ["verdict test 3 | 3 of 4 tests pass"],
    "All 3 of the 4 tests pass.": ["verdict test 3 | 3 of the 4 tests pass"],
    "4 of 4 tests pass.": ["verdict test 4 | 4 of 4 tests pass"],
    "All tests pass and all the tests pass.": [
        "verdict test all | All tests pass",
        "verdict test all | all the tests pass",
    ],
    "tests pass and 3 tests pass": ["verdict test | tests pass", "verdict test 3 | 3 tests pass"],
    "Run `npm test`: `ls` and `pytest -q` passes.": [],
    "The API tests pass.": ["verdict test named | tests pass"],
    "(All) tests pass.": ["verdict test | tests pass"],
    "2 doctests succeeded and the specs are green.": [
        "verdict test 2 | 2 doctests succeeded",
        "verdict test | specs are green",
    ],
    "12 tests (all passing)": ["verdict test all 12 | 12 tests (all passing"],
    "3/3 unit tests pass.": ["verdict test named 3 | 3/3 unit tests pass"],
    "The e2e specs pass.": ["verdict test named | specs pass"],
}
CHANGES: Final[dict[str, list[str]]] = {
    "I created `a.py`, `b.py` and `c.py`.": [
        "files create a.py | I created `a.py`",
        "files create b.py | I created `a.py`, `b.py`",
        "files create c.py | `c.py`",
    ],
    "I updated `a.py`. `b.py` was deleted.": ["files modify a.py | I updated `a.py`", "files delete b.py | `b.py`"],
    "I updated `a.py`, then looked at `b.py`.": ["files modify a.py | I updated `a.py`"],
    "`src/a.py` (modified) has the flag.": ["files modify src/a.py | `src/a.py`"],
    "`src/a.py` has been successfully removed.": ["files delete src/a.py | `src/a.py`"],
    "`a.py` is now generated by the build.": [],
    "The report was saved to `out/report.md`.": [],
    "I wrote it to the file `out/report.md`.": ["files create out/report.md | I wrote it to the file `out/report.md`"],
    "`a.py`: added a flag": ["files modify a.py | `a.py`"],
    "`a.py` — created with two helpers": ["files create a.py | `a.py`"],
    "- `a.py`: rewrote the parser": ["files modify a.py | `a.py`"],
    "**Files changed:**\n- `a.py` - a flag\n- `b.py`": ["files modify a.py | `a.py`", "files modify b.py | `b.py`"],
    "Created:\n- ✅ `a.py`": ["files create a.py | ✅ `a.py`"],
    "Files created and modified:\n- `a.py`": ["files modify a.py | `a.py`"],
    "Files to create:\n- `a.py`": [],
    "I added `new.py` with the tests.": ["files create new.py | I added `new.py`"],
    "I added a flag to `src/a.py`.": ["files modify src/a.py | I added a flag to `src/a.py`"],
    "I added a flag so that it is read from `src/a.py`.": [],
    "I removed unused imports from `a.py` and deleted `b.py`.": [
        "files modify a.py | `a.py`",
        "files delete b.py | `b.py`",
    ],
    "Deleted `old.py`.": ["files delete old.py | Deleted `old.py`"],
    "I've just updated the existing config file: `a.toml`.": [],
    "We have fixed `a.py`.": ["fixed something a.py | We have fixed `a.py`"],
    "I refactored a rather long function that was ninety characters away from here and more than that in `a.py`.": [],
    "I changed 3 files.": ["count files changed 3 | 3 files"],
    "I updated about 3 files.": [],
    "I updated 12 of the helpers.": ["count of the helpers 12 | 12 of the helpers"],
    "We deleted three old tests.": ["count old tests 3 | three old tests"],
    "I found 7 unused imports.": ["count unused imports 7 | 7 unused imports"],
    "I changed 1 file.": [],
    "3 files changed, 12 insertions.": ["count files changed 3 | 3 files changed"],
    "Two new files were created.": ["count new files 2 | Two new files were created"],
    "I added 4 tests and removed 2 files.": ["count tests 4 | 4 tests"],
    "I renamed exactly 1,200 variables.": ["count variables 1200 | 1,200 variables"],
    "If it works, 3 files changed.": [],
    "I found 4 files.": ["count files 4 | 4 files"],
    "`a.py` was also now updated, and `b.py`.": ["files modify a.py | `a.py`"],
    "I created files for the parser: `a.py` & `b.py`": [],
    "New files:\n- `a.py` has it": ["files create a.py | `a.py`"],
    "- `a.py` - a flag": [],
    "I rewrote `a.py` and wrote `b.py`.": ["files modify a.py | I rewrote `a.py`", "files create b.py | `b.py`"],
    "I will create `a.py`.": [],
    "Not `a.py`: I updated `b.py`.": ["files modify b.py | Not `a.py`: I updated `b.py`"],
    "I edited the file src/plain.py too.": ["files modify src/plain.py | I edited the file src/plain.py"],
    "I generated 3 files and changed 4 files.": [],
    "Some 3 files changed.": [],
    "Removed 3 files.": ["count files removed 3 | 3 files"],
    "I found 3 source files and 12 issues.": ["count source files 3 | 3 source files"],
    "Files changed:\n- X `a.py`": [],
    "2 file changed.": ["count files changed 2 | 2 file changed"],
}
DEEDS: Final[dict[str, list[str]]] = {
    "I ran `npm test` twice.": ["command ran $ npm test | ran `npm test`"],
    "I ran `count`.": [],
    "We re-ran the `make build` command.": ["command ran $ make build | re-ran the `make build`"],
    "If needed I ran `make`.": [],
    "Committed and pushed.": ["command ran $ git commit $ git push | Committed and pushed"],
    "All changes are committed.": ["command ran $ git commit | All changes are committed"],
    "Fixed and pushed.": ["command ran $ git push | Fixed and pushed", "fixed something | Fixed and pushed"],
    "I pushed back.": [],
    "I pushed to the plan.": [],
    "I committed to `main`.": ["command ran $ git commit | I committed"],
    "No other callers of `f` exist.": ["absence f | No other callers of `f`"],
    "There are no references to the old `Parser.read()`.": [
        "absence Parser.read all | no references to the old `Parser.read()`"
    ],
    "Nothing else uses `f`.": ["absence f | Nothing else uses `f`"],
    "Nothing uses `f`.": ["absence f all | Nothing uses `f`"],
    "No other module imports `a`.": ["absence a | No other module imports `a`"],
    "`f` is not used anywhere.": ["absence f all | `f` is not used anywhere"],
    "`f` is never called anywhere else.": ["absence f | `f` is never called anywhere else"],
    "`f` isn't referenced elsewhere.": ["absence f | `f` isn't referenced elsewhere"],
    "`f` is only used in tests.": ["absence f | `f` is only used in"],
    "No callers.": [],
    "No additional usages of `f()`.": ["absence f | No additional usages of `f()`"],
    "All tasks are complete.": ["done tasks all | All tasks are complete"],
    "Done.": ["done work | Done"],
    "All done!": ["done work all | All done"],
    "The migration is done.": ["done work | The migration is done"],
    "Every step is finished.": ["done tasks all | Every step is finished"],
    "- Done": ["done work | Done"],
    "- The work is complete": [],
    "- [x] The work is complete": ["done work | The work is complete"],
    "The tests are done.": [],
    "I've successfully implemented the parser.": ["done work | I've successfully implemented"],
    "The 3 remaining tasks are now fully completed ✅": ["done work | The 3 remaining tasks are now fully completed"],
    "If all is well the work is done.": [],
    "I ran `make`, `npm ci` and then I executed `npm test`.": [],
    "I ran the command `npm test`, but I did not run `make lint`.": [
        "command ran $ npm test | ran the command `npm test`"
    ],
    "We pushed for it.": [],
    "Everything has been committed and pushed.": [
        "command ran $ git commit $ git push | Everything has been committed and pushed"
    ],
    "Nothing calls `f()`, and `g` is only used in tests.": ["absence f all | Nothing calls `f()`"],
    "I think nothing uses `f`.": [],
    "The work is done for now?": [],
    "- Done: the parser": ["done work | Done"],
    "- ✅ Refactoring is complete": ["done work | ✅ Refactoring is complete"],
    "No uses.": [],
}
REPAIRS: Final[dict[str, list[str]]] = {
    "I fixed the failing test.": ["fixed test | I fixed the failing test"],
    "Fixed.": ["fixed something | Fixed"],
    "I fixed `a.py`.": ["fixed something a.py | I fixed `a.py`"],
    "I fixed all type errors in `src/a.py`.": ["fixed types all src/a.py | I fixed all type errors in `src/a.py`"],
    "The flaky test failures have been resolved.": ["fixed test | flaky test failures have been resolved"],
    "The build error is now gone.": ["fixed build | error is now gone"],
    "mypy: errors are fixed.": ["fixed something | errors are fixed"],
    "I resolved the merge conflict.": ["fixed something | I resolved the merge conflict"],
    "I fixed by hand.": [],
    "I did not fix it; I corrected the typo.": ["fixed something | I corrected the typo"],
    "The lint error is pre-existing.": ["baseline lint failed | The lint error is pre-existing."],
    "The failing tests are unrelated to my changes.": [
        "baseline test failed | The failing tests are unrelated to my changes."
    ],
    "These errors existed before my change.": [],
    "test_shop fails and was already broken before.": [
        "baseline test failed | test_shop fails and was already broken before."
    ],
    "The typing issues are not caused by this change.": [],
    "It is pre-existing.": [],
    "I think the failure is pre-existing.": [],
    "I fixed the compile errors.": ["fixed build | I fixed the compile errors"],
    "I fixed the eslint warnings and all tests.": ["fixed lint all | I fixed the eslint warnings and all tests"],
    "I fixed the failing test and the type error.": ["fixed types | I fixed the failing test and the type error"],
    "I've fixed it in `a.py` and `b.py`.": ["fixed something a.py b.py | I've fixed it in `a.py` and `b.py`"],
    "We corrected a typo. I fixed the bug.": [
        "fixed something | We corrected a typo",
        "fixed something | I fixed the bug",
    ],
    "The bug was fixed if it works.": [],
    "I fixed 3 failing specs.": ["fixed test | I fixed 3 failing specs"],
    "The warning in lint is pre-existing and not related to my changes.": [
        "baseline lint failed | The warning in lint is pre-existing and not related to my changes."
    ],
    "The build failure was already present on main.": [
        "baseline build failed | The build failure was already present on main."
    ],
    "I fixed the type of the field.": ["fixed something | I fixed the type of the field"],
    "These failures are not new and are pre-existing.": [
        "baseline any failed | These failures are not new and are pre-existing."
    ],
    "The bug is fixed, and I will test it.": ["fixed something | bug is fixed"],
    "The error that can crash it is fixed.": ["fixed something | error that can crash it is fixed"],
}


@pytest.mark.parametrize("text", CHECKS)
def test_claims_about_checks(text: str) -> None:
    assert told(text) == CHECKS[text]


@pytest.mark.parametrize("text", CHANGES)
def test_claims_about_files_and_counts(text: str) -> None:
    assert told(text) == CHANGES[text]


@pytest.mark.parametrize("text", DEEDS)
def test_claims_about_commands_absence_and_finished_work(text: str) -> None:
    assert told(text) == DEEDS[text]


@pytest.mark.parametrize("text", REPAIRS)
def test_claims_about_repairs_and_earlier_failures(text: str) -> None:
    assert told(text) == REPAIRS[text]


def test_what_is_too_long_is_no_command_and_no_claim() -> None:
    line = "pytest " + "x" * 192
    assert told(f"`{line}` passes.") == [f"verdict test named $ {line} | `{line}` passes"]
    assert told(f"`{line}x` passes.") == [f"verdict previous | `{line}x` passes."]
    words = "and " * 290
    assert told(f"All tests pass {words}so.") != []
    assert told(f"All tests pass {words}{words}so.") == []
