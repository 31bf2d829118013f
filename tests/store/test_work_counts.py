"""Work, counted: what is there already is not written again, and one session is not looked for in all files."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

import ledgerkit as lk
from tests.builders import START, append_lines, of_session, text, working_session
from tests.conftest import NOW

DAYS = 12
A_DAY = 3


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of logs, some sessions on each of some days, and a ledger of them: a file of history for each day."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "logs").mkdir()
    for day in range(DAYS):
        for number in range(A_DAY):
            log = working_session(f"{day}.{number}", start=START + timedelta(days=day))
            log.write(folder / "logs" / f"{log.name}.jsonl")
    with lk.open(folder / "l", key=bytes(32)) as ledger:
        assert ledger.import_logs(folder / "logs", now=NOW).runs == DAYS * A_DAY
    return folder / "logs", folder / "l"


def written(path: Path) -> dict[str, tuple[int, int]]:
    """Every file below a ledger's folder but its lock, with its size and when it was last written to."""
    found = [(file, file.stat()) for file in path.rglob("*") if file.is_file() and file.name != ".commit.lock"]
    return {str(file.relative_to(path)): (at.st_size, at.st_mtime_ns) for file, at in found}


def row_groups(ledger: lk.Ledger, view: str, where: str) -> list[tuple[int, int]]:
    """Of each scan of history that a query makes: the row groups that were read, and those that there are."""
    plan = str(ledger.sql(f"explain analyze select * from {view} where {where}").row(0)[-1])
    scans = [(int(n), int(of)) for n, of in re.findall(r"Row Groups Scanned: (\d+) / (\d+)", plan)]
    return [scan for scan in scans if scan[1] >= DAYS]


def test_a_second_import_writes_no_file(built: tuple[Path, Path]) -> None:
    logs, path = built
    before = written(path)
    with lk.open(path) as ledger:
        account = ledger.import_logs(logs, now=NOW + timedelta(hours=1))
    assert (account.files, account.unchanged, account.new_messages) == (0, DAYS * A_DAY, 0)
    assert written(path) == before


def test_an_import_of_one_grown_log_adds_files_and_touches_none(built: tuple[Path, Path]) -> None:
    logs, path = built
    before = written(path)
    log = working_session("0.0")
    known = len(log.records)
    log.answers(text("And that is all."))
    append_lines(logs / f"{log.name}.jsonl", log.records[known:])
    with lk.open(path) as ledger:
        account = ledger.import_logs(logs, now=NOW + timedelta(hours=2))
    assert (account.files, account.unchanged, account.new_messages) == (1, DAYS * A_DAY - 1, 1)
    after = written(path)
    assert {name: after[name] for name in before} == before
    added = [name for name in after if name not in before and name.endswith(".parquet")]
    assert len([name for name in added if name.startswith("history/")]) == 1


@pytest.mark.parametrize("view", ["messages", "parts"])
def test_looking_up_a_session_reads_the_rows_of_one_file(built: tuple[Path, Path], view: str) -> None:
    with lk.open(built[1]) as ledger:
        (session,) = of_session("7.1")[:1]
        assert ledger.sql(f"select * from {view} where session_id = ?", [session]).height > 0
        scans = row_groups(ledger, view, f"session_id = '{session}'")
        assert scans
        assert all(of >= DAYS and read == 1 for read, of in scans), scans


def test_looking_for_what_is_not_there_reads_nothing(built: tuple[Path, Path]) -> None:
    with lk.open(built[1]) as ledger:
        scans = row_groups(ledger, "parts", "session_id = '6f0c0000-0000-4000-8000-000000000000'")
    assert scans
    assert all(read == 0 for read, _ in scans), scans
