"""Appending: dense numbers, once for a key, whole or not at all, and read back as it was said.

``append`` returns the message as it was said. What the ledger computes (token counts, artifacts of long contents) is
seen when the message is read back.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import ledgerkit as lk
from ledgerkit.protocol.messages import decision_summary
from ledgerkit.store.storage import open_storage
from ledgerkit.tokens import TokenCounter

USER = {"trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
MODEL = {"trust_level": "MODEL_GENERATED", "visibility": "MODEL_VISIBLE"}


def command(said: object = "hi", *, session: str = "s1", run: str = "r1", **fields: Any) -> lk.AppendMessageCommand:
    part: object = {"type": "text", "text": said, **USER} if isinstance(said, str) else said
    whole = {"session_id": session, "run_id": run, "kind": "USER_TASK", "actor": "user", "parts": [part], **fields}
    return lk.AppendMessageCommand.model_validate(whole)


def uncounted(message: lk.AgentMessage | None) -> lk.AgentMessage:
    """A message without the token counts of its parts, which the ledger adds."""
    assert message is not None
    parts = tuple(part.model_copy(update={"token_count": None}) for part in message.parts)
    return message.model_copy(update={"parts": parts})


def read_back(ledger: lk.Ledger, written: lk.AgentMessage) -> lk.AgentMessage:
    """A message as the ledger holds it."""
    found = ledger.find_by_id(written.message_id)
    assert found is not None
    assert [found] == [m for m in ledger.list_messages("s1", "r1") if m.message_id == written.message_id]
    return found


@pytest.fixture
def ticking(tmp_path: Path) -> lk.Ledger:
    """A ledger whose clock ticks once a message and whose ids are counted."""
    ticks, ids = count(), count()
    start = datetime(2026, 5, 1, 12, tzinfo=UTC)
    return lk.Ledger(
        open_storage(tmp_path / "l", create=True, key=bytes(32), count_tokens=TokenCounter().count_many),
        clock=lambda: start + timedelta(seconds=next(ticks)),
        random=lambda size: next(ids).to_bytes(size, "big"),
    )


# Numbers and ids


def test_messages_of_a_run_are_numbered_from_zero_without_gaps(ledger: lk.Ledger) -> None:
    numbers = [ledger.append(command(str(n))).sequence_no for n in range(4)]
    assert numbers == [0, 1, 2, 3]
    assert ledger.append(command(run="r2")).sequence_no == 0
    assert ledger.append(command(session="s2")).sequence_no == 0
    assert ledger.append(command()).sequence_no == 4


def test_times_come_from_the_clock_unless_the_writer_knows_better(ticking: lk.Ledger) -> None:
    assert ticking.append(command()).created_at == datetime(2026, 5, 1, 12, tzinfo=UTC)
    mine = datetime(2020, 1, 1, tzinfo=UTC)
    told = ticking.append(command(created_at=mine))
    assert told.created_at == mine
    assert told.message_id > "019de"


def test_what_is_read_back_is_what_append_returned(ticking: lk.Ledger) -> None:
    written = [
        ticking.append(command("one", metadata={"b": [1, {"a": None}], "é": 0.5}, trace_id="t", actor="somebody")),
        ticking.append(command("two", step=3, visible_from=4, parent_message_id="elsewhere", idempotency_key="k")),
    ]
    assert [uncounted(ticking.find_by_id(m.message_id)) for m in written] == written
    assert [uncounted(m) for m in ticking.list_messages("s1", "r1")] == written
    assert ticking.find_by_id("nothing") is None


PARTS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": "said", "path": "a.py", "summary": "s", "details": {"k": [1]}},
    "empty text": {"type": "text", "text": ""},
    "json": {"type": "json", "data": {"a": [1, 2.5, None, "ü", True]}},
    "json null": {"type": "json", "data": None},
    "artifact": {"type": "artifact_ref", "content_type": "image/png", "artifact_refs": ["a" * 32], "text": "a picture"},
    "snippet": {
        "type": "file_snippet",
        "text": "x = 1",
        "path": "a.py",
        "start_line": 3,
        "end_line": 3,
        "total_lines": 9,
    },
    "diff": {
        "type": "diff",
        "text": "-a\n+b",
        "path": "a.py",
        "change": "modified",
        "lines_added": 1,
        "lines_removed": 1,
    },
    "call": {"type": "tool_call", "tool_call_id": "t1", "tool_name": "bash", "arguments": {"command": "ls"}},
    "odd call": {"type": "tool_call", "tool_call_id": "t1", "tool_name": "bash", "arguments": "not an object"},
    "result": {"type": "tool_result", "tool_call_id": "t1", "status": "FAILED", "text": "no", "data": [1]},
    "verification": {
        "type": "verification",
        "verdict": "failed",
        "check": "pytest",
        "scope": "run",
        "exit_code": 1,
        "counts": {"passed": 2, "failed": 1},
        "failing": ["test_a"],
        "text": "1 failed",
    },
    "error": {"type": "error", "text": "boom", "data": {"code": 5}, "error_category": "exit_code"},
    "evidence": {"type": "text", "text": "so it is", "evidence_refs": ["message:m1#L1-L2", "file:a.py", "task:goal"]},
    "timed": {
        "type": "tool_result",
        "tool_call_id": "t",
        "status": "SUCCEEDED",
        "started_at": "2026-01-01T00:00:00Z",
        "finished_at": "2026-01-01T00:00:01.000001Z",
    },
    "counted": {"type": "text", "text": "said", "token_count": 99},
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_any_type_comes_back_as_it_was(ticking: lk.Ledger, name: str) -> None:
    asked = command({**PARTS[name], **MODEL}, kind="TOOL_CALL_RESULT")
    written = ticking.append(asked)
    assert written.parts == asked.parts
    found = read_back(ticking, written)
    assert uncounted(found) == uncounted(written)
    if asked.parts[0].token_count is not None:
        assert found == written


def test_a_message_of_many_parts_has_the_labels_of_all(ticking: lk.Ledger) -> None:
    parts = [
        {"type": "text", "text": "a", **USER},
        {"type": "text", "text": "b", "trust_level": "NETWORK_UNTRUSTED", "visibility": "AUDIT_ONLY"},
        {"type": "json", "data": 5, **MODEL},
    ]
    written = ticking.append(command(parts=parts, metadata={"a": 1}))
    assert (written.trust_level, written.visibility) == ("NETWORK_UNTRUSTED", "MODEL_VISIBLE")
    assert uncounted(read_back(ticking, written)) == written
    rows = ticking.sql("select part_id, metadata, part_trust_level from parts order by part_index").rows()
    assert rows == [
        (f"{written.message_id}.0", '{"a":1}', "USER_TRUSTED"),
        (f"{written.message_id}.1", None, "NETWORK_UNTRUSTED"),
        (f"{written.message_id}.2", None, "MODEL_GENERATED"),
    ]


def test_tokens_are_counted_and_contents_hashed(ticking: lk.Ledger) -> None:
    written = [ticking.append(command(said)) for said in ("hello world", "hello world", "another")]
    assert [m.parts[0].token_count for m in written] == [None, None, None]
    assert [read_back(ticking, m).parts[0].token_count for m in written] == [2, 2, 1]
    rows = ticking.sql("select byte_count, content_id from parts order by sequence_no").rows()
    assert [size for size, _ in rows] == [11, 11, 7]
    assert rows[0][1] == rows[1][1] != rows[2][1]


# Long contents


def test_a_long_text_is_returned_whole_and_stands_in_an_artifact(ticking: lk.Ledger) -> None:
    long = "ä line\n" * 20_000
    written = ticking.append(command(long))
    assert written.parts == command(long).parts
    part = read_back(ticking, written).parts[0].model_dump()
    assert long.startswith(part["text"])
    assert len(part["text"]) < 10_000
    assert ticking.artifact(part["artifact_refs"][0])[0].decode() == long
    assert ticking.sql("select byte_count from parts").item() == len(long.encode())


def test_long_arguments_stand_in_an_artifact(ticking: lk.Ledger) -> None:
    call = {
        "type": "tool_call",
        "tool_call_id": "t",
        "tool_name": "write",
        "arguments": {"content": "y" * 90_000},
        **MODEL,
    }
    asked = command(call, kind="TOOL_CALL_REQUEST")
    written = ticking.append(asked)
    assert written.parts == asked.parts
    found = read_back(ticking, written).parts[0]
    whole = json.loads(ticking.artifact(found.artifact_refs[0])[0])
    assert whole == {"content": "y" * 90_000}
    assert len(found.model_dump_json()) < 20_000
    assert found.model_dump()["arguments_hash"] == asked.parts[0].model_dump()["arguments_hash"]


def test_a_long_verdict_can_be_read_back(ticking: lk.Ledger) -> None:
    verdict = {"type": "verification", "verdict": "failed", "failing": [f"test_{n}" for n in range(9000)], **MODEL}
    written = ticking.append(command(verdict, kind="VERIFIER_RESULT"))
    assert len(written.parts[0].model_dump()["failing"]) == 9000
    found = read_back(ticking, written).parts[0]
    assert found.model_dump()["verdict"] == "failed"
    assert len(json.loads(ticking.artifact(found.artifact_refs[0])[0])["failing"]) == 9000


# Idempotency


def test_a_key_used_again_with_the_same_content_gives_the_message_that_is_there(ledger: lk.Ledger) -> None:
    first = ledger.append(command("a", idempotency_key="k"))
    assert ledger.append(command("a", idempotency_key="k")) == first
    assert ledger.append(command("a", idempotency_key="k", actor="somebody else")) == first
    assert len(ledger.list_messages("s1", "r1")) == 1


@pytest.mark.parametrize(
    "said", ["x" * 80_000, {"type": "json", "data": {"x": "y" * 80_000}, **MODEL}], ids=["text", "json"]
)
def test_a_long_message_may_be_sent_again_too(ledger: lk.Ledger, said: object) -> None:
    first = ledger.append(command(said, idempotency_key="k"))
    again = ledger.append(command(said, idempotency_key="k"))
    assert (again.message_id, again.sequence_no) == (first.message_id, 0)
    longer = "x" * 80_001 if isinstance(said, str) else {"type": "json", "data": {"x": "y" * 80_001}, **MODEL}
    with pytest.raises(lk.IdempotencyError):
        ledger.append(command(longer, idempotency_key="k"))


@pytest.mark.parametrize(
    "other",
    [
        {"said": "b"},
        {"kind": "ASSISTANT_RESPONSE"},
        {"said": {"type": "text", "text": "a", **MODEL}},
        {"parts": [{"type": "text", "text": "a", **USER}] * 2},
    ],
)
def test_a_key_used_again_with_other_content_is_refused(ledger: lk.Ledger, other: dict[str, Any]) -> None:
    first = ledger.append(command("a", idempotency_key="k"))
    with pytest.raises(lk.IdempotencyError, match=f"'k'.*{first.message_id}"):
        ledger.append(command(**{"said": "a", "idempotency_key": "k", **other}))
    assert [uncounted(m) for m in ledger.list_messages("s1", "r1")] == [first]


def test_a_key_is_the_runs_own(ledger: lk.Ledger) -> None:
    ledger.append(command("a", idempotency_key="k"))
    assert ledger.append(command("b", run="r2", idempotency_key="k")).sequence_no == 0
    assert ledger.append(command("c", session="s2", idempotency_key="k")).sequence_no == 0


# Reading ranges


def test_a_range_of_messages_holds_both_its_ends(ledger: lk.Ledger) -> None:
    written = [ledger.append(command(str(n))) for n in range(5)]
    for first, last in ((0, 0), (1, 3), (3, 99), (0, 4)):
        found = ledger.list_messages("s1", "r1", lk.MessageRange(first=first, last=last))
        assert [uncounted(m) for m in found] == written[first : last + 1]
    assert ledger.list_messages("s1", "r1", lk.MessageRange(first=7, last=9)) == []


@pytest.mark.parametrize(("session", "run"), [("s1", "r9"), ("s9", "r1")])
def test_messages_of_a_run_that_is_not_there_are_an_error(ledger: lk.Ledger, session: str, run: str) -> None:
    ledger.append(command())
    with pytest.raises(lk.UnknownNameError, match=f"'{session}' has no run '{run}'"):
        ledger.list_messages(session, run)


# Appended runs among the others


@pytest.mark.long
def test_an_appended_run_is_a_run_like_any_other(ledger: lk.Ledger) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100}
    call = {"call_id": "c1", "model": "claude-sonnet-4-5-20250929", "provider": "anthropic", "usage": usage}
    ledger.append(command("Round it.", visible_from=0, step=0))
    answer = {"type": "text", "text": "Done.", **MODEL}
    ledger.append(command(answer, kind="ASSISTANT_RESPONSE", actor="m", step=0, visible_from=1, call=call))
    run = ledger.run("r1")
    assert (run.session_id, run.facts["task"], run.facts["steps"]) == ("s1", "Round it.", 1)
    assert [m.kind for m in run.messages()] == ["USER_TASK", "ASSISTANT_RESPONSE"]
    step = run.replay().step(0)
    assert (step.visible["text"].to_list(), step.wrote["text"].to_list()) == (["Round it."], ["Done."])
    assert ledger.runs()["run_id"].to_list() == ["r1"]
    assert ledger.cost(by="run_id")["input_tokens"].to_list() == [1000]


def test_a_decision_is_appended_with_its_evidence(ledger: lk.Ledger) -> None:
    said = decision_summary("Round half to even.", ["task:goal"], session_id="s1", run_id="r1", actor="m")
    written = ledger.append(said)
    assert uncounted(ledger.find_by_id(written.message_id)) == written
    assert ledger.sql("select evidence_refs from parts").item().to_list() == ["task:goal"]


def test_a_ledger_opened_again_holds_what_was_appended(tmp_path: Path) -> None:
    first = lk.open(tmp_path / "l")
    written = [first.append(command(str(n))) for n in range(3)]
    first.close()
    again = lk.open(tmp_path / "l")
    assert [uncounted(m) for m in again.list_messages("s1", "r1")] == written
    assert again.append(command()).sequence_no == 3


# Several writers


def _append_many(folder: Path, writer: int, times: int) -> list[int]:
    with lk.open(folder) as ledger:
        return [ledger.append(command(f"{writer}/{n}")).sequence_no for n in range(times)]


def _append_the_same(folder: Path, keys: list[str]) -> list[str]:
    with lk.open(folder) as ledger:
        return [ledger.append(command(key, idempotency_key=key)).message_id for key in keys]


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[ProcessPoolExecutor]:
    lk.open(tmp_path / "l", key=bytes(32)).close()
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.slow
def test_writers_in_several_processes_lose_no_message_and_double_no_number(
    tmp_path: Path, writers: ProcessPoolExecutor
) -> None:
    given = list(writers.map(_append_many, [tmp_path / "l"] * 3, range(3), [5] * 3))
    assert sorted(n for numbers in given for n in numbers) == list(range(15))
    messages = lk.open(tmp_path / "l").list_messages("s1", "r1")
    assert [m.sequence_no for m in messages] == list(range(15))
    said = Counter(m.parts[0].model_dump()["text"] for m in messages)
    assert said == Counter(f"{writer}/{n}" for writer in range(3) for n in range(5))


@pytest.mark.slow
def test_writers_that_send_the_same_messages_append_each_once(tmp_path: Path, writers: ProcessPoolExecutor) -> None:
    keys = [f"key {n}" for n in range(5)]
    ids = list(writers.map(_append_the_same, [tmp_path / "l"] * 3, [keys, keys, keys]))
    assert ids[0] == ids[1] == ids[2]
    messages = lk.open(tmp_path / "l").list_messages("s1", "r1")
    assert sorted(m.idempotency_key or "" for m in messages) == keys
    assert [m.sequence_no for m in messages] == list(range(5))


@pytest.mark.long
def test_two_ledgers_on_one_folder_take_turns(tmp_path: Path) -> None:
    one, other = lk.open(tmp_path / "l", key=bytes(32)), lk.open(tmp_path / "l")
    for number in range(4):
        assert (one, other)[number % 2].append(command(str(number))).sequence_no == number
    assert one.list_messages("s1", "r1") == other.list_messages("s1", "r1")
