"""Tokens of what a context is made of: every block by itself, and the tags around it beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ledgerkit.projection.pieces import Form, Piece
from ledgerkit.projection.written import COUNT, Written
from ledgerkit.protocol.requests import may_instruct
from ledgerkit.protocol.vocabulary import LlmRole, Rendition
from ledgerkit.safety.boundaries import Boundary, closing_tag, neutralise, opening_tag


@dataclass(frozen=True)
class Meter:
    """Counts pieces and their tags.

    Attributes:
        count: Counts tokens of texts.
        nonce: The mark in the tags.
    """

    count: COUNT
    nonce: str

    def sizes(self, pieces: Sequence[Piece]) -> list[tuple[int, int]]:
        """Tokens of what each piece says, and of its tags."""
        texts = list[str]()
        for piece in pieces:
            texts += [block.text for block in piece.blocks]
            texts += self._tag_texts(piece.boundary)
        counts = iter(self.count(texts))
        return [(sum(next(counts) for _ in piece.blocks), next(counts) + next(counts)) for piece in pieces]

    def framing(self, pieces: Sequence[Piece]) -> dict[int, int]:
        """Tokens of the tags of each piece, by part."""
        counts = self.count([tag for piece in pieces for tag in self._tag_texts(piece.boundary)])
        return {piece.part or 0: counts[2 * n] + counts[2 * n + 1] for n, piece in enumerate(pieces)}

    def of_written(self, one: Written) -> int:
        """Tokens of a written section, tags included."""
        return self.count([neutralise(one.text).text])[0] + sum(self.tags(boundary_of(one)))

    def tags(self, boundary: Boundary | None) -> list[int]:
        """Tokens of an opening and a closing tag."""
        return self.count(list(self._tag_texts(boundary)))

    def _tag_texts(self, boundary: Boundary | None) -> tuple[str, str]:
        if boundary is None:
            return "", ""
        return opening_tag(boundary, self.nonce), closing_tag(boundary.section, self.nonce)


def boundary_of(one: Written) -> Boundary:
    """What a written section stands in."""
    return Boundary(one.section, one.trust_level)


def written_piece(one: Written, position: int) -> Piece:
    """The piece of a written section. Memory and map inform, whatever they rest on; the rest instructs if it may."""
    instructs = one.is_mandatory and may_instruct(one.trust_level)
    form, role = (Form.INSTRUCTION, LlmRole.SYSTEM) if instructs else (Form.TEXT, LlmRole.USER)
    return Piece(
        None, None, None, role, form, one.section, one.trust_level, Rendition.FULL, position, (neutralise(one.text),),
        boundary_of(one), 0,
    )  # fmt: skip
