"""Frames of real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import ledgerkit as lk
from ledgerkit.strategies import RunFrames
from tests.conftest import NOW
from tests.strategies.drawn import excerpt_tokens


@pytest.fixture(scope="session")
def corpus_frames(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFrames:
    """Frames of every run of the corpus."""
    with lk.open(tmp_path_factory.mktemp("contexts") / "l", key=bytes(32)) as ledger:
        ledger.import_logs(corpus, now=NOW, redact="off")
        frames = ledger.frames()
    return RunFrames(frames.runs, frames.steps, frames.parts, excerpt_tokens)
