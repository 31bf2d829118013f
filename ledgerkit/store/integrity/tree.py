"""Merkle trees as RFC 6962 has them (§2.1): roots, inclusion proofs and consistency proofs.

A leaf here is the leaf *hash*; an inner node is ``SHA-256(0x01 ‖ left ‖ right)``, and the root of no leaves
``SHA-256("")``. Verification follows RFC 9162, §2.1.3.2 and §2.1.4.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

EMPTY_ROOT: Final = sha256(b"").digest()
HASH_BYTES: Final = 32


def node(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return sha256(b"\x01" + left + right).digest()


class Tree:
    """A tree that grows at its right edge. It holds the roots of its complete subtrees, and nothing else.

    Args:
        size: Leaves that it has.
        frontier: Roots of its complete subtrees, the largest first, one after the other.

    Example:
        >>> tree = Tree()
        >>> tree.extend([bytes(32), bytes(32)])
        >>> tree.root() == node(bytes(32), bytes(32))
        True
    """

    def __init__(self, size: int = 0, frontier: bytes = b"") -> None:
        if len(frontier) != size.bit_count() * HASH_BYTES:
            raise ValueError(f"a tree of {size} leaves has {size.bit_count()} complete subtrees")
        self.size = size
        self._roots = [frontier[at : at + HASH_BYTES] for at in range(0, len(frontier), HASH_BYTES)]

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Adds leaves at the right."""
        roots, size = self._roots, self.size
        for leaf in leaves:
            risen = leaf
            at = size
            while at & 1:
                risen = node(roots.pop(), risen)
                at >>= 1
            roots.append(risen)
            size += 1
        self.size = size

    def root(self) -> bytes:
        """The root over all leaves."""
        if not self._roots:
            return EMPTY_ROOT
        root = self._roots[-1]
        for left in reversed(self._roots[:-1]):
            root = node(left, root)
        return root

    @property
    def frontier(self) -> bytes:
        """Roots of the complete subtrees, the largest first."""
        return b"".join(self._roots)


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root over some leaves."""
    tree = Tree()
    tree.extend(leaves)
    return tree.root()


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The audit path of a leaf: the siblings on its way to the root, lowest first.

    Raises:
        IndexError: If there is no such leaf.
    """
    if not 0 <= index < len(leaves):
        raise IndexError(f"no leaf {index} in a tree of {len(leaves)}")
    if len(leaves) == 1:
        return []
    split = _split(len(leaves))
    if index < split:
        return [*inclusion_proof(leaves[:split], index), root_of(leaves[split:])]
    return [*inclusion_proof(leaves[split:], index - split), root_of(leaves[:split])]


def consistency_proof(leaves: Sequence[bytes], old_size: int) -> list[bytes]:
    """What shows that a tree of the first ``old_size`` leaves is the beginning of the tree over all of them.

    Raises:
        ValueError: If the old tree is empty or larger.
    """
    if not 0 < old_size <= len(leaves):
        raise ValueError(f"no proof from {old_size} leaves to {len(leaves)}")
    return _subproof(leaves, old_size, is_whole=True)


def _subproof(leaves: Sequence[bytes], old_size: int, *, is_whole: bool) -> list[bytes]:
    if old_size == len(leaves):
        return [] if is_whole else [root_of(leaves)]
    split = _split(len(leaves))
    if old_size <= split:
        return [*_subproof(leaves[:split], old_size, is_whole=is_whole), root_of(leaves[split:])]
    return [*_subproof(leaves[split:], old_size - split, is_whole=False), root_of(leaves[:split])]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether a proof shows that a leaf stands at an index of the tree with a root."""
    if not 0 <= index < size:
        return False
    at, last, risen = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            risen = node(sibling, risen)
            while at and not at & 1:
                at >>= 1
                last >>= 1
        else:
            risen = node(risen, sibling)
        at >>= 1
        last >>= 1
    return last == 0 and risen == root


def verify_consistency(old_size: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a proof shows that the tree of an old root is the beginning of the tree of a new one."""
    if old_size == size:
        return not proof and old_root == root
    if not 0 < old_size < size or not proof:
        return False
    path = [old_root, *proof] if old_size & (old_size - 1) == 0 else list(proof)
    at, last = old_size - 1, size - 1
    while at & 1:
        at >>= 1
        last >>= 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            old, new = node(sibling, old), node(sibling, new)
            while at and not at & 1:
                at >>= 1
                last >>= 1
        else:
            new = node(new, sibling)
        at >>= 1
        last >>= 1
    return last == 0 and old == old_root and new == root


def _split(size: int) -> int:
    """The largest power of two below a size."""
    return 1 << ((size - 1).bit_length() - 1)
