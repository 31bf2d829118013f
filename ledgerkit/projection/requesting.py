"""Pieces become a request: instructions apart, messages by who speaks, one result per call."""

from __future__ import annotations

from collections.abc import Sequence

from ledgerkit.projection.pieces import Form, Piece
from ledgerkit.protocol.levels import authority_of
from ledgerkit.protocol.requests import (
    LlmContentBlock,
    LlmInstruction,
    LlmMessage,
    LlmTextBlock,
    LlmToolCallBlock,
    LlmToolResultBlock,
)
from ledgerkit.protocol.vocabulary import (
    ContextSection,
    InstructionPriority,
    LlmRole,
    MessageKind,
    ToolStatus,
    TrustLevel,
)

EMPTY_OUTPUT = "(empty output)"
"""What stands where a result says nothing: some providers refuse an empty text."""

_KIND_OF_SECTION = {
    ContextSection.PLATFORM_POLICY: MessageKind.SYSTEM_INSTRUCTION,
    ContextSection.ORG_POLICY: MessageKind.ORG_POLICY,
    ContextSection.PERMISSION_PROFILE: MessageKind.ORG_POLICY,
    ContextSection.TASK_CONTRACT: MessageKind.USER_TASK,
    ContextSection.RESPONSE_CONTRACT: MessageKind.SYSTEM_INSTRUCTION,
}


def rendered(piece: Piece, nonce: str) -> str:
    """The text of a piece as it stands in the request: bounded where it has a boundary."""
    return piece.text.text if piece.boundary is None else piece.boundary.wrap(piece.text, nonce)


def instructions_of(pieces: Sequence[Piece], nonce: str) -> tuple[LlmInstruction, ...]:
    """The instructions of a request, strongest first; within a level in the order of their sections."""
    found = [
        (LlmInstruction(priority=_priority(piece), trust_level=piece.trust_level, name=piece.section.value,
                        content=rendered(piece, nonce)), piece)
        for piece in pieces
        if piece.form is Form.INSTRUCTION
    ]  # fmt: skip
    order = list(InstructionPriority)
    sections = list(ContextSection)
    found.sort(key=lambda one: (order.index(one[0].priority), sections.index(one[1].section), one[1].position))
    return tuple(instruction for instruction, _ in found)


def messages_of(pieces: Sequence[Piece], nonce: str) -> tuple[LlmMessage, ...]:
    """The messages of a request, in the order of the pieces."""
    messages = list[LlmMessage]()
    group, key = list[Piece](), None
    for piece in pieces:
        if piece.form is Form.INSTRUCTION:
            continue
        its_key = _together(piece)
        if group and its_key != key:
            messages.append(_message(group, nonce))
            group = []
        group.append(piece)
        key = its_key
    if group:
        messages.append(_message(group, nonce))
    return tuple(messages)


def _together(piece: Piece) -> object:
    """What stands in one message: all that the assistant says in a row, results in a row, parts of one message."""
    if piece.role in (LlmRole.ASSISTANT, LlmRole.TOOL):
        return piece.role
    return piece.role, piece.message_id, piece.part if piece.message_id is None else None


def _message(group: list[Piece], nonce: str) -> LlmMessage:
    if group[0].role is LlmRole.TOOL:
        return LlmMessage(role=LlmRole.TOOL, content=tuple(_results(group, nonce)))
    return LlmMessage(role=group[0].role, content=tuple(_block(piece, nonce) for piece in group))


def _results(group: list[Piece], nonce: str) -> list[LlmToolResultBlock]:
    """One block per call: what several parts say of one result stands in it one after the other."""
    of_call = dict[str, list[Piece]]()
    for piece in group:
        of_call.setdefault(piece.tool_call_id or "", []).append(piece)
    return [
        LlmToolResultBlock(
            trust_level=TrustLevel.lowest([piece.trust_level for piece in pieces]),
            part_id=_part_id(pieces[0]),
            tool_call_id=call_id,
            status=ToolStatus(pieces[0].status or ToolStatus.UNKNOWN),
            text="\n".join(rendered(piece, nonce) for piece in pieces) or EMPTY_OUTPUT,
        )
        for call_id, pieces in of_call.items()
    ]


def _block(piece: Piece, nonce: str) -> LlmContentBlock:
    part_id = _part_id(piece)
    if piece.form is Form.CALL:
        return LlmToolCallBlock(
            trust_level=piece.trust_level,
            part_id=part_id,
            tool_call_id=piece.tool_call_id or f"call:{part_id}",
            tool_name=piece.tool_name or "unknown",
            arguments=piece.arguments or {},
        )
    return LlmTextBlock(trust_level=piece.trust_level, part_id=part_id, text=rendered(piece, nonce))


def _part_id(piece: Piece) -> str | None:
    return None if piece.message_id is None else f"{piece.message_id}.{piece.part_index}"


def _priority(piece: Piece) -> InstructionPriority:
    if piece.section is ContextSection.PERMISSION_PROFILE:
        return InstructionPriority.HIGH
    level = authority_of(_KIND_OF_SECTION[piece.section], piece.trust_level)
    return level.priority if level is not None else InstructionPriority.LOW
