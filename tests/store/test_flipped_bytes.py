"""A flipped bit in a file is found and named, or leaves the rows as they were."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ledgerkit as lk
from tests.builders import Log, text, tool_use, usage, working_session
from tests.conftest import NOW, ROOT


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flips")
    log = Log("other")
    log.asks("Long")
    log.answers(text("x"), tool_use("c"), used=usage(3, 2))
    log.returns("c", "y" * 70_000)
    with lk.open(folder / "l", key=bytes(32)) as ledger:
        ledger.import_logs(working_session("a", steps=10).write(folder / "a.jsonl"), now=NOW)
        ledger.import_logs(log.write(folder / "b.jsonl"), now=NOW)
        assert ledger.verify().ok
    return folder / "l"


def flipped(built: Path, folder: Path, seed: int, count: int) -> list[dict[str, Any]]:
    shutil.copytree(built, folder / "l")
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.flips", str(folder / "l"), str(seed), str(count)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == count
    return outcomes


def check(outcomes: list[dict[str, Any]]) -> None:
    assert [one for one in outcomes if not one["found"] and not one["same"]] == []
    unreadable = [one for one in outcomes if "unreadable_file" in one["found"]]
    assert all(one["file"] in one["named"] for one in unreadable)
    assert any(unreadable)


@pytest.mark.slow
def test_flipped_bits_are_found_or_change_nothing(built: Path, tmp_path: Path) -> None:
    check(flipped(built, tmp_path, 1, 25))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_many_flipped_bits_are_found_or_change_nothing(built: Path, tmp_path: Path, seed: int) -> None:
    check(flipped(built, tmp_path, seed, 150))


@pytest.mark.long
@pytest.mark.parametrize("how", ["cut", "empty", "gone"])
def test_a_file_that_was_cut_off_emptied_or_lost_is_named_with_what_it_held(
    built: Path, tmp_path: Path, how: str
) -> None:
    shutil.copytree(built, tmp_path / "l")
    with lk.open(tmp_path / "l") as ledger:
        for name in ("history", "runs", "artifacts", "checkpoints"):
            file = sorted((tmp_path / "l" / name).rglob("*.parquet"))[0]
            if "_delta_log" in file.parts:
                continue
            whole = file.read_bytes()
            if how == "gone":
                file.unlink()
            else:
                file.write_bytes(whole[: len(whole) // 2] if how == "cut" else b"")
            report = ledger.verify()
            finding = next(one for one in report.findings if one.rule == "unreadable_file")
            assert finding.file == str(file.relative_to(tmp_path / "l"))
            assert "It holds" in finding.detail
            file.write_bytes(whole)
    assert lk.open(tmp_path / "l").verify().ok
