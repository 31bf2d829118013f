"""Tables on narrow terminals, references, damaged files: what a newcomer met."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.terminal.fitting import fitted
from tests.cli.conftest import Call


@given(st.lists(st.tuples(st.integers(1, 60), st.booleans()), min_size=1, max_size=20), st.integers(20, 200))
def test_a_number_is_whole_or_left_out_and_all_fits(columns: list[tuple[int, bool]], room: int) -> None:
    widths = fitted([width for width, _ in columns], [is_text for _, is_text in columns], room)
    shown = [width for width in widths if width is not None]
    assert len(shown) == 1 or sum(shown) + 2 * (len(shown) - 1) <= room
    for found, (wanted, is_text) in zip(widths, columns, strict=True):
        assert found is None or found == wanted or is_text or len(shown) == 1


def test_a_narrow_terminal_loses_no_digit_and_says_what_it_has_no_room_for(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = call("runs").stdout.splitlines()[1].split()
    monkeypatch.setenv("COLUMNS", "80")
    narrow = call("runs").stdout
    cost = next(word for word in wide if word.startswith("$"))
    assert cost in narrow
    assert "No room for" in narrow


def test_the_columns_that_are_named_go_first() -> None:
    assert fitted([8, 8, 8], [False] * 3, 18, leaving=[1]) == [8, None, 8]
    assert fitted([8, 8, 8], [False] * 3, 8, leaving=[1]) == [8, None, None]


def test_compare_and_fleet_cut_no_number_at_any_width(
    call: Call, monkeypatch: pytest.MonkeyPatch, demo_path: Path
) -> None:
    pytest.importorskip("scipy.stats", reason="the extra `stats` is not installed")

    def numbers(*arguments: str) -> set[str]:
        return set(re.findall(r"[−+]?[\d.,]+ (?:%|pp)|\$[\d.,]+", call(*arguments).stdout))

    ledger = ("--ledger", str(demo_path))
    for asked in (("compare", "model=opus-4-5", "model=sonnet-4-5"), ("fleet",), ("evaluate", "FullHistory")):
        monkeypatch.setenv("COLUMNS", "200")
        whole = numbers(*asked, *ledger)
        assert whole
        for width in (60, 80, 100, 120):
            monkeypatch.setenv("COLUMNS", str(width))
            printed = call(*asked, *ledger).stdout
            assert numbers(*asked, *ledger) <= whole
            assert all(len(line) <= width for line in printed.splitlines())


def test_references_are_shown_and_unknown_ones_refused(call: Call, small: Path) -> None:
    with lk.open(small) as ledger:
        asked = "select tool_call_id, message_id from parts where part_type = 'tool_result' order by all limit 1"
        ((tool_call, message),) = ledger.sql(asked).rows()
    assert message in call("show", f"message:{message}#c1-2").stdout
    assert message in call("show", f"tool-call:{tool_call}").stdout
    for wrong in ("tool-call:nothing", "message:nothing"):
        assert "No " in call("show", wrong, code=2).stderr


def test_a_file_that_is_gone_is_an_error_that_says_what_to_do(call: Call, small: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.ledger"
    shutil.copytree(small, broken)
    next((broken / "history").rglob("*.parquet")).unlink()
    for command in ("runs", "cost", "claims"):
        assert "ledgerkit verify --ledger" in call(command, "--ledger", broken, code=2).stderr
    assert "nothing was held against any checkpoint" in call("verify", "--ledger", broken, code=1).stdout


def test_an_import_of_nothing_leaves_no_ledger(call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty" / "inner").mkdir(parents=True)
    call("import", tmp_path / "empty", "--ledger", tmp_path / "none.ledger", code=2)
    assert not (tmp_path / "none.ledger").exists()
