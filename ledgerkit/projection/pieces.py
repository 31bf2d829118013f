"""From placements to pieces: what each of them says, neutralised, in which role, inside which boundary.

One rule: a piece holds the content of one placement and nothing else, so that its tokens are the placement's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import polars as pl

from ledgerkit.protocol.requests import may_instruct
from ledgerkit.protocol.roles import ROLE_OF_KIND, provider_role
from ledgerkit.protocol.vocabulary import ContextSection, LlmRole, MessageKind, PartType, Rendition, TrustLevel
from ledgerkit.safety.boundaries import Boundary, Neutralised, neutralise
from ledgerkit.strategies.parts import reference_text
from ledgerkit.strategies.strategy import Strategy

_ALL_ROLES: Final = frozenset(LlmRole)
_SECTION_OF_RETRY: Final = ContextSection.RECENT_MESSAGES


class Form(StrEnum):
    """How a piece travels in a request."""

    INSTRUCTION = "instruction"
    TEXT = "text"
    CALL = "call"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Piece:
    """One placement, ready to be put into a request.

    Attributes:
        part: Number of its part; below 0 for a summary that a strategy made, ``None`` for what was written for this
            context.
        message_id: Its message; ``None`` for what is no part.
        part_index: Its place in the message.
        role: Who says it.
        form: How it travels.
        section: Its section.
        trust_level: Its trust.
        rendition: What it looks like.
        position: Its place in the context.
        blocks: What it says, in blocks that are counted one by one.
        boundary: What it stands in; ``None`` where its role is enough.
        predicted: Tokens that the placement said.
        arguments: Of a call: its arguments, neutralised.
        tool_call_id: Of a call or its results.
        tool_name: The tool.
        status: How a call ended.
        edits: Characters that were neutralised.
        is_uncounted: The ledger does not know how many tokens the part has.
    """

    part: int | None
    message_id: str | None
    part_index: int | None
    role: LlmRole
    form: Form
    section: ContextSection
    trust_level: TrustLevel
    rendition: Rendition
    position: int
    blocks: tuple[Neutralised, ...]
    boundary: Boundary | None
    predicted: int
    arguments: dict[str, Any] | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    status: str | None = None
    is_uncounted: bool = False

    @property
    def text(self) -> Neutralised:
        """What it says, joined."""
        if len(self.blocks) == 1:
            return self.blocks[0]
        return Neutralised("\n".join(block.text for block in self.blocks))

    @property
    def edits(self) -> int:
        """How many characters were neutralised."""
        return sum(len(block.edits) for block in self.blocks)


Summaries = Callable[[int, int], str]
"""Writes the summary of a run as of a step, in at most so many tokens."""


@dataclass(frozen=True)
class PieceMaker:
    """Makes pieces of the placements of one step.

    Attributes:
        strategy: Whose placements they are; it knows how its excerpts look.
        summaries: Writes summaries that the strategy assumed.
    """

    strategy: Strategy
    summaries: Summaries | None

    def pieces(self, placed: pl.DataFrame) -> list[Piece]:
        """The pieces of some placements, in order.

        Args:
            placed: Placements of one run that stand at one step, by position, joined with what their parts are and
                say (columns of ``RunFrames.parts`` but for those that a placement has, ``part_tokens``, and
                ``text``, ``lines``, ``data``, ``tool_call_id``, ``status``, ``path``, ``artifact_refs``,
                ``content_type``).
        """
        rows = placed.to_dicts()
        called = {row["tool_call_id"] for row in rows if row["part_type"] == PartType.TOOL_CALL}
        return [self._piece(row, call_is_open=row["tool_call_id"] in called) for row in rows]

    def _piece(self, row: dict[str, Any], *, call_is_open: bool) -> Piece:
        if row["part"] < 0:
            return self._summary(row)
        kind, trust = MessageKind(row["kind"]), TrustLevel(row["trust_level"])
        section, rendition = ContextSection(row["section"]), Rendition(row["rendition"])
        form, role = _form_of(row, kind, trust, call_is_open=call_is_open)
        arguments, blocks = None, tuple(self._blocks(row, rendition))
        if form is Form.CALL:
            arguments, blocks = _call(row, rendition, blocks)
        is_bounded = ROLE_OF_KIND[kind].in_boundary or (role is LlmRole.USER and not may_instruct(trust))
        boundary = None
        if form is Form.INSTRUCTION or (form is not Form.CALL and is_bounded):
            boundary = Boundary(section, trust, row["path"] or row["tool_name"])
        return Piece(
            row["part"], row["message_id"], row["part_index"], role, form, section, trust, rendition, row["position"],
            blocks, boundary, row["tokens"], arguments, row["tool_call_id"], row["tool_name"], row["status"],
            not row["is_counted"],
        )  # fmt: skip

    def _blocks(self, row: dict[str, Any], rendition: Rendition) -> Iterator[Neutralised]:
        whole = content_of(row)
        if rendition is Rendition.REFERENCE and row["reference_tokens"] < row["part_tokens"]:
            yield neutralise(reference_text(row["sequence_no"], row["lines"] or 0))
        elif rendition is Rendition.EXCERPT:
            yield from (neutralise(block) for block in self.strategy.excerpt(whole))
        else:
            yield neutralise(whole)

    def _summary(self, row: dict[str, Any]) -> Piece:
        text = "" if self.summaries is None else self.summaries(row["from_step"], row["tokens"])
        section, trust = ContextSection(row["section"]), TrustLevel.UNKNOWN
        return Piece(
            row["part"], None, None, LlmRole.USER, Form.TEXT, section, trust, Rendition.SUMMARY, row["position"],
            (neutralise(text),), Boundary(section, trust), row["tokens"],
        )  # fmt: skip


def content_of(row: dict[str, Any]) -> str:
    """The content of a part as its tokens were counted: its text, or else its data, or a note of its artifacts."""
    if row["text"] is not None:
        return str(row["text"])
    if row["data"] is not None:
        return str(row["data"])
    refs = row["artifact_refs"] or ()
    return f"[{row['content_type'] or 'content'}: artifact {', '.join(refs)}]" if refs else ""


def _form_of(row: dict[str, Any], kind: MessageKind, trust: TrustLevel, *, call_is_open: bool) -> tuple[Form, LlmRole]:
    is_call = row["part_type"] == PartType.TOOL_CALL
    role = provider_role(kind, trust, _ALL_ROLES, call_is_open=call_is_open)
    if is_call:
        return Form.CALL, LlmRole.ASSISTANT
    if row["tool_call_id"] is not None and call_is_open:
        return Form.RESULT, LlmRole.TOOL
    if role is LlmRole.SYSTEM and row["is_pinned"]:
        return Form.INSTRUCTION, role
    # A tool's answer without its call is data that the user side shows; an assistant calls nothing without a call.
    return Form.TEXT, LlmRole.USER if role is LlmRole.TOOL else role


def _call(
    row: dict[str, Any], rendition: Rendition, blocks: tuple[Neutralised, ...]
) -> tuple[dict[str, Any], tuple[Neutralised, ...]]:
    """Arguments of a call as an object, with every text in them neutralised."""
    if rendition is not Rendition.FULL and blocks[0].text != row["data"]:
        return {"left_out": blocks[0].text}, blocks
    try:
        said = json.loads(row["data"] or "{}")
    except ValueError:
        said = row["data"]
    clean = _clean(said if isinstance(said, dict) else {"input": said})
    return clean, blocks


def _clean(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return neutralise(value).text
    if isinstance(value, list):
        return [_clean(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {neutralise(str(key)).text: _clean(one) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value
