"""Each check names each fault as it is, and the message that has it; what is right gives nothing."""

from __future__ import annotations

from typing import Any, Final

import polars as pl
import pytest

from ledgerkit import tables
from ledgerkit.store.integrity.checkpoints import Checkpoint
from ledgerkit.store.integrity.checks import check_chains, check_checkpoints, check_leaves, check_messages, check_runs
from ledgerkit.store.integrity.findings import IntegrityFinding, Rule, VerificationReport
from ledgerkit.store.integrity.leaves import Heads, with_message_leaves, with_run_leaves
from tests.store.rows import START, changed, counted, facts, part, parts


def found(rule: Rule, detail: str, run: str | None = None, number: int | None = None) -> IntegrityFinding:
    """A finding about a message; about nothing in particular if no run is named."""
    if run is None:
        return IntegrityFinding(rule, detail)
    if number is None:
        return IntegrityFinding(rule, detail, session_id="s", run_id=run)
    return IntegrityFinding(rule, detail, session_id="s", run_id=run, sequence_no=number, message_id=f"{run}-{number}")


@pytest.fixture(scope="module")
def messages() -> pl.DataFrame:
    return with_message_leaves(tables.HISTORY.frame(parts()), Heads(0, {}), counted)


@pytest.fixture(scope="module")
def runs() -> pl.DataFrame:
    return with_run_leaves(tables.RUNS.frame([facts("a", title="T"), facts("b", branch="main")]), 0, counted)


def at(run: str, number: int, index: int | None = None) -> pl.Expr:
    place = (pl.col("run_id") == run) & (pl.col("sequence_no") == number)
    return place if index is None else place & (pl.col("part_index") == index)


NO_HASHES: Final = found(Rule.MISSING_PROOF, "The message has no hashes.", "a", 1)
OTHER_CONTENT: Final = found(Rule.ALTERED_CONTENT, "Its content is not what was committed to.", "a", 1)
OTHER_LEAF: Final = found(Rule.ALTERED_MESSAGE, "The message is not what its leaf hash says.", "a", 1)
LEFT: Final = found(
    Rule.ALTERED_CONTENT, "It is marked as erased, and content is left in it, or in a part of it.", "a", 1
)
NOT_DENSE: Final = found(
    Rule.MISSING_PART, "Its parts are not numbered 0, 1, 2, …, or a later part carries hashes.", "a", 1
)


@pytest.mark.parametrize(
    ("where", "values", "expected"),
    [
        (at("a", 1, 0), {"text": "other"}, [OTHER_CONTENT]),
        (at("a", 1, 1), {"data": None}, [OTHER_CONTENT]),
        (at("a", 1, 0), {"salt": bytes(16)}, [OTHER_CONTENT]),
        (at("a", 1, 0), {"salt": None}, [OTHER_CONTENT]),
        (at("a", 1, 0), {"content_commit": bytes(32)}, [OTHER_CONTENT, OTHER_LEAF]),
        (at("a", 1, 1), {"token_count": 8}, [OTHER_LEAF]),
        (at("a", 1, 0), {"prev_hash": bytes(32)}, [OTHER_LEAF]),
        (at("a", 1, 0), {"leaf_hash": bytes(32)}, [OTHER_LEAF]),
        (at("a", 1, 0), {"leaf_hash": None}, [NO_HASHES]),
        (at("a", 1, 0), {"content_commit": None}, [NO_HASHES]),
        (at("a", 1, 0), {"prev_hash": None}, [NO_HASHES]),
        (at("a", 1, 1), {"salt": bytes(16)}, [NOT_DENSE]),
        (at("a", 1, 1), {"leaf_index": 4}, [NOT_DENSE]),
        (at("a", 1, 1), {"part_index": 2}, [NOT_DENSE, OTHER_LEAF]),
        (at("a", 1, 0), {"erased": "m"}, [LEFT, OTHER_CONTENT]),
        (at("a", 1, 1), {"erased": "m"}, [LEFT]),
        (at("a", 1), {"erased": "m"}, [LEFT, OTHER_CONTENT]),
        (at("a", 2), {"erased": "m"}, [found(Rule.ALTERED_CONTENT, OTHER_CONTENT.detail, "a", 2)]),
        (at("a", 2), {"erased": "m", "salt": None}, []),
    ],
)
def test_a_message_that_was_changed_is_found_by_its_hashes(
    messages: pl.DataFrame, where: pl.Expr, values: dict[str, Any], expected: list[IntegrityFinding]
) -> None:
    assert list(check_messages(messages)) == []
    assert list(check_messages(changed(messages, where, **values))) == expected


def test_every_message_that_was_changed_is_named(messages: pl.DataFrame) -> None:
    rows = changed(messages, at("a", 0) | at("b", 0), text="changed", leaf_hash=None)
    assert [one.message_id for one in check_messages(rows)] == ["a-0", "b-0"]
    rows = changed(messages, at("a", 0) | at("b", 0), text="changed")
    assert [one.message_id for one in check_messages(rows)] == ["a-0", "b-0"]


@pytest.mark.parametrize(
    ("record", "is_left"), [('{"record":{}}', False), ('{"records":{}}', True), ("{}", True), (None, False)]
)
def test_the_place_of_an_erased_record_may_stay_and_nothing_else(record: str | None, is_left: bool) -> None:
    rows = tables.HISTORY.frame([part("a", 1, erased="m", metadata=record, content_commit=bytes(32))])
    assert (LEFT in list(check_messages(with_message_leaves(rows, Heads(0, {}), counted)))) is is_left


def test_a_message_is_erased_whole_whatever_messages_with_its_id_are() -> None:
    other: list[dict[str, Any]] = [
        {"session_id": "t"},
        {"run_id": "b"},
        {"revision": 1},
        {"sequence_no": 1},
        {"message_id": "n"},
    ]
    rows = [part("a", 0, erased="m", content_commit=bytes(32)), *(part("a", 0, **one) for one in other)]
    sealed = with_message_leaves(tables.HISTORY.frame(rows), Heads(0, {}), counted)
    assert list(check_messages(sealed)) == []
    half = [part("a", 1, 0, text="kept"), part("a", 1, 1, erased="m")]
    assert list(check_messages(with_message_leaves(tables.HISTORY.frame(half), Heads(0, {}), counted))) == [LEFT]


def test_findings_stand_in_the_order_of_the_messages() -> None:
    rows = [part("a", number, index, text="x") for number in range(40) for index in range(2)]
    sealed = with_message_leaves(tables.HISTORY.frame(rows), Heads(0, {}), counted)
    ids = [f"a-{number}" for number in range(40)]
    marked = list(check_messages(changed(sealed, part_of(1), erased="m")))
    assert [one.message_id for one in marked] == ids
    skipped = [one for one in check_messages(changed(sealed, part_of(1), part_index=2)) if one.rule == "missing_part"]
    assert [one.message_id for one in skipped] == ids


def part_of(index: int) -> pl.Expr:
    return pl.col("part_index") == index


def test_runs_that_were_changed_are_found_by_their_hashes(runs: pl.DataFrame) -> None:
    bare = found(Rule.MISSING_PROOF, "The row of runs has no hashes.", "b")
    other = found(Rule.ALTERED_RUN, "The facts of the run are not what was committed to.", "b")
    left = found(Rule.ALTERED_RUN, "The facts are marked as erased, and some are left.", "b")
    assert list(check_runs(runs)) == []
    for values, expected in (
        ({"branch": "other"}, [other]),
        ({"agent": "other"}, [other]),
        ({"salt": None}, [other]),
        ({"row_hash": bytes(32)}, [other]),
        ({"row_hash": None}, [bare]),
        ({"content_commit": None}, [bare]),
        ({"erased": "m"}, [left, other]),
        ({"erased": "m", "salt": None, "branch": None}, []),
    ):
        assert list(check_runs(changed(runs, pl.col("run_id") == "b", **values))) == expected
    every = changed(runs, pl.lit(value=True), agent="other", row_hash=None)
    assert [one.run_id for one in check_runs(every)] == ["a", "b"]


# Chains and leaves


def light(messages: pl.DataFrame) -> pl.DataFrame:
    return messages.filter(part_index=0)


def longer() -> pl.DataFrame:
    """A run of six messages and one of two, in two revisions."""
    rows = [part("a", n) for n in range(6)] + [part("b", n, revision=r) for r in (0, 1) for n in range(2)]
    return light(with_message_leaves(tables.HISTORY.frame(rows), Heads(0, {}), counted))


def chain_findings(rows: pl.DataFrame) -> list[IntegrityFinding]:
    return list(check_chains(rows.sort("session_id", "run_id", "revision", "sequence_no", "leaf_index")))


def missing(gap: str, run: str, number: int, revision: int = 0) -> IntegrityFinding:
    detail = f"Before this message, {gap} missing (revision {revision})."
    return found(Rule.MISSING_MESSAGE, detail, run, number)


def test_gaps_doubles_and_breaks_of_a_chain_are_named() -> None:
    rows = longer()
    assert chain_findings(rows) == []
    assert chain_findings(rows.filter(~at("a", 2))) == [missing("2 of its run is", "a", 3)]
    assert chain_findings(rows.filter(~at("a", 2) & ~at("a", 3))) == [missing("2 to 3 of its run are", "a", 4)]
    assert chain_findings(rows.filter(~at("a", 0))) == [missing("0 of its run is", "a", 1)]
    gone = at("b", 0) & (pl.col("revision") == 1)
    assert chain_findings(rows.filter(~gone)) == [missing("0 of its run is", "b", 1, revision=1)]
    twice = found(Rule.DUPLICATE_MESSAGE, "Number 2 is taken twice in the run.", "a", 2)
    assert chain_findings(pl.concat([rows, rows.filter(at("a", 2))])) == [twice]
    broken = found(Rule.BROKEN_CHAIN, "The message does not follow the one that stands before it.", "a", 3)
    assert chain_findings(changed(rows, at("a", 2), leaf_hash=bytes(32))) == [broken]
    first = found(Rule.BROKEN_CHAIN, broken.detail, "a", 0)
    assert chain_findings(changed(rows, at("a", 0), prev_hash=bytes([1]) * 32)) == [first]


def test_gaps_doubles_and_a_cut_tail_of_the_tree_are_named() -> None:
    rows = longer()
    size = rows.height
    assert list(check_leaves(rows, size)) == []
    last = "just before this one in order of commit."
    for gone, gap, number in (([2], "Leaf 2 is", 3), ([1, 2], "Leaves 1 to 2 are", 3), ([0], "Leaf 0 is", 1)):
        rest = rows.filter(~pl.col("leaf_index").is_in(gone))
        expected = found(Rule.MISSING_MESSAGE, f"{gap} missing, {last}", "a", number)
        assert list(check_leaves(rest, size)) == [expected]
    twice = pl.concat([rows, rows.filter(leaf_index=1)]).sort("leaf_index")
    assert list(check_leaves(twice, size)) == [found(Rule.DUPLICATE_MESSAGE, "Leaf 1 is there twice.", "a", 1)]
    assert list(check_leaves(rows.head(size - 2), size)) == [
        found(Rule.CUT_TAIL, "Leaves 8 to 9 are missing: 10 were committed, the last are gone.")
    ]
    assert list(check_leaves(rows.head(size - 1), size)) == [
        found(Rule.CUT_TAIL, "Leaf 9 is missing: 10 were committed, the last is gone.")
    ]
    assert list(check_leaves(rows.clear(), 3)) == [
        found(Rule.CUT_TAIL, "Leaves 0 to 2 are missing: 3 were committed, the last are gone.")
    ]
    assert list(check_leaves(rows.clear(), 0)) == []
    bare = changed(rows, at("b", 1) & (pl.col("revision") == 1), leaf_index=None)
    assert found(Rule.MISSING_PROOF, "The row has no place in the tree.", "b", 1) in list(check_leaves(bare, size))


def test_leaves_of_runs_name_the_run(runs: pl.DataFrame) -> None:
    detail = "Leaf 0 is missing, just before this one in order of commit."
    assert list(check_leaves(runs.filter(run_id="b"), 2)) == [found(Rule.MISSING_MESSAGE, detail, "b")]


def test_roots_that_checkpoints_state_are_compared() -> None:
    one = Checkpoint("ledgerkit/1", 7, b"r" * 32, 3, b"q" * 32, START)
    named = [("The checkpoint", one)]
    assert list(check_checkpoints(named, {7: b"r" * 32}, {3: b"q" * 32})) == []
    assert list(check_checkpoints(named, {}, {4: b"q" * 32})) == [
        found(Rule.CUT_TAIL, "The checkpoint covers 7 messages; the ledger holds fewer: its tail was cut."),
        found(Rule.CUT_TAIL, "The checkpoint covers 3 rows of runs; the ledger holds fewer: its tail was cut."),
    ]
    why = "one of them was changed, moved or replaced, together with its hashes."
    assert list(check_checkpoints(named, {7: b"x" * 32}, {3: b"r" * 32})) == [
        found(Rule.ROOT_MISMATCH, f"The checkpoint states another root over the first 7 messages: {why}"),
        found(Rule.ROOT_MISMATCH, f"The checkpoint states another root over the first 3 rows of runs: {why}"),
    ]


def test_a_report_shows_its_findings_as_a_frame() -> None:
    one = IntegrityFinding(Rule.BROKEN_CHAIN, "why", "s", "a", 3, "a-3", "history/x")
    assert VerificationReport().ok
    assert not VerificationReport([one]).ok
    frame = VerificationReport([one, found(Rule.CUT_TAIL, "gone")]).frame()
    assert frame.schema == {
        "rule": pl.String, "detail": pl.String, "session_id": pl.String, "run_id": pl.String,
        "sequence_no": pl.Int64, "message_id": pl.String, "file": pl.String,
    }  # fmt: skip
    assert frame.rows() == [
        ("broken_chain", "why", "s", "a", 3, "a-3", "history/x"),
        ("cut_tail", "gone", None, None, None, None, None),
    ]
    assert VerificationReport().frame().schema == frame.schema
