"""Proofs of inclusion, made from a ledger."""

from __future__ import annotations

from typing import Final

from ledgerkit import errors
from ledgerkit.store.integrity.checkpoints import Checkpoint
from ledgerkit.store.integrity.leaves import canonical_messages
from ledgerkit.store.integrity.proofs import InclusionProof
from ledgerkit.store.integrity.tree import inclusion_proof, root_of
from ledgerkit.store.storage import Storage

_ROWS: Final = """
    select * from sealed_history where message_id = $id
    qualify dense_rank() over (order by revision desc) = 1 order by part_index
"""
_LEAVES: Final = """
    select leaf_hash from sealed_history where part_index = 0 and leaf_index < $size order by leaf_index
"""


def prove(storage: Storage, message_id: str, checkpoint: Checkpoint) -> InclusionProof:
    """Proof that a message is in the tree of a checkpoint.

    Raises:
        UnknownNameError: If there is no such message, or it is not sealed yet.
        IntegrityError: If the checkpoint does not cover it, or does not fit the ledger.
    """
    rows = storage.database.sealed(_ROWS, {"id": message_id})
    if rows.is_empty():
        raise errors.UnknownNameError(
            f"No sealed message {message_id!r}. The id of a message is needed: ledgerkit show RUN --json has them.",
            name=message_id,
        )
    form = canonical_messages(rows).row(0, named=True)
    index = form["leaf_index"]
    if index >= checkpoint.size:
        raise errors.IntegrityError(
            f"Message {message_id} is leaf {index}; the checkpoint covers {checkpoint.size}. Use a later one."
        )
    leaves = storage.database.sealed(_LEAVES, {"size": checkpoint.size})["leaf_hash"].to_list()
    if len(leaves) != checkpoint.size or root_of(leaves) != checkpoint.root:
        raise errors.IntegrityError("The ledger does not fit this checkpoint. Run ledgerkit verify with it.")
    is_erased = form["erased"] is not None
    return InclusionProof(
        message_id=message_id,
        leaf_index=index,
        prev_hash=form["prev_hash"],
        content_commit=form["content_commit"],
        salt=None if is_erased else form["salt"],
        content=None if is_erased else form["content"],
        fixed=form["fixed"],
        path=tuple(inclusion_proof(leaves, index)),
        checkpoint=str(checkpoint),
    )
