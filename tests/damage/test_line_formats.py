"""Random damage of line formats: no import fails, the account closes, and what is undamaged says what it said.

Two kinds of records do not stand by themselves, and are compared accordingly: a copy that a log keeps of a record
(left out while the other is readable, told when it is not), and usage that a format keeps apart from its call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import ledgerkit as lk
from ledgerkit.importers.registry import FORMATS, recognise
from tests.conftest import NOW
from tests.damage.mutations import mutated, undamaged_lines
from tests.damage.reading import Told, told
from tests.damage.samples import LINES, Sample

FORMAT = {each.name: each for each in FORMATS}
BY_NAME = {sample.name: sample for sample in LINES}
FEW, MANY = 24, 1500


def check_reading(name: str, log_format: str, raw: bytes, path: Path, whole: Told, seeds: range) -> None:
    """Reads copies of a file with random damage, and compares what is told with what the whole file tells."""
    lines = len(undamaged_lines(raw, raw))
    for number in seeds:
        done, damaged = mutated(raw, f"{name}/{number}")
        path.write_bytes(damaged)
        kept = undamaged_lines(raw, damaged)
        where = f"{name} {number}: {done}"
        found = recognise(path)
        if len(set(kept.values())) >= lines - 1:  # one bad record never costs a file
            assert found == FORMAT[log_format], f"{where}: taken for {found and found.name}"
        now = told(FORMAT[log_format], path)
        contents = now.contents
        for here, there in kept.items():
            assert here in now.lines or there not in whole.lines, f"{where}: line {here} is not accounted for"
            _same(where, here, whole.parts.get(there, []), now, contents)


def _same(
    where: str, line: int, before: list[tuple[object, ...]], now: Told, contents: set[tuple[object, ...]]
) -> None:
    after = now.parts.get(line, [])
    if line in now.quarantined:  # it refers to something that is no more
        assert not after, f"{where}: line {line} is quarantined and told"
        before = []
    lost = [content for content in before if content not in contents]
    assert not lost, f"{where}: line {line} lost {lost}"
    if before and after and len(before) == len(after):
        assert before == after, f"{where}: line {line} changed"


@pytest.mark.parametrize("name", BY_NAME)
def test_damage_never_changes_what_undamaged_lines_say(name: str, tmp_path: Path) -> None:
    sample = BY_NAME[name]
    path = sample.write(tmp_path)
    whole = told(FORMAT[sample.log_format], path)
    check_reading(name, sample.log_format, sample.content, path, whole, range(FEW))


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_much_damage_never_changes_what_undamaged_lines_say(name: str, tmp_path: Path) -> None:
    sample = BY_NAME[name]
    path = sample.write(tmp_path)
    whole = told(FORMAT[sample.log_format], path)
    check_reading(name, sample.log_format, sample.content, path, whole, range(FEW, MANY))


CONTENTS = (
    "select session_id, part_type, content_id, data from parts where data->>'$.note' is distinct from 'model call'"
)


def check_ledger(folder: Path, samples: list[Sample], seeds: range, orders: Sequence[tuple[str, str]]) -> None:
    """Damaged copies beside the whole files, in one ledger: the accounts close, and nothing whole is lost for them."""
    for sample in samples:
        sample.write(folder / "whole")
        for number in seeds:
            sample.write(folder / "damaged" / str(number)).write_bytes(
                mutated(sample.content, f"ledger/{sample.name}/{number}")[1]
            )
    with lk.open(folder / "alone", key=bytes(32)) as ledger:
        assert ledger.import_logs(folder / "whole", redact="off", now=NOW).closes
        alone = ledger.sql(CONTENTS).unique()
    for folders in orders:
        with lk.open(folder / f"{folders[0]} first", key=bytes(32)) as ledger:
            accounts = [ledger.import_logs(folder / name, redact="off", now=NOW) for name in folders]
            both = ledger.sql(CONTENTS).unique()
            doubled = ledger.sql("select message_id from messages group by 1 having count(*) > 1")
        assert all(account.closes for account in accounts)
        assert doubled.is_empty()
        damaged = accounts[folders.index("damaged")]
        assert damaged.quarantined == damaged.damage.height > 0
        lost = alone.join(both, on=alone.columns, how="anti", nulls_equal=True)
        assert lost.is_empty(), lost


@pytest.mark.long
def test_damaged_copies_cost_the_whole_files_nothing(tmp_path: Path) -> None:
    check_ledger(tmp_path, list(LINES), range(1), [("damaged", "whole")])


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_many_damaged_copies_cost_the_whole_file_nothing(name: str, tmp_path: Path) -> None:
    check_ledger(tmp_path, [BY_NAME[name]], range(1, 40), [("damaged", "whole"), ("whole", "damaged")])


# Real files


SMALL_FILES = (
    "claude-code/claude-code-log/edge_cases.jsonl", "codex/claude-replay/fixture-codex-edges.jsonl",
    "codex/agent-sessions/codex_052_raw.jsonl", "pi/agent-sessions/small.jsonl",
    "openhands/software-agent-sdk/events.jsonl", "otel/agentsview/sample-1_VSGitHubCopilot_traces.jsonl",
)  # fmt: skip


@pytest.mark.corpus
@pytest.mark.parametrize("name", SMALL_FILES)
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 400), marks=pytest.mark.slow)], ids=["few", "many"])
def test_damage_of_real_files_never_changes_what_undamaged_lines_say(
    corpus: Path, name: str, seeds: range, tmp_path: Path
) -> None:
    raw = (corpus / name).read_bytes()
    log_format = recognise(corpus / name)
    assert log_format is not None
    path = tmp_path / Path(name).name
    path.write_bytes(raw)
    check_reading(name, log_format.name, raw, path, told(log_format, path), seeds)
