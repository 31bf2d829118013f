"""Small writers of Claude Code records: ids come from names, times from a clock that ticks once a record.

And what compares the ledgers that come of them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.testing import assert_frame_equal

import ledgerkit as lk

Record = dict[str, Any]
Block = dict[str, Any]

START: Final = datetime(2026, 2, 1, 9, 0, tzinfo=UTC)
MODEL: Final = "claude-sonnet-4-5-20250929"
FOLDER: Final = "/home/dev/shop"
PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
_CHAIN: Final = "the record before"
_NAMESPACE: Final = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def uid(*names: object) -> str:
    """The UUID that some names stand for."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(map(str, names))))


def stamp(moment: datetime) -> str:
    """A time as Claude Code writes it."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# Blocks


def text(value: str) -> Block:
    return {"type": "text", "text": value}


def thinking(value: str, signature: str = "c2lnbmVk") -> Block:
    return {"type": "thinking", "thinking": value, "signature": signature}


def tool_use(call: str, name: str = "Bash", **arguments: object) -> Block:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments or {"command": "ls"}}


def tool_result(call: str, content: object = "ok", *, is_error: bool | None = None) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": call, "content": content}
    return block if is_error is None else {**block, "is_error": is_error}


def image(data: str = PIXEL, media_type: str = "image/png") -> Block:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def usage(fresh: int = 10, output: int = 5, *, read: int = 0, write: int = 0, hour: int = 0) -> Record:
    """Usage in the provider's terms: ``fresh`` leaves out what a cache read or wrote."""
    return {
        "input_tokens": fresh,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "cache_creation": {"ephemeral_5m_input_tokens": write - hour, "ephemeral_1h_input_tokens": hour},
        "service_tier": "standard",
    }


# Records


class Log:
    """A session file in the making: each record follows the one before, unless it is told otherwise.

    Args:
        name: Names the session; its id, and the ids of its records, are made from it.
        start: Time of the first record.
        agent: Id of the subagent whose file it is.
        session: Id of the session, where the name is not to decide.
    """

    def __init__(
        self, name: str, *, start: datetime = START, agent: str | None = None, session: str | None = None
    ) -> None:
        self.name = name
        self.session = session or uid(name)
        self.records: list[Record] = []
        self.last: str | None = None
        self._clock = start
        self._agent = agent

    def now(self) -> datetime:
        """The clock's next time."""
        self._clock += timedelta(seconds=1)
        return self._clock

    def add(self, kind: str, *, parent: str | None = _CHAIN, id: str | None = None, **fields: object) -> str:
        """Any record of the chain; gives its uuid."""
        own = id or uid(self.name, self._agent, len(self.records))
        record: Record = {
            "parentUuid": self.last if parent == _CHAIN else parent,
            "isSidechain": self._agent is not None,
            "userType": "external",
            "cwd": FOLDER,
            "sessionId": self.session,
            "version": "2.1.42",
            "gitBranch": "main",
            "type": kind,
            "uuid": own,
            "timestamp": stamp(self.now()),
            **({"agentId": self._agent} if self._agent else {}),
        }
        self.records.append(record | fields)
        self.last = own
        return own

    def bare(self, kind: str, **fields: object) -> None:
        """A record that is no link of the chain: it has neither uuid nor parent."""
        self.records.append({"type": kind, **fields})

    def asks(self, content: object = "Fix the shop.", **fields: Any) -> str:
        """A prompt."""
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def answers(
        self, *blocks: Block, call: str | None = None, used: Record | None = None, model: str = MODEL, **fields: Any
    ) -> str:
        """One line of an answer; lines of one model call share ``call``."""
        message: Record = {
            "id": call or f"msg_{uid(self.name, self._agent, len(self.records))[:8]}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": list(blocks),
            "stop_reason": None,
            "usage": used or usage(),
        }
        return self.add("assistant", message=message, **fields)

    def returns(self, call: str, content: object = "ok", *, is_error: bool | None = None, **fields: Any) -> str:
        """A tool result; ``toolUseResult`` is its structured twin."""
        message = {"role": "user", "content": [tool_result(call, content, is_error=is_error)]}
        return self.add("user", message=message, **fields)

    def write(self, path: Path, *, torn: str = "") -> Path:
        """Writes the file, with a last line that is cut off if there is one."""
        return write_lines(path, self.records, torn=torn)


def line_of(record: object) -> str:
    """A record as its line, without the newline."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def write_lines(path: Path, records: Iterable[object], *, torn: str = "") -> Path:
    """Writes records as a JSON Lines file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(("".join(line_of(record) + "\n" for record in records) + torn).encode("utf-8", "surrogatepass"))
    return path


def append_lines(path: Path, records: Iterable[object]) -> Path:
    """Lets a file grow by some records."""
    with path.open("ab") as file:
        file.write("".join(line_of(record) + "\n" for record in records).encode())
    return path


def progress_of(log: Log, inner: Record, *, agent: str, call: str) -> str:
    """A progress record of a session that holds a copy of a subagent's record."""
    copied = {key: inner[key] for key in ("type", "message", "uuid", "timestamp")}
    data = {"type": "agent_progress", "agentId": agent, "prompt": "", "message": copied}
    return log.add("progress", data=data, toolUseID=f"agent_{inner['uuid'][:8]}", parentToolUseID=call)


def working_session(name: str = "working", *, steps: int = 3, start: datetime = START) -> Log:
    """A session in which a model reads, edits and tests a file, one call a step."""
    log = Log(name, start=start)
    log.asks("Make total() round to cents.")
    for step in range(steps):
        call = f"toolu_{uid(name, 'call', step)[:8]}"
        log.answers(thinking(f"secret plan {step}"), call=f"msg_{name}_{step}", used=usage(output=1))
        log.answers(text(f"Step {step}."), call=f"msg_{name}_{step}", used=usage(output=3))
        log.answers(
            tool_use(call, "Bash", command=f"pytest -k {step}"),
            call=f"msg_{name}_{step}",
            used=usage(10 + step, 7 + step, read=100 * step, write=50),
        )
        log.returns(
            call, f"{step} passed", toolUseResult={"stdout": f"{step} passed", "stderr": "", "interrupted": False}
        )
    log.answers(text("Done."), call=f"msg_{name}_end", used=usage(20, 4, read=300))
    return log


def of_session(name: str) -> Sequence[str]:
    """The session id of a name, as parameters of a query."""
    return [uid(name)]


def eventful_session(name: str = "eventful", *, start: datetime = START) -> Log:
    """A session with something of everything that makes records depend on records before them."""
    log = Log(name, start=start)
    log.bare("permission-mode", permissionMode="default", sessionId=log.session)
    log.bare("file-history-snapshot", messageId="m", snapshot={"timestamp": stamp(start)})
    asked = log.asks("Make total() round to cents.")
    first = log.answers(tool_use(f"{name}1", "Read", file_path="shop.py"), call=f"{name}_a", used=usage(output=1))
    second = log.answers(tool_use(f"{name}2", "Read", file_path="tax.py"), call=f"{name}_a", used=usage(output=9))
    log.returns(f"{name}1", "def total(): …", parent=first)
    log.returns(f"{name}2", "RATE = 0.2", parent=second)
    log.add("progress", data={"type": "hook_progress"}, toolUseID="h", parentToolUseID="h")
    log.add("progress", data={"type": "hook_progress"}, toolUseID="h2", parentToolUseID="h2")
    log.bare("permission-mode", permissionMode="plan", sessionId=log.session)
    log.bare("permission-mode", permissionMode="default", sessionId=log.session)
    log.answers(thinking("hush"), call=f"{name}_b", used=usage(output=2))
    log.answers(text("Now the tests — “ünïcode”."), call=f"{name}_b", used=usage(output=3))
    began = log.answers(tool_use(f"{name}3", "Task", prompt="Find the tests."), call=f"{name}_b", used=usage(output=8))
    side = log.asks("Find the tests.", parent=None, isSidechain=True)
    side = log.answers(tool_use(f"{name}4", "Glob", pattern="**"), parent=side, isSidechain=True, call=f"{name}_c")
    side = log.returns(f"{name}4", "test_shop.py", parent=side, isSidechain=True)
    log.answers(text("test_shop.py"), parent=side, isSidechain=True, call=f"{name}_d")
    log.returns(f"{name}3", "test_shop.py", parent=began)
    kept = log.answers(text("Found them."), call=f"{name}_e")
    log.asks("Run them, quickly.")
    log.answers(tool_use(f"{name}5", "Bash", command="pytest -x"), call=f"{name}_f")
    log.returns(f"{name}5", "1 passed", toolUseResult={"stdout": "1 passed", "stderr": "", "interrupted": False})
    log.asks("Run them all.", parent=kept)
    log.answers(tool_use(f"{name}6", "mcp__runner__run", suite="all"), call=f"{name}_g")
    log.returns(f"{name}6", "2 passed")
    log.add("system", parent=None, subtype="compact_boundary", logicalParentUuid=log.last, content="Compacted")
    log.asks("Summary: all rounded.", isCompactSummary=True)
    log.answers(text("All done."), call=f"{name}_h")
    log.bare("permission-mode", permissionMode="plan", sessionId=log.session)
    log.bare("summary", summary="Rounding", leafUuid=asked)
    return log


# Comparing ledgers

CANONICAL: Final = (
    *("messages", "parts", "tool_calls", "model_calls", "usage_rows"),
    *("runs", "sessions", "verifier_results", "file_changes"),
)
"""The views that do not depend on the order or batching of imports."""


def canonical(ledger: lk.Ledger) -> dict[str, pl.DataFrame]:
    """The canonical views of a ledger, without where their records were read and in which order."""
    where = ("source_file", "source_line", "source_offset", "import_id", "leaf_index", "leaf_hash")
    return {name: ledger.sql(f"from {name}").drop(where, strict=False).pipe(_sorted) for name in CANONICAL}


def _sorted(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort([name for name, kind in frame.schema.items() if not isinstance(kind, pl.List)])


def assert_same(left: dict[str, pl.DataFrame], right: dict[str, pl.DataFrame]) -> None:
    """Whether two ledgers have the same canonical views."""
    for name in CANONICAL:
        assert_frame_equal(left[name], right[name])
