"""SQL over a ledger reads and nothing else, and says what to do when it cannot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from tests.builders import Log, working_session
from tests.conftest import NOW


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("sql")
    working_session().write(folder / "a.jsonl")
    ledger = lk.open(folder / "l", key=bytes(32))
    ledger.import_logs(folder / "a.jsonl", now=NOW)
    return ledger


def files_of(ledger: lk.Ledger) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in ledger.path.rglob("*") if path.is_file()}


# What is refused

WRITES = [
    "insert into superseding values ('s', 'r', 9)",
    "update superseding set revision = 9",
    "delete from superseding",
    "truncate superseding",
    "merge into superseding s using superseding t on true when matched then delete",
    "create table mine (a int)",
    "create temp table mine as select 1",
    "create or replace view parts as select 1",
    "create macro f() as 1",
    "create schema mine",
    "create sequence mine",
    "create type mine as enum ('a')",
    "drop view parts",
    "drop table superseding",
    "alter view parts rename to mine",
    "comment on view parts is 'mine'",
    "copy (select 1) to '{ledger}/mine.csv'",
    "copy parts to '{ledger}/history/mine.parquet'",
    "copy superseding from '{ledger}/ledger.json'",
    "export database '{ledger}/mine'",
    "import database '{ledger}/mine'",
    "attach '{ledger}/mine.db' as mine",
    "detach memory",
    "use memory",
    "install httpfs",
    "load httpfs",
    "set threads = 1",
    "set enable_external_access = true",
    "reset threads",
    "pragma database_size",
    "call pragma_version()",
    "vacuum",
    "checkpoint",
    "begin",
    "commit",
    "prepare p as select 1",
    "execute p",
    "analyze",
]
HIDDEN_WRITES = [
    "with w as (insert into superseding values ('s', 'r', 9) returning *) select * from w",
    "with w as (update superseding set revision = 9 returning *) select * from w",
    "with w as (delete from superseding returning *) select * from w",
    "with w as (copy (select 1) to '{ledger}/mine.csv') select * from w",
    "with w as (copy (select 1) to '{ledger}/history/mine.parquet') select 1",
    "select (with w as (delete from superseding returning revision) select max(revision) from w)",
    "select 1 union all (with w as (delete from superseding returning revision) select revision from w)",
    "from (with a as (with w as (copy (select 1) to '{ledger}/mine.csv') from w) from a)",
    "explain analyze insert into superseding values ('s', 'r', 9)",
    "explain analyze copy (select 1) to '{ledger}/mine.csv'",
    "explain (analyze, format json) copy (select 1) to '{ledger}/mine.csv'",
    "explain analyze with w as (copy (select 1) to '{ledger}/mine.csv') from w",
    "/* a comment */ explain analyze copy (select 1) to '{ledger}/mine.csv'",
    "explain analyze /* a comment */ copy (select 1) to '{ledger}/mine.csv'",
    "  EXPLAIN\n\tANALYZE\nDROP VIEW parts",
    "explain create table mine (a int)",
    "from query('with w as (copy (select 1) to ''{ledger}/mine.csv'') from w')",
    "from \"query\"('select 1')",
    "from query_table('superseding')",
    "from json_execute_serialized_sql(json_serialize_sql('select 1'))",
]


@pytest.mark.parametrize("statement", [*WRITES, *HIDDEN_WRITES])
def test_what_writes_or_changes_settings_is_refused_and_changes_nothing(shared: lk.Ledger, statement: str) -> None:
    shared.sql("select 1")
    before = files_of(shared)
    with pytest.raises(lk.QueryError, match=r"only read|Begin with EXPLAIN|syntax error"):
        shared.sql(statement.replace("{ledger}", str(shared.path)))
    assert files_of(shared) == before
    assert shared.sql("select count(*) from parts").item() == 14
    assert shared.sql("select count(*) from superseding").item() == 0


FILES = [
    "from read_text('/etc/passwd')",
    "from read_blob('/etc/passwd')",
    "from read_csv('/etc/passwd')",
    "from read_json('/etc/passwd')",
    "from read_parquet('/etc/passwd')",
    "from parquet_metadata('/etc/passwd')",
    "from sniff_csv('/etc/passwd')",
    "from glob('/etc/*')",
    "from '/etc/passwd'",
    "from '/tmp/any.parquet'",
    "from 'https://example.com/any.parquet'",
    "from 's3://bucket/any.parquet'",
    "from read_csv('https://example.com/any.csv')",
    "from read_text('{ledger}/ledger.json')",
    "from '{ledger}/ledger.json'",
    "from glob('{ledger}/**')",
    "select content from read_blob('{ledger}/ledger.json')",
    "select (select content from READ_TEXT('{ledger}/ledger.json'))",
    "explain analyze from read_text('{ledger}/ledger.json')",
    "select * from parts where text in (select content from read_text('{ledger}/ledger.json'))",
]


@pytest.mark.parametrize("query", FILES)
def test_files_are_out_of_reach_even_the_ledgers_own(shared: lk.Ledger, query: str) -> None:
    with pytest.raises(lk.QueryError, match=r"only read|Permission|disabled"):
        shared.sql(query.replace("{ledger}", str(shared.path)))


def test_variables_of_the_program_are_out_of_reach(shared: lk.Ledger) -> None:
    secret_frame = pl.DataFrame({"a": [1]})
    assert secret_frame.height == 1
    with pytest.raises(lk.UnknownNameError, match="No table 'secret_frame'"):
        shared.sql("from secret_frame")


def test_the_environment_is_out_of_reach(shared: lk.Ledger) -> None:
    with pytest.raises(lk.QueryError):
        shared.sql("select getenv('HOME')")


@pytest.mark.parametrize(
    ("query", "count"), [("select 1; select 2", 2), ("select 1; drop view parts", 2), ("", 0), (" ; ", 0)]
)
def test_one_statement_at_a_time(shared: lk.Ledger, query: str, count: int) -> None:
    with pytest.raises(lk.QueryError, match=f"Expected one statement, got {count}"):
        shared.sql(query)


# What is answered


@pytest.mark.parametrize(
    "query",
    [
        "select 1 as a",
        "select 1;",
        "from messages",
        "table messages",
        "values (1), (2)",
        "describe parts",
        "show tables",
        "summarize model_calls",
        "explain select 1",
        "explain analyze select count(*) from parts",
        "EXPLAIN (FORMAT json) select 1",
        "with recursive t as (select 1 as n union all select n + 1 from t where n < 3) from t",
        "select kind, count(*) from parts group by all having count(*) > 1 order by 2 desc limit 3",
        "select * exclude (text) from parts qualify row_number() over (partition by kind order by sequence_no) = 1",
        "select m.text from messages m join tool_calls t using (message_id)",
        "from parts select kind where text ilike '%passed%'",
        "pivot parts on kind in ('USER_TASK', 'ASSISTANT_RESPONSE') using count(*) group by step",
        "unpivot (select 1 as a, 2 as b) on a, b",
        "select list_transform([1, 2], lambda x: x + 1), {'type': 'INSERT_QUERY_NODE'}, 'copy to insert'",
        "select data->>'$.command' as command from parts where part_type = 'tool_call'",
        "select * from (values (1), (2)) v(a) where a in (select 2)",
        "select * from range(3), unnest([1, 2])",
        "select * from parts -- drop view parts",
        "select current_setting('TimeZone')",
        "select * from messages p positional join parts q limit 1",
        'select text as "a.b" from parts',
    ],
)
def test_every_form_of_reading_is_answered(shared: lk.Ledger, query: str) -> None:
    assert shared.sql(query).width > 0


def test_parameters_stand_in_place_of_values(shared: lk.Ledger) -> None:
    assert shared.sql("select count(*) from parts where kind = ? and step = ?", ["ASSISTANT_RESPONSE", 1]).item() == 1
    named = "select count(*) from parts where kind = $kind and text like $like"
    assert shared.sql(named, {"kind": "ASSISTANT_RESPONSE", "like": "Step%"}).item() == 3
    quoted = "it's; drop view parts --"
    assert shared.sql("select ?", [quoted]).item() == quoted


@pytest.mark.parametrize("parameters", [None, [], [1, 2], {"other": 1}])
def test_parameters_that_do_not_fit_are_an_error_of_the_query(shared: lk.Ledger, parameters: object) -> None:
    with pytest.raises(lk.QueryError):
        shared.sql("select ?", parameters)  # pyright: ignore[reportArgumentType]


def test_values_arrive_with_their_types(shared: lk.Ledger) -> None:
    row = shared.sql(
        "select min(created_at) as at, sum(output_tokens) as tokens, 1.10::decimal(18, 9) as money, [1, 2] as list,"
        " true as flag, null as nothing, date '2026-01-02' as day, encode('ü') as raw from model_calls"
    ).row(0, named=True)
    assert row["at"] == datetime(2026, 2, 1, 9, 0, 2, tzinfo=UTC)
    assert row["tokens"] == 28
    assert row["money"] == Decimal("1.10")
    assert (row["list"], row["flag"], row["nothing"], row["raw"]) == ([1, 2], True, None, "ü".encode())


def test_times_are_utc_whatever_the_place_of_the_program(shared: lk.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    frame = shared.sql("select min(created_at) as first, timestamptz '2026-02-01 10:00+01' as other from messages")
    assert frame.schema == {"first": pl.Datetime("us", "UTC"), "other": pl.Datetime("us", "UTC")}
    assert frame.row(0) == (datetime(2026, 2, 1, 9, 0, 1, tzinfo=UTC), datetime(2026, 2, 1, 9, tzinfo=UTC))


@pytest.mark.parametrize("query", ["select interval 1 day", "select union_value(a := 1)"])
def test_a_type_that_frames_do_not_have_is_an_error_of_the_query(shared: lk.Ledger, query: str) -> None:
    with pytest.raises(lk.QueryError, match="cast it"):
        shared.sql(query)


# Mistakes


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("from message", "Did you mean 'messages'"),
        ("from toolcalls", "Did you mean 'tool_calls'"),
        ("from model_call", "Did you mean 'model_calls'"),
        ("select txt from parts", "Did you mean 'text'"),
        ("select created from messages", "Did you mean 'created_at'"),
        ("from parts where tokens > 3", "Did you mean 'input_tokens'"),
        ("from nothing_like_it_at_all", "Known: checkpoints, "),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest_right_one(shared: lk.Ledger, query: str, message: str) -> None:
    with pytest.raises(lk.UnknownNameError) as caught:
        shared.sql(query)
    assert message in str(caught.value)
    assert caught.value.available


@pytest.mark.parametrize("query", ["selec 1", "select * from parts wher x", "select 1 +", "select 'open"])
def test_a_query_that_cannot_be_parsed_says_where_and_names_the_tables(shared: lk.Ledger, query: str) -> None:
    with pytest.raises(lk.QueryError, match="Parser Error") as caught:
        shared.sql(query)
    assert "Tables: messages, parts" in str(caught.value)


@pytest.mark.parametrize(
    "query", ["select 'a'::int", "select count(text, kind, step) from parts", "select x.nope from parts x"]
)
def test_a_query_that_fails_is_an_error_that_callers_of_ledgerkit_catch(shared: lk.Ledger, query: str) -> None:
    with pytest.raises(lk.LedgerkitError) as caught:
        shared.sql(query)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value)


# Freshness


@pytest.mark.long
def test_a_query_sees_what_was_committed_before_it(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = Log("fresh")
    for number in range(3):
        log.asks(f"prompt {number}")
        log.write(tmp_path / "a.jsonl")
        ledger.import_logs(tmp_path / "a.jsonl", now=NOW + timedelta(hours=number))
        assert ledger.sql("select count(*) from messages").item() == number + 1


def test_a_lazy_frame_stays_what_it_was_and_a_new_one_is_new(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = Log("lazy")
    log.asks("one")
    ledger.import_logs(log.write(tmp_path / "a.jsonl"), now=NOW)
    lazy = ledger.scan("messages").select("text")
    log.asks("two")
    ledger.import_logs(log.write(tmp_path / "a.jsonl"), now=NOW + timedelta(hours=1))
    assert lazy.collect().height in (1, 2)
    assert ledger.scan("messages").collect().height == 2


def test_sums_of_integers_are_integers_unless_they_do_not_fit(ledger: lk.Ledger) -> None:
    found = ledger.sql("select sum(n) as small, sum(n::hugeint) * 9223372036854775807 as large from range(5) t(n)")
    assert found.schema["small"] == pl.Int64
    assert found["small"].item() == 10
    assert int(found["large"].item()) == 10 * 9223372036854775807
