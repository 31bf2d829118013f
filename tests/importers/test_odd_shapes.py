"""Values of a wrong type anywhere in a record: no importer fails, and every record keeps its account."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledgerkit.importers import chat, gemini_cli, otel, pi
from ledgerkit.importers.shapes import is_list, is_object
from tests.importers.gemini_cli import test_gemini_cli as gemini_logs
from tests.importers.otel import test_otel as otel_logs
from tests.importers.pi import test_pi as pi_logs

ODD: Final = (
    *("null", "true", "0", "-1", "1e300", "9223372036854775808", '""', '"x"', "[]", "{}", "[1]", '{"a": 1}'),
    *('"[]"', '"{}"', "[null]", "[[]]", "[{}]"),
)
"""As JSON, so that no example changes another's."""
TURNS: Final = [
    {"role": "user", "content": [{"type": "text", "text": "a"}]},
    {"role": "assistant", "content": "b", "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c", "content": "d"},
]
ITEMS: Final = [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]},
    {"type": "mcp_call", "id": "m", "name": "n", "arguments": "{}", "output": "o", "error": None},
    {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "t"}]},
]
SESSION: Final[list[Any]] = [
    gemini_logs.HEADER,
    gemini_logs.user("u1", [{"text": "a"}], displayContent="a"),
    gemini_logs.gemini("g1", "", toolCalls=[gemini_logs.call("c", "replace", {}, {"output": "o"})], thoughts=[{}]),
    {"$set": {"messages": [gemini_logs.user("u2", "b")], "summary": "s"}},
    {"$rewindTo": "u1"},
]
LOGS: Final[dict[str, tuple[Any, list[Any]]]] = {
    "chat": (chat, [{"messages": TURNS, "metadata": {"reward": 1}}, {"input": "q", "output": ITEMS, "usage": {}}]),
    "gemini-cli": (gemini_cli, SESSION),
    "otel": (otel, [otel_logs.export(*otel_logs.genai())]),
    "pi": (pi, [json.loads(line) for line in pi_logs.RAW.splitlines()]),
}


def size(content: bytes | str) -> str:
    return str(len(content))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a value where another value may stand."""
    keys: list[Any] = list(value) if is_object(value) else list(range(len(value))) if is_list(value) else []
    return [(value, key) for key in keys] + [found for key in keys for found in places(value[key])]


@pytest.mark.long
@pytest.mark.parametrize("name", LOGS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_odd_values_fail_no_file(name: str, data: st.DataObject, tmp_path: Path) -> None:
    importer, lines = LOGS[name]
    lines = json.loads(json.dumps(lines))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(lines)))
        container[key] = json.loads(data.draw(st.sampled_from(ODD)))
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    importer.sniff(lines)
    parsed = importer.read(path, measure=size)
    for record in parsed.records:
        assert bool(record.messages) != bool(record.skipped)
        assert all(message.parts and isinstance(message.actor, str) for message in record.messages)
    met = {record.line for record in parsed.records} | {damage.line for damage in parsed.quarantined}
    assert len(met) == len(lines) or name == "otel" or [] in lines
