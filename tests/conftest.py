"""Fixtures that many tests share."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

import ledgerkit as lk

ROOT = Path(__file__).resolve().parent.parent
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
# Few examples where nothing is said, so that the fast tests are fast; the slow ones draw many (make slow).
_ALIKE = bool(os.environ.get("CI"))
settings.register_profile("fast", deadline=None, max_examples=30, derandomize=_ALIKE)
settings.register_profile("thorough", deadline=None, max_examples=300, derandomize=_ALIKE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))
os.environ["LEDGERKIT_REDACTION_KEY"] = "public"  # no test makes a key in the settings of whoever runs it


def corpus_path() -> Path:
    """The folder of real logs: LEDGERKIT_CORPUS, or ../shared/corpus beside the checkout."""
    return Path(os.environ.get("LEDGERKIT_CORPUS", ROOT.parent / "shared" / "corpus"))


def corpus_values() -> dict[str, Any]:
    """The independently computed values of the corpus; empty where there is none."""
    path = corpus_path() / "expected.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {"files": {}, "groups": {}}


def some_fast(names: Sequence[str], every: int) -> list[ParameterSet]:
    """Parameters of which only every so-manieth is run by the fast tests; the slow ones run the others."""
    return [
        pytest.param(name, marks=() if number % every == 0 else pytest.mark.slow) for number, name in enumerate(names)
    ]


@pytest.fixture(scope="session")
def corpus() -> Path:
    path = corpus_path()
    if not (path / "expected.json").is_file():
        pytest.skip(f"no corpus of real logs at {path} (set LEDGERKIT_CORPUS)")
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> lk.Ledger:
    return lk.open(tmp_path / "runs.ledger", key=bytes(32))


@pytest.fixture(scope="session")
def demo_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with the demo runs, made once; tests only read it."""
    path = tmp_path_factory.mktemp("demo") / "demo.ledger"
    with lk.open(path, key=bytes(32)) as made:
        made.import_logs(ROOT / "data", now=NOW)
    return path


@pytest.fixture(scope="session")
def corpus_import(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, lk.ImportAccount]:
    """A ledger with the whole corpus, redacted, imported once, and the account; tests only read it."""
    path = tmp_path_factory.mktemp("corpus") / "all.ledger"
    with lk.open(path, key=bytes(32)) as made:
        return path, made.import_logs(corpus, now=NOW)
