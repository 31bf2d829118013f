"""What came back from a provider, in nobody's dialect, and the next action that it asks for."""

from __future__ import annotations

from ledgerkit.providers.answers.actions import ActionRefusal, RefusalReason, contract_value, next_action
from ledgerkit.providers.answers.answer import Answer, AnsweredCall, AnsweredText, StopReason
from ledgerkit.providers.answers.reading import read_answer

__all__ = [
    "ActionRefusal",
    "Answer",
    "AnsweredCall",
    "AnsweredText",
    "RefusalReason",
    "StopReason",
    "contract_value",
    "next_action",
    "read_answer",
]
