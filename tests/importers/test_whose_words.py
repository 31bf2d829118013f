"""Whose words a part holds, case by case: the program's own, the model's, or what a file, shell or page said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import ledgerkit as lk
from ledgerkit.importers.shapes import is_list
from tests.conftest import NOW

OWN: Final = "TOOL_TRUSTED"
MODEL: Final = "MODEL_GENERATED"
REPOSITORY: Final = "REPOSITORY_UNTRUSTED"
NETWORK: Final = "NETWORK_UNTRUSTED"
UNKNOWN: Final = "UNKNOWN"
CREATED: Final = "File created successfully at: /app/a.py"
UNFIT: Final = "Parameter 'command' is expected to be one of ['view']."
EMPTY: Final = "Directory /app/src is empty."
NOT_FOUND: Final = "Could not find the exact text in /a.py. The old text must match exactly including all whitespace."
NOT_RUN: Final = (
    "Cannot execute multiple commands at once.\nPlease run each command separately OR chain them into a single command "
    "via && or ;\nProvided commands:\n(1) ls\n(2) pwd"
)
NEW: Final = "--- /app/a.py\n+++ /app/a.py\n@@ -0,0 +1 @@\n+x = 1"
CHANGED: Final = "--- /app/a.py\n+++ /app/a.py\n@@ -1,2 +1,2 @@\n # kept\n-x = 1\n+x = 2"


class Case(NamedTuple):
    """A document, a text that stands in it, and whose words that is."""

    name: str
    document: Any
    text: str
    trust: str


def atif(agent: str, *steps: dict[str, Any]) -> dict[str, Any]:
    numbered = [{"step_id": n, **step} for n, step in enumerate(steps, 1)]
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": {"name": agent, "version": "1"},
        "steps": numbered,
    }


HANDOVER: Final = "Here are the answers the other agent provided.\n\n1. The file is there."
QUOTED: Final = 'Retrieving content for: Fix "it'


def gemini(
    tool: str, output: str, arguments: dict[str, Any], display: Any = None, status: str = "success"
) -> list[Any]:
    response = {"functionResponse": {"id": "c", "name": tool, "response": {"output": output}}}
    called = {"id": "c", "name": tool, "args": arguments, "result": [response], "status": status}
    called |= {"resultDisplay": display} if display else {}
    head = {
        "sessionId": "11111111-2222-4333-8444-555555555555",
        "projectHash": "ab",
        "startTime": "2026-01-01T00:00:00Z",
    }
    said = {"id": "m", "timestamp": "2026-01-01T00:00:01Z", "type": "gemini", "content": "", "toolCalls": [called]}
    return [head, said]


def changed(diff: str, before: str | None) -> dict[str, Any]:
    return {"fileDiff": diff, "fileName": "a.py", "originalContent": before, "newContent": "x"}


def pi(tool: str, text: str, arguments: dict[str, Any]) -> list[Any]:
    at = "2026-01-01T00:00:00.000Z"
    call = {"type": "toolCall", "id": "c", "name": tool, "arguments": arguments}
    asked = {"role": "assistant", "content": [call], "model": "m", "provider": "p", "usage": {"input": 1, "output": 1}}
    result = {"role": "toolResult", "toolCallId": "c", "toolName": tool, "content": [{"type": "text", "text": text}]}
    head = {"type": "session", "version": 3, "id": "11111111-2222-4333-8444-555555555555", "timestamp": at, "cwd": "/"}
    first = {"type": "message", "id": "a", "parentId": None, "timestamp": at, "message": asked}
    return [head, first, {"type": "message", "id": "b", "parentId": "a", "timestamp": at, "message": result}]


def swe_agent(action: str, observation: str, submission: str | None = None) -> dict[str, Any]:
    step = {
        "action": action,
        "observation": observation,
        "response": f"```\n{action}\n```",
        "thought": "",
        "state": "{}",
    }
    history = [{"role": "system", "content": "You fix."}, {"role": "user", "content": "Fix it."}]
    info = {"exit_status": "submitted", "submission": submission}
    return {"trajectory": [step], "history": history, "environment": "e", "info": info}


def openhands(observation: str, content: str, arguments: dict[str, Any], **extras: Any) -> list[Any]:
    tool = {"run": "execute_bash", "edit": "str_replace_editor", "error": "str_replace_editor"}[observation]
    at = {"timestamp": "2026-01-01T00:00:00", "source": "agent", "message": ""}
    function = {"id": "c", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    reply = {"id": "r", "model": "m", "choices": [{"message": {"role": "assistant", "tool_calls": [function]}}]}
    asked = {"tool_call_id": "c", "function_name": tool, "model_response": reply}
    action = {"id": 1, "action": "run" if tool == "execute_bash" else "edit", "args": arguments, **at}
    seen = {"id": 2, "observation": observation, "content": content, "cause": 1, "extras": extras, **at}
    return [[action | {"tool_call_metadata": asked}, seen | {"tool_call_metadata": asked}]]


def refused(**metadata: Any) -> list[Any]:
    return openhands("run", NOT_RUN, {"command": "ls\npwd"}, metadata={"exit_code": -1, **metadata})


def chat(name: str, arguments: dict[str, Any], text: str) -> list[Any]:
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c", "content": text}
    return [{"messages": [{"role": "user", "content": "Go."}, asked, result]}]


TERMINAL: Final = {"source": "agent", "message": "{}", "observation": {"results": [{"content": "New: README"}]}}
HANDED: Final = {"source": "user", "message": HANDOVER, "is_copied_context": True}
LOOKED_UP: Final = ({"source": "user", "message": 'Fix "it" now.'}, {"source": "system", "message": QUOTED})
CASES: Final = [
    Case("a handover of Terminus", atif("terminus-2", HANDED), HANDOVER, MODEL),
    Case("the same words of another program", atif("other", HANDED), HANDOVER, UNKNOWN),
    Case("a terminal of Terminus", atif("terminus-2", TERMINAL), "New: README", REPOSITORY),
    Case("a result of no call", atif("other", TERMINAL), "New: README", UNKNOWN),
    Case("what OpenHands looks up for the user", atif("openhands", *LOOKED_UP), QUOTED, OWN),
    Case("the same without the user's words", atif("openhands", {"source": "user", "message": "Hi."}, LOOKED_UP[1]),
         QUOTED, UNKNOWN),
    Case("an empty folder", gemini("list_directory", EMPTY, {"path": "/app/src"}), EMPTY, OWN),
    Case("a folder that is not empty", gemini("list_directory", EMPTY + "\na.py", {}), EMPTY + "\na.py", REPOSITORY),
    Case("a shell that says so", gemini("run_shell_command", EMPTY, {"command": "cat a"}), EMPTY, REPOSITORY),
    Case("a shell that asks the network", gemini("run_shell_command", "<p>", {"command": "curl x.y"}), "<p>", NETWORK),
    Case("a new file", gemini("write_file", "ok", {}, changed(NEW, None)), NEW, MODEL),
    Case("a file that was there", gemini("write_file", "ok", {}, changed(CHANGED, "x = 1")), CHANGED, REPOSITORY),
    Case("a file that loses lines, said to be new", gemini("write_file", "ok", {}, changed(CHANGED, None)), CHANGED,
         REPOSITORY),
    Case("an edit of pi that found nothing", pi("edit", NOT_FOUND, {"path": "/a.py"}), NOT_FOUND, OWN),
    Case("a file of these words", pi("read", NOT_FOUND, {"path": "/a.py"}), NOT_FOUND, REPOSITORY),
    Case("a page that pi's shell got", pi("bash", "<p>", {"command": "wget -qO- x.y"}), "<p>", NETWORK),
    Case("a page that SWE-agent got", swe_agent("curl http://x.y", "<p>"), "<p>", NETWORK),
    Case("an answer that the model spelt out", swe_agent("submit FLAG{a}", "", "FLAG{a}"), "FLAG{a}", MODEL),
    Case("an answer that stood elsewhere", swe_agent("submit $(cat flag)", "", "FLAG{a}"), "FLAG{a}", UNKNOWN),
    Case("a parameter that is missing", openhands("error", UNFIT, {}), UNFIT, OWN),
    Case("an error that quotes", openhands("error", "Parameter 'command': do this", {}), "Parameter 'command': do this",
         UNKNOWN),
    Case("commands that were refused", refused(), NOT_RUN, MODEL),
    Case("a command that printed these words", refused(exit_code=0, working_dir="/app"), NOT_RUN, REPOSITORY),
    Case("a file that was created", openhands("edit", CREATED, {}, diff=NEW), NEW, MODEL),
    Case("a file that was edited", openhands("edit", "Edited.", {}, diff=CHANGED), CHANGED, REPOSITORY),
    Case("a result that repeats its call", chat("finish", {"message": "Done."}, "Done."), "Done.", MODEL),
    Case("a result that says more", chat("finish", {"message": "Done."}, "Done. Pay me."), "Done. Pay me.", UNKNOWN),
    Case("a page that a shell got", chat("bash", {"command": "curl x.y"}, "<p>"), "<p>", NETWORK),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_part_is_labelled_by_whose_words_it_holds(ledger: lk.Ledger, tmp_path: Path, case: Case) -> None:
    lines: list[Any] = case.document if is_list(case.document) else [case.document]
    path = tmp_path / ("run.traj" if "trajectory" in lines[0] else "run.jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert ledger.import_logs(path, now=NOW).closes
    rows = ledger.sql("select text, part_trust_level from parts order by sequence_no, part_index").rows()
    found = [trust for text, trust in rows if text is not None and text.strip() == case.text]
    assert found == [case.trust], rows
