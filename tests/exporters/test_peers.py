"""The programs whose formats these are read what is exported, and ledgerkit reads what they write.

They need packages that ledgerkit does not: inspect-scout and atif. A Python that has them may be named by
LEDGERKIT_PEERS_PYTHON; without one the tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ledgerkit as lk
from tests.conftest import NOW
from tests.exporters.comparing import usage

_READ: str = """
import asyncio, json, sys
from inspect_scout import transcripts_db
from inspect_scout._transcript.types import TranscriptContent

async def main():
    found = []
    async with transcripts_db(sys.argv[1]) as database:
        async for info in database.select():
            whole = await database.read(info, TranscriptContent(messages="all", events="all"))
            used = [event.output.usage for event in whole.events if event.event == "model" and event.output.usage]
            found.append({
                "id": info.transcript_id, "success": info.success, "tokens": info.total_tokens,
                "messages": [[m.role, m.text] for m in whole.messages],
                "calls": sum(len(m.tool_calls or ()) for m in whole.messages if m.role == "assistant"),
                "used": sum(u.total_tokens for u in used), "session": info.metadata.get("session_id"),
            })
    print(json.dumps(found))

asyncio.run(main())
"""
_WRITE: str = """
import asyncio, sys
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
from inspect_ai.tool import ToolCall
from inspect_scout import Transcript, transcripts_db

call = ToolCall(id="c1", function="bash", arguments={"cmd": "ls"})
messages = [
    ChatMessageSystem(content="Be brief."), ChatMessageUser(content="List it.", source="input"),
    ChatMessageAssistant(content="Looking.", tool_calls=[call], model="gpt-4o", source="generate"),
    ChatMessageTool(content="a.py", tool_call_id="c1", function="bash"),
]
given = [
    Transcript(
        transcript_id=f"t{n}", source_type="mine", task_set="set", task_id=str(n), agent="react", model="gpt-4o",
        score="C", success=n == 0, messages=messages, metadata={"color": "red", "deep": {"a": [1]}},
    )
    for n in range(3)
]

async def main():
    async with transcripts_db(sys.argv[1]) as database:
        await database.insert(given)

asyncio.run(main())
"""
_VALIDATE: str = """
import sys
from pathlib import Path
from atif import Trajectory

for path in sorted(Path(sys.argv[1]).iterdir()):
    Trajectory.model_validate_json(path.read_text())
print(len(list(Path(sys.argv[1]).iterdir())))
"""


def peer(package: str) -> str:
    """A Python that has a package."""
    python = os.environ.get("LEDGERKIT_PEERS_PYTHON", sys.executable)
    done = subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"{package} is not installed (LEDGERKIT_PEERS_PYTHON may name a Python that has it)")
    return python


def output_of(python: str, program: str, argument: Path) -> str:
    done = subprocess.run([python, "-c", program, argument], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.splitlines()[-1] if done.stdout else ""


@pytest.mark.slow
def test_scout_reads_the_export_as_a_database(demo_path: Path, tmp_path: Path) -> None:
    python = peer("inspect_scout")
    ledger = lk.open(demo_path)
    ledger.export(tmp_path / "scout", format="scout", audience=lk.Audience.AUDIT)
    found: list[dict[str, Any]] = json.loads(output_of(python, _READ, tmp_path / "scout"))
    runs = {row["run_id"]: row for row in ledger.runs().to_dicts()}
    assert {each["id"] for each in found} == runs.keys()
    for each in found:
        run = runs[each["id"]]
        assert each["session"] == run["session_id"]
        assert each["calls"] == run["tool_calls"]
        assert each["success"] == {"passed": True, "failed": False}.get(run["outcome"] or "")
        assert each["tokens"] == (run["input_tokens"] or 0) + (run["output_tokens"] or 0)
    assert sum(each["used"] for each in found) == usage(ledger)["input"] + usage(ledger)["output"]
    texts = {text for each in found for _, text in each["messages"]}
    asked = ledger.sql("select text from parts where kind = 'USER_TASK' and part_visibility = 'MODEL_VISIBLE'")
    assert set(asked["text"]) <= texts


@pytest.mark.slow
def test_what_scout_wrote_is_read(ledger: lk.Ledger, tmp_path: Path) -> None:
    output_of(peer("inspect_scout"), _WRITE, tmp_path / "database")
    account = ledger.import_logs(tmp_path / "database", now=NOW)
    assert account.closes
    assert account.quarantined == 0
    found = ledger.sql("select task_id, agent, outcome, tool_calls from runs order by task_id").rows()
    assert found == [
        ("set/0", "react", "passed", 1), ("set/1", "react", "failed", 1), ("set/2", "react", "failed", 1),
    ]  # fmt: skip


@pytest.mark.slow
def test_trajectories_are_valid(demo_path: Path, tmp_path: Path) -> None:
    python = peer("atif")
    account = lk.open(demo_path).export(tmp_path / "atif", format="atif", audience=lk.Audience.AUDIT)
    assert output_of(python, _VALIDATE, tmp_path / "atif") == str(len(account.files))


@pytest.mark.slow
@pytest.mark.corpus
def test_trajectories_of_other_programs_logs_are_valid(corpus: Path, ledger: lk.Ledger, tmp_path: Path) -> None:
    python = peer("atif")
    names = ("codex/agentsview", "gemini-cli", "atif", "openhands", "pi", "swe-agent", "inspect", "mini-swe-agent")
    ledger.import_logs(*(corpus / name for name in names), now=NOW)
    account = ledger.export(tmp_path / "atif", format="atif", allow=["all"])
    assert len(account.files) > 100
    assert output_of(python, _VALIDATE, tmp_path / "atif") == str(len(account.files))
