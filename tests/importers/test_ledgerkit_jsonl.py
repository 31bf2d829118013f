"""ledgerkit's own log format: messages as they are, and the requests that led to them."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import ledgerkit as lk
from ledgerkit.protocol.messages import AgentMessage
from tests.builders import START, Record, append_lines, line_of, stamp, uid, write_lines
from tests.conftest import NOW

SESSION = uid("own session")
MAIN = uid("own run")
SIDE = uid("own subagent")


def part(text: str = "Round the prices.", **fields: object) -> Record:
    return {"type": "text", "text": text, "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE", **fields}


def message(number: int, *parts: Record, run: str = MAIN, **fields: object) -> Record:
    """A message line of a run."""
    whole = {
        "session_id": SESSION,
        "run_id": run,
        "message_id": uid(run, number),
        "sequence_no": number,
        "kind": "USER_TASK",
        "actor": "user",
        "created_at": stamp(START + timedelta(seconds=number)),
        "step": 0,
        "visible_from": 0,
        "parts": list(parts) or [part()],
        **fields,
    }
    return {"type": "message", "message": AgentMessage.model_validate(whole).model_dump(mode="json", exclude_none=True)}


def run_line(run: str = MAIN, **fields: object) -> Record:
    return {
        "type": "run",
        "session_id": SESSION,
        "run_id": run,
        "title": "Rounding",
        "agent": "ledgerkit-agent",
        **fields,
    }


HEADER: Record = {"type": "ledgerkit-jsonl", "version": 1, "session_id": SESSION}
CALL: Record = {
    "call_id": "msg_1:req_1",
    "model": "claude-sonnet-4-5-20250929",
    "provider": "anthropic",
    "usage": {"input_tokens": 100, "cache_read_tokens": 40, "output_tokens": 7, "reasoning_tokens": 3},
    "reported_cost": "0.001250000",
}
PICTURE = b"\x89PNG\r\n\x1a\n\xff\x00"
MODEL = {"trust_level": "MODEL_GENERATED"}
REPOSITORY = {"trust_level": "REPOSITORY_UNTRUSTED"}


def whole_session() -> list[Record]:
    arguments = {"type": "tool_call", "tool_call_id": "t1", "tool_name": "bash", "arguments": {"command": "ls"}}
    result = {"type": "tool_result", "tool_call_id": "t1", "tool_name": "bash", "status": "SUCCEEDED", "text": "a.py"}
    verdict = {"type": "verification", "verdict": "passed", "check": "hidden tests", "scope": "run", "text": "3 passed"}
    tool = {"trust_level": "TOOL_TRUSTED", "visibility": "AUDIT_ONLY"}
    seen = {"visibility": "MODEL_VISIBLE"}
    return [
        HEADER,
        run_line(branch="main", repository="shop", task_id="round"),
        message(0),
        {"type": "block", "id": "b0", "content": {"type": "text", "text": "You are an agent."}},
        {"type": "block", "id": "b1", "content": {"type": "text", "text": "Round the prices."}},
        {
            "type": "block",
            "id": "b2",
            "content": {"type": "tool", "name": "bash", "description": "d", "parameters": {}},
        },
        {
            "type": "model_request",
            "run_id": MAIN,
            "call_id": "msg_1:req_1",
            "step": 0,
            "purpose": "step",
            "model": "m",
            "max_output_tokens": 100,
            "system": ["b0"],
            "tools": ["b2"],
            "messages": [{"role": "user", "content": ["b1"]}],
        },
        message(1, part("Listing.", **MODEL), kind="ASSISTANT_RESPONSE", actor="m", visible_from=1, call=CALL),
        message(2, {**arguments, **MODEL, **seen}, kind="TOOL_CALL_REQUEST", actor="m", visible_from=1, call=CALL),
        {"type": "artifact", "content_id": "f" * 32, "media_type": "text/plain", "content": "a.py b.py c.py"},
        {
            "type": "artifact",
            "content_id": "e" * 32,
            "media_type": "image/png",
            "encoding": "base64",
            "content": base64.b64encode(PICTURE).decode(),
        },
        message(
            3,
            {**result, **REPOSITORY, **seen, "artifact_refs": ["f" * 32], "evidence_refs": ["artifact:" + "e" * 32]},
            {"type": "artifact_ref", "content_type": "image/png", **REPOSITORY, **seen, "artifact_refs": ["e" * 32]},
            kind="TOOL_CALL_RESULT",
            actor="bash",
            visible_from=1,
            parent_message_id=uid(MAIN, 2),
        ),
        run_line(SIDE, parent_run_id=MAIN, forked_at=uid(MAIN, 2), relation="subagent"),
        message(0, part("Look closer."), run=SIDE),
        message(4, {**verdict, **tool}, kind="VERIFIER_RESULT", actor="harness", step=1, visible_from=1),
    ]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[lk.Ledger, lk.ImportAccount]:
    folder = tmp_path_factory.mktemp("own")
    write_lines(folder / "a.jsonl", whole_session())
    ledger = lk.open(folder / "l", key=bytes(32))
    return ledger, ledger.import_logs(folder / "a.jsonl", now=NOW)


@pytest.fixture(scope="module")
def own(imported: tuple[lk.Ledger, lk.ImportAccount]) -> lk.Ledger:
    return imported[0]


def plain(message: AgentMessage) -> dict[str, Any]:
    """What a message says, without what the import adds."""
    whole = message.model_dump(mode="json", exclude_none=True, exclude={"source", "metadata"})
    for each in whole["parts"]:
        for added in ("token_count", "artifact_refs", "evidence_refs"):
            each.pop(added, None)
    return whole


def test_messages_keep_their_ids_runs_steps_and_labels(own: lk.Ledger) -> None:
    lines = [line["message"] for line in whole_session() if line["type"] == "message"]
    for run in (MAIN, SIDE):
        written = [AgentMessage.model_validate(line) for line in lines if line["run_id"] == run]
        assert [plain(m) for m in own.list_messages(SESSION, run)] == [plain(m) for m in written]


def test_facts_about_runs_are_those_of_their_lines(own: lk.Ledger) -> None:
    main, side = own.sql("from runs order by relation nulls first").to_dicts()
    assert (main["run_id"], main["title"], main["repository"], main["task_id"]) == (MAIN, "Rounding", "shop", "round")
    assert (side["run_id"], side["parent_run_id"], side["forked_at"], side["relation"]) == (
        *(SIDE, MAIN, uid(MAIN, 2)),
        "subagent",
    )
    assert (main["agent"], main["source_format"], main["outcome"]) == ("ledgerkit-agent", "ledgerkit-jsonl", "passed")


def test_a_model_call_counts_once_for_all_messages_that_repeat_it(own: lk.Ledger) -> None:
    (call,) = own.sql("from model_calls").to_dicts()
    assert (call["step"], call["usage_rows"], call["billed"]) == (0, 2, True)
    assert (call["input_tokens"], call["cache_read_tokens"], call["output_tokens"]) == (100, 40, 7)
    assert (call["reasoning_tokens"], str(call["reported_cost"])) == (3, "0.001250000")


def test_the_request_is_an_artifact_of_the_first_message_of_its_call(own: lk.Ledger) -> None:
    first, second = own.sql("select metadata->>'$.model_request' from messages where call_id is not null").rows()
    assert second == (None,)
    content, media_type, label = own.artifact(first[0])
    request = json.loads(content)
    assert (media_type, label) == ("application/vnd.ledgerkit.model-request+json", "restricted")
    assert request["system"] == [{"type": "text", "text": "You are an agent."}]
    assert request["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Round the prices."}]}]
    assert request["tools"][0]["name"] == "bash"
    assert not own.search("You are an agent", audience=lk.Audience.AUDIT).height


def test_artifacts_and_references_to_them_get_the_ids_of_the_ledger(own: lk.Ledger) -> None:
    result, picture = own.sql("from parts where kind = 'TOOL_CALL_RESULT' order by part_index").to_dicts()
    assert own.artifact(result["artifact_refs"][0])[0] == b"a.py b.py c.py"
    assert own.artifact(picture["artifact_refs"][0])[:2] == (PICTURE, "image/png")
    assert result["evidence_refs"] == [f"artifact:{picture['artifact_refs'][0]}"]
    assert picture["content_id"] == picture["artifact_refs"][0]


def test_every_line_is_accounted_for(imported: tuple[lk.Ledger, lk.ImportAccount]) -> None:
    _, account = imported
    assert account.closes
    assert (account.records, account.accepted, account.skipped, account.quarantined) == (15, 6, 9, 0)


def test_a_compressed_file_gives_the_same(tmp_path: Path, ledger: lk.Ledger, own: lk.Ledger) -> None:
    text = "".join(line_of(line) + "\n" for line in whole_session())
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    ledger.import_logs(tmp_path / "a.jsonl.gz", now=NOW)
    for view in ("messages", "parts", "model_calls", "runs"):
        wanted = f"from {view} order by all"
        drop = ["source_file", "import_id", "leaf_hash"]
        assert ledger.sql(wanted).drop(drop, strict=False).equals(own.sql(wanted).drop(drop, strict=False)), view
    assert ledger.import_logs(tmp_path / "a.jsonl.gz", now=NOW + timedelta(1)).unchanged == 1


@pytest.mark.long
def test_a_file_that_grows_is_counted_once(tmp_path: Path, ledger: lk.Ledger) -> None:
    path = write_lines(tmp_path / "a.jsonl", whole_session()[:3], torn=json.dumps(whole_session()[3])[:20])
    first = ledger.import_logs(path, now=NOW)
    assert (first.records, first.quarantined) == (4, 1)
    write_lines(path, whole_session())
    second = ledger.import_logs(path, now=NOW + timedelta(1))
    assert (second.records, second.accepted + second.duplicate, second.skipped) == (15, 6, 9)
    assert second.closes
    assert ledger.sql("select count(*), count(distinct message_id) from messages").row(0) == (6, 6)
    assert ledger.sql("select line_count, record_count, quarantined from import_files").row(0) == (15, 15, 0)
    append_lines(path, [message(5, part("More."))])
    assert ledger.import_logs(path, now=NOW + timedelta(2)).new_messages == 1


def test_a_message_written_anew_under_its_old_id_does_not_change_the_history(tmp_path: Path, ledger: lk.Ledger) -> None:
    path = write_lines(tmp_path / "a.jsonl", [HEADER, run_line(), message(0, part("first words")), message(1)])
    ledger.import_logs(path, now=NOW)
    write_lines(path, [HEADER, run_line(), message(0, part("other words")), message(1)])
    account = ledger.import_logs(path, now=NOW + timedelta(1))
    assert account.new_messages == 0
    assert account.closes
    assert [m.parts[0].model_dump()["text"] for m in ledger.list_messages(SESSION, MAIN)] == [
        "first words",
        "Round the prices.",
    ]
    assert ledger.sql("select count(*), count(distinct message_id) from messages").row(0) == (2, 2)
    reasons = account.details["reason"].to_list()
    assert any("says something else" in reason for reason in reasons)


REQUEST: Record = {"type": "model_request", "call_id": "c", "system": [], "tools": [], "messages": []}
DAMAGED: list[tuple[object, str]] = [
    ({"type": "message", "message": {"kind": "USER_TASK"}}, "Not a"),
    ({"type": "message"}, "Not a"),
    ({"type": "message", "message": "text"}, "Not a"),
    ({**REQUEST, "system": ["b77"]}, "no block 'b77' before this line"),
    ({**REQUEST, "tools": [["b0"]]}, "no block ['b0'] before this line"),
    ({**REQUEST, "system": "b0"}, "a request lists the ids of its blocks"),
    ({**REQUEST, "call_id": 7}, "model_request line without call_id"),
    ({"type": "artifact", "content_id": "x", "media_type": "a/b", "content": "%%", "encoding": "base64"}, "not base64"),
    ({"type": "artifact", "content_id": "x", "media_type": "a/b", "content": "é", "encoding": "base64"}, "not base64"),
    ({"type": "artifact", "content_id": "x", "media_type": "a/b", "content": 5}, "artifact line without content"),
    ({"type": "artifact", "content": "x", "media_type": "a/b"}, "artifact line without content_id"),
    ({"type": "block", "content": 1}, "block line without id"),
    ({"type": "run", "run_id": MAIN, "relation": "cousin"}, "Unknown relation 'cousin'"),
    ({"type": "run", "run_id": MAIN, "relation": ["fork"]}, "Unknown relation ['fork']"),
    ({"type": "run", "run_id": MAIN, "branch": 5}, "branch of a run is a text"),
    ({"type": "run"}, "run line without run_id"),
    ([1], "not a JSON object"),
]


def test_damaged_lines_are_quarantined_with_their_reason_and_cost_no_more(tmp_path: Path, ledger: lk.Ledger) -> None:
    lines: list[object] = [HEADER, run_line(branch="main"), *(line for line, _ in DAMAGED), message(0)]
    account = ledger.import_logs(write_lines(tmp_path / "a.jsonl", lines), now=NOW)
    reasons = account.damage.select("line", "reason").rows()
    assert [line for line, _ in reasons] == list(range(3, 3 + len(DAMAGED)))
    for (_, reason), (_, expected) in zip(reasons, DAMAGED, strict=True):
        assert expected in reason
    assert account.closes
    assert (account.accepted, account.quarantined) == (1, len(DAMAGED))
    assert ledger.sql("select branch from runs").item() == "main"


def test_a_line_of_an_unknown_type_is_kept_whole(tmp_path: Path, ledger: lk.Ledger) -> None:
    strange = {"type": "hologram", "depth": [1, 2]}
    account = ledger.import_logs(write_lines(tmp_path / "a.jsonl", [HEADER, run_line(), message(0), strange]), now=NOW)
    assert account.accepted == 2
    row = ledger.sql(
        "select run_id, data, kind, part_visibility from parts where error_category = 'unknown_record'"
    ).row(0)
    assert row[0] == MAIN
    assert json.loads(row[1]) == strange
    assert row[2:] == ("ERROR_EVENT", "AUDIT_ONLY")


def test_a_version_that_is_not_known_is_refused_whole(tmp_path: Path, ledger: lk.Ledger) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{**HEADER, "version": 2}, run_line(), message(0)])
    account = ledger.import_logs(path, now=NOW)
    assert (account.accepted, account.quarantined) == (0, 3)
    assert all("Upgrade agent-ledgerkit" in reason for reason in account.damage["reason"])


def test_a_run_that_was_rewound_inherits_its_prefix_in_replay(tmp_path: Path, ledger: lk.Ledger) -> None:
    again = uid("own run", "again")
    path = write_lines(
        tmp_path / "a.jsonl",
        [
            *whole_session(),
            run_line(again, parent_run_id=MAIN, forked_at=uid(MAIN, 1), relation="rewind"),
            message(0, part("Round half to even."), run=again),
            message(1, part("So be it.", **MODEL), run=again, kind="ASSISTANT_RESPONSE", actor="m", visible_from=1,
                    call={**CALL, "call_id": "msg_9"}),
        ],
    )  # fmt: skip
    ledger.import_logs(path, now=NOW)
    step = ledger.run(again).replay().step(0)
    assert step.visible["text"].to_list() == ["Round the prices.", "Listing.", "Round half to even."]
    assert step.wrote["text"].to_list() == ["So be it."]
