"""The published schemas: current, and kept by what is really printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import Call
from tests.conftest import ROOT

SCHEMAS = ROOT / "docs" / "schemas"
OUTPUTS = [
    ("runs", "runs -n 0"),
    ("runs", "runs -n 0 --reviews"),
    ("cost", "cost"),
    ("cost", "cost --by run,day --leaves"),
    ("cost", "cost --by repository,agent"),
    ("claims", "claims"),
    ("verify", "verify"),
    ("import", "import {data} --ledger {fresh}"),
    ("import", "import {logs} --ledger {fresh} --redact off"),
    ("import", "import {logs} --ledger {fresh} --labels {labels}"),
    ("import", "import --ledger {ledger} --labels {labels}"),
]


def _schema(name: str) -> dict[str, Any]:
    return json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))


@pytest.fixture
def words(demo_path: Path, tmp_path: Path) -> dict[str, Path]:
    labels = tmp_path / "labels.csv"
    labels.write_text("task_id,outcome\nnone,passed\n", "utf-8")
    log = tmp_path / "logs" / "damaged.jsonl"
    log.parent.mkdir()
    good = {"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z"}
    good["message"] = {"role": "user", "content": "hello"}  # pyright: ignore[reportArgumentType]
    log.write_text(json.dumps(good) + "\n{damaged\n", "utf-8")
    data = ROOT / "data" / "claude-code"
    return {"data": data, "logs": log.parent, "labels": labels, "fresh": tmp_path / "new", "ledger": demo_path}


@pytest.mark.long
@pytest.mark.parametrize(("schema", "command"), OUTPUTS)
def test_what_is_printed_keeps_the_schema(
    schema: str, command: str, words: dict[str, Path], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEDGERKIT_LEDGER", str(words["ledger"]))
    printed = json.loads(call(*command.format(**words).split(), "--json").stdout)
    assert printed
    jsonschema.Draft202012Validator(_schema(schema)).validate(printed)  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize("name", ["runs", "cost", "claims", "verify", "import"])
def test_a_schema_is_one_and_refuses_what_is_not_its_output(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(_schema(name))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{"run_id": 3}] if name in ("runs", "cost", "claims") else {"ok": "yes"}, _schema(name))


@pytest.mark.long
def test_the_schemas_are_current() -> None:
    program = [sys.executable, str(ROOT / "scripts" / "build_output_schemas.py"), "--check"]
    done = subprocess.run(program, cwd=ROOT, env={"PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True)  # noqa: PLW1510
    assert done.returncode == 0, done.stdout + done.stderr
