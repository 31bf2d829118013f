"""Runs drawn at random with what their parts say: tokens, what only looks like them, edits, files and verdicts."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import polars as pl

from ledgerkit.evaluation import Material
from ledgerkit.evaluation.material import VERDICTS
from ledgerkit.strategies import RunFrames
from ledgerkit.strategies.rates import FREE
from tests.strategies.drawn import drawn_frames, excerpt_tokens

ROOT = "/home/me/w"
TOKENS: dict[str, list[tuple[str, str]]] = {
    "src/a.py": [("path", "src/a.py")],
    "./src/a.py": [("path", "src/a.py")],
    f"{ROOT}/src/b.py": [("path", "src/b.py")],
    "/home/me/other/c.txt": [("path", "~/other/c.txt")],
    "src/a.py:12": [("line", "src/a.py:12"), ("path", "src/a.py")],
    "mod.func": [("identifier", "mod.func")],
    "Thing::run": [("identifier", "Thing::run")],
    "E501": [("error_code", "E501")],
    "ENOENT": [("error_code", "ENOENT")],
    "deadbeef12": [("hash", "deadbeef12")],
    "https://x.org/a?b=1": [("url", "https://x.org/a?b=1")],
    "8080": [("number", "8080")],
    '"hello wide world"': [("quoted", "hello wide world")],
}
"""Tokens as arguments hold them, and what they are."""
ALIKE = (
    "src/a.pyc", "lib/src/a.py", "src/a.py.bak", "src/a.py-old", "mod.func2", "a.mod.func", "mod.func.more", "18080",
    "8080.5", "XE501", "E501-1", "deadbeef123", "https://x.org/a?b=12", "hello wide worlds", "src/a.py:123",
    "Thing::run::on", "éE501é", "(src/a.py)", "src/a.py,", "mod.func.", "hello wide world", "+++ b/src/a.py",
)  # fmt: skip
"""What texts hold besides: some mention a token, some only look like it."""
LINES = ("def one():", "    return 1", "x = {", "}", "# end of it", "    return 10")
FILES = ("src/a.py", "src/b.py", f"{ROOT}/src/a.py")


def drawn_material(seed: int, runs: int, most_steps: int = 10) -> Material:
    """Material of some random runs."""
    random = Random(seed)
    given = drawn_frames(seed, runs, most_steps)
    parts = given.parts.to_dicts()
    said = [_say(random, part) for part in parts]
    for part, one in zip(parts, said, strict=True):
        part["part_type"], part["trust_level"] = one.pop("part_type"), one.pop("trust_level")
        part["tool_name"], part["kind"] = one.pop("tool_name"), one.pop("kind")
    frames = RunFrames(given.runs, given.steps, pl.DataFrame(parts, schema=given.parts.schema), excerpt_tokens)
    ids = dict(frames.runs.select("run", "run_id").iter_rows())
    contents = [
        {"session_id": "s", "run_id": ids[part["run"]], "message_id": part["message_id"],
         "part_index": part["part_index"], "inherited": int(random.random() < 0.05), **one}
        for part, one in zip(parts, said, strict=True)
    ]  # fmt: skip
    facts = frames.runs.select("session_id", "run_id", working_directory=pl.lit(ROOT))
    verdicts = [_verdict(random, row) for row in contents if random.random() < 0.3]
    usage = pl.DataFrame(schema={"session_id": pl.String, "run_id": pl.String, "step": pl.Int32,
                                 "cache_read_tokens": pl.Int64})  # fmt: skip
    return Material(
        frames,
        pl.DataFrame(contents, infer_schema_length=None, schema_overrides={"path": pl.String, "data": pl.String}),
        facts,
        pl.DataFrame(verdicts, schema=VERDICTS),
        usage,
        FREE,
    )


def _prose(random: Random) -> str:
    pieces = [random.choice([*TOKENS, *ALIKE, *LINES, "word", "and"]) for _ in range(random.randint(0, 20))]
    return "".join(piece + random.choice([" ", " ", "\n", " = ", " → "]) for piece in pieces)


def _say(random: Random, part: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"text": _prose(random), "data": None, "path": None, "part_type": part["part_type"],
                            "tool_name": None, "kind": part["kind"], "trust_level": part["trust_level"]}  # fmt: skip
    if random.random() < 0.3:
        made["trust_level"] = random.choice(["NETWORK_UNTRUSTED", "UNKNOWN", "USER_TRUSTED", "TOOL_TRUSTED"])
    if part["part_type"] == "tool_call":
        tokens = random.sample(list(TOKENS), random.randint(0, 4))
        arguments: dict[str, Any] = {"command": " ".join([random.choice(["cat", "rm"]), *tokens])}
        if random.random() < 0.4:
            arguments["old_string"] = "\n".join(random.sample(LINES, 2))
        made |= {"text": None, "data": json.dumps(arguments), "tool_name": random.choice(["Read", "Bash", "Edit"])}
    elif part["is_result"] and random.random() < 0.5:
        kind = random.choice(["file_snippet", "file_snippet", "diff"])
        first = random.choice([1, 1, 5])
        data = {"start_line": first, "end_line": 9} if kind == "file_snippet" else {"change": random.choice(
            ["modified", "deleted"])}  # fmt: skip
        made |= {"kind": "FILE_OBSERVATION", "part_type": kind, "path": random.choice(FILES), "data": json.dumps(data)}
        if random.random() < 0.5:
            made["text"] = random.choice(LINES)
    return made


def _verdict(random: Random, row: dict[str, Any]) -> dict[str, Any]:
    lines = [line for line in (row["text"] or "").split("\n") if line.strip()]
    return {
        "session_id": "s", "run_id": row["run_id"], "message_id": row["message_id"], "part_index": row["part_index"],
        "check": random.choice(["pytest", "ruff", None]), "verdict": random.choice(["passed", "failed", "failed"]),
        "lines": random.sample(lines, min(len(lines), random.randint(0, 2))),
    }  # fmt: skip
