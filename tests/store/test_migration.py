"""A ledger of the first layout opens, is brought to the present one, and says what it said before."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable, Schema, write_deltalake

import ledgerkit as lk
from ledgerkit import tables
from ledgerkit.store import migration
from ledgerkit.store.deltaschema import delta_field
from ledgerkit.tables import Role, Table
from tests.builders import assert_same, canonical, eventful_session, working_session
from tests.conftest import NOW

FIRST_TABLES = (tables.HISTORY, tables.ARTIFACTS, tables.RUNS, tables.IMPORTS)


def to_first_layout(present: Path, folder: Path) -> Path:
    """Writes a ledger as the first layout had it: four tables, no hashes, written by delta-rs itself."""
    folder.mkdir()
    marker = json.loads((present / "ledger.json").read_text())
    first = {"format": marker["format"], "layout_version": 1, "content_key": marker["content_key"]}
    (folder / "ledger.json").write_text(json.dumps(first, indent=2) + "\n")
    for table in FIRST_TABLES:
        columns = [column for column in table.columns if column.role is not Role.PROOF]
        DeltaTable.create(
            str(folder / table.name),
            schema=Schema([delta_field(column) for column in columns]),
            partition_by=list(table.partition_by),
            configuration={"delta.appendOnly": "true", "delta.checkpointInterval": "50"},
        )
        rows = rows_of(present, table).select([column.name for column in columns])
        for piece in rows.iter_slices(max(rows.height // 3, 1)):
            write_deltalake(str(folder / table.name), piece, mode="append")
    return folder


def rows_of(ledger: Path, table: Table) -> pl.DataFrame:
    stored = DeltaTable(str(ledger / table.name)).to_pyarrow_table()
    return pl.DataFrame(stored).select(table.names).cast(table.types)


@pytest.fixture
def first(tmp_path: Path) -> tuple[Path, Path]:
    """A present ledger, and the same in the first layout."""
    logs = tmp_path / "logs"
    for log in (eventful_session("a"), working_session("b")):
        log.write(logs / f"{log.name}.jsonl")
    with lk.open(tmp_path / "present", key=bytes(32)) as ledger:
        ledger.import_logs(logs, now=NOW)
    return tmp_path / "present", to_first_layout(tmp_path / "present", tmp_path / "first")


@pytest.mark.long
def test_a_ledger_of_the_first_layout_says_what_it_said(first: tuple[Path, Path]) -> None:
    with lk.open(first[0]) as present, lk.open(first[1]) as migrated:
        assert_same(canonical(migrated), canonical(present))
        report = migrated.verify()
        assert report.ok
        assert report.messages == report.rehashed == present.verify().messages > 0
        assert report.runs > 0
    assert json.loads((first[1] / "ledger.json").read_text())["layout_version"] == tables.LAYOUT_VERSION


def test_a_migrated_ledger_takes_messages_and_imports_like_any_other(first: tuple[Path, Path], tmp_path: Path) -> None:
    with lk.open(first[1]) as migrated:
        assert migrated.import_logs(tmp_path / "logs", now=datetime(2026, 4, 1, tzinfo=UTC)).new_messages == 0
        with migrated.record("s", "r", agent="me") as recorder:
            part = {"type": "text", "text": "hi", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
            command = {"session_id": "s", "run_id": "r", "kind": "USER_TASK", "actor": "user", "parts": [part]}
            recorder.append(lk.AppendMessageCommand.model_validate(command))
        assert migrated.compact().height > 0
        assert migrated.verify().ok


@pytest.mark.slow
def test_a_migration_that_was_cut_off_begins_again(first: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    class CutError(Exception):
        pass

    def cut(*_: object, **__: object) -> None:
        raise CutError

    for step in ("checkpoint", "write_layout"):
        with monkeypatch.context() as patch:
            patch.setattr(migration, step, cut)
            with pytest.raises(CutError):
                lk.open(first[1])
    with lk.open(first[0]) as present, lk.open(first[1]) as migrated:
        assert_same(canonical(migrated), canonical(present))
        assert migrated.verify().ok


@pytest.mark.long
def test_the_state_before_the_migration_can_still_be_opened(first: tuple[Path, Path]) -> None:
    before = DeltaTable(str(first[1] / "history")).version()
    lk.open(first[1]).close()
    with lk.open(first[1], as_of=before) as past, lk.open(first[0]) as present:
        assert past.sql("select count(*) from parts").item() == present.sql("select count(*) from parts").item()
        assert past.sql("select count(leaf_hash) from messages").item() == 0


def test_a_copy_of_a_migrated_ledger_is_the_same_ledger(first: tuple[Path, Path], tmp_path: Path) -> None:
    with lk.open(first[1]) as migrated:
        head = migrated.checkpoint()
    shutil.copytree(first[1], tmp_path / "copy")
    with lk.open(tmp_path / "copy") as copy:
        assert copy.verify(checkpoints=[head]).ok


def test_a_column_that_stored_files_lack_is_null(tmp_path: Path, first: tuple[Path, Path]) -> None:
    """A later layout adds a column: files that were written before it are read as they are."""
    present = first[0]
    folder = present / "imports"
    shutil.rmtree(folder)
    columns = [column for column in tables.IMPORTS.columns if column.name != "redaction"]
    DeltaTable.create(str(folder), schema=Schema([delta_field(c) for c in columns]))
    row = dict.fromkeys(column.name for column in columns) | {"import_id": "i", "path": "a.jsonl"}
    frame = pl.DataFrame([row], schema={c.name: c.type for c in columns})
    write_deltalake(str(folder), frame, mode="append")
    with lk.open(present) as ledger:
        assert ledger.sql("select path, redaction from import_files").rows() == [("a.jsonl", None)]
