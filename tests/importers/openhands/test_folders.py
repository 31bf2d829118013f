"""Conversation folders of the V1 SDK: one file an event, read whole whatever of them is new."""

from __future__ import annotations

import json
import random
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

import ledgerkit as lk
from ledgerkit.importers.registry import recognise
from tests.builders import assert_same, canonical
from tests.conftest import NOW
from tests.importers.openhands.test_openhands import act, back, person, sdk, stats

CONVERSATION: Final = "11111111-2222-4333-8444-55555555aaaa"
EVENTS: Final[list[Any]] = [
    sdk(0, "SystemPromptEvent", system_prompt={"text": "You are an agent."}),
    person(1, "Fix it."),
    stats(2, 100, 10), act(3, "c1", "terminal", {"command": "ls"}, "r1"), back(4, "c1", "terminal", "a.py"),
    stats(5, 250, 25), act(6, "c2", "file_editor", {"command": "view", "path": "a.py"}, "r2"),
    back(7, "c2", "file_editor", "x = 1"),
    stats(8, 400, 30), sdk(9, "MessageEvent", llm_message={"role": "assistant", "content": [{"text": "Done."}]},
                           llm_response_id="r3"),
]  # fmt: skip


def state(status: str = "finished", **more: Any) -> dict[str, Any]:
    used = {"usage_to_metrics": {"default": {"accumulated_token_usage": {"prompt_tokens": 400}}}}
    return {
        "id": CONVERSATION, "agent": {"kind": "Agent", "llm": {"model": "m", "api_key": "hidden"}, "tools": []},
        "workspace": {"working_dir": "/work", "kind": "LocalWorkspace"}, "persistence_dir": "/p",
        "execution_status": status, "stats": used, "secret_registry": {"secret_sources": {"a": "hidden"}}, **more,
    }  # fmt: skip


def write_event(folder: Path, number: int) -> Path:
    path = folder / "events" / f"event-{number:05d}-{uuid.UUID(int=number)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(EVENTS[number]), "utf-8")
    return path


def write_state(folder: Path, **more: Any) -> Path:
    path = folder / "base_state.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(state(**more)), "utf-8")
    return path


def conversation(folder: Path) -> Path:
    write_state(folder)
    for number in range(len(EVENTS)):
        write_event(folder, number)
    return folder


def test_a_folder_is_one_run(ledger: lk.Ledger, tmp_path: Path) -> None:
    account = ledger.import_logs(conversation(tmp_path / "c"), now=NOW)
    assert account.closes
    assert (account.quarantined, account.unsupported) == (0, ())
    assert account.formats["format"].to_list() == ["openhands"]
    (run,) = ledger.sql("from runs").to_dicts()
    assert (run["session_id"], run["working_directory"], run["steps"]) == (CONVERSATION, "/work", 3)
    said = ledger.sql("select text from parts where text is not null order by sequence_no, part_index")[
        "text"
    ].to_list()
    assert said == ["You are an agent.", "Fix it.", "Hm.", "a.py", "Hm.", "x = 1", "Done."]
    calls = ledger.sql("select input_tokens, output_tokens from model_calls where billed order by step").rows()
    assert calls == [(100, 10), (150, 15), (150, 5)]
    results = ledger.sql("select tool_name, status, result_text, path from tool_calls order by step").rows()
    assert [(name, text) for name, _, text, _ in results] == [("terminal", "a.py"), ("file_editor", "x = 1")]
    assert ledger.sql("select count(*) from parts where data like '%hidden%' or text like '%hidden%'").item() == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_files_of_a_folder_may_come_in_any_order_and_in_any_imports(seed: int, tmp_path: Path) -> None:
    folder = conversation(tmp_path / "c")
    files = sorted(folder.rglob("*.json"))
    random.Random(seed).shuffle(files)
    with lk.open(tmp_path / "once", key=bytes(32)) as once, lk.open(tmp_path / "apart", key=bytes(32)) as apart:
        once.import_logs(folder, now=NOW)
        for number in range(0, len(files), 4):
            apart.import_logs(*files[number : number + 4], now=NOW + timedelta(hours=number))
        assert apart.import_logs(folder, now=NOW + timedelta(days=1)).new_messages == 0
        assert_same(canonical(apart), canonical(once))


@pytest.mark.slow
def test_a_conversation_that_goes_on_gives_what_it_gives_at_once(tmp_path: Path) -> None:
    with lk.open(tmp_path / "once", key=bytes(32)) as once, lk.open(tmp_path / "grown", key=bytes(32)) as grown:
        folder = tmp_path / "c"
        for number in range(len(EVENTS)):
            write_state(folder, status="running", max_iterations=5)
            write_event(folder, number)
            account = grown.import_logs(folder, now=NOW + timedelta(hours=number))
            assert account.closes
            assert account.files <= 2
        write_state(folder, max_iterations=5)
        grown.import_logs(folder, now=NOW + timedelta(days=1))
        once.import_logs(folder, now=NOW)
        assert_same(canonical(grown), canonical(once))


def test_a_damaged_event_costs_itself(ledger: lk.Ledger, tmp_path: Path) -> None:
    folder = conversation(tmp_path / "c")
    write_event(folder, 4).write_bytes(b'{"id": "e4", "timest')
    account = ledger.import_logs(folder, now=NOW)
    assert account.closes
    assert len(account.unsupported) == 1
    assert ledger.sql("select sum(input_tokens)::int from model_calls where billed").item() == 400
    assert ledger.sql("select count(*) from tool_calls where result_text is null").item() == 1


def test_without_its_state_a_conversation_is_known_by_its_folder(ledger: lk.Ledger, tmp_path: Path) -> None:
    folder = conversation(tmp_path / CONVERSATION.replace("-", ""))
    (folder / "base_state.json").unlink()
    ledger.import_logs(folder, now=NOW)
    assert ledger.sql("select session_id, steps from runs").rows() == [(CONVERSATION, 3)]


def test_an_event_alone_is_a_stream_of_one(ledger: lk.Ledger, tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(person(1, "Fix it.")), "utf-8")
    assert ledger.import_logs(path, now=NOW).new_messages == 1


@pytest.mark.corpus
def test_a_real_state_is_read_and_keeps_no_key(corpus: Path, ledger: lk.Ledger) -> None:
    path = corpus / "openhands" / "software-agent-sdk" / "v1_11_5_cli_default" / "base_state.json"
    found = recognise(path)
    assert found is not None
    assert found.name == "openhands"
    account = ledger.import_logs(path, redact="off", now=NOW)
    assert (account.accepted, account.closes) == (2, True)
    assert ledger.sql("select count(*) from parts where data like '%api_key%'").item() == 0
