"""The context of one step: the request, and the account of how it came about."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from ledgerkit.projection.account import answers, reasons_of
from ledgerkit.projection.display import as_html, as_text
from ledgerkit.projection.pieces import Form, Piece
from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.protocol.requests import LlmRequest
from ledgerkit.protocol.vocabulary import LlmRole

if TYPE_CHECKING:
    from ledgerkit.providers import ProviderPayload


@dataclass(frozen=True, repr=False)
class Context:
    """What a model is given at one step of a run, and why. Get one from :meth:`ledgerkit.Run.project`.

    It shows itself by section in a notebook; ``print`` it for the same in plain text.

    Attributes:
        request: The request, in nobody's dialect; :meth:`payload` maps it to a provider's.
        account: One row per part that the ledger holds up to the step: in the context, or out for a reason
            (columns of ``projection.ACCOUNT``).
        sections: One row per section: its state, pieces, tokens, share of the budget and who wrote it.
        tools: One row per tool that was offered: whether it is declared, may be called now, and why.
        placements: The strategy's placements that stand at the step.
        strategy: The strategy, as text.
        step: The step.
        nonce: The mark of its boundaries.
        pieces: What it is made of, in order.
        sizes: Rendered tokens and tokens of the tags of each piece.
    """

    request: LlmRequest
    account: pl.DataFrame
    sections: pl.DataFrame
    tools: pl.DataFrame
    placements: pl.DataFrame
    strategy: str
    step: int
    nonce: str
    pieces: Sequence[Piece]
    sizes: Sequence[tuple[int, int]]

    @property
    def tokens(self) -> int:
        """Tokens of the context as rendered, tags included; the tools' schemas and a provider's framing are not."""
        return sum(content + framing for content, framing in self.sizes)

    @cached_property
    def left_out(self) -> pl.DataFrame:
        """How many parts and tokens are out for which reason: ``reason``, ``parts``, ``tokens``."""
        return reasons_of(self.account)

    @cached_property
    def questions(self) -> pl.DataFrame:
        """The eight questions of specification §12 and their answers: ``question``, ``answer``, ``refs``."""
        contract = self.request.response_contract
        return answers(self.account, self.pieces, self.tools, contract.name if contract is not None else None)

    @cached_property
    def neutralised(self) -> pl.DataFrame:
        """Every character that was made harmless.

        Returns:
            ``message_id``, ``part_index``, ``block``, ``offset``, ``original``, ``replacement``.
        """
        rows = [
            (piece.message_id, piece.part_index, number, edit.offset, edit.original, edit.replacement)
            for piece in self.pieces
            for number, block in enumerate(piece.blocks)
            for edit in block.edits
        ]
        schema = {"message_id": pl.String(), "part_index": pl.Int32(), "block": pl.Int32(), "offset": pl.Int64(),
                  "original": pl.String(), "replacement": pl.String()}  # fmt: skip
        return pl.DataFrame(rows, schema=schema, orient="row")

    def to_json(self) -> str:
        """The request as canonical JSON: the same bytes for the same ledger and call, in any process."""
        return json.dumps(
            self.request.model_dump(mode="json"), ensure_ascii=False, sort_keys=True, separators=(",", ":")
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of :meth:`to_json`."""
        return hashlib.sha256(self.to_json().encode("utf-8", "surrogatepass")).hexdigest()

    def payload(self, provider: ProviderInterface | str) -> ProviderPayload:
        """The request in a provider's form.

        Args:
            provider: ``openai_responses``, ``openai_chat``, ``anthropic``, ``gemini`` or ``local``.
        """
        from ledgerkit.providers import map_request

        return map_request(self.request, ProviderInterface(provider))

    def recorded_messages(self) -> list[dict[str, Any]]:
        """What the ledger's parts say in it, as they were recorded: without tags, and with nothing neutralised.

        Returns:
            One entry per part in order: ``role``, ``text`` and, of calls and results, ``tool_call_id`` and
            ``tool_name``. What was written for the context is not in it.
        """
        entries = list[dict[str, Any]]()
        for piece in self.pieces:
            if piece.message_id is None:
                continue
            entry: dict[str, Any] = {
                "role": (LlmRole.SYSTEM if piece.form is Form.INSTRUCTION else piece.role).value,
                "text": "\n".join(block.restored() for block in piece.blocks),
            }
            if piece.form in (Form.CALL, Form.RESULT):
                entry |= {"tool_call_id": piece.tool_call_id, "tool_name": piece.tool_name}
            entries.append(entry)
        return entries

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)
