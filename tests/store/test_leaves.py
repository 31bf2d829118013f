"""Hashes of rows are those that their description says; checkpoints and proofs keep what they say in their texts."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

import polars as pl
import pytest

from ledgerkit import IntegrityError, tables
from ledgerkit.store.integrity.canonical import canonical_row
from ledgerkit.store.integrity.checkpoints import Checkpoint
from ledgerkit.store.integrity.leaves import Heads, with_message_leaves, with_run_leaves
from ledgerkit.store.integrity.proofs import InclusionProof
from ledgerkit.store.integrity.tree import consistency_proof, inclusion_proof, root_of, verify_consistency
from ledgerkit.tables import Column, Role
from tests.store.rows import canonical, counted, expected_leaf, facts, part, parts

PROOFS: Final = ("leaf_index", "leaf_hash", "prev_hash", "salt", "content_commit")
HEAD: Final = bytes(range(32))


def test_a_message_is_hashed_as_the_format_is_described() -> None:
    rows = parts()
    found = with_message_leaves(tables.HISTORY.frame(reversed(rows)), Heads(5, {("s", "b", 0): HEAD}), counted)
    assert found.columns == list(tables.HISTORY.names)
    assert found.select("message_id", "part_index").rows() == [(r["message_id"], r["part_index"]) for r in rows]
    drawn, before = counted(64), {"a": bytes(32), "b": HEAD}
    for place, message in enumerate(([rows[0]], rows[1:3], [rows[3]], [rows[4]])):
        name, run = message[0]["message_id"], message[0]["run_id"]
        salt = drawn[16 * place : 16 * place + 16]
        commit, leaf = expected_leaf(message, salt, before[run])
        held = found.filter(message_id=name).select(PROOFS).rows()
        assert held == [(5 + place, leaf, before[run], salt, commit), *[(None,) * 5] * (len(message) - 1)]
        before[run] = leaf


def test_a_revision_of_a_run_has_a_chain_of_its_own() -> None:
    rows = [part("a", 0), part("a", 0, revision=1, message_id="again"), part("a", 0, session_id="t")]
    heads = Heads(0, {("s", "a", 1): HEAD})
    found = with_message_leaves(tables.HISTORY.frame(rows), heads, counted)
    assert found["prev_hash"].to_list() == [bytes(32), HEAD, bytes(32)]
    for place, (row, before) in enumerate(zip(rows, found["prev_hash"], strict=True)):  # none of them has a content
        hashes = expected_leaf([row], counted(48)[16 * place : 16 * place + 16], before)
        assert found.row(place, named=True)["leaf_hash"] == hashes[1]


def test_every_type_has_a_form_that_any_language_writes() -> None:
    one = {"b": b"\x00\xab", "n": -3, "t": "é", "l": ["a", "éé", ""], "d": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)}
    types = {"b": tables.BYTES, "n": tables.INT, "t": tables.TEXT, "l": tables.TEXTS, "d": tables.TIME}
    columns = [Column(name, kind, "") for name, kind in types.items()]
    form = "b=4:00ab,d=7:1000000,l=14:1:a,4:éé,0:,,n=2:-3,t=2:é,"
    assert pl.DataFrame([one], types).select(canonical_row(columns)).item() == form


def test_erased_content_keeps_its_commitment_and_has_no_salt() -> None:
    rows = [part("a", 0, erased="m", content_commit=HEAD), part("a", 1, erased="m"), part("a", 2, text="left")]
    found = with_message_leaves(tables.HISTORY.frame(rows), Heads(0, {}), counted)
    assert found["salt"].to_list() == [None, None, counted(48)[32:]]
    assert found["content_commit"].to_list()[:2] == [HEAD, bytes(32)]
    assert found["content_commit"][2] == expected_leaf([rows[2]], counted(48)[32:], bytes(32))[0]


def test_a_row_of_runs_is_hashed_as_the_format_is_described() -> None:
    rows = [facts("a", title="Täglich"), facts("a", 1, erased="m", content_commit=HEAD), facts("b", task_id="t")]
    found = with_run_leaves(tables.RUNS.frame(reversed(rows)), 3, counted)
    assert found.columns == list(tables.RUNS.names)
    drawn = counted(48)
    for place, row in enumerate(rows):
        salt = None if row["erased"] else drawn[16 * place : 16 * place + 16]
        # A row of runs is no sequence of parts: its form stands alone, without a length before it.
        content, fixed = (canonical(tables.RUNS, role, [row]) for role in (Role.CONTENT, Role.FIXED))
        commit = sha256(salt + _bare(content)).digest() if salt else HEAD
        leaf = sha256(b"\x00ledgerkit/run/1\n" + bytes(32) + commit + _bare(fixed)).digest()
        assert found.row(place, named=True) | {
            "leaf_index": 3 + place, "row_hash": leaf, "salt": salt, "content_commit": commit
        } == found.row(place, named=True)  # fmt: skip


def test_without_rows_there_are_columns_of_the_same_types() -> None:
    assert with_message_leaves(tables.HISTORY.empty(), Heads(5, {}), counted).schema == tables.HISTORY.schema
    assert with_run_leaves(tables.RUNS.empty(), 5, counted).schema == tables.RUNS.schema


def _bare(form: str) -> bytes:
    return form.encode().partition(b":")[2].removesuffix(b",")


# Checkpoints


CHECKPOINT: Final = Checkpoint("ledgerkit/1", 7, HEAD, 3, bytes(32), datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "ab" * 32)
TEXT: Final = (
    f"ledgerkit/1\n7\n{base64.b64encode(HEAD).decode()}\nruns 3 {base64.b64encode(bytes(32)).decode()}\n"
    f"time 2026-01-02T03:04:00+00:00\nprevious {'ab' * 32}\n"
)
EMPTY: Final = "==" + "A" * 40 + "=="
"""As long as a root, and 30 bytes for a reader that skips what is no base64."""


@pytest.mark.parametrize("one", [CHECKPOINT, replace(CHECKPOINT, previous=None)], ids=["a later one", "the first"])
def test_a_checkpoint_is_read_back_from_its_text(one: Checkpoint) -> None:
    assert str(CHECKPOINT) == TEXT
    for text in (str(one), str(one).rstrip("\n"), str(one) + "\n\n", str(one).replace("\n", "\r\n")):
        assert Checkpoint.parse(text) == one
    assert one.id == sha256(str(one).encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "This is no checkpoint: six lines are expected (origin, size, root, runs, time, previous)."),
        (TEXT + "more\n", "This is no checkpoint: six lines"),
        ("x\n" + TEXT, "This is no checkpoint: six lines"),
        (TEXT.replace("time 2026", "time x2026"), "This checkpoint is damaged: Invalid isoformat string:"),
        (TEXT.replace("AAEC", "AA=C", 1), "This checkpoint is damaged: "),
        (TEXT.replace(TEXT.split("\n")[2], EMPTY), "This checkpoint is damaged: "),
        (TEXT.replace("A" * 43 + "=", EMPTY), "This checkpoint is damaged: "),
        (TEXT.rstrip("\n") + "X", "This is no checkpoint: six lines"),
        (TEXT + " ", "This is no checkpoint: six lines"),
    ],
    ids=[
        "nothing",
        "a line more",
        "a line before",
        "a time",
        "a root",
        "a short root",
        "of runs",
        "a letter",
        "a blank",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str, message: str) -> None:
    with pytest.raises(IntegrityError) as raised:
        Checkpoint.parse(text)
    assert str(raised.value).startswith(message)


# Proofs


def proved() -> InclusionProof:
    """A proof of the second message of a run."""
    rows = tables.HISTORY.frame(parts())
    found = with_message_leaves(rows, Heads(0, {}), counted).filter(part_index=0)
    leaves = found["leaf_hash"].to_list()
    head = replace(CHECKPOINT, size=len(leaves), root=root_of(leaves))
    row = found.row(1, named=True)
    both = [r for r in parts() if r["message_id"] == "a-1"]
    return InclusionProof(
        row["message_id"], 1, row["prev_hash"], row["content_commit"], row["salt"],
        canonical(tables.HISTORY, Role.CONTENT, both), canonical(tables.HISTORY, Role.FIXED, both),
        tuple(inclusion_proof(leaves, 1)), str(head),
    )  # fmt: skip


def test_a_proof_holds_with_nothing_but_itself_and_is_read_back_from_json() -> None:
    proof = proved()
    assert proof.holds()
    assert proof.holds(Checkpoint.parse(proof.checkpoint))
    assert json.loads(proof.to_json()) == {
        "message_id": "a-1", "leaf_index": 1, "prev_hash": proof.prev_hash.hex(),
        "content_commit": proof.content_commit.hex(), "salt": counted(32)[16:].hex(), "content": proof.content,
        "fixed": proof.fixed, "path": [one.hex() for one in proof.path], "checkpoint": proof.checkpoint,
    }  # fmt: skip
    assert InclusionProof.from_json(proof.to_json()) == proof
    erased = replace(proof, salt=None, content=None)
    assert erased.holds()
    assert InclusionProof.from_json(erased.to_json()) == erased


@pytest.mark.parametrize(
    "wrong",
    [
        {"message_id": "a-0"},
        {"leaf_index": 0},
        {"prev_hash": bytes(32)},
        {"content_commit": bytes(32)},
        {"salt": bytes(16)},
        {"salt": None},
        {"content": "other"},
        {"fixed": "8:message_id=3:a-1,,"},
        {"path": ()},
        {"checkpoint": TEXT},
    ],
    ids=lambda wrong: next(iter(wrong.items()))[0],
)
def test_a_proof_that_was_changed_does_not_hold(wrong: dict[str, Any]) -> None:
    assert not replace(proved(), **wrong).holds()


def test_a_proof_does_not_hold_under_another_head() -> None:
    proof = proved()
    assert not proof.holds(CHECKPOINT)
    assert not proof.holds(TEXT)


def test_what_is_no_proof_is_refused() -> None:
    text = proved().to_json()
    for wrong in ("", "[]", "{}", text[:-1], text.replace('"leaf_index":1', '"leaf_index":"x"')):
        with pytest.raises(IntegrityError, match=r"^This is no proof of inclusion: .+\.$"):
            InclusionProof.from_json(wrong)


# Trees


def test_what_no_tree_has_is_refused_in_words() -> None:
    leaves = [bytes([n]) * 32 for n in range(3)]
    with pytest.raises(IndexError, match=r"^no leaf -1 in a tree of 3$"):
        inclusion_proof(leaves, -1)
    with pytest.raises(ValueError, match=r"^no proof from 0 leaves to 3$"):
        consistency_proof(leaves, 0)
    root = root_of(leaves)
    assert verify_consistency(3, root, 3, root, [])
    assert not verify_consistency(3, root, 3, root, [root])
    for old, size in ((0, 3), (4, 3), (-1, 3)):
        assert not verify_consistency(old, root, size, root, [root])
    assert not verify_consistency(2, root, 3, root, [])
