"""Proof that one message is in a ledger: checked with nothing but itself and a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ledgerkit import errors
from ledgerkit.store.integrity.checkpoints import Checkpoint
from ledgerkit.store.integrity.leaves import commitment, message_leaf
from ledgerkit.store.integrity.tree import verify_inclusion


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """A message, its way to the root, and the checkpoint that states the root.

    Attributes:
        message_id: The message.
        leaf_index: Its place in the tree.
        prev_hash: Leaf hash of the message before it in its run.
        content_commit: Commitment to its content.
        salt: Opens the commitment; ``None`` if the content was erased.
        content: Canonical form of its content; ``None`` if it was erased.
        fixed: Canonical form of its other columns.
        path: Hashes of its siblings, lowest first.
        checkpoint: Text of the checkpoint.
    """

    message_id: str
    leaf_index: int
    prev_hash: bytes
    content_commit: bytes
    salt: bytes | None
    content: str | None
    fixed: str
    path: tuple[bytes, ...]
    checkpoint: str

    def holds(self, checkpoint: Checkpoint | str | None = None) -> bool:
        """Whether the proof is right, under its own checkpoint or one that the caller trusts."""
        given = self.checkpoint if checkpoint is None else str(checkpoint)
        head = Checkpoint.parse(given)
        if f"message_id={len(self.message_id.encode())}:{self.message_id}," not in self.fixed:
            return False
        if self.content is not None and (
            self.salt is None or commitment(self.salt, self.content) != self.content_commit
        ):
            return False
        leaf = message_leaf(self.prev_hash, self.content_commit, self.fixed)
        return verify_inclusion(leaf, self.leaf_index, head.size, self.path, head.root)

    def to_json(self) -> str:
        """The proof as JSON; bytes are hexadecimal."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        return msgspec.json.encode({name: _hex(value) for name, value in fields.items()}).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> InclusionProof:
        """Reads a proof.

        Raises:
            IntegrityError: If it is none.
        """
        try:
            raw: Mapping[str, Any] = msgspec.json.decode(text)
            return cls(
                message_id=str(raw["message_id"]),
                leaf_index=int(raw["leaf_index"]),
                prev_hash=bytes.fromhex(raw["prev_hash"]),
                content_commit=bytes.fromhex(raw["content_commit"]),
                salt=None if raw["salt"] is None else bytes.fromhex(raw["salt"]),
                content=None if raw["content"] is None else str(raw["content"]),
                fixed=str(raw["fixed"]),
                path=tuple(bytes.fromhex(one) for one in raw["path"]),
                checkpoint=str(raw["checkpoint"]),
            )
        except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
            raise errors.IntegrityError(f"This is no proof of inclusion: {error}.") from error


def _hex(value: Any) -> object:  # noqa: ANN401 - whatever a field holds
    if isinstance(value, bytes):
        return value.hex()
    return [one.hex() for one in value] if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
