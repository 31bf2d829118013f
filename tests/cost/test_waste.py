"""Waste on frames: what was sent, read, run or written again, what it cost, and where to look."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import polars as pl
import pytest

from ledgerkit.cost import PriceBook, price_calls
from ledgerkit.cost.waste import (
    WASTE,
    cache_misses,
    compactions,
    repeated_reads,
    retries,
    subagents,
    units,
    unused_outputs,
)

START: Final = datetime(2026, 1, 5, 12, tzinfo=UTC)
Row = Mapping[str, Any]
CALL: Final[Row] = {
    "session_id": "s", "run_id": "r", "call_id": "c", "message_id": "m", "step": 0, "model": "own", "provider": None,
    "service_tier": None, "created_at": START, "finished_at": None, "input_tokens": 10_000, "cache_read_tokens": None,
    "cache_write_5m_tokens": None, "cache_write_1h_tokens": None, "output_tokens": 0, "reasoning_tokens": None,
    "billed": True, "relation": None,
}  # fmt: skip
TYPES: Final = {
    **dict.fromkeys(("step",), pl.Int32), **dict.fromkeys(("created_at", "finished_at"), pl.Datetime("us", "UTC")),
    **{name: pl.Int64 for name in CALL if name.endswith("_tokens")}, "billed": pl.Boolean,
}  # fmt: skip


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> PriceBook:
    """Prices that differ for everything: input 3, read 1, written for five minutes 4, for an hour 6."""
    path = tmp_path_factory.mktemp("prices") / "own.toml"
    prices = "input = 3, output = 15, cache_read = 1, cache_write_5m = 4, cache_write_1h = 6"
    path.write_text(
        f'source = "own"\n[[prices]]\nmodel = "own"\nusd_per_mtok = {{ {prices} }}\n'
        '[[prices]]\nmodel = "upside-down"\nusd_per_mtok = { input = 1, output = 1, cache_read = 2 }\n'
    )
    return PriceBook.from_file(path, bundled=False)


def called(book: PriceBook, *rows: Row) -> pl.DataFrame:
    """Priced calls, each a step and a minute after the one before unless it says otherwise."""
    whole = [
        {
            **CALL,
            "step": n,
            "call_id": f"c{n}",
            "message_id": f"m{n}",
            "created_at": START + timedelta(minutes=n),
            **row,
        }
        for n, row in enumerate(rows)
    ]
    schema = {name: TYPES.get(name, pl.String) for name in CALL}
    return price_calls(pl.DataFrame(whole, schema), book)


def changes(*steps: tuple[str, int, str]) -> pl.DataFrame:
    """Steps of runs at which a compaction took parts out."""
    rows = [("s", run, step, message) for run, step, message in steps]
    return pl.DataFrame(rows, ["session_id", "run_id", "step", "message_id"], orient="row").cast(
        {"session_id": pl.String, "run_id": pl.String, "step": pl.Int64, "message_id": pl.String}
    )


def told(found: pl.DataFrame, *columns: str) -> list[tuple[object, ...]]:
    assert found.schema == WASTE
    return found.select(columns).rows()


KEPT: Final = {"cache_write_5m_tokens": 9_000}
UNSAID: Final = "prefix changed or evicted: the log does not say by what"


@pytest.mark.parametrize(
    ("first", "second", "tokens", "cost", "detail"),
    [
        (KEPT, {}, 9_000, "0.018", UNSAID),
        (KEPT, {"cache_read_tokens": 1_000}, 8_000, "0.016", UNSAID),
        (KEPT, {"cache_write_5m_tokens": 9_500}, 9_000, "0.027", UNSAID),
        (KEPT, {"cache_write_1h_tokens": 9_500}, 9_000, "0.045", UNSAID),
        (KEPT, {"cache_write_1h_tokens": 1, "cache_write_5m_tokens": 1}, 9_000, "0.045", UNSAID),
        (KEPT | {"cache_read_tokens": 500}, {}, 9_500, "0.019", UNSAID),
        (KEPT | {"cache_write_1h_tokens": 500}, {}, 9_500, "0.019", UNSAID),
        ({"cache_read_tokens": 1}, {}, 10_000, "0.02", UNSAID),
        ({"cache_read_tokens": 2_000}, {}, 10_000, "0.02", UNSAID),
        (KEPT, {"input_tokens": 5_000}, 5_000, "0.01", UNSAID),
        (KEPT, {"cache_read_tokens": 9_000 - 1_024}, 1_024, "0.002048", UNSAID),
        (KEPT, {"created_at": START + timedelta(seconds=301)}, 9_000, "0.018", "expired: 301 s since the call before"),
        (KEPT, {"created_at": START + timedelta(seconds=300)}, 9_000, "0.018", UNSAID),
        (
            KEPT | {"finished_at": START + timedelta(seconds=9)}, {"created_at": START + timedelta(seconds=310)}, 9_000,
            "0.018", "expired: 301 s since the call before",
        ),
        (KEPT | {"cache_write_1h_tokens": 1}, {"created_at": START + timedelta(hours=1)}, 9_001, "0.018002", UNSAID),
        (
            {"cache_write_1h_tokens": 9_000}, {"created_at": START + timedelta(seconds=3601)}, 9_000, "0.018",
            "expired: 3601 s since the call before",
        ),
        (KEPT, {"model": "upside-down"}, 9_000, "0", "prefix changed: another model"),
        (KEPT, {"model": "upside-down", "created_at": START + timedelta(hours=2)}, 9_000, "0",
         "prefix changed: another model"),
    ],
)  # fmt: skip
def test_what_was_in_the_cache_and_is_sent_again_is_a_miss(
    book: PriceBook, first: Row, second: Row, tokens: int, cost: str, detail: str
) -> None:
    found = cache_misses(called(book, first, second), changes(), book)
    columns = ("kind", "run_id", "step", "tokens", "cost", "detail", "refs", "carried_calls", "path")
    assert told(found, *columns) == [
        ("cache_miss", "r", 1, tokens, Decimal(cost), detail, ["message:m1"], None, None)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {}),
        (KEPT, {"cache_read_tokens": 9_000}),
        (KEPT, {"cache_read_tokens": 9_000 - 1_023}),
        (KEPT | {"billed": False}, {}),
        (KEPT, {"billed": False}),
        (KEPT | {"model": "unheard-of"}, {}),
        (KEPT, {"run_id": "other"}),
        (KEPT, {"session_id": "other"}),
        (KEPT | {"step": None}, {"step": None}),
    ],
)
def test_what_was_not_kept_or_is_read_is_no_miss(book: PriceBook, first: Row, second: Row) -> None:
    assert told(cache_misses(called(book, first, second), changes(), book), "step") == []


def test_a_compaction_explains_a_miss_of_its_step(book: PriceBook) -> None:
    calls = called(book, KEPT, KEPT, {}, KEPT | {"run_id": "other"}, {"run_id": "other"}).reverse()
    taken = changes(("r", 1, "k"), ("r", 1, "k"), ("other", 2, "x"))
    why = "prefix changed: a compaction took parts out"
    assert told(cache_misses(calls, taken, book), "run_id", "step", "detail", "refs") == [
        ("other", 4, UNSAID, ["message:m4"]),
        ("r", 1, why, ["message:m1", "message:k"]),
        ("r", 2, UNSAID, ["message:m2"]),
    ]


def test_calls_that_write_summaries_are_named_with_what_they_wrote(book: PriceBook) -> None:
    calls = called(
        book, {"relation": "compaction"}, {"relation": "rewind"}, {}, {"relation": "compaction", "billed": False},
        {"relation": "compaction", "model": "unheard-of"}, {"input_tokens": 7_000},
    )  # fmt: skip
    rows = [("s", "r", f"c{n}", f"k{n}") for n in (0, 1, 1, 5)]
    summaries = pl.DataFrame(rows, ["session_id", "run_id", "call_id", "message_id"], orient="row")
    found = compactions(calls, summaries)
    assert told(found.sort("step"), "kind", "step", "tokens", "cost", "detail", "refs") == [
        ("compaction", 0, 10_000, Decimal("0.03"), "a call that only summarises", ["message:m0"]),
        ("compaction", 1, 10_000, Decimal("0.03"), "a call that wrote a summary", ["message:m1", "message:k1"]),
        ("compaction", 5, 7_000, Decimal("0.021"), "a call that wrote a summary", ["message:m5", "message:k5"]),
    ]


def test_a_subagent_has_its_share_of_its_session(book: PriceBook) -> None:
    side = {"run_id": "side", "relation": "subagent"}
    calls = called(
        book, {}, side, side | {"input_tokens": 5_000}, side | {"billed": False}, side | {"model": "unheard-of"},
        {"session_id": "t", "relation": "subagent", "model": "unheard-of"}, {"session_id": "u", "relation": "subagent"},
    )  # fmt: skip
    found = subagents(calls.reverse()).sort("session_id")
    assert told(found, "kind", "session_id", "run_id", "tokens", "cost", "detail", "refs") == [
        ("subagent", "s", "side", 25_000, Decimal("0.045"),
         "3 calls, 60.0 % of the session's cost; 1 calls without a known cost", ["message:m1"]),
        ("subagent", "t", "r", 10_000, Decimal(0), "1 calls, 0.0 % of the session's cost; 1 calls without a known cost",
         ["message:m5"]),
        ("subagent", "u", "r", 10_000, Decimal("0.03"), "1 calls, 100.0 % of the session's cost", ["message:m6"]),
    ]  # fmt: skip


# Tool calls with their results


def made(*rows: Row) -> pl.DataFrame:
    """Parts of tool calls: a request and its results, each carried for so much."""
    usual = {"session_id": "s", "run_id": "r", "part_type": "tool_result", "part_index": 0, "status": "SUCCEEDED",
             "tokens": 100, "carrying_cost": 5, "creation_cost": 0, "carried_calls": 2}  # fmt: skip
    names = (*usual, "sequence_no", "message_id", "tool_call_id", "tool_name", "path", "arguments_hash", "content_id",
             "step", "visible_from")  # fmt: skip
    numbers = ("part_index", "tokens", "carrying_cost", "creation_cost", "carried_calls", "sequence_no", "step",
               "visible_from")  # fmt: skip
    places = [{"sequence_no": n, "message_id": f"m{n}", "step": n, "visible_from": n + 1} for n in range(len(rows))]
    whole = [{**usual, **place, **row} for place, row in zip(places, rows, strict=True)]
    schema = {name: pl.Int64 if name in numbers else pl.String for name in names}
    return pl.DataFrame([{name: row.get(name) for name in names} for row in whole], schema)


def asked(call: str, **fields: Any) -> Row:
    whole = {"part_type": "tool_call", "status": "REQUESTED", "tokens": 900, "creation_cost": 7, "tool_call_id": call}
    return whole | {"tool_name": "Read", "path": "a.py", "arguments_hash": "h"} | fields


def test_a_call_and_its_results_are_one_unit() -> None:
    parts = made(
        asked("c"), {"tool_call_id": "c", "content_id": "short", "carried_calls": 1},
        {"tool_call_id": "c", "content_id": "long", "tokens": 300, "carried_calls": 4, "status": "TIMED_OUT"},
        asked("unanswered"), {"tool_call_id": None},
        {"tool_call_id": "late", "tool_name": "Bash"}, {"tool_call_id": "c", "run_id": "q", "content_id": "other"},
    )  # fmt: skip
    found = units(parts.reverse())
    assert found.rows(named=True)[1] == {
        "session_id": "s", "run_id": "r", "tool_call_id": "c", "step": 0, "tool_name": "Read", "path": "a.py",
        "arguments_hash": "h", "sequence_no": 1, "visible_from": 2, "request": "m0", "result": "m1", "is_failed": True,
        "tokens": 300, "content_id": "long", "carried_calls": 4, "cost": 22, "result_cost": 10,
    }  # fmt: skip
    assert found.select("run_id", "tool_call_id", "request", "is_failed").rows() == [
        ("q", "c", None, False), ("r", "c", "m0", True), ("r", "late", None, False),
    ]  # fmt: skip


def test_of_results_of_one_length_the_first_part_is_told() -> None:
    parts = made(
        {"tool_call_id": "c", "part_index": 1, "content_id": "second"},
        {"tool_call_id": "c", "part_index": 0, "content_id": "first"},
    ).with_columns(sequence_no=pl.lit(4, pl.Int64), message_id=pl.lit("m"))
    assert units(parts).select("content_id", "result", "sequence_no").rows() == [("first", "m", 4)]


def test_what_was_read_before_is_read_again() -> None:
    reads = [{"tool_call_id": str(n), "content_id": "x"} for n in range(3)]
    found = units(
        made(
            *reads,
            {"tool_call_id": "3", "content_id": "x", "tokens": 99},
            {"tool_call_id": "4", "content_id": None},
            {"tool_call_id": "5", "content_id": None},
            {"tool_call_id": "6", "content_id": "x", "run_id": "q"},
            {"tool_call_id": "7", "content_id": "y"},
        )
    )
    gone = pl.DataFrame({"session_id": ["s"] * 3, "run_id": ["r", "r", "q"], "visible_from": [3, 3, 2]})
    rows = repeated_reads(found.reverse(), gone, least_tokens=100)
    stood, lost = "read again while it stood in the context", "read again after a compaction"
    assert told(rows, "kind", "step", "tokens", "carried_calls", "cost", "detail", "refs") == [
        ("repeated_read", 1, 100, 2, 5, stood, ["message:m1", "message:m0"]),
        ("repeated_read", 2, 100, 2, 5, lost, ["message:m2", "message:m1"]),
    ]
    early = gone.with_columns(visible_from=pl.lit(1, pl.Int64))
    assert told(repeated_reads(found, early, least_tokens=100), "detail") == [(stood,), (stood,)]
    late = gone.with_columns(visible_from=pl.lit(4, pl.Int64))
    assert told(repeated_reads(found, late, least_tokens=100), "detail") == [(stood,), (stood,)]


def test_a_failed_call_that_is_made_again_is_a_retry() -> None:
    def call(name: str, **fields: Any) -> list[Row]:
        answer = {"status": fields.pop("status", "FAILED"), "run_id": fields.get("run_id", "r")}
        return [asked(name, **fields), {"tool_call_id": name, **answer}]

    parts = made(
        *call("0"), *call("1", arguments_hash="other"), *call("2", status="SUCCEEDED", path=None),
        *call("3", arguments_hash=None, path=None), *call("4", arguments_hash=None, path=None),
        *call("5", tool_name="Edit"), *call("6", run_id="q"),
    )  # fmt: skip
    same, alike = "failed, and made again with the same arguments", "failed, and made again for the same file"
    found = retries(units(parts).reverse())
    assert told(found, "kind", "step", "tool_name", "path", "cost", "detail", "refs") == [
        ("retry", 0, "Read", "a.py", 17, same, ["message:m1", "message:m4"]),
    ]
    parts = made(*call("0"), *call("1", arguments_hash="other"), *call("2", arguments_hash="third", path="b.py"))
    assert told(retries(units(parts)), "step", "detail", "refs") == [(0, alike, ["message:m1", "message:m2"])]


def test_an_output_of_which_no_word_is_written_again_is_unused() -> None:
    five = "alpha bravo chars delta eagle"
    outputs = units(
        made(
            asked("0"),
            {"tool_call_id": "0"},
            asked("1"),
            {"tool_call_id": "1"},
            asked("2"),
            {"tool_call_id": "2"},
            {"tool_call_id": "3", "tokens": 99},
            {"tool_call_id": "4", "carried_calls": 0},
            {"tool_call_id": "5"},
        )
    )
    said = {1: five, 3: "first fresh words gamma sigma", 5: "four brand-new words_ only: zzzz tiny", 6: "one two six"}
    said |= {7: "kappa lambda micron nucleus omega", 8: f"{five} extra"}
    rows = [("s", "r", n, f"m{n}", text, False) for n, text in said.items()]
    rows += [
        ("s", "r", 9, "m9", "so sigma it is", True),
        ("s", "q", 9, "m9", five, True),
        ("s", "r", 0, "m0", "", True),
    ]
    names = ["session_id", "run_id", "sequence_no", "message_id", "text", "is_written"]
    texts = pl.DataFrame(rows, names, orient="row")
    found = unused_outputs(outputs, texts, least_tokens=100)
    detail = "none of the 5 words that it brought up was written again"
    assert told(found, "kind", "step", "tokens", "cost", "detail", "refs") == [
        ("unused_output", 0, 100, 5, detail, ["message:m1", "message:m0"])
    ]
    before = pl.DataFrame([("s", "r", 0, "m0", "alpha", True)], names, orient="row")
    assert told(unused_outputs(outputs, pl.concat([texts, before]), least_tokens=100), "step") == []
