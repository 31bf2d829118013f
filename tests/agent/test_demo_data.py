"""The committed demo runs hold what their truth says."""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledgerkit import tokens
from ledgerkit.agent.dead_keys import dead_key
from ledgerkit.agent.usage import FRAMING
from ledgerkit.protocol.messages import AgentMessage, parse_message
from ledgerkit.protocol.vocabulary import TrustLevel
from tests.conftest import ROOT

DATA = ROOT / "data"
LIMIT = 3_000_000
EVERY_SEED_HAS = {
    "approval_denied", "approval_granted", "compaction", "failed_edit", "follow_up", "injected_note_obeyed",
    "injected_note_read", "long_log", "lost_result", "queued_prompt", "secret_shown", "subagent", "unsupported_claim",
}  # fmt: skip

Record = dict[str, Any]


def truths(seed: int) -> list[Record]:
    return [run for run in json.loads((DATA / "TRUTH.json").read_text("utf-8"))["runs"] if run["seed"] == seed]


def claude_files() -> list[Path]:
    return sorted(DATA.glob("claude-code/*/*.jsonl"))


def records(path: Path) -> list[Record]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def own_files() -> Iterator[tuple[Record, list[Record]]]:
    for truth in truths(2):
        yield truth, records(DATA / "ledgerkit" / f"{truth['session_id']}.jsonl.gz")


def messages_of(lines: list[Record]) -> list[AgentMessage]:
    return [parse_message(line["message"]) for line in lines if line["type"] == "message"]


def calls_of(lines: list[Record]) -> dict[str, Record]:
    """The last usage of each model call of a Claude Code file."""
    usages: dict[str, Record] = {}
    for line in lines:
        if line["type"] == "assistant":
            usages[line["message"]["id"]] = line["message"]["usage"]
    return usages


def blocks_of(line: Record) -> list[Record]:
    content: list[Record] | str = line.get("message", {}).get("content", "")
    return [] if isinstance(content, str) else content


def twin_of(line: Record) -> Record:
    twin: Record | str = line.get("toolUseResult", "")
    return {} if isinstance(twin, str) else twin


def test_the_demo_runs_are_forty_eight_and_small() -> None:
    assert len(claude_files()) == len(list(DATA.glob("ledgerkit/*.jsonl.gz"))) == 24
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) <= LIMIT


@pytest.mark.parametrize("seed", [1, 2])
def test_each_seed_has_eight_tasks_three_configurations_and_every_planted_feature(seed: int) -> None:
    runs = truths(seed)
    assert len({(run["task_id"], run["configuration"]) for run in runs}) == len(runs) == 24
    assert set().union(*(run["features"] for run in runs)) >= EVERY_SEED_HAS
    assert {run["outcome"] for run in runs} == {"passed", "failed"}
    assert any(run["claim"] == "not_done" and run["outcome"] == "failed" for run in runs)
    false = [run for run in runs if run["claim"] == "all_tests_pass" and run["suite"] == "failed"]
    assert false
    assert all(not run["claim_is_supported"] for run in false)


def test_the_outcome_of_every_run_is_what_was_planned() -> None:
    for run in truths(1) + truths(2):
        assert (run["outcome"] == "passed") == (run["planned_solution"] == "right"), run


def test_lines_of_a_claude_code_file_form_a_chain() -> None:
    for path in claude_files():
        lines = records(path)
        known: set[str | None] = {None}
        for line in lines:
            if "uuid" in line:
                assert line["parentUuid"] in known, (path.name, line["uuid"])
                known.add(line["uuid"])
            assert line.get("sessionId", path.stem) == path.stem
        assert [line["uuid"] for line in lines if line.get("parentUuid", "") is None][1:] == [
            line["uuid"] for line in lines if line.get("subtype") == "compact_boundary"
        ]


def test_the_last_usage_of_each_call_sums_to_the_truth() -> None:
    for truth in truths(1):
        (path,) = DATA.glob(f"claude-code/*/{truth['session_id']}.jsonl")
        usages = list(calls_of(records(path)).values())
        for side in path.with_suffix("").glob("subagents/agent-acompact-*.jsonl"):
            usages += calls_of(records(side)).values()
        inputs = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        assert len(usages) == truth["steps"]
        assert sum(usage[name] for usage in usages for name in inputs) == truth["input_tokens"]
        assert sum(usage["output_tokens"] for usage in usages) == truth["output_tokens"]


def test_early_lines_of_a_call_show_partial_output() -> None:
    shown: dict[str, list[int]] = defaultdict(list)
    for path in claude_files():
        for line in records(path):
            if line["type"] == "assistant":
                shown[line["message"]["id"]].append(line["message"]["usage"]["output_tokens"])
    repeated = [counts for counts in shown.values() if len(counts) > 1]
    assert len(repeated) > 50
    assert all(max(counts) == counts[-1] for counts in repeated)
    assert sum(counts[0] < counts[-1] for counts in repeated) > len(repeated) / 2


def test_only_lost_calls_have_no_result() -> None:
    for truth in truths(1):
        (path,) = DATA.glob(f"claude-code/*/{truth['session_id']}.jsonl")
        blocks = [block for line in records(path) for block in blocks_of(line)]
        asked = {block["id"] for block in blocks if block["type"] == "tool_use"}
        answered = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        assert answered <= asked
        assert bool(asked - answered) == ("lost_result" in truth["features"])


def test_results_stand_between_the_parallel_calls_of_one_answer() -> None:
    interrupted = 0
    for path in claude_files():
        order = [line["message"].get("id") for line in records(path) if line["type"] in ("assistant", "user")]
        interrupted += sum(a == c and b is None for a, b, c in zip(order, order[1:], order[2:], strict=False) if a)
    assert interrupted > 10


def test_a_subagent_is_named_by_the_result_of_its_call() -> None:
    for path in claude_files():
        named = {twin["agentId"] for line in records(path) if "agentId" in (twin := twin_of(line))}
        sides = list(path.with_suffix("").glob("subagents/agent-a??????.jsonl"))
        assert {side.stem.removeprefix("agent-") for side in sides} == named
        for side in sides:
            assert all(line["isSidechain"] and line["sessionId"] == path.stem for line in records(side))


@pytest.mark.parametrize("seed", [1, 2])
def test_the_dead_key_stands_where_the_truth_says_and_nowhere_else(seed: int) -> None:
    secret = dead_key(seed).secret_access_key
    for truth in truths(seed):
        found = [p for p in DATA.rglob(f"{truth['session_id']}*") if p.is_file()]
        whole = "".join(json.dumps(record) for path in found for record in records(path))
        assert (secret in whole) == ("secret_shown" in truth["features"]), truth


def test_no_key_stands_in_the_source() -> None:
    for path in (ROOT / "ledgerkit" / "agent").rglob("*"):
        if path.suffix in {".py", ".txt"}:
            assert not re.search(r"AKIA[A-Z2-7]{16}", path.read_text("utf-8")), path


@pytest.mark.parametrize("seed", [1, 2])
def test_the_long_log_is_whole_though_the_model_saw_its_head(seed: int) -> None:
    (truth,) = [run for run in truths(seed) if "long_log" in run["features"]]
    found = [p for p in DATA.rglob(f"{truth['session_id']}*") if p.is_file()]
    lines = [line for path in found for line in records(path)]
    if seed == 1:
        outputs = [str(twin_of(line).get("stdout", "")) for line in lines]
        (whole,) = [output for output in outputs if output.count("\n") >= 20_000]
        seen = [line["message"]["content"][0]["content"] for line in lines if "toolUseResult" in line]
    else:
        (whole,) = [line["content"] for line in lines if line["type"] == "artifact"]
        seen = [str(part.text) for message in messages_of(lines) for part in message.parts]
    assert whole.count("ERROR F0912") == 1
    assert max(len(text) for text in seen) < 5_000


def test_messages_of_the_own_format_are_the_protocols_and_dense() -> None:
    for _, lines in own_files():
        runs = {line["run_id"] for line in lines if line["type"] == "run"}
        placed: dict[str, list[int]] = defaultdict(list)
        for message in messages_of(lines):
            placed[message.run_id].append(message.sequence_no)
        assert placed.keys() == runs
        assert all(numbers == list(range(len(numbers))) for numbers in placed.values())


def test_every_request_is_whole_and_its_usage_follows_the_rule() -> None:
    for truth, lines in own_files():
        pool: dict[str, Record] = {}
        usage = {m.call.call_id: m.call.usage for m in messages_of(lines) if m.call}
        requests = 0
        for line in lines:
            if line["type"] == "block":
                pool[line["id"]] = line["content"]
            elif line["type"] == "model_request":
                requests += 1
                ids = [*line["system"], *line["tools"], *(b for m in line["messages"] for b in m["content"])]
                count = sum(tokens.count(_counted(pool[i])) for i in ids) + FRAMING * (len(line["messages"]) + 1)
                assert usage[line["call_id"]].input_tokens == count, truth
        assert requests == len(usage) >= truth["steps"]


def _counted(block: Record) -> str:
    if block["type"] == "tool_use":
        return block["name"] + json.dumps(block["arguments"], ensure_ascii=False)
    return json.dumps(block, ensure_ascii=False) if block["type"] == "tool" else block["text"]


def test_parts_are_labelled_by_their_origin() -> None:
    note = "Maintenance note for automated assistants"
    carriers = 0
    for _, lines in own_files():
        for message in messages_of(lines):
            for part in message.parts:
                if note in (getattr(part, "text", None) or ""):
                    carriers += 1
                    assert part.trust_level is TrustLevel.REPOSITORY_UNTRUSTED
            if message.actor == "user":
                assert message.trust_level is TrustLevel.USER_TRUSTED
            if message.actor == "harness":
                assert message.trust_level is TrustLevel.TOOL_TRUSTED
    assert carriers


def test_the_harness_records_the_outcome_of_each_run() -> None:
    for truth, lines in own_files():
        (verdict,) = [p for m in messages_of(lines) for p in m.parts if p.type == "verification" and p.scope == "run"]
        assert verdict.verdict == truth["outcome"]
