"""Merkle trees as RFC 6962 has them: known values, and every wrong proof refused."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgerkit.store.integrity.tree import (
    EMPTY_ROOT,
    Tree,
    consistency_proof,
    inclusion_proof,
    node,
    root_of,
    verify_consistency,
    verify_inclusion,
)

INPUTS: Final = ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
"""Leaves of the reference tree that implementations of certificate transparency test with."""
ROOTS: Final = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}
LEAVES: Final = [sha256(b"\0" + bytes.fromhex(one)).digest() for one in INPUTS]
sizes = st.integers(1, 70)


def leaves(count: int) -> list[bytes]:
    return [sha256(f"leaf {number}".encode()).digest() for number in range(count)]


def naive_root(hashes: list[bytes]) -> bytes:
    """The definition of RFC 6962, §2.1, word for word."""
    if not hashes:
        return EMPTY_ROOT
    if len(hashes) == 1:
        return hashes[0]
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    return node(naive_root(hashes[:split]), naive_root(hashes[split:]))


@pytest.mark.parametrize("size", ROOTS)
def test_the_reference_tree_has_the_known_roots(size: int) -> None:
    assert root_of(LEAVES[:size]).hex() == ROOTS[size]


@given(sizes)
def test_a_tree_that_grows_leaf_by_leaf_is_the_one_of_the_definition(count: int) -> None:
    assert root_of(leaves(count)) == naive_root(leaves(count))


@given(sizes, st.data())
def test_a_tree_goes_on_from_its_frontier(count: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, count))
    begun = Tree()
    begun.extend(leaves(count)[:first])
    again = Tree(begun.size, begun.frontier)
    again.extend(leaves(count)[first:])
    assert (again.size, again.root()) == (count, root_of(leaves(count)))


def test_a_frontier_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="2 complete subtrees"):
        Tree(3, bytes(32))


@given(sizes, st.data())
def test_every_leaf_is_proved_and_nothing_else(count: int, data: st.DataObject) -> None:
    all_leaves, index = leaves(count), data.draw(st.integers(0, count - 1))
    proof, root = inclusion_proof(all_leaves, index), root_of(all_leaves)
    assert verify_inclusion(all_leaves[index], index, count, proof, root)
    other = sha256(b"other").digest()
    assert not verify_inclusion(other, index, count, proof, root)
    assert not verify_inclusion(all_leaves[index], index, count, proof, other)
    assert not verify_inclusion(all_leaves[index], index, count, [*proof, other], root)
    assert not verify_inclusion(all_leaves[index], count, count, proof, root)
    if proof:
        assert not verify_inclusion(all_leaves[index], index, count, proof[:-1], root)
        at = data.draw(st.integers(0, len(proof) - 1))
        assert not verify_inclusion(all_leaves[index], index, count, [*proof[:at], other, *proof[at + 1 :]], root)
        wrong = data.draw(st.integers(0, count - 1).filter(lambda at: at != index))
        assert not verify_inclusion(all_leaves[index], wrong, count, proof, root)


@given(sizes, st.data())
def test_the_beginning_of_a_tree_is_proved_and_nothing_else(count: int, data: st.DataObject) -> None:
    all_leaves, old = leaves(count), data.draw(st.integers(1, count))
    proof, old_root, root = consistency_proof(all_leaves, old), root_of(all_leaves[:old]), root_of(all_leaves)
    assert verify_consistency(old, old_root, count, root, proof)
    other = sha256(b"other").digest()
    assert not verify_consistency(old, other, count, root, proof)
    assert not verify_consistency(old, old_root, count, other, proof)
    assert not verify_consistency(old, old_root, count, root, [*proof, other])
    if proof:
        assert not verify_consistency(old, old_root, count, root, proof[:-1])


def test_what_is_not_in_a_tree_has_no_proof() -> None:
    with pytest.raises(IndexError):
        inclusion_proof(leaves(3), 3)
    with pytest.raises(ValueError, match="no proof"):
        consistency_proof(leaves(3), 4)
