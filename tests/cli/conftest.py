"""A small ledger for the tests of the command line, and a program that is called as from a shell."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ledgerkit as lk
from ledgerkit.cli import main
from tests.builders import working_session
from tests.conftest import NOW

Call = Callable[..., Result]
PROGRAM = [sys.executable, "-c", "from ledgerkit.cli import main; main(prog_name='ledgerkit')"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with two runs; tests only read it."""
    folder = tmp_path_factory.mktemp("small")
    for name in ("first", "second"):
        working_session(name).write(folder / "logs" / f"{name}.jsonl")
    with lk.open(folder / "small.ledger", key=bytes(32)) as made:
        made.import_logs(folder / "logs", now=NOW)
    return folder / "small.ledger"


@pytest.fixture
def call(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls the program in an empty folder, on the small ledger, and checks the exit code."""
    for name in [one for one in os.environ if one.startswith("LEDGERKIT_") and one != "LEDGERKIT_REDACTION_KEY"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LEDGERKIT_LEDGER", str(small))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str | Path, code: int = 0, answer: str = "") -> Result:
        result = CliRunner().invoke(main, [str(one) for one in arguments], input=answer)
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return invoke


@pytest.fixture
def environment(small: Path) -> dict[str, str]:
    """Variables for the program as a process of its own."""
    return {**os.environ, "LEDGERKIT_LEDGER": str(small), "LEDGERKIT_REDACTION_KEY": "public"}


def rows(result: Result) -> list[dict[str, object]]:
    """What was printed as JSON."""
    return json.loads(result.stdout)
