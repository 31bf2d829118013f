"""Rollouts made for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import ledgerkit as lk
from tests.conftest import NOW

THREAD: Final = "01990000-0000-7000-8000-00000000000a"
CHILD: Final = "01990000-0000-7000-8000-00000000000b"
USAGE: Final[tuple[str, ...]] = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")


class Rollout:
    """Records that follow each other, each a second after the one before.

    Args:
        thread: Id of the thread.
        minute: When it begins.
        more: What else the header says.
    """

    def __init__(self, thread: str = THREAD, minute: int = 0, **more: Any) -> None:
        self.lines: list[Any] = []
        self._minute = minute
        self._total: dict[str, int] = dict.fromkeys(USAGE, 0)
        self.add("session_meta", id=thread, cwd="/work", cli_version="0.99.0", model_provider="openai", **more)
        self.add("turn_context", cwd="/work", model="gpt-x", approval_policy="on-request")

    def add(self, top: str, **payload: Any) -> None:
        stamp = f"2026-01-01T00:{self._minute:02}:{len(self.lines) % 60:02}.000Z"
        self.lines.append({"timestamp": stamp, "type": top, "payload": payload})

    def item(self, kind: str, **payload: Any) -> None:
        self.add("response_item", type=kind, **payload)

    def event(self, kind: str, **payload: Any) -> None:
        self.add("event_msg", type=kind, **payload)

    def typed(self, text: str) -> None:
        self.message("user", text)
        self.event("user_message", message=text)

    def message(self, role: str, *texts: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self.item("message", role=role, content=[{"type": kind, "text": text} for text in texts])

    def call(self, call_id: str, name: str, arguments: Any) -> None:
        self.item("function_call", name=name, call_id=call_id, arguments=json.dumps(arguments))

    def result(self, call_id: str, output: Any) -> None:
        self.item("function_call_output", call_id=call_id, output=output)

    def count(self, *used: int, reset: bool = False, moved: bool = True) -> None:
        last = dict(zip(USAGE, used, strict=False))
        if reset:
            self._total = dict.fromkeys(USAGE, 0)
        if moved:
            self._total = {name: value + last.get(name, 0) for name, value in self._total.items()}
        info = {"total_token_usage": dict(self._total), "last_token_usage": last, "model_context_window": 9}
        self.event("token_count", info=info, rate_limits=None)

    def turn(self, text: str, number: int, used: int = 10) -> None:
        """A prompt, a call with its result, and an answer."""
        self.event("task_started", turn_id=f"turn-{number}")
        self.typed(text)
        self.item("reasoning", summary=[], encrypted_content=f"sealed-{number}")
        self.call(f"call_{number}", "shell", {"command": ["bash", "-lc", "ls"]})
        self.count(used, 4, 2, 1)
        self.result(f"call_{number}", "Exit code: 0\nWall time: 1 seconds\nOutput:\na.py\n")
        self.event("agent_message", message=f"Done {number}.")
        self.message("assistant", f"Done {number}.")
        self.count(used + 1, 4, 3, 0)
        self.event("task_complete", turn_id=f"turn-{number}", last_agent_message=f"Done {number}.")

    def bytes(self) -> bytes:
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)


def taken(ledger: lk.Ledger, folder: Path, log: Rollout, name: str = "rollout.jsonl") -> lk.ImportAccount:
    (folder / name).write_bytes(log.bytes())
    account = ledger.import_logs(folder / name, now=NOW)
    assert account.closes
    return account
