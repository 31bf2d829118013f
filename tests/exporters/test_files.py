"""Files of an export: where they go, that none is overwritten or left half done, and that they are always the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ledgerkit as lk
from ledgerkit.exporters.names import file_name
from ledgerkit.protocol.messages import AppendMessageCommand
from tests.builders import Log, text
from tests.conftest import NOW

FORMATS = {"atif": ".json", "scout": ".parquet", "jsonl": ".jsonl"}


@pytest.fixture
def two_runs(ledger: lk.Ledger, tmp_path: Path) -> lk.Ledger:
    for name in ("one", "two"):
        log = Log(name)
        log.asks(f"Do {name}.")
        log.answers(text(f"Did {name}."))
        ledger.import_logs(log.write(tmp_path / "logs" / f"{name}.jsonl"), now=NOW)
    return ledger


def a_task(session: str, run: str) -> AppendMessageCommand:
    part = {"type": "text", "text": "Hi.", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
    return AppendMessageCommand.model_validate(
        {"session_id": session, "run_id": run, "kind": "USER_TASK", "actor": "user", "parts": [part]}
    )


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
def test_the_same_ledger_gives_the_same_bytes(two_runs: lk.Ledger, tmp_path: Path, format: str) -> None:
    one = two_runs.export(tmp_path / "a", format=format)
    two = two_runs.export(tmp_path / "b", format=format)
    assert [file.name for file in one.files] == [file.name for file in two.files]
    assert [file.read_bytes() for file in one.files] == [file.read_bytes() for file in two.files]
    assert one.bytes == sum(file.stat().st_size for file in one.files)
    assert (one.runs, one.messages) == (2, 4)
    assert sorted(file.name for file in (tmp_path / "a").iterdir()) == [file.name for file in one.files]


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
def test_one_document_may_be_a_file(two_runs: lk.Ledger, tmp_path: Path, format: str) -> None:
    run = two_runs.runs()["run_id"][0]
    target = tmp_path / "deep" / f"it{FORMATS[format]}"
    account = two_runs.export(target, format=format, runs=run)
    assert account.files == (target,)
    assert account.runs == 1
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_several_documents_are_no_file(two_runs: lk.Ledger, tmp_path: Path) -> None:
    with pytest.raises(lk.ExportTargetError, match="more than one document"):
        two_runs.export(tmp_path / "new" / "it.json", format="atif")
    assert not (tmp_path / "new").exists()


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
def test_nothing_is_overwritten_unasked(two_runs: lk.Ledger, tmp_path: Path, format: str) -> None:
    (file, *_) = two_runs.export(tmp_path / "out", format=format).files
    file.write_bytes(b"mine")
    with pytest.raises(lk.ExportTargetError, match="is there already"):
        two_runs.export(tmp_path / "out", format=format)
    assert file.read_bytes() == b"mine"
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]
    two_runs.export(tmp_path / "out", format=format, overwrite=True)
    assert file.read_bytes() != b"mine"


def test_a_blocked_export_leaves_what_was_there(two_runs: lk.Ledger, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "kept.txt").write_text("kept")
    secret = AppendMessageCommand.model_validate(
        {**a_task("z", "z").model_dump(), "parts": [{
            "type": "text", "text": "DB_PASSWORD=" + "k3Jw9" * 6, "trust_level": "USER_TRUSTED",
            "visibility": "MODEL_VISIBLE",
        }]}
    )  # fmt: skip
    two_runs.append(secret, redact=False)
    with pytest.raises(lk.OutputBlockedError):
        two_runs.export(out, format="jsonl", overwrite=True)
    assert [path.name for path in out.iterdir()] == ["kept.txt"]


def test_a_file_in_the_place_of_the_folder_is_refused(two_runs: lk.Ledger, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(lk.ExportTargetError, match="no folder"):
        two_runs.export(tmp_path / "out", format="jsonl")


def test_an_unknown_format_or_run_is_refused_with_the_nearest(two_runs: lk.Ledger, tmp_path: Path) -> None:
    with pytest.raises(lk.UnknownNameError, match="atif"):
        two_runs.export(tmp_path / "out", format="atiff")
    with pytest.raises(lk.UnknownNameError, match="No run"):
        two_runs.export(tmp_path / "out", format="atif", runs=["nope-nope"])
    assert not (tmp_path / "out").exists()


def test_an_empty_ledger_gives_no_file(ledger: lk.Ledger, tmp_path: Path) -> None:
    for format in FORMATS:
        account = ledger.export(tmp_path / "out", format=format)
        assert (account.files, account.runs, account.losses) == ((), 0, ())


@pytest.mark.parametrize("name", ["../../escape", "a/b", "CON", ".hidden", "x" * 500, "näme", "", "a\\b", "A"])
def test_a_name_is_one_plain_file(tmp_path: Path, name: str) -> None:
    safe = file_name(name)
    assert (tmp_path / safe).parent == tmp_path
    assert len(safe) <= 120
    assert safe == safe.lower()


@pytest.mark.long
def test_a_run_of_any_name_stays_in_its_folder(tmp_path: Path, ledger: lk.Ledger) -> None:
    names = ["../../escape", "..", "a\\b", "A", "a", "CON"]
    for name in names:
        ledger.append(a_task(name, name))
    for format in FORMATS:
        account = ledger.export(tmp_path / format, format=format)
        assert {file.parent for file in account.files} == {tmp_path / format}
        assert len({file.name.lower() for file in account.files}) == (1 if format == "scout" else len(names))


@pytest.mark.long
def test_runs_are_chosen_by_what_names_them(two_runs: lk.Ledger, tmp_path: Path) -> None:
    ids = two_runs.runs().sort("run_id")["run_id"].to_list()
    both = two_runs.export(tmp_path / "both", format="atif", runs=[ids[1], ids[0][:13], ids[1]])
    assert [json.loads(file.read_text())["trajectory_id"] for file in both.files] == sorted(
        ids, key=[file.stem for file in both.files].index
    )
    assert both.runs == 2
