"""One small file or more of every format, made here: what the tests of damage and of orders of imports read."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.builders import eventful_session, line_of, uid
from tests.importers.atif import test_atif as atif
from tests.importers.chat import test_chat as chat
from tests.importers.codex.rollouts import CHILD, THREAD, Rollout
from tests.importers.gemini_cli import test_gemini_cli as gemini
from tests.importers.inspect_ai import logs as inspect_logs
from tests.importers.inspect_ai import test_files as inspect_files
from tests.importers.mini_swe_agent import test_mini_swe_agent as mini
from tests.importers.openhands import test_openhands as openhands
from tests.importers.otel import test_otel as otel
from tests.importers.pi import test_pi as pi
from tests.importers.swe_agent import test_swe_agent as swe
from tests.importers.test_ledgerkit_jsonl import whole_session


@dataclass(frozen=True)
class Sample:
    """A file.

    Attributes:
        name: Names it; part of it is its format's.
        log_format: Its format.
        content: Its bytes.
        is_lines: Whether each line is a record by itself; else the whole is one document.
        file_name: What it is called on disk, where that matters.
    """

    name: str
    log_format: str
    content: bytes
    is_lines: bool
    file_name: str = ""

    def write(self, folder: Path) -> Path:
        """Writes it into a folder of its own, so that no two have one path."""
        path = folder / self.name / (self.file_name or "log.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.content)
        return path


def _lines(records: Iterable[object]) -> bytes:
    return b"".join(line_of(record).encode() + b"\n" for record in records)


def _document(value: object) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode()


def _rollout() -> Rollout:
    log = Rollout()
    for number, text in enumerate(("Fix it — “ünïcode”.", "Test it.", "Go on.")):
        log.turn(text, number)
    return log


def _fork_of_rollout() -> bytes:
    """A fork: its own header, the header and records of its parent with other times, then its own."""
    parent = _rollout()
    log = Rollout(CHILD, 30, forked_from_id=THREAD)
    copied = [{**line, "timestamp": "2026-01-01T00:30:00.000Z"} for line in parent.lines[:-12]]
    log.lines = [log.lines[0], *copied]
    log.turn("Another way.", 9)
    return log.bytes()


def _tree(**head: Any) -> pi.Tree:
    log = pi.Tree(**head)
    fork = ""
    for number, text in enumerate(("é 1", "Then\u2028this.", "And that.")):
        log.user(text)
        log.answer(pi.words(f"step {number}"), pi.call(f"c{number}", "read", path="a.py"))
        fork = log.result(f"c{number}", "read", f"x = {number}")
    log.user("B")
    log.answer(pi.words("b"))
    log.tip = fork
    log.user("C")
    log.answer(pi.words("c"))
    log.add("compaction", summary="so far", firstKeptEntryId="00000001", tokensBefore=5)
    return log


def _fork_of_tree() -> bytes:
    log = _tree()
    log.lines = [pi.header(pi.OTHER, version=3, parentSession=f"/s/2026-01-01_{pi.SESSION}.jsonl"), *log.lines[1:8]]
    log.tip = log.lines[-1]["id"]
    log.user("Another way.")
    log.answer(pi.words("as you like"))
    return _lines(log.lines)


def _spans() -> bytes:
    return _lines(otel.export(each) for each in otel.genai())


def _trajectory(**more: Any) -> dict[str, Any]:
    metrics = {"prompt_tokens": 10, "completion_tokens": 1, "cost_usd": 0.5}
    inner = atif.trajectory(atif.user("Look."), atif.agent("é"), trajectory_id="t2")
    steps = [
        atif.system("s"), atif.user("Fix it."),
        atif.agent("y", atif.result("c", "a.py"), calls=[atif.call("c")], metrics=metrics),
        atif.agent("Done.", metrics=metrics),
    ]  # fmt: skip
    return atif.trajectory(*steps, subagent_trajectories=[inner], final_metrics={"total_steps": 4}, **more)


def _stream(count: int = 4) -> bytes:
    return _lines(
        event
        for n in range(0, 4 * count, 4)
        for event in (
            openhands.person(n + 1, f"é {n}"), openhands.stats(n + 2, 10 * n + 10, n + 1),
            openhands.act(n + 3, f"c{n}", "terminal", {"command": "ls"}, f"r{n}"),
            openhands.back(n + 4, f"c{n}", "terminal", f"a {n}"),
        )
    )  # fmt: skip


def _gemini_header(number: int) -> dict[str, Any]:
    return {**gemini.HEADER, "sessionId": uid("gemini", number)}


SAMPLES: Final[tuple[Sample, ...]] = (
    Sample("claude-code", "claude-code", _lines(eventful_session().records), is_lines=True),
    Sample("codex", "codex", _rollout().bytes(), is_lines=True,
           file_name=f"rollout-2026-01-01T00-00-00-{THREAD}.jsonl"),
    Sample("codex-fork", "codex", _fork_of_rollout(), is_lines=True,
           file_name=f"rollout-2026-01-01T00-30-00-{CHILD}.jsonl"),
    Sample("pi", "pi", _lines(_tree().lines), is_lines=True),
    Sample("pi-fork", "pi", _fork_of_tree(), is_lines=True),
    Sample("gemini-lines", "gemini-cli", _lines([_gemini_header(1)]) + gemini.LINES, is_lines=True),
    Sample("otel-lines", "otel", _spans(), is_lines=True),
    Sample("openhands-events", "openhands", _stream(), is_lines=True),
    Sample("openhands-rows", "openhands", openhands.ROWS, is_lines=True),
    Sample("chat-rows", "chat", chat.ROWS, is_lines=True),
    Sample("atif-rows", "atif", _lines(_trajectory(session_id=f"s{n}") for n in range(4)), is_lines=True),
    Sample("ledgerkit-jsonl", "ledgerkit-jsonl", _lines(whole_session()), is_lines=True),
    Sample("atif", "atif", _document(_trajectory(session_id="whole")), is_lines=False),
    Sample("swe-agent", "swe-agent", _document(swe.SAMPLE), is_lines=False),
    Sample("mini-swe-agent", "mini-swe-agent", _document(mini.SAMPLE), is_lines=False),
    Sample("openhands-list", "openhands", _document(openhands.SAMPLES[0]), is_lines=False),
    Sample("gemini-document", "gemini-cli", _document(
        {**_gemini_header(2), "messages": [gemini.user("d1", "Hello"), gemini.gemini("d2", "Hi")]}), is_lines=False),
    Sample("inspect", "inspect", _document(inspect_logs.log(inspect_files.made(1), inspect_files.made(2))),
           is_lines=False),
    Sample("otel-document", "otel", _document(otel.export(*otel.genai())), is_lines=False),
    Sample("chat-list", "chat", _document([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]),
           is_lines=False),
)  # fmt: skip
LINES: Final = tuple(sample for sample in SAMPLES if sample.is_lines)
DOCUMENTS: Final = tuple(sample for sample in SAMPLES if not sample.is_lines)


def archive_sample() -> Sample:
    """A zip file of Inspect with two samples."""
    with tempfile.TemporaryDirectory() as folder:
        content = inspect_logs.archive(Path(folder) / "log.eval", inspect_files.members(3, 4)).read_bytes()
    return Sample("inspect-archive", "inspect", content, is_lines=False, file_name="log.eval")


def write_all(folder: Path) -> list[Path]:
    """Writes all samples, each into a folder of its own."""
    return [sample.write(folder) for sample in (*SAMPLES, archive_sample())]
