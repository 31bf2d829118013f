"""A view is there for whatever query is the first to need it, however the query names it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit import tables
from tests.builders import working_session
from tests.conftest import NOW


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    with lk.open(folder / "l", key=bytes(32)) as ledger:
        ledger.import_logs(working_session().write(folder / "a.jsonl"), now=NOW)
    return folder / "l"


@pytest.mark.parametrize("view", tables.VIEWS)
def test_any_view_can_be_the_first(built: Path, view: str) -> None:
    with lk.open(built) as ledger:
        first = ledger.sql(f"from {view}")
        assert first.columns == list(tables.VIEWS[view].names)
        everything = {name: ledger.sql(f"select count(*) from {name}").item() for name in tables.VIEWS}
        assert everything[view] == first.height
        assert everything["messages"] > 0


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) as n from RUNS", 'select count(*) as n from "Runs"', "select count(*) as n from main.runs",
        "with runs as (select 1) select count(*) as n from runs",
        "select count(*) as n from (describe sessions) where column_name = 'session_id'",
        "select count(*) as n from information_schema.tables where table_name = 'runs'",
        "select count(*) as n from duckdb_views() where view_name = 'runs'",
        "select count(*) as n from (show tables) where name = 'runs'",
    ],
)  # fmt: skip
def test_a_view_is_there_however_it_is_named(built: Path, query: str) -> None:
    with lk.open(built) as ledger:
        assert ledger.sql(query)["n"].to_list() == [1]


def test_a_listing_names_every_view(built: Path) -> None:
    with lk.open(built) as ledger:
        assert set(tables.VIEWS) <= set(ledger.sql("show tables")["name"])


def test_first_queries_of_many_threads_are_all_answered(built: Path) -> None:
    with lk.open(built) as ledger, ThreadPoolExecutor(8) as pool:
        asked = [f"select '{name}' as name, count(*) as n from {name}" for name in tables.VIEWS] * 2
        answers = pl.concat(pool.map(ledger.sql, asked))
        assert answers.unique().height == len(tables.VIEWS)
