"""Sessions of pi in the ledger: real files against independent values, and one test for each trap."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.importers import pi
from ledgerkit.importers.conformance import check_format
from ledgerkit.importers.registry import FORMATS, recognise
from tests.conftest import NOW, corpus_values

FILES = sorted(name for name, values in corpus_values()["files"].items() if values["format"] == "pi")
SESSION: Final = "11111111-2222-4333-8444-555555555555"
OTHER: Final = "11111111-2222-4333-8444-666666666666"


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}.000Z"


def header(session: str = SESSION, **more: Any) -> dict[str, Any]:
    return {"type": "session", "id": session, "timestamp": at(0), "cwd": "/work", **more}


class Tree:
    """Entries that follow each other, each a second after the one before."""

    def __init__(self, **head: Any) -> None:
        self.lines: list[Any] = [header(version=3, **head)]
        self.tip: str | None = None

    def add(self, kind: str, **fields: Any) -> str:
        name = f"{len(self.lines):08x}"
        entry = {"type": kind, "id": name, "parentId": self.tip, "timestamp": at(len(self.lines))}
        self.lines.append({**entry, **fields})
        self.tip = name
        return name

    def user(self, content: Any, **more: Any) -> str:
        return self.add("message", message={"role": "user", "content": content, "timestamp": 1, **more})

    def answer(self, *content: Any, used: tuple[int, int] = (10, 2), **more: Any) -> str:
        usage = {"input": used[0], "output": used[1], "cacheRead": 100, "cacheWrite": 20, "cost": {"total": 0.125}}
        said = {"role": "assistant", "content": list(content), "provider": "anthropic", "model": "m", "usage": usage}
        return self.add("message", message={**said, "stopReason": "stop", **more})

    def result(self, call: str, tool: str, text: str, **more: Any) -> str:
        said = {"role": "toolResult", "toolCallId": call, "toolName": tool, "content": [{"type": "text", "text": text}]}
        return self.add("message", message={**said, "isError": False, **more})


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(name: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": name, "name": tool, "arguments": arguments}


def taken(ledger: lk.Ledger, tmp_path: Path, lines: list[Any], name: str = "session.jsonl") -> lk.ImportAccount:
    path = tmp_path / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    return account


# Real files


@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
def test_a_real_file_gives_the_independent_counts(name: str, corpus: Path, ledger: lk.Ledger) -> None:
    expected = corpus_values()["files"][name]
    account = ledger.import_logs(corpus / name, now=NOW)
    assert account.closes
    assert (account.records, account.accepted) == (expected["records"], expected["records"])
    types, roles = Counter[str](), Counter[str]()
    for row in account.details.to_dicts():
        kind, _, role = str(row["record_type"]).partition("/")
        types[kind] += row["count"]
        roles[role] += row["count"] if role else 0
    assert dict(types) == expected["line_types"]
    assert +roles == expected["roles"]
    calls = ledger.sql(
        "select count(*), count(*) filter (result_count = 0), "
        "count(*) filter (status in ('FAILED', 'CANCELLED')) from tool_calls"
    )
    assert calls.rows() == [(expected["tool_calls"], expected["calls_without_result"], expected["errors"])]
    (figures,) = ledger.sql(
        "select count(*), sum(input_tokens), sum(cache_read_tokens), sum(cache_write_5m_tokens), sum(output_tokens), "
        "sum(reported_cost)::double from model_calls"
    ).rows()
    used = expected["usage_sum"]
    assert figures[0] == expected["roles"]["assistant"]
    assert figures[1] == used["input"] + used["cacheRead"] + used["cacheWrite"]
    assert figures[2:5] == (used["cacheRead"], used["cacheWrite"], used["output"])
    assert figures[1] + figures[4] == used["totalTokens"]
    assert figures[5] == pytest.approx(expected["cost_total"], abs=1e-6)
    compactions = ledger.sql("select sum(compactions)::int from runs").item()
    assert compactions == expected["line_types"]["compaction"]
    assert ledger.import_logs(corpus / name, now=NOW).new_messages == 0


def test_real_files_conform(corpus: Path) -> None:
    log_format = next(each for each in FORMATS if each.name == pi.NAME)
    check_format(log_format, [corpus / name for name in FILES], cuts=4)


def test_no_other_format_of_the_corpus_is_taken_for_a_session(corpus: Path) -> None:
    own = {corpus / name for name in FILES}
    for path in corpus.rglob("*.json*"):
        if path.is_file() and path not in own and "claude-code" not in path.parts:
            found = recognise(path)
            assert found is None or found.name != pi.NAME, path


# Traps


def test_a_session_of_the_second_generation(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Tree(parentSession="/sessions/old.jsonl")
    log.add("model_change", provider="anthropic", modelId="m")
    log.user([words("Change a.py")])
    log.answer({"type": "thinking", "thinking": "secret", "thinkingSignature": "abcd"}, words("I edit."),
               call("c1", "edit", path="a.py"), call("c2", "bash", command="ls"), call("c3", "odd"))  # fmt: skip
    diff = "  1 x\n- 2 y\n+ 2 z"
    log.result("c1", "edit", "Successfully replaced text in a.py. Changed 1 characters.", details={"diff": diff})
    log.result("c2", "bash", "Command aborted", isError=True)
    log.result("c3", "odd", "?")
    log.answer(stopReason="error", errorMessage="overloaded", used=(0, 0))
    log.add("session_info", name="Edits")
    taken(ledger, tmp_path, log.lines)
    rows = ledger.sql(
        "select kind, part_trust_level, part_visibility from parts order by sequence_no, part_index"
    ).rows()
    assert rows == [
        ("RUN_SUMMARY", "TOOL_TRUSTED", "AUDIT_ONLY"), ("RUN_SUMMARY", "USER_TRUSTED", "AUDIT_ONLY"),
        ("USER_TASK", "USER_TRUSTED", "MODEL_VISIBLE"),
        ("AGENT_THOUGHT_SUMMARY", "MODEL_GENERATED", "AUDIT_ONLY"),
        ("ASSISTANT_RESPONSE", "MODEL_GENERATED", "MODEL_VISIBLE"),
        *[("TOOL_CALL_REQUEST", "MODEL_GENERATED", "MODEL_VISIBLE")] * 3,
        ("DIFF_OBSERVATION", "TOOL_TRUSTED", "MODEL_VISIBLE"),
        ("DIFF_OBSERVATION", "REPOSITORY_UNTRUSTED", "HUMAN_VISIBLE"),
        ("TOOL_CALL_RESULT", "REPOSITORY_UNTRUSTED", "MODEL_VISIBLE"),
        ("TOOL_CALL_RESULT", "UNKNOWN", "MODEL_VISIBLE"), ("ERROR_EVENT", "TOOL_TRUSTED", "HUMAN_VISIBLE"),
        ("RUN_SUMMARY", "USER_TRUSTED", "HUMAN_VISIBLE"),
    ]  # fmt: skip
    calls = ledger.sql("select tool_call_id, status, error_category, path, step from tool_calls order by 1").rows()
    assert calls == [
        ("c1", "SUCCEEDED", None, "a.py", 0), ("c2", "CANCELLED", "interrupted", None, 0),
        ("c3", "SUCCEEDED", None, None, 0),
    ]  # fmt: skip
    assert ledger.sql("select path, lines_added, lines_removed from file_changes").rows() == [("a.py", 1, 1)]
    usage = "select input_tokens, output_tokens, reported_cost::double, provider from model_calls order by step"
    assert ledger.sql(usage).rows()[0] == (130, 2, 0.125, "anthropic")
    assert ledger.sql("select title, working_directory, steps from runs").rows() == [("Edits", "/work", 2)]
    assert ledger.sql("select count(*) from parts where text like '%secret%' or data like '%secret%'").item() == 0


def test_a_branch_of_the_tree_is_a_run_of_its_own(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Tree()
    log.user("A")
    fork = log.answer(words("a"))
    log.user("B")
    log.answer(words("b"))
    log.tip = fork
    log.add("branch_summary", fromId=fork, summary="B was tried")
    log.user("C")
    log.answer(words("c"))
    taken(ledger, tmp_path, log.lines)
    runs = ledger.sql("select run_id, relation, steps, parent_run_id from runs order by relation nulls first").rows()
    assert [(relation, steps) for _, relation, steps, _ in runs] == [(None, 2), ("rewind", 1)]
    texts = ledger.sql(
        "select text from parts where run_id = ? and text is not null order by sequence_no", [runs[1][0]]
    )
    assert list(texts["text"]) == ["B was tried", "C", "c"]


def test_bookkeeping_at_the_head_of_a_branch_does_not_hide_it(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Tree()
    log.user("A")
    fork = log.answer(words("a"))
    log.user("B")
    log.tip = fork
    log.add("model_change", provider="anthropic", modelId="m2")
    log.user("C")
    log.tip = None
    log.add("thinking_level_change", thinkingLevel="high")
    log.user("D")
    taken(ledger, tmp_path, log.lines)
    assert ledger.sql("select relation, count(*) from runs group by all order by 1 nulls first").rows() == [
        (None, 1), ("rewind", 2)
    ]  # fmt: skip


def test_entries_copied_into_a_new_session_are_copies(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Tree()
    log.user("A")
    log.answer(words("a"))
    taken(ledger, tmp_path, log.lines, "a.jsonl")
    forked = [header(OTHER, branchedFrom="/a.jsonl"), *log.lines[1:]]
    log.lines = forked
    log.user("B")
    log.answer(words("b"))
    taken(ledger, tmp_path, log.lines, "b.jsonl")
    billed = "select session_id, sum(input_tokens)::int from model_calls where billed group by 1 order by 1"
    assert ledger.sql(billed).rows() == [(SESSION, 130), (OTHER, 130)]
    assert ledger.sql("select count(*) from messages where is_copy").item() == 2


@pytest.mark.long
@pytest.mark.parametrize("is_child_first", [False, True])
@pytest.mark.parametrize("field", ["branchedFrom", "parentSession"])
def test_a_branched_session_names_where_it_came_from_whoever_is_imported_first(
    field: str, is_child_first: bool, ledger: lk.Ledger, tmp_path: Path
) -> None:
    log = Tree()
    log.user("A")
    log.answer(words("a"))
    log.user("B")
    fork = log.answer(words("b"))
    parent = list(log.lines)
    log.tip = parent[2]["id"]
    log.user("C")  # a rewind of the parent, from which the other session was branched off
    log.answer(words("c"))
    whole, branch = list(log.lines), [*log.lines[1:3], *log.lines[5:]]
    assert fork
    log.lines = [header(OTHER, version=3, **{field: f"/sessions/2026-01-01T00-00-00-000Z_{SESSION.upper()}.jsonl"})]
    log.lines += branch
    log.user("D")
    files = [("a.jsonl", whole), ("b.jsonl", log.lines)]
    for name, lines in reversed(files) if is_child_first else files:
        taken(ledger, tmp_path, lines, name)
    runs = {(r["session_id"], r["relation"]): r for r in ledger.sql("from runs").to_dicts()}
    child = runs[OTHER, "fork"]
    assert child["parent_run_id"] == runs[SESSION, "rewind"]["run_id"]
    assert ledger.sql("select text from messages where message_id = ?", [child["forked_at"]]).item() == "c"


def test_a_file_that_was_migrated_adds_nothing(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Tree()
    log.user("A")
    log.answer(words("a"))
    log.add("compaction", summary="so far", firstKeptEntryId="00000001", tokensBefore=5)
    old = [{k: v for k, v in line.items() if k not in ("id", "parentId", "firstKeptEntryId")} for line in log.lines[1:]]
    old[-1]["firstKeptEntryIndex"] = 1
    taken(ledger, tmp_path, [header(), *old])
    assert taken(ledger, tmp_path, log.lines).new_messages == 0
    assert ledger.sql("select compactions from runs").item() == 1


def test_a_grown_session_adds_its_new_entries(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Tree()
    log.user("A")
    taken(ledger, tmp_path, log.lines)
    log.answer(words("a"))
    assert taken(ledger, tmp_path, log.lines).new_messages == 1


def test_whose_words_stand_in_a_prompt(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Tree()
    log.user('<file name="a.py">\nevil </file> still evil\n</file>\nExplain.')
    log.user("<skill name=x>Do as I say.</skill>")
    log.user("no <file name=x> at all")
    log.add("custom_message", customType="ext", content="injected", display=False)
    log.add("message", message={"role": "bashExecution", "command": "cat b", "output": "evil", "exitCode": 0,
                                "excludeFromContext": True})  # fmt: skip
    taken(ledger, tmp_path, log.lines)
    rows = ledger.sql(
        "select kind, part_trust_level, text, part_visibility from parts where kind <> 'RUN_SUMMARY' "
        "order by sequence_no, part_index"
    ).rows()
    assert [(kind, trust.split("_")[0], text.strip()[:9]) for kind, trust, text, _ in rows] == [
        ("FILE_OBSERVATION", "REPOSITORY", "<file nam"), ("USER_TASK", "USER", "Explain."),
        ("REPOSITORY_INSTRUCTION", "REPOSITORY", "<skill na"), ("USER_TASK", "USER", "no <file "),
        ("DEVELOPER_INSTRUCTION", "UNKNOWN", "injected"), ("TOOL_CALL_RESULT", "USER", "cat b"),
        ("TOOL_CALL_RESULT", "REPOSITORY", "evil"),
    ]  # fmt: skip
    assert {row[3] for row in rows[-2:]} == {"HUMAN_VISIBLE"}


def test_what_is_not_known_is_kept_and_what_is_broken_is_reported(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Tree()
    log.user("A")
    log.add("new_thing", value=1)
    log.add("message", message={"role": "oracle", "content": "?"})
    log.add("message", message="broken")
    log.lines.append(7)
    account = taken(ledger, tmp_path, log.lines)
    assert [row["reason"] for row in account.damage.to_dicts()] == [
        "message entry without a message",
        "not a JSON object",
    ]
    assert ledger.sql("select count(*) from parts where error_category = 'unknown_record'").item() == 2


@pytest.mark.long
def test_reasoning_is_kept_only_where_it_is_asked_for(tmp_path: Path) -> None:
    log = Tree()
    log.user("A")
    log.answer({"type": "thinking", "thinking": "secret"})
    for keep in (False, True):
        with lk.open(tmp_path / str(keep), key=bytes(32)) as ledger:
            (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log.lines))
            ledger.import_logs(tmp_path / "a.jsonl", now=NOW, keep_reasoning=keep)
            assert ledger.sql("select count(*) from parts where artifact_refs is not null").item() == int(keep)


@pytest.mark.parametrize(
    "value", [{"type": "session", "id": "s1", "timestamp": "x", "cwd": "/"}, {"type": "session", "id": SESSION}, []]
)
def test_other_headers_are_not_ours(value: Any) -> None:
    assert not pi.sniff([value])


def _raw() -> bytes:
    log = Tree()
    for number in range(4):
        log.user(f"é {number}")
        log.answer(call(f"c{number}", "bash", command="ls"))
        log.result(f"c{number}", "bash", "a")
    return b"".join(json.dumps(line).encode() + b"\n" for line in log.lines)


RAW: Final = _raw()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_costs_nothing_but_the_lines_that_it_hits(data: st.DataObject, tmp_path: Path) -> None:
    def read(content: bytes) -> dict[int, str]:
        path = tmp_path / "damaged.jsonl"
        path.write_bytes(content)
        return {record.line: record.digest for record in pi.read(path, measure=lambda each: str(len(each))).records}

    whole = read(RAW)
    end = data.draw(st.integers(1, len(RAW)))
    where = data.draw(st.integers(0, end - 1))
    damaged = bytearray(RAW[:end])
    if damaged[where] != 0x0A:
        damaged[where] = data.draw(st.integers(0, 255).filter(lambda byte: byte != 0x0A))
    after = read(bytes(damaged))
    touched = {RAW[:where].count(b"\n") + 1, RAW[:end].count(b"\n") + 1}
    for line, digest in whole.items():
        if line not in touched and line <= RAW[:end].count(b"\n"):
            assert after[line] == digest
