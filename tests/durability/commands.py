"""Small commands, and what a run holds: what the tests of durable appending say and compare."""

from __future__ import annotations

from typing import Any, Final

import ledgerkit as lk

USER: Final = {"trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
MODEL: Final = {"trust_level": "MODEL_GENERATED", "visibility": "MODEL_VISIBLE"}


def command(said: object = "hi", *, session: str = "s1", run: str = "r1", **fields: Any) -> lk.AppendMessageCommand:
    """A command that says a text, or one part."""
    part: object = {"type": "text", "text": said, **USER} if isinstance(said, str) else said
    whole = {"session_id": session, "run_id": run, "kind": "USER_TASK", "actor": "user", "parts": [part], **fields}
    return lk.AppendMessageCommand.model_validate(whole)


def text_of(message: lk.AgentMessage | None) -> str:
    """The text of a message's first part."""
    assert message is not None
    return message.parts[0].model_dump()["text"]


def held(ledger: lk.Ledger, session: str = "s1", run: str = "r1") -> list[tuple[int, str]]:
    """Numbers and texts of a run, in order."""
    return [(message.sequence_no, text_of(message)) for message in ledger.list_messages(session, run)]


def dense(texts: list[str]) -> list[tuple[int, str]]:
    """What a run holds that holds some texts."""
    return list(enumerate(texts))
