"""What somebody who may write the folder can change, verification finds, and names the message."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit import tables
from ledgerkit.store.integrity.findings import LIMITS, Rule
from ledgerkit.store.integrity.leaves import Heads, with_message_leaves, with_run_leaves
from ledgerkit.store.integrity.tree import root_of
from ledgerkit.tables import Column, Role
from tests.builders import Log, text, tool_use, usage, working_session, write_lines
from tests.conftest import NOW
from tests.store.tampering import Change, rewrite

PART = {"type": "text", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}


def command(said: str, **fields: Any) -> lk.AppendMessageCommand:
    whole = {"session_id": "live", "run_id": "live", "kind": "USER_TASK", "actor": "user", **fields}
    return lk.AppendMessageCommand.model_validate({**whole, "parts": [{**PART, "text": said}] * 2})


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A ledger of several commits, runs and revisions, and a checkpoint that was kept elsewhere."""
    folder = tmp_path_factory.mktemp("verify")
    log = working_session("early")
    with lk.open(folder / "l", key=bytes(32)) as ledger:
        ledger.import_logs(write_lines(folder / "late.jsonl", log.records[6:]), now=NOW)
        ledger.import_logs(write_lines(folder / "early.jsonl", log.records[:6]), now=NOW + timedelta(hours=1))
        other = Log("other")
        other.asks("Long")
        other.answers(text("x"), tool_use("c"), used=usage(3, 2))
        other.returns("c", "y" * 70_000)
        other.bare("ai-title", aiTitle="A title", sessionId=other.session)
        ledger.import_logs(other.write(folder / "other.jsonl"), now=NOW + timedelta(hours=2))
        with ledger.record("live", "live", agent="me", repository="shop") as recorder:
            for number in range(5):
                recorder.append(command(f"said {number}", idempotency_key=f"k{number}"))
        head = str(ledger.checkpoint())
        assert ledger.verify(checkpoints=[head]).ok
    return folder / "l", head


@pytest.fixture
def path(built: tuple[Path, str], tmp_path: Path) -> Path:
    return Path(shutil.copytree(built[0], tmp_path / "l"))


def findings(path: Path, **options: Any) -> list[tuple[str, str | None, str | None, int | None]]:
    with lk.open(path) as ledger:
        found = ledger.verify(**options).findings
    return [(one.rule, one.message_id, one.run_id, one.sequence_no) for one in found]


OTHERS: Final[dict[pl.DataType, Callable[[Any], object]]] = {
    tables.TEXT: lambda value: f"{value}x",
    tables.TIME: lambda value: (value or NOW) + timedelta(microseconds=1),
    tables.BYTES: lambda value: bytes([value[0] ^ 1]) + value[1:] if value else bytes(32),
    tables.MONEY: lambda value: (value or Decimal(0)) + 1,
    tables.TEXTS: lambda value: pl.Series([*(value or ()), "x"], dtype=pl.String).to_list(),
    tables.INT: lambda value: 7 if value is None else value + 1,
    tables.SMALL_INT: lambda value: 7 if value is None else value + 1,
}
"""Another value of each type."""


def setting(column: Column, at: int) -> Change:
    """Changes one cell."""

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        values = rows[column.name].to_list()
        values[at] = OTHERS[column.type](values[at])
        return rows.with_columns(pl.Series(column.name, values, column.type))

    return change


def sampled(names: Sequence[str], fast: Sequence[str]) -> list[Any]:
    """All names; those that are not in the sample run with the slow tests."""
    return [pytest.param(name, marks=() if name in fast else pytest.mark.slow) for name in names]


HASHED: Final = [c for c in tables.HISTORY.columns if c.role is not Role.PROOF]
PLACES: Final = {"run_date", "session_id", "run_id", "revision", "sequence_no", "part_index", "message_id"}


@pytest.mark.parametrize(
    "name",
    sampled(
        [c.name for c in HASHED if c.name not in PLACES],
        ["kind", "text", "data", "metadata", "created_at", "artifact_refs", "token_count", "reported_cost"],
    ),
)
def test_a_changed_cell_is_found_and_its_message_named(path: Path, name: str) -> None:
    column = next(c for c in tables.HISTORY.columns if c.name == name)
    changed: list[str] = []

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        changed.append(rows["message_id"][3])
        return setting(column, 3)(rows)

    rewrite(path, "history", change)
    rules = {Rule.ALTERED_CONTENT} if column.role is Role.CONTENT else {Rule.ALTERED_MESSAGE}
    found = findings(path)
    assert {rule for rule, message, *_ in found if message == changed[0]} == rules
    assert {message for rule, message, *_ in found if rule is not Rule.MISSING_ARTIFACT} == set(changed)


@pytest.mark.parametrize("name", sampled(sorted(PLACES), ["sequence_no", "run_id"]))
def test_a_message_that_says_another_place_is_found(path: Path, name: str) -> None:
    column = next(c for c in tables.HISTORY.columns if c.name == name)
    rewrite(path, "history", setting(column, 3))
    assert findings(path)


@pytest.mark.parametrize(
    "name", sampled([c.name for c in tables.HISTORY.columns if c.role is Role.PROOF], ["leaf_hash", "salt", "erased"])
)
def test_a_changed_proof_is_found(path: Path, name: str) -> None:
    column = next(c for c in tables.HISTORY.columns if c.name == name)
    rewrite(path, "history", setting(column, 3))
    assert findings(path)


@pytest.mark.parametrize("name", sampled(tables.RUNS.names, ["agent", "title", "row_hash", "erased"]))
def test_a_changed_fact_of_a_run_is_found(path: Path, name: str) -> None:
    rewrite(path, "runs", setting(next(c for c in tables.RUNS.columns if c.name == name), 1))
    assert findings(path)


def at(number: int) -> pl.Expr:
    return (pl.col("run_id") == "live") & (pl.col("sequence_no") == number)


def swapped(rows: pl.DataFrame) -> pl.DataFrame:
    """Two messages of a run in each other's place."""
    number = pl.col("sequence_no")
    moved = pl.when(at(1)).then(2).when(at(2)).then(1).otherwise(number).cast(pl.Int64)
    return rows.with_columns(moved.alias("sequence_no"))


def renumbered(rows: pl.DataFrame) -> pl.DataFrame:
    """A message taken out, and those after it moved up."""
    rest = rows.filter(~at(2))
    later = (pl.col("run_id") == "live") & (pl.col("sequence_no") > 2)
    return rest.with_columns(
        pl.when(later).then(pl.col("sequence_no") - 1).otherwise(pl.col("sequence_no")).alias("sequence_no")
    )


def spliced(rows: pl.DataFrame) -> pl.DataFrame:
    """A message of one run at the end of another."""
    taken = rows.filter(at(2))
    other = rows.filter(pl.col("run_id") != "live").row(-1, named=True)
    where = {name: other[name] for name in ("session_id", "run_id", "revision", "run_date")}
    moved = taken.with_columns(
        *(pl.lit(value, rows.schema[name]).alias(name) for name, value in where.items()),
        pl.lit(other["sequence_no"] + 1, pl.Int64).alias("sequence_no"),
    )
    return pl.concat([rows.filter(~at(2)), moved])


def part(number: int) -> pl.Expr:
    return pl.col("part_index") == number


def beheaded(rows: pl.DataFrame) -> pl.DataFrame:
    """The last message of the ledger gone."""
    last = rows.filter(pl.col("leaf_index") == pl.col("leaf_index").max())["message_id"].item()
    return rows.filter(pl.col("message_id") != last)


def swollen(rows: pl.DataFrame) -> pl.DataFrame:
    """A message with a part more."""
    more = rows.filter(at(2) & part(1)).with_columns(pl.lit(2, pl.Int32).alias("part_index"))
    return pl.concat([rows, more])


STRUCTURAL: Final[dict[str, Change]] = {
    "swapped": swapped,
    "dropped": lambda rows: rows.filter(~at(2)),
    "dropped and renumbered": renumbered,
    "doubled": lambda rows: pl.concat([rows, rows.filter(at(2))]),
    "lost a part": lambda rows: rows.filter(~(at(2) & part(1))),
    "gained a part": swollen,
    "cut tail of a run": lambda rows: rows.filter(~at(4)),
    "cut tail of the ledger": beheaded,
    "spliced": spliced,
    "an old revision gone": lambda rows: rows.filter(pl.col("revision") > 0),
    "a run gone": lambda rows: rows.filter(pl.col("run_id") != "live"),
}
NAMED: Final = tuple(STRUCTURAL)[:6]


@pytest.mark.parametrize("name", STRUCTURAL)
def test_messages_that_were_moved_taken_out_or_put_in_are_found(path: Path, name: str) -> None:
    rewrite(path, "history", STRUCTURAL[name])
    found = findings(path)
    assert found
    if name in (
        "swapped",
        "dropped",
        "dropped and renumbered",
        "doubled",
        "lost a part",
        "gained a part",
        "cut tail of a run",
    ):
        named = {(run, number) for _, _, run, number in found if run == "live"} or {rule for rule, *_ in found}
        assert named & {*(("live", number) for number in range(1, 5)), Rule.CUT_TAIL}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_change_of_any_cell_of_any_message_is_found(built: tuple[Path, str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["history", "runs"]))
    with lk.open(built[0]) as ledger:
        count = int(ledger.info().filter(pl.col("table") == name)["rows"].item())
    column = data.draw(st.sampled_from(tables.TABLES[name].columns))
    row = data.draw(st.integers(0, count - 1))
    target = built[0].parent / "any"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(built[0], target)
    rewrite(target, name, setting(column, row))
    assert findings(target)


def forged(rows: pl.DataFrame) -> pl.DataFrame:
    """A text changed, and every hash of its run made to fit."""
    text_changed = pl.when(at(1)).then(pl.lit("forged")).otherwise(pl.col("text"))
    mine = rows.filter(pl.col("run_id") == "live").with_columns(text_changed.alias("text"))
    begin = int(mine["leaf_index"].min())  # type: ignore[arg-type]
    return pl.concat([rows.filter(pl.col("run_id") != "live"), with_message_leaves(mine, Heads(begin, {}), bytes)])


def test_hashes_that_were_made_to_fit_break_the_root(path: Path) -> None:
    rewrite(path, "history", forged)
    assert {rule for rule, *_ in findings(path)} == {Rule.ROOT_MISMATCH}


@pytest.mark.long
def test_a_full_rewrite_is_found_by_a_checkpoint_from_outside_and_by_nothing_else(
    path: Path, built: tuple[Path, str]
) -> None:
    rewrite(path, "history", forged)
    with lk.open(path) as ledger:
        leaves = ledger.sql("select unhex(leaf_hash) as leaf from messages").height
        assert leaves
    _forge_checkpoints(path)
    with lk.open(path) as ledger:
        alone, outside = ledger.verify(), ledger.verify(checkpoints=[built[1]])
    assert alone.ok
    assert LIMITS in alone.limits
    assert {finding.rule for finding in outside.findings} == {Rule.ROOT_MISMATCH}
    assert LIMITS not in outside.limits


def _forge_checkpoints(path: Path) -> None:
    """Computes every checkpoint anew over the forged leaves, with ids and links that fit."""
    with lk.open(path) as ledger:
        storage = ledger._storage  # pyright: ignore[reportPrivateUsage]
        query = "select leaf_hash from sealed_history where part_index = 0 order by leaf_index"
        leaves = storage.database.sealed(query)["leaf_hash"].to_list()
        origin = storage.layout.origin

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        from ledgerkit.store.heads import checkpoint_of

        made: list[dict[str, Any]] = []
        previous = None
        for row in rows.sort("tree_size", "runs_size", "created_at").to_dicts():
            row |= {"root": root_of(leaves[: row["tree_size"]]), "previous": previous}
            row["checkpoint_id"] = previous = checkpoint_of(origin, row).id
            made.append(row)
        return tables.CHECKPOINTS.frame(made)

    rewrite(path, "checkpoints", change)


def test_a_ledger_that_was_rolled_back_is_found_by_a_checkpoint_from_outside(tmp_path: Path) -> None:
    with lk.open(tmp_path / "l", key=bytes(32)) as ledger:
        ledger.import_logs(working_session("a").write(tmp_path / "a.jsonl"), now=NOW)
        shutil.copytree(ledger.path, tmp_path / "older")
        ledger.import_logs(working_session("b").write(tmp_path / "b.jsonl"), now=NOW)
        head = ledger.checkpoint()
    with lk.open(tmp_path / "older") as older:
        assert older.verify().ok
        assert {finding.rule for finding in older.verify(checkpoints=[head]).findings} == {Rule.CUT_TAIL}


def test_a_checkpoint_of_another_ledger_is_refused(path: Path, tmp_path: Path) -> None:
    with lk.open(tmp_path / "other", key=bytes(range(32))) as other:
        head = other.checkpoint()
    assert {rule for rule, *_ in findings(path, checkpoints=[head])} == {Rule.FOREIGN_CHECKPOINT}


def test_only_what_came_after_a_trusted_checkpoint_is_hashed_again(path: Path, built: tuple[Path, str]) -> None:
    with lk.open(path) as ledger:
        with ledger.record("live", "live") as recorder:
            recorder.append_many([command("more"), command("and more")])
        report = ledger.verify(since=built[1])
        assert report.ok
        assert report.rehashed == 2
        assert any("not hashed again" in limit for limit in report.limits)


def test_a_sample_is_drawn_by_its_seed_and_says_what_it_is_worth(path: Path) -> None:
    with lk.open(path) as ledger:
        first, again = (ledger.verify(sample=5, seed=7) for _ in range(2))
        assert first == again
        assert first.rehashed == 5
        assert any("probability" in limit for limit in first.limits)


@pytest.mark.long
def test_a_missing_artifact_and_a_changed_one_are_named(path: Path) -> None:
    with lk.open(path) as ledger:
        (ref,) = ledger.sql("select artifact_refs from parts where len(artifact_refs) > 0").item()
    rewrite(path, "artifacts", lambda rows: rows.with_columns(pl.lit(b"other").alias("content")))
    with lk.open(path) as ledger:
        report = ledger.verify()
        assert {finding.rule for finding in report.findings} == {Rule.ALTERED_ARTIFACT}
        assert ref in report.findings[0].detail
    rewrite(path, "artifacts", lambda rows: rows.filter(pl.col("content_id") != ref))
    with lk.open(path) as ledger:
        (finding,) = ledger.verify().findings
        assert (finding.rule, ref in finding.detail) == (Rule.MISSING_ARTIFACT, True)


def test_a_content_that_is_marked_as_erased_without_a_record_is_found(path: Path) -> None:
    blank = {c.name: pl.lit(None, c.type) for c in tables.HISTORY.of_role(Role.CONTENT)}
    hidden = [pl.when(at(1)).then(value).otherwise(pl.col(name)).alias(name) for name, value in blank.items()]
    mark = pl.when(at(1)).then(pl.lit("nobody")).otherwise(pl.col("erased")).alias("erased")
    salt = pl.when(at(1)).then(pl.lit(None, pl.Binary)).otherwise(pl.col("salt")).alias("salt")
    rewrite(path, "history", lambda rows: rows.with_columns(*hidden, mark, salt))
    assert {rule for rule, *_ in findings(path)} == {Rule.UNEXPLAINED_ERASURE}


@pytest.mark.long
def test_work_that_is_not_the_ledgers_is_found(path: Path) -> None:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    table = DeltaTable(str(path / "history"))
    with pytest.raises(DeltaError):
        table.delete("sequence_no = 1")
    with pytest.raises(DeltaError):
        table.update(new_values={"text": "x"}, predicate="sequence_no = 1")
    table.alter.set_table_properties({"delta.appendOnly": "false"})
    assert Rule.NOT_APPEND_ONLY in {rule for rule, *_ in findings(path)}
    with lk.open(path) as ledger, pytest.raises(lk.IntegrityError, match="switched off"):
        _record(ledger)
    table.delete("sequence_no = 1 and run_id = 'live'")
    rules = {rule for rule, *_ in findings(path)}
    assert {Rule.NOT_APPEND_ONLY, Rule.MISSING_MESSAGE} <= rules


def _record(ledger: lk.Ledger) -> None:
    with ledger.record("live", "new") as recorder:
        recorder.append(command("one more", run_id="new"))


def test_a_restore_is_found(path: Path) -> None:
    from deltalake import DeltaTable

    DeltaTable(str(path / "history")).restore(2)
    with lk.open(path) as ledger, pytest.raises(lk.IntegrityError, match="restored or deleted"):
        _record(ledger)
    rules = {rule for rule, *_ in findings(path)}
    assert {Rule.NOT_APPEND_ONLY, Rule.CUT_TAIL} <= rules


def test_run_leaves_are_in_a_tree_of_their_own(path: Path) -> None:
    def change(rows: pl.DataFrame) -> pl.DataFrame:
        forged_rows = rows.with_columns(pl.lit("forged").alias("agent"))
        return with_run_leaves(forged_rows.sort("leaf_index"), 0, bytes)

    rewrite(path, "runs", change)
    assert Rule.ROOT_MISMATCH in {rule for rule, *_ in findings(path)}
