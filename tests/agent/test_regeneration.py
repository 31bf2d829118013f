"""The generator makes the committed files again, and equal runs from equal seeds."""

from __future__ import annotations

import gzip
import importlib.metadata
import importlib.util
from pathlib import Path

import pytest

from ledgerkit.agent import demo
from ledgerkit.errors import MissingExtraError, UnknownNameError
from tests.conftest import ROOT

DATA = ROOT / "data"
MADE = ("claude-code", "ledgerkit")


def contents(root: Path) -> dict[str, bytes]:
    """Files below a folder. Compressed ones are unpacked: zlib's builds pack alike bytes differently."""
    found = {p.relative_to(root).as_posix(): p.read_bytes() for name in MADE for p in (root / name).rglob("*.*")}
    found |= {demo.TRUTH_FILE: (root / demo.TRUTH_FILE).read_bytes()}
    return {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in found.items()}


@pytest.mark.slow
def test_the_committed_runs_are_made_again_byte_for_byte(tmp_path: Path) -> None:
    installed = importlib.metadata.version("pytest")
    if installed != demo.MADE_WITH["pytest"]:
        pytest.skip(f"made with pytest {demo.MADE_WITH['pytest']}; {installed} may word failures differently")
    demo.make_committed(tmp_path)
    made, committed = contents(tmp_path), contents(DATA)
    assert made.keys() == committed.keys()
    assert [name for name in made if made[name] != committed[name]] == []


@pytest.mark.slow
def test_one_session_is_the_same_alone_and_among_others(tmp_path: Path) -> None:
    some = ["fix-discount", "build-catalogue"]
    alone = demo.make_demo(tmp_path / "a", seeds=[7], tasks=some[:1], configurations=["hasty"], jobs=1)
    among = demo.make_demo(tmp_path / "b", seeds=[7], tasks=some, configurations=["hasty"], jobs=2)
    assert alone == among[:1]
    (path,) = [p for p in (tmp_path / "a").rglob("*.jsonl") if "subagents" not in p.parts]
    (twin,) = (tmp_path / "b").rglob(path.name)
    assert path.read_bytes() == twin.read_bytes()


def test_without_pytest_the_generator_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        del name

    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    with pytest.raises(MissingExtraError, match="pip install pytest"):
        demo.make_demo(tmp_path, seeds=[1])


def test_an_unknown_task_is_named_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="fix-discount"):
        demo.make_demo(tmp_path, seeds=[1], tasks=["fix-discont"])


@pytest.mark.parametrize(("text", "seeds"), [("3", [3]), ("1-4", [1, 2, 3, 4])])
def test_seeds_are_given_one_by_one_or_as_a_range(text: str, seeds: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def make(out: Path, *, seeds: range, format: str, task_per_seed: bool) -> list[object]:
        del out, format
        assert not task_per_seed
        asked.extend(seeds)
        return []

    monkeypatch.setattr(demo, "make_demo", make)

    def write(out: Path, truths: list[object]) -> None:
        del out, truths

    monkeypatch.setattr(demo, "write_truth", write)
    assert demo.main(["--out", "somewhere", "--seeds", text]) == 0
    assert asked == seeds
