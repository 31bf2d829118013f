"""What an export adds to a message where a reader of the format would guess another label than the ledger has."""

from __future__ import annotations

from typing import Final

from ledgerkit.exporters.entries import Answer, Entry, Result, Told
from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.marks import MARK
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel

_GUESSED: Final = {
    "system": (MessageKind.SYSTEM_INSTRUCTION, TrustLevel.ORG_TRUSTED),
    "user": (MessageKind.USER_TASK, TrustLevel.USER_TRUSTED),
}


def mark_of(entry: Entry) -> JsonObject:
    """The extras of an entry: its labels where they are not what its role suggests; empty where they are."""
    label: JsonObject = {}
    if isinstance(entry, Told):
        kind, trust = _GUESSED[entry.role]
        is_lower = entry.trust.rank > trust.rank
        label |= {"kind": entry.kind} if entry.kind != kind or is_lower else {}
        label |= {"trust_level": entry.trust.value} if is_lower else {}
    elif isinstance(entry, Result):
        label |= {"kind": entry.kind} if entry.kind != MessageKind.TOOL_CALL_RESULT else {}
        label["trust_level"] = entry.trust.value
        label |= {"status": entry.status} if entry.status else {}  # formats know errors at most
    elif isinstance(entry, Answer) and entry.trust.rank > TrustLevel.MODEL_GENERATED.rank:
        label["trust_level"] = entry.trust.value
    return {MARK: label} if label else {}
