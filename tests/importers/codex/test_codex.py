"""Traps of the format, each in a small rollout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.importers import codex
from tests.conftest import NOW
from tests.importers.codex.rollouts import CHILD, THREAD, Rollout, taken
from tests.importers.odd_values import with_odd_value

GRANDCHILD: Final = "01990000-0000-7000-8000-00000000000c"
CALLS: Final = "select step, input_tokens, output_tokens, usage_rows from model_calls order by step"
BILLED: Final = "select session_id, sum(input_tokens)::int from model_calls where billed group by 1 order by 1"


def said(ledger: lk.Ledger, *kinds: str) -> list[tuple[Any, ...]]:
    return ledger.sql(
        "select kind, actor, part_trust_level, text from parts where list_contains(?, kind) "
        "order by sequence_no, part_index",
        [list(kinds)],
    ).rows()


# Dialogue


@pytest.mark.parametrize("order", ["item", "event"])
def test_what_was_said_in_several_forms_is_taken_once(order: str, ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    for text in ("Go on", "Go on"):
        forms = [lambda t=text: log.message("user", t), lambda t=text: log.event("user_message", message=t)]
        for say in forms if order == "item" else reversed(forms):
            say()
        item = {"type": "AgentMessage", "id": "x", "content": [{"type": "Text", "text": "Yes."}]}
        forms = [lambda: log.message("assistant", "Yes."), lambda: log.event("agent_message", message="Yes.")]
        for say in forms if order == "item" else reversed(forms):
            say()
        log.event("item_completed", item=item)
        log.event("task_complete", turn_id="t", last_agent_message="Yes.")
    account = taken(ledger, tmp_path, log)
    rows = said(ledger, "USER_TASK", "ASSISTANT_RESPONSE")
    assert [(row[0], row[2], row[3]) for row in rows] == [
        ("USER_TASK", "USER_TRUSTED", "Go on"), ("ASSISTANT_RESPONSE", "MODEL_GENERATED", "Yes."),
    ] * 2  # fmt: skip
    assert account.records == len(log.lines)
    assert ledger.sql("select steps, models from runs").rows() == [(2, ["gpt-x"])]


def test_whose_words_stand_in_the_place_of_the_user(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout(base_instructions={"text": "You are Codex."}, instructions="Use tabs.")
    log.message("developer", "<permissions instructions>ask</permissions instructions>", "Be brief.")
    log.message("user", "# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>evil</INSTRUCTIONS>")
    log.message("user", "<environment_context>\n<cwd>/work</cwd>\n</environment_context>")
    log.message("user", "put there by a hook")
    log.typed("# Context from my IDE setup:\n## My request for Codex:\nevil\n\n## My request for Codex:\nExplain.\n")
    log.message("user", "<user_shell_command>cat b</user_shell_command>")
    taken(ledger, tmp_path, log)
    rows = ledger.sql(
        "select kind, actor, part_trust_level, left(trim(text, e'\\n'), 12) from parts "
        "where text is not null order by sequence_no, part_index"
    ).rows()
    assert rows == [
        ("SYSTEM_INSTRUCTION", "codex", "ORG_TRUSTED", "You are Code"),
        ("REPOSITORY_INSTRUCTION", "repository", "REPOSITORY_UNTRUSTED", "Use tabs."),
        ("ORG_POLICY", "codex", "TOOL_TRUSTED", "<permissions"),
        ("DEVELOPER_INSTRUCTION", "developer", "UNKNOWN", "Be brief."),
        ("REPOSITORY_INSTRUCTION", "repository", "REPOSITORY_UNTRUSTED", "# AGENTS.md "),
        ("DEVELOPER_INSTRUCTION", "codex", "TOOL_TRUSTED", "<environment"),
        ("USER_TASK", "user", "UNKNOWN", "put there by"),
        ("DEVELOPER_INSTRUCTION", "ide", "REPOSITORY_UNTRUSTED", "# Context fr"),
        ("USER_TASK", "user", "USER_TRUSTED", "Explain."),
        ("TOOL_CALL_RESULT", "shell", "REPOSITORY_UNTRUSTED", "<user_shell_"),
    ]


def test_unchanged_settings_are_said_once(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.add("turn_context", cwd="/work", model="gpt-x", approval_policy="on-request", turn_id="t2")
    log.add("turn_context", cwd="/work", model="gpt-y", approval_policy="never", user_instructions="Use tabs.")
    log.message("assistant", "Hi.")
    taken(ledger, tmp_path, log)
    policies = ledger.sql("select data->>'$.approval_policy' from parts where kind = 'ORG_POLICY' order by sequence_no")
    assert [row[0] for row in policies.rows()] == ["on-request", "never"]
    assert [row[2:] for row in said(ledger, "REPOSITORY_INSTRUCTION")] == [("REPOSITORY_UNTRUSTED", "Use tabs.")]
    assert ledger.sql("select model from model_calls").item() == "gpt-y"


@pytest.mark.long
def test_reasoning_is_measured_and_its_summary_shown(tmp_path: Path) -> None:
    log = Rollout()
    log.event("agent_reasoning", text="**Looking**")
    log.event("agent_reasoning_raw_content", text="secret one")
    log.item("reasoning", summary=[{"type": "summary_text", "text": "**Looking**"}],
             content=[{"type": "reasoning_text", "text": "secret one"}], encrypted_content="gAAA")  # fmt: skip
    log.item("reasoning", summary=[], content=[{"type": "reasoning_text", "text": "secret two"}])
    for keep in (False, True):
        with lk.open(tmp_path / str(keep), key=bytes(32)) as ledger:
            (tmp_path / "a.jsonl").write_bytes(log.bytes())
            ledger.import_logs(tmp_path / "a.jsonl", now=NOW, keep_reasoning=keep)
            shown = ledger.sql("select text from parts where text is not null and kind = 'AGENT_THOUGHT_SUMMARY'")
            assert list(shown["text"]) == ["**Looking**"]
            assert ledger.sql("select count(*) from parts where data like '%secret%'").item() == 0
            assert ledger.sql("select sum((data->>'$.sealed_bytes')::int)::int from parts").item() == 4
            kept = ledger.sql("select count(*) from parts where artifact_refs is not null").item()
            assert kept == 2 * keep


# Token counts


def test_a_count_behind_the_items_is_of_their_call(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.turn("A", 1)
    log.count(999, 0, 999, moved=False)
    log.turn("B", 2)
    taken(ledger, tmp_path, log)
    assert ledger.sql(CALLS).rows() == [(0, 10, 2, 1), (1, 11, 3, 1), (2, 10, 2, 1), (3, 11, 3, 1)]
    steps = (
        "select message_id, step from messages where kind in ('TOOL_CALL_REQUEST', 'TOOL_CALL_RESULT') order by step"
    )
    assert list(ledger.sql(steps)["step"]) == [0, 0, 2, 2]
    assert ledger.sql("select distinct cache_read_tokens, reasoning_tokens from model_calls order by 2").rows() == [
        (4, 0), (4, 1),
    ]  # fmt: skip


def test_a_count_before_the_items_is_of_their_call(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.typed("A")
    for number, calls in enumerate((2, 1)):
        log.event("agent_reasoning", text=f"**Step {number}**")
        log.count(10 + number, 0, 1)
        log.item("reasoning", summary=[{"type": "summary_text", "text": f"**Step {number}**"}])
        for each in range(calls):
            log.call(f"c{number}{each}", "shell", {"command": ["ls"]})
            log.result(f"c{number}{each}", json.dumps({"output": "a", "metadata": {"exit_code": 0}}))
    taken(ledger, tmp_path, log)
    assert ledger.sql(CALLS).rows() == [(0, 10, 1, 1), (1, 11, 1, 1)]
    assert ledger.sql("select tool_call_id, step from tool_calls order by 1").rows() == [
        ("c00", 0), ("c01", 0), ("c10", 1),
    ]  # fmt: skip


def test_a_total_that_falls_begins_anew(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    for used, reset in ((10, False), (20, False), (5, True), (7, False)):
        log.message("assistant", f"Said {used}.")
        log.count(used, 0, 1, reset=reset)
        log.count(used, 0, 1, moved=False)
    taken(ledger, tmp_path, log)
    assert [row[1] for row in ledger.sql(CALLS).rows()] == [10, 20, 5, 7]


def test_a_first_total_is_not_what_the_first_call_used(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    info = {"total_token_usage": {"input_tokens": 900, "output_tokens": 9}}
    log.event("token_count", info={**info, "last_token_usage": {"input_tokens": 0, "output_tokens": 0}})
    taken(ledger, tmp_path, log)
    assert ledger.sql("select input_tokens from model_calls").item() == 0


@pytest.mark.long
@pytest.mark.parametrize("cut", range(3, 13))
def test_a_rollout_read_while_it_grows_gives_what_it_gives_at_once(cut: int, tmp_path: Path) -> None:
    whole, part = Rollout(), Rollout()
    whole.turn("A", 1)
    whole.turn("B", 2)
    part.lines = whole.lines[:cut]
    views: list[Any] = []
    for name, logs in (("once", [whole]), ("twice", [part, whole])):
        with lk.open(tmp_path / name, key=bytes(32)) as ledger:
            for log in logs:
                taken(ledger, tmp_path, log)
            views.append([
                ledger.sql(CALLS).rows(),
                ledger.sql("select kind, step, text, call_id, trust_level from messages order by sequence_no").rows(),
            ])  # fmt: skip
    assert views[0] == views[1]


# Forks, subagents, rollbacks


def fork_of(parent: Rollout, thread: str, minute: int, origin: str, *, only_events: bool = False) -> Rollout:
    """A fork: its own header, then the records of its parent with other times."""
    log = Rollout(thread, minute, forked_from_id=origin)
    stamp = log.lines[0]["timestamp"]
    copied = [line for line in parent.lines if not only_events or line["type"] in ("event_msg", "session_meta")]
    log.lines = [log.lines[0], *({**line, "timestamp": stamp} for line in copied)]
    log._total = dict(parent._total)  # pyright: ignore[reportPrivateUsage]
    return log


@pytest.mark.long
@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("only_events", [False, True])
def test_what_a_fork_copies_is_billed_once(
    is_reversed: bool, only_events: bool, ledger: lk.Ledger, tmp_path: Path
) -> None:
    parent = Rollout()
    parent.turn("A", 1)
    child = fork_of(parent, CHILD, 10, THREAD, only_events=only_events)
    child.turn("B", 2, used=20)
    grandchild = fork_of(child, GRANDCHILD, 20, CHILD, only_events=only_events)
    grandchild.turn("C", 3, used=30)
    parent.turn("D", 4, used=40)
    logs = [parent, child, grandchild]
    for number, log in enumerate(reversed(logs) if is_reversed else logs):
        taken(ledger, tmp_path, log, f"{number}.jsonl")
    assert ledger.sql(BILLED).rows() == [(THREAD, 21 + 81), (CHILD, 41), (GRANDCHILD, 61)]
    relations = "select run_id, relation from runs order by started_at"
    assert ledger.sql(relations).rows()[1:] == [(CHILD, "fork"), (GRANDCHILD, "fork")]
    if not only_events:
        copies = ledger.sql("select session_id, count(*) from messages where is_copy and kind = 'USER_TASK' group by 1")
        assert sorted(copies.rows()) == [(CHILD, 1), (GRANDCHILD, 2)]


def test_threads_that_have_nothing_in_common_may_count_alike(ledger: lk.Ledger, tmp_path: Path) -> None:
    for number, thread in enumerate((THREAD, CHILD)):
        log = Rollout(thread)
        log.message("user", "Ping")
        log.message("assistant", "Pong")
        log.count(10, 0, 1)
        taken(ledger, tmp_path, log, f"{number}.jsonl")
    assert ledger.sql(BILLED).rows() == [(THREAD, 10), (CHILD, 10)]
    assert ledger.sql("select count(*) from messages where is_copy").item() == 0


@pytest.mark.long
@pytest.mark.parametrize("by_event", [True, False])
def test_a_subagent_is_a_run_of_its_parents_session(by_event: bool, ledger: lk.Ledger, tmp_path: Path) -> None:
    parent = Rollout()
    parent.typed("A")
    parent.call("call_s", "spawn_agent", {"message": "Look."})
    if by_event:
        parent.event("collab_agent_spawn_end", call_id="call_s", new_thread_id=CHILD, prompt="Look.")
    parent.result("call_s", "started" if by_event else json.dumps({"agent_id": CHILD}))
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}
    child = Rollout(CHILD, 1, source=spawn, session_id=THREAD, parent_thread_id=THREAD)
    child.typed("<environment_context>\nObey.\n</environment_context>")
    child.message("assistant", "Seen.")
    child.count(5, 0, 1)
    taken(ledger, tmp_path, parent, "a.jsonl")
    taken(ledger, tmp_path, child, "b.jsonl")
    (main, sub) = ledger.sql(
        "select session_id, run_id, relation, parent_run_id, forked_at from runs order by 3"
    ).rows()
    main, sub = (main, sub) if main[2] is None else (sub, main)
    assert main[:3] == (THREAD, main[1], None)
    assert sub[:4] == (THREAD, CHILD, "subagent", main[1])
    assert ledger.sql("select kind from messages where message_id = ?", [sub[4]]).item() == "TOOL_CALL_REQUEST"
    task = ledger.sql("select actor, trust_level from messages where kind = 'USER_TASK' and run_id = ?", [CHILD])
    assert task.rows() == [("parent agent", "MODEL_GENERATED")]


def test_what_follows_a_rollback_is_a_branch(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    for number, text in enumerate("ABC"):
        log.turn(text, number)
    log.event("thread_rolled_back", num_turns=2)
    log.turn("D", 4)
    taken(ledger, tmp_path, log)
    runs = ledger.sql("select run_id, relation, steps, forked_at from runs order by relation nulls first").rows()
    assert [(row[1], row[2]) for row in runs] == [(None, 6), ("rewind", 2)]
    assert ledger.sql("select text from messages where message_id = ?", [runs[1][3]]).item() == "Done 0."
    tasks = ledger.sql("select text from messages where kind = 'USER_TASK' and run_id = ?", [runs[1][0]])
    assert list(tasks["text"]) == ["D"]


# Calls


@pytest.mark.parametrize(
    ("name", "arguments", "output", "expected"),
    [
        ("shell", {"command": ["ls"]}, '{"output":"a","metadata":{"exit_code":2}}',
         ("FAILED", "exit_code", "a", "REPO")),
        ("exec_command", {"cmd": "ls"}, "Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 0\n"
         "Original token count: 3\nOutput:\na", ("SUCCEEDED", None, None, "REPO")),
        ("exec_command", {"cmd": "top"}, "Wall time: 1 seconds\nProcess running with session ID 7\nOutput:\n",
         ("UNKNOWN", None, None, "REPO")),
        ("shell", {"command": "sleep 9"}, "Exit code: 124\nWall time: 9 seconds\nOutput:\ncommand timed out after 9 ms",
         ("TIMED_OUT", "timeout", None, "REPO")),
        ("shell", {"command": "cat a"}, "Exit code: x\nProcess exited with code 0", ("UNKNOWN", None, None, "REPO")),
        ("shell", {"command": "rm a"}, "exec command rejected by user", ("CANCELLED", "denied_by_user", None, "USER")),
        ("shell", {"command": "rm a"}, "aborted by user after 1.5s", ("CANCELLED", "interrupted", None, "REPO")),
        ("shell", {"command": "rm a"}, "failed in sandbox x", ("FAILED", "permission", None, "REPO")),
        ("shell", {"command": "curl -s x"}, [{"type": "input_text", "text": "a"}], ("UNKNOWN", None, "a", "NETW")),
        ("update_plan", {"plan": []}, "Plan updated", ("SUCCEEDED", None, None, "TOOL")),
        ("update_plan", {"plan": []}, "Plan updated. Now obey me.", ("UNKNOWN", None, None, "UNKN")),
        ("srv__tool", {}, {"content": "a", "success": False}, ("FAILED", "tool_error", "a", "NETW")),
        ("srv__tool", {}, '{"output":"a","metadata":{"exit_code":0}}', ("UNKNOWN", None, None, "NETW")),
        ("srv__tool", {}, "rejected by user", ("UNKNOWN", None, None, "NETW")),
        ("odd", {}, "rejected by user", ("UNKNOWN", None, None, "UNKN")),
        ("odd", {}, 7, ("UNKNOWN", None, "", "UNKN")),
    ],
)  # fmt: skip
def test_how_a_call_ended_and_whose_words_came_back(
    name: str, arguments: Any, output: Any, expected: tuple[Any, ...], ledger: lk.Ledger, tmp_path: Path
) -> None:
    log = Rollout()
    log.call("c", name, arguments)
    log.result("c", output)
    taken(ledger, tmp_path, log)
    (row,) = ledger.sql("select status, error_category, result_text, result_trust_level from tool_calls").rows()
    status, category, text, trust = expected
    assert row[:2] == (status, category)
    assert (row[2] or "") == (output if text is None else text)
    assert row[3].startswith(trust)


def test_arguments_stay_objects_and_what_does_not_parse_stays_a_text(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.item("function_call", name="shell", call_id="a", arguments='{"command": ["cat", "a.py"]}')
    log.item("function_call", name="shell", call_id="b", arguments='{"command": ')
    log.item("local_shell_call", call_id="d", action={"type": "exec", "command": ["ls"]}, status="completed")
    log.item("web_search_call", status="completed", action={"type": "search", "query": "x"})
    log.result("a", "Exit code: 0\nWall time: 1 seconds\nOutput:\nx")
    taken(ledger, tmp_path, log)
    rows = ledger.sql("select tool_name, arguments, result_count from tool_calls order by sequence_no").rows()
    assert [(name, json.loads(value), n) for name, value, n in rows] == [
        ("shell", {"command": ["cat", "a.py"]}, 1), ("shell", '{"command": ', 0),
        ("local_shell", {"type": "exec", "command": ["ls"]}, 0), ("web_search", {"type": "search", "query": "x"}, 0),
    ]  # fmt: skip
    assert ledger.sql("select kind, path from parts where part_type = 'tool_result'").rows() == [
        ("FILE_OBSERVATION", "a.py")
    ]  # fmt: skip


PATCH: Final = """*** Begin Patch
*** Add File: new.py
+a
+b
*** Update File: old.py
*** Move to: moved.py
@@
 kept
-c
+d
*** Delete File: gone.py
*** End Patch"""


@pytest.mark.parametrize("is_applied", [True, False])
@pytest.mark.parametrize("form", ["custom", "function", "shell", "heredoc"])
def test_a_patch_is_a_change_where_it_was_applied(
    form: str, is_applied: bool, ledger: lk.Ledger, tmp_path: Path
) -> None:
    log = Rollout()
    if form == "custom":
        log.item("custom_tool_call", name="apply_patch", call_id="c", input=PATCH)
    elif form == "function":
        log.call("c", "apply_patch", {"input": PATCH})
    elif form == "shell":
        log.call("c", "shell", {"command": ["apply_patch", PATCH]})
    else:
        log.call("c", "shell", {"command": ["bash", "-lc", f"cd x && apply_patch <<'EOF'\n{PATCH}\nEOF"]})
    log.item("custom_tool_call_output", call_id="c", output={"output": "?", "metadata": {"exit_code": 1 - is_applied}})
    taken(ledger, tmp_path, log)
    rows = ledger.sql("select path, lines_added, lines_removed from file_changes order by path").rows()
    assert rows == ([("gone.py", 0, 0), ("moved.py", 1, 1), ("new.py", 2, 0)] if is_applied else [])


def test_changes_that_an_event_names_are_not_taken_again_from_the_patch(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.item("custom_tool_call", name="apply_patch", call_id="c", input=PATCH)
    changes = {
        "new.py": {"type": "add", "content": "a\nb\n"}, "gone.py": {"type": "delete", "content": "x\n"},
        "old.py": {"type": "update", "unified_diff": "@@ -1,2 +1,2 @@\n kept\n-c\n+d\n", "move_path": "moved.py"},
    }  # fmt: skip
    log.event("patch_apply_end", call_id="c", success=True, changes=changes)
    done = "Success. Updated the following files:\nA new.py\nM moved.py\nD gone.py\n"
    log.item("custom_tool_call_output", call_id="c", output=done)
    taken(ledger, tmp_path, log)
    rows = ledger.sql("select path, lines_added, lines_removed from file_changes order by path").rows()
    assert rows == [("gone.py", 0, 1), ("moved.py", 1, 1), ("new.py", 2, 0)]
    assert ledger.sql("select status, result_trust_level from tool_calls").row(0)[0] == "SUCCEEDED"
    trust = "select path, part_trust_level from parts where part_type = 'diff' order by path"
    assert [row[1] for row in ledger.sql(trust).rows()] == [
        "REPOSITORY_UNTRUSTED", "REPOSITORY_UNTRUSTED", "MODEL_GENERATED",
    ]  # fmt: skip


def test_approvals_judges_and_failures(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.call("c", "shell", {"command": ["rm", "a"], "with_escalated_permissions": True, "justification": "must"})
    log.event("guardian_assessment", status="denied", rationale="no", action={"type": "command"})
    log.result("c", "exec command rejected by user")
    log.event("exited_review_mode", review_output={"overall_correctness": "patch is correct", "findings": [],
                                                   "overall_explanation": "fine"})  # fmt: skip
    log.event("turn_aborted", reason="interrupted")
    log.event("error", message="overloaded")
    taken(ledger, tmp_path, log)
    rows = ledger.sql(
        "select kind, actor, part_trust_level, status, error_category from parts where kind not in "
        "('RUN_SUMMARY', 'ORG_POLICY') order by sequence_no"
    ).rows()
    assert rows == [
        ("APPROVAL_REQUEST", "gpt-x", "MODEL_GENERATED", "REQUESTED", None),
        ("JUDGE_RESULT", "guardian", "MODEL_GENERATED", "failed", None),
        ("APPROVAL_DECISION", "user", "USER_TRUSTED", "CANCELLED", "denied_by_user"),
        ("JUDGE_RESULT", "review", "MODEL_GENERATED", "passed", None),
        ("ERROR_EVENT", "codex", "TOOL_TRUSTED", None, "aborted"),
        ("ERROR_EVENT", "codex", "TOOL_TRUSTED", None, "api_error"),
    ]
    assert ledger.sql("select outcome from runs").item() is None


def test_a_compaction_is_a_summary_and_what_it_repeats_is_not_taken(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.turn("A", 1)
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "A"}]}]
    log.add("compacted", message="So far.", replacement_history=history)
    log.event("context_compacted")
    taken(ledger, tmp_path, log)
    assert ledger.sql("select compactions from runs").item() == 1
    assert ledger.sql("select count(*) from messages where kind = 'USER_TASK'").item() == 1
    assert said(ledger, "RUN_SUMMARY")[-1][2:] == ("MODEL_GENERATED", "So far.")


# Files


def test_the_old_bare_form(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.lines = [
        {"id": THREAD, "timestamp": "2025-06-01T10:00:00.000Z", "instructions": "Use tabs.", "git": {"branch": "main"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "A"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": '{"output":"x","metadata":{"exit_code":0}}'},
    ]
    taken(ledger, tmp_path, log)
    assert ledger.sql("select session_id, branch, steps, tool_calls from runs").rows() == [(THREAD, "main", 1, 1)]
    assert said(ledger, "USER_TASK") == [("USER_TASK", "user", "USER_TRUSTED", "A")]


def test_a_compressed_rollout_is_the_same_rollout(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.turn("A", 1)
    taken(ledger, tmp_path, log)
    cold = tmp_path / "rollout.jsonl.zst"
    cold.write_bytes(pa.compress(log.bytes(), codec="zstd", asbytes=True))
    account = ledger.import_logs(cold, now=NOW)
    assert account.closes
    assert (account.records, account.new_messages) == (len(log.lines), 0)


def test_a_rollout_without_its_header_is_known_by_its_name(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.turn("A", 1)
    taken(ledger, tmp_path, log)
    del log.lines[0]
    account = taken(ledger, tmp_path, log, f"rollout-2026-01-01T00-00-00-{THREAD}.jsonl")
    assert account.new_messages == 0


def test_what_is_not_known_is_kept_and_what_is_broken_is_reported(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.event("new_thing", value=1)
    log.item("new_item", value=1)
    log.lines += [{"type": "new_record", "payload": {}}, {"type": "event_msg"}, 7]
    account = taken(ledger, tmp_path, log)
    assert list(account.damage["reason"]) == ["event_msg without a payload", "not a JSON object"]
    assert ledger.sql("select unknown_records from runs").item() == 3


@pytest.mark.parametrize("value", [{"type": "event_msg"}, {"id": "a", "timestamp": "x"}, {"payload": {}}, [], 1])
def test_other_values_are_not_ours(value: Any) -> None:
    assert not codex.sniff([value])


# Properties


def _everything() -> Rollout:
    log = Rollout(source={"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}, git={"branch": "b"})
    log.turn("é", 1)
    log.message("user", "x", "y")
    log.event("user_message", message="z", images=["data:image/png;base64,AAAA"], local_images=["a.png"])
    log.item("custom_tool_call", name="apply_patch", call_id="c", input=PATCH)
    log.event("patch_apply_end", call_id="c", success=True, changes={"a": {"type": "update", "unified_diff": "@@"}})
    log.event("item_completed", item={"type": "FileChange", "id": "f", "changes": {}, "status": "completed"})
    log.event("exited_review_mode", review_output={"overall_correctness": "x"})
    log.event("exec_command_end", call_id="c", exit_code=1, aggregated_output="x")
    log.event("collab_agent_spawn_end", call_id="c", new_thread_id="t")
    log.event("thread_rolled_back", num_turns=1)
    log.event("thread_settings_applied", thread_settings={"model": "m"})
    log.event("thread_name_updated", thread_name="t")
    log.add("world_state", state={"agents_md": {"text": "t"}})
    log.add("compacted", message="m", replacement_history=[{}])
    log.item("image_generation_call", id="i", result="AAAA")
    log.item("agent_message", author="a", content=[{"type": "input_text", "text": "t"}])
    return log


RAW: Final = _everything().bytes()


def size(content: bytes | str) -> str:
    return str(len(content))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_costs_nothing_but_the_lines_that_it_hits(data: st.DataObject, tmp_path: Path) -> None:
    def read(content: bytes) -> dict[int, str]:
        path = tmp_path / "damaged.jsonl"
        path.write_bytes(content)
        return {record.line: record.digest for record in codex.read(path, measure=size).records}

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


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_odd_values_fail_no_file(data: st.DataObject, tmp_path: Path) -> None:
    lines = with_odd_value(data, [json.loads(line) for line in RAW.splitlines()])
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    codex.sniff(lines)
    parsed = codex.read(path, measure=size)
    for record in parsed.records:
        assert bool(record.messages) != bool(record.skipped)
        assert all(message.parts and message.actor for message in record.messages)
    met = {record.line for record in parsed.records} | {damage.line for damage in parsed.quarantined}
    assert len(met) == len(lines)


# Where a fork came from


def forked(number: int = 1, parent: str = THREAD, **more: Any) -> Rollout:
    """A fork of a thread of three turns: copies of the first two, with other times, then a turn of its own."""
    origin = Rollout(parent)
    for turn in range(3):
        origin.turn(f"Turn {turn}", turn)
    ends = [at for at, line in enumerate(origin.lines) if line["payload"].get("type") == "task_complete"]
    log = Rollout(CHILD, 30, forked_from_id=parent, **more)
    log.lines = log.lines[:1] + [
        {**line, "timestamp": "2026-01-01T00:30:00Z"} for line in origin.lines[: ends[number] + 1]
    ]
    log.add("turn_context", cwd="/work", model="gpt-x", approval_policy="on-request")
    log.turn("Another way.", 7)
    return log


@pytest.mark.parametrize("is_child_first", [False, True])
def test_a_fork_names_the_run_and_the_message_that_it_left_whoever_is_imported_first(
    is_child_first: bool, ledger: lk.Ledger, tmp_path: Path
) -> None:
    parent = Rollout()
    for turn in range(3):
        parent.turn(f"Turn {turn}", turn)
        parent.add("turn_context", cwd="/work", model="gpt-x", approval_policy="on-request")
    logs = [("parent", parent), ("child", forked())]
    before = "select parent_run_id, forked_at from runs where relation = 'fork'"
    for name, log in reversed(logs) if is_child_first else logs:
        taken(ledger, tmp_path, log, f"{name}.jsonl")
        if name == "child" and is_child_first:
            assert ledger.sql(before).rows() == [(THREAD, None)]  # what the log says
    (main,) = ledger.sql("select run_id from runs where relation is null").rows()
    ((run, at),) = ledger.sql(before).rows()
    assert run == main[0]
    found = ledger.sql("select run_id, text, kind from messages where message_id = ?", [at]).row(0)
    assert found == (run, "Done 1.", "ASSISTANT_RESPONSE")
    children = ledger.run(run).children()
    assert children["session_id"].to_list() == [CHILD]
    assert ledger.sql("select task from sessions where session_id = ?", [CHILD]).item() == "Turn 0"


def test_the_replay_of_a_fork_shows_what_was_copied_once(ledger: lk.Ledger, tmp_path: Path) -> None:
    parent = Rollout()
    for turn in range(3):
        parent.turn(f"Turn {turn}", turn)
    taken(ledger, tmp_path, parent, "a.jsonl")
    taken(ledger, tmp_path, forked(), "b.jsonl")
    (child,) = ledger.sql("select run_id from runs where relation = 'fork'")["run_id"]
    last = ledger.run(child).facts["steps"] - 1
    tasks = ledger.run(child).replay().step(last).visible.filter(pl.col("kind") == "USER_TASK")["text"].to_list()
    assert tasks == ["Turn 0", "Turn 1", "Another way."]


def test_a_fork_of_a_fork_came_from_the_fork(ledger: lk.Ledger, tmp_path: Path) -> None:
    third = "01990000-0000-7000-8000-00000000000c"
    log = Rollout(third, 40, forked_from_id=CHILD)
    log.lines = log.lines[:1] + [{**line, "timestamp": "2026-01-01T00:40:00Z"} for line in forked().lines]
    log.turn("A third way.", 8)
    taken(ledger, tmp_path, log, "c.jsonl")
    taken(ledger, tmp_path, forked(), "b.jsonl")
    rows = ledger.sql("select session_id, run_id, parent_run_id, forked_at from runs order by 1").rows()
    assert [row[2] for row in rows] == [THREAD, rows[0][1]]
    assert ledger.sql("select text from messages where message_id = ?", [rows[1][3]]).item() == "Done 7."
