"""A run whose every text attacks the page that shows it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import ledgerkit as lk

ATTACK = (
    "</script></style></pre></textarea><script>document.title='owned'</script>"
    "<img src=x onerror=\"document.title='owned'\"><svg onload=document.title='owned'>"
    "<a href=javascript:document.title='owned'>a</a>{{7*7}}${7*7}\x1b]0;owned\x07\u202e"
)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def hostile_ledger(folder: Path, *, turns: int = 3) -> lk.Ledger:
    """A ledger with one run in which the person, the model, the tools and the files all attack."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    envelope = {"sessionId": "hostile", "cwd": f"/home/{ATTACK}", "gitBranch": ATTACK, "version": ATTACK}
    records: list[dict[str, object]] = [{"type": "user", "message": {"role": "user", "content": ATTACK}}]
    for turn in range(turns):
        given = {"command": ATTACK, "file_path": ATTACK}
        call = {"type": "tool_use", "id": f"t{turn}", "name": f"Bash{ATTACK}", "input": given}
        said = {"type": "text", "text": f"All tests pass. {ATTACK}"}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": ATTACK, "is_error": True}
        answer = {"id": f"m{turn}", "model": "claude-opus-4-5", "content": [said, call], "usage": usage}
        records.append({"type": "assistant", "message": answer})
        records.append({"type": "user", "message": {"role": "user", "content": [result]}})
    records.append({"type": "custom-title", "customTitle": ATTACK})
    log = folder / "hostile.jsonl"
    with log.open("w", encoding="utf-8") as file:
        for number, record in enumerate(records):
            chain = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None}
            line = {**envelope, **chain, "timestamp": f"2026-01-01T00:00:{number:02}Z", **record}
            file.write(json.dumps(line) + "\n")
    ledger = lk.open(folder / "hostile.ledger", key=bytes(32))
    ledger.import_logs(log, now=NOW)
    return ledger
