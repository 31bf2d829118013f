"""Random damage of formats whose files are one document: it costs at most that document, and that is counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import ledgerkit as lk
from ledgerkit.importers.registry import recognise
from tests.conftest import NOW
from tests.damage.mutations import mutated
from tests.damage.reading import told
from tests.damage.samples import DOCUMENTS, Sample, archive_sample

BY_NAME = {sample.name: sample for sample in (*DOCUMENTS, archive_sample())}
FEW, MANY = 20, 600


def check_readings(sample: Sample, folder: Path, seeds: range) -> None:
    path = sample.write(folder)
    for number in seeds:
        done, damaged = mutated(sample.content, f"{sample.name}/{number}")
        path.write_bytes(damaged)
        found = recognise(path)
        if found is not None:
            now = told(found, path)
            assert now.lines, f"{sample.name} {number}: {done}: recognised, and nothing is accounted for"


@pytest.mark.parametrize("name", BY_NAME)
def test_damage_never_fails_a_reading(name: str, tmp_path: Path) -> None:
    check_readings(BY_NAME[name], tmp_path, range(FEW))


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_much_damage_never_fails_a_reading(name: str, tmp_path: Path) -> None:
    check_readings(BY_NAME[name], tmp_path, range(FEW, MANY))


def check_import(folder: Path, seeds: range) -> None:
    """Damaged documents between whole ones: each is counted, and the whole ones are what they are by themselves."""
    whole = folder / "whole"
    for sample in BY_NAME.values():
        sample.write(whole)
    with lk.open(folder / "alone", key=bytes(32)) as ledger:
        ledger.import_logs(whole, redact="off", now=NOW)
        alone = ledger.sql(CONTENTS).unique()
    mixed, damaged = folder / "mixed", list[str]()
    for number in seeds:
        for sample in BY_NAME.values():
            path = sample.write(mixed / str(number))
            path.write_bytes(mutated(sample.content, f"mixed/{sample.name}/{number}")[1])
            damaged.append(str(path))
    shutil.copytree(whole, mixed / "whole")
    with lk.open(folder / "beside", key=bytes(32)) as ledger:
        account = ledger.import_logs(mixed, redact="off", now=NOW)
        beside = ledger.sql(CONTENTS).unique()
    assert account.closes
    counted = {*account.unsupported, *account.details["path"], *account.damage["path"]}
    assert set(damaged) <= counted
    lost = alone.join(beside, on=alone.columns, how="anti", nulls_equal=True)
    assert lost.is_empty(), lost


CONTENTS = "select session_id, run_id, kind, part_type, content_id, text, data from parts"


def test_damaged_documents_cost_no_other(tmp_path: Path) -> None:
    check_import(tmp_path, range(2))


@pytest.mark.slow
def test_many_damaged_documents_cost_no_other(tmp_path: Path) -> None:
    check_import(tmp_path, range(2, 40))
