"""All formats at once: any order, any split into imports and batches, twice: the canonical views are the same."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.importers.registry import FORMATS, recognise
from tests.builders import assert_same, canonical
from tests.conftest import NOW
from tests.damage.samples import LINES, Sample, write_all

pytestmark = pytest.mark.long

SMALL, A_FEW = 40_000, 3
PARQUET = {"inspect-scout"}
"""Its tests make its files."""


@dataclass(frozen=True)
class Once:
    """Some files, and the views of a ledger that read them in one import."""

    files: list[Path]
    views: dict[str, pl.DataFrame]


def read_once(folder: Path, files: Sequence[Path]) -> Once:
    with lk.open(folder, key=bytes(32)) as ledger:
        assert ledger.import_logs(*files, redact="off", now=NOW).closes
        return Once(list(files), canonical(ledger))


def check_any_order(folder: Path, once: Once, seed: int, splits: int) -> None:
    """Imports the files again in another order, in several imports, each file perhaps more than once."""
    rng = random.Random(seed)
    shuffled = rng.sample(once.files, len(once.files))
    groups = [group for number in range(splits) if (group := shuffled[number::splits])]
    copies = folder / "copies"
    with lk.open(folder / "ledger", key=bytes(32)) as ledger:
        for number, group in enumerate(groups):
            again = rng.sample(once.files, min(2, len(once.files)))
            account = ledger.import_logs(*group, *again, redact="off", now=NOW + timedelta(hours=number))
            assert account.closes
        assert ledger.import_logs(*once.files, redact="off", now=NOW + timedelta(days=1)).new_messages == 0
        for number, path in enumerate(once.files):  # the same files elsewhere are the same records
            (copies / str(number)).mkdir(parents=True)
            shutil.copy(path, copies / str(number) / path.name)
        twice = ledger.import_logs(copies, redact="off", now=NOW + timedelta(days=2))
        assert twice.closes
        assert twice.new_messages == 0
        assert_same(canonical(ledger), once.views)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Once:
    folder = tmp_path_factory.mktemp("made")
    return read_once(folder / "ledger", write_all(folder / "logs"))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_files_of_all_formats_in_any_order_and_split_give_the_same_views(made: Once, seed: int, tmp_path: Path) -> None:
    formats = {found.name for path in made.files if (found := recognise(path))}
    assert formats == {each.name for each in FORMATS} - PARQUET
    check_any_order(tmp_path, made, seed, splits=3)


# Snapshots of files that grow


def snapshots(sample: Sample, folder: Path, rng: random.Random) -> Iterator[Path]:
    """The file as it was at some moments, each at a place of its own, some of them in the middle of a line."""
    cuts = [rng.randrange(len(sample.content) // 4, len(sample.content)) for _ in range(2)]
    for number, cut in enumerate((*cuts, len(sample.content))):
        path = Sample(f"{sample.name}/{number}", sample.log_format, sample.content[:cut], is_lines=True).write(folder)
        yield path.rename(path.with_name(sample.file_name)) if sample.file_name else path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Once:
    folder = tmp_path_factory.mktemp("whole")
    return read_once(folder / "ledger", [sample.write(folder / "logs") for sample in LINES])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_snapshots_of_growing_files_of_all_formats_give_what_the_whole_files_give(
    whole: Once, seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    files = [path for sample in LINES for path in snapshots(sample, tmp_path / "logs", rng)]
    rng.shuffle(files)
    with lk.open(tmp_path / "ledger", key=bytes(32)) as ledger:
        for number in range(2):
            assert ledger.import_logs(*files[number::2], redact="off", now=NOW + timedelta(hours=number)).closes
        assert_same(canonical(ledger), whole.views)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_growing_files_of_all_formats_give_what_the_whole_files_give(whole: Once, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    files = [sample.write(tmp_path / "logs") for sample in LINES]
    contents = [path.read_bytes() for path in files]
    with lk.open(tmp_path / "ledger", key=bytes(32)) as ledger:
        for number, share in enumerate(sorted(rng.uniform(0.2, 0.95) for _ in range(2))):
            for path, content in zip(files, contents, strict=True):
                path.write_bytes(content[: int(len(content) * share)])
            assert ledger.import_logs(tmp_path / "logs", redact="off", now=NOW + timedelta(hours=number)).closes
        for path, content in zip(files, contents, strict=True):
            path.write_bytes(content)
        assert ledger.import_logs(tmp_path / "logs", redact="off", now=NOW + timedelta(days=1)).closes
        assert_same(canonical(ledger), whole.views)


# Real files


def real_files(corpus: Path, *, is_sample: bool) -> list[Path]:
    """Files of the corpus that can be read: all of them, or the smallest few of each folder and the forks of Codex."""
    files = [path for path in sorted(corpus.rglob("*")) if path.is_file() and path.suffix != ".md"]
    if is_sample:
        by_folder: dict[str, list[Path]] = {}
        for path in sorted(files, key=lambda each: (each.stat().st_size, each)):
            if path.stat().st_size <= SMALL and recognise(path):
                by_folder.setdefault(path.relative_to(corpus).parts[0], []).append(path)
        forks = sorted((corpus / "codex" / "CodexBar" / "harness-smoke").rglob("*.jsonl"))
        return [path for folder in by_folder.values() for path in folder[:A_FEW]] + forks
    return files


@pytest.fixture(scope="module")
def few(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Once:
    return read_once(tmp_path_factory.mktemp("few") / "ledger", real_files(corpus, is_sample=True))


@pytest.fixture(scope="module")
def all_of_it(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Once:
    return read_once(tmp_path_factory.mktemp("all") / "ledger", real_files(corpus, is_sample=False))


@pytest.mark.corpus
def test_a_few_real_files_of_all_formats_in_any_order_and_split_give_the_same_views(few: Once, tmp_path: Path) -> None:
    check_any_order(tmp_path, few, seed=7, splits=3)


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize(("seed", "splits"), [(1, 2), (2, 9), (3, 25)])
def test_the_whole_corpus_in_any_order_and_split_gives_the_same_views(
    all_of_it: Once, seed: int, splits: int, tmp_path: Path
) -> None:
    check_any_order(tmp_path, all_of_it, seed, splits)
