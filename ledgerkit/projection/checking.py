"""The last look at a context before it leaves: every text is where it belongs, and no tag of ours is anywhere else."""

from __future__ import annotations

from collections.abc import Sequence

from ledgerkit.errors import ProtocolError
from ledgerkit.projection.pieces import Form, Piece
from ledgerkit.projection.requesting import rendered
from ledgerkit.protocol.requests import may_instruct
from ledgerkit.safety.boundaries import bounded_parts, holds_tag


def refuse_uncontained(pieces: Sequence[Piece], nonce: str) -> None:
    """Reads every rendered text again.

    Raises:
        ProtocolError: If a bounded text is not read as what it was, if a tag stands in one that has no boundary, or if
            what may not instruct stands where it would.
    """
    for piece in pieces:
        where = f"the part {piece.message_id}.{piece.part_index}" if piece.message_id else f"section {piece.section}"
        if piece.form is Form.INSTRUCTION and not may_instruct(piece.trust_level):
            raise ProtocolError(f"{piece.trust_level} content in an instruction position: {where}.")
        if piece.boundary is None:
            if holds_tag(piece.text.text, nonce):
                raise ProtocolError(f"A boundary tag stands in {where}, which has no boundary.")
            continue
        read = bounded_parts(rendered(piece, nonce), nonce)
        if [(one.section, one.text) for one in read] != [(piece.section, piece.text.text)]:
            raise ProtocolError(f"A text left its boundary: {where}.")
