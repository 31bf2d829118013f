"""From parts to verifier results: calls joined with their results, exit codes where they are recorded."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from ledgerkit.extract.verifiers import EXTRACTOR_VERSION, VERIFIER_SCHEMA, verifier_frame

SCHEMA = {
    **dict.fromkeys(("session_id", "run_id", "message_id", "part_type", "text", "data", "tool_call_id"), pl.String),
    **dict.fromkeys(("tool_name", "status", "error_category", "part_visibility"), pl.String),
    "sequence_no": pl.Int64,
    "part_index": pl.Int32,
    "step": pl.Int32,
}


def parts(*calls: tuple[object, str, dict[str, Any]]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for number, (arguments, text, result) in enumerate(calls):
        same = {"session_id": "s", "run_id": "r", "tool_call_id": f"c{number}", "part_index": 0, "tool_name": "Bash"}
        call = {"part_type": "tool_call", "data": json.dumps(arguments), "status": "REQUESTED"}
        answer = {"part_type": "tool_result", "text": text, "status": "SUCCEEDED"}
        rows.append({**same, **call, "sequence_no": 2 * number, "message_id": f"m{2 * number}"})
        rows.append({**same, **answer, "sequence_no": 2 * number + 1, "message_id": f"m{2 * number + 1}"} | result)
    return pl.DataFrame(rows, schema=SCHEMA)


def verdicts(frame: pl.DataFrame) -> list[str]:
    return verifier_frame(frame)["verdict"].to_list()


def test_one_row_for_each_check_of_a_call() -> None:
    found = verifier_frame(
        parts(
            ({"command": "ls"}, "a", {}),
            ({"command": "ruff check . && pytest tests"}, "All checks passed!\n3 passed in 0.1s", {}),
        )
    )
    assert found.schema == pl.Schema(VERIFIER_SCHEMA)
    assert found.select(
        "sequence_no", "message_id", "tool_call_id", "kind", "tool", "targets", "verdict", "passed"
    ).rows() == [
        (3, "m3", "c1", "lint", "ruff", ".", "passed", None),
        (3, "m3", "c1", "test", "pytest", "tests", "passed", 3),
    ]
    assert set(found["source"]) == {"parsed"}
    assert set(found["extractor_version"]) == {EXTRACTOR_VERSION}


def test_names_and_error_lines_are_lists() -> None:
    text = "Exit code 1\ntest_a.py:2: in f\nE   ValueError: no\nFAILED test_a.py::f - no\n1 failed in 0.1s"
    found = verifier_frame(parts(({"command": "pytest"}, text, {"status": "FAILED", "error_category": "exit_code"})))
    assert found.select("verdict", "failed", "failing", "error_lines").row(0) == (
        "failed", 1, ["test_a.py::f"], [{"path": "test_a.py", "line": 2, "message": "ValueError: no"}],
    )  # fmt: skip


def test_the_exit_code_is_found_where_it_was_recorded() -> None:
    other = {"tool_name": "shell"}
    frame = parts(
        ({"command": "tsc"}, "", other | {"data": '{"exit_code":0}'}),
        ({"command": "tsc"}, "", other | {"data": '{"metadata":{"exit_code":0}}'}),
        ({"command": "tsc"}, "Exit code: 0\nWall time: 1 seconds\nOutput:\n", other),
        ({"command": "tsc"}, "Process exited with code 0\n", other),
        ({"command": "tsc"}, "", {}),
        ({"command": "tsc"}, "", other),
        ({"command": "tsc"}, "Exit code 2\n", {"status": "FAILED"}),
        ({"command": "tsc"}, "no", {"status": "FAILED"}),
    )
    assert verdicts(frame) == [*["passed"] * 5, "inconclusive", "failed", "inconclusive"]


def test_what_did_not_run_to_its_end_is_inconclusive() -> None:
    says = "3 passed in 0.1s"
    frame = parts(
        ({"command": "pytest"}, "Command running in background with ID: x", {"data": '{"backgroundTaskId":"x"}'}),
        ({"command": "pytest"}, says, {"data": '{"backgroundTaskId":"x"}', "status": "CANCELLED"}),
        (
            {"command": "pytest"},
            "The user doesn't want to proceed",
            {"status": "CANCELLED", "error_category": "denied_by_user"},
        ),
        ({"command": "pytest"}, "Command timed out after 2m", {"status": "FAILED", "error_category": "timeout"}),
        ({"command": "pytest"}, says, {"status": "TIMED_OUT"}),
        ({"command": "pytest"}, "", {"tool_name": "shell"}),
    )
    assert verdicts(frame) == ["inconclusive"] * 6


def test_a_command_may_be_a_list_of_words_or_have_another_name() -> None:
    frame = parts(
        ({"command": ["bash", "-lc", "cd a && pytest | tail"]}, "1 failed in 0.1s", {}),
        ({"command": ["pytest", "a b"]}, "1 passed in 0.1s", {}),
        ({"cmd": "pytest -q"}, "1 passed in 0.1s", {}),
    )
    found = verifier_frame(frame)
    assert found["targets"].to_list() == ["", "a b", ""]
    assert found["verdict"].to_list() == ["failed", "passed", "passed"]


def test_calls_without_a_result_and_frames_without_calls_give_no_rows() -> None:
    frame = parts(({"command": "pytest"}, "1 passed in 0.1s", {}))
    assert verifier_frame(frame.filter(pl.col("part_type") == "tool_call")).is_empty()
    assert verifier_frame(frame.clear()).schema == pl.Schema(VERIFIER_SCHEMA)


def test_the_same_text_is_read_once() -> None:
    call: tuple[object, str, dict[str, Any]] = ({"command": "pytest"}, "1 passed in 0.1s", {})
    assert verdicts(parts(*[call] * 200)) == ["passed"] * 200
