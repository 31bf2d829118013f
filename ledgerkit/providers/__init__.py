"""Requests to models in the forms of their interfaces, a gate before they leave, and answers read back.

Knows no store and no frames: an :class:`~ledgerkit.protocol.requests.LlmRequest` in, a payload out.
"""

from __future__ import annotations

from ledgerkit.providers.aliases import NO_ALIASES, ToolAliases, alias_tools
from ledgerkit.providers.answers import (
    ActionRefusal,
    Answer,
    AnsweredCall,
    AnsweredText,
    RefusalReason,
    StopReason,
    contract_value,
    next_action,
    read_answer,
)
from ledgerkit.providers.gate import RuleName, Violation, check_payload
from ledgerkit.providers.mapping import map_request
from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.payloads import ProviderPayload
from ledgerkit.providers.schemas import strict_schema
from ledgerkit.providers.told import Origin
from ledgerkit.providers.turns import STABLE_HEAD

__all__ = [
    "NO_ALIASES",
    "STABLE_HEAD",
    "ActionRefusal",
    "Answer",
    "AnsweredCall",
    "AnsweredText",
    "Note",
    "NoteKind",
    "Origin",
    "ProviderPayload",
    "RefusalReason",
    "RuleName",
    "StopReason",
    "ToolAliases",
    "Violation",
    "alias_tools",
    "check_payload",
    "contract_value",
    "map_request",
    "next_action",
    "read_answer",
    "strict_schema",
]
