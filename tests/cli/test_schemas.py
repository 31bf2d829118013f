"""The published schemas: current, one for every output of ``--json``, and kept by what is really printed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import jsonschema
import pytest

import ledgerkit as lk
from ledgerkit.cli import main
from tests.builders import Log, append_lines
from tests.cli.conftest import Call
from tests.conftest import ROOT
from tests.redaction.planted import a_password, a_value

SCHEMAS: Final = ROOT / "docs" / "schemas"
PROGRAMS: Final = ("build_output_schemas", "build_comparison_schema_page")
READING: Final = (
    ("runs", "runs"),
    ("runs", "runs --reviews -n 3"),
    ("show-run", "show {run}"),
    ("show-run", "show {parent} --audit --from 2"),
    ("show-message", "show {message}"),
    ("show-message", "show {hidden}"),
    ("show-artifact", "show artifact:{restricted}"),
    ("show-artifact", "show artifact:{safe}"),
    ("search", "search test"),
    ("context", "context {run}"),
    ("context", "context {run} --budget 4000 --strategy LastObservations(5)"),
    ("memory", "memory {run}"),
    ("memory-compactions", "memory --compactions"),
    ("claims", "claims"),
    ("sql", "sql 'select c.*, [1] as l, 0.10 as d from model_calls c limit 2'"),
    ("sql-tables", "sql --tables"),
    ("sql-columns", "sql --tables parts"),
    ("replay", "replay {run} --visible"),
    ("replay", "replay {run} --step 1"),
    ("replay", "replay {parent}"),
    ("replay-verify", "replay --verify"),
    ("replay-verify-run", "replay {run} --verify"),
    ("replay-against", "replay {run} --against {other}"),
    ("replay-against", "replay {run} --against {run}"),
    ("page", "report -o page.html"),
    ("page", "report {run} -o page.html"),
    ("page", "replay {run} --html page.html"),
    ("cost", "cost"),
    ("cost", "cost --by run,day --leaves"),
    ("cost", "cost --by month,session,task,branch,repository,agent --priced-as claude-opus-4-5"),
    ("cost-parts", "cost --by tool,step"),
    ("cost-parts", "cost --by subagent,format,trust,section,kind,day"),
    ("cost-explain", "cost --explain"),
    ("cost-waste", "cost --waste"),
    ("cost-reconcile", "cost --reconcile --by model,day"),
    ("fleet", "fleet"),
    ("fleet", "fleet --by day"),
    ("export", "export {run} --format atif -o out"),
    ("verify", "verify"),
    ("checkpoint", "checkpoint"),
    ("prove", "prove {message}"),
    ("info", "info"),
    ("info-commits", "info --commits"),
    ("audit", "audit --severity low --what markers --what taint --what labels --what secrets --what patterns"),
    ("audit-report", "audit {run} --report"),
    ("evaluate", "evaluate --run {run} --jobs 1"),
    ("evaluate", "evaluate AsRecorded --run {run} --jobs 1 --budget 1000"),
    ("comparison", "compare model=claude-opus-4-5-20251101 model=claude-sonnet-4-5-20250929 --slice repository"),
)
WRITING: Final = (
    ("judge", "judge {run} {other}"),
    ("judgements", "judgements --all"),
    ("judgements-verdicts", "judgements --verdicts"),
    ("annotate", "annotate {run} --label passed --by me"),
    ("annotate", "annotate {run} --label passed --by me"),
    ("annotate", "annotate {other} --label passed --by me"),
    ("calibrate", "calibrate rules"),
    ("annotate", "annotate {other} --label failed --by you"),
    ("calibrate", "calibrate rules --by you"),
    ("import", "import --labels {labels}"),
    ("import", "import {logs} --labels {labels}"),
    ("import", "import {open} --redact off"),
    ("audit", "audit --what secrets"),
    ("compact", "compact --everything"),
    ("vacuum", "vacuum --hours 0"),
    ("erase", "erase {message} --reason test --yes"),
    ("erase", "erase --run {other} --reason test --yes"),
    ("verify", "verify"),
    ("show-run", "show {run}"),
    ("show-message", "show {message}"),
    ("demo", "demo --out shown"),
    ("drill", "drill 1"),
    ("drill", "drill 3 --broken"),
)
NEVER_HERE: Final = {
    ("audit", "labels"): "importers give no part a label above its source's; tests of safety make such rows",
    (
        "context",
        "tools",
    ): "Python code says what tools there are, no command does",
    ("verify", "findings"): "nothing in this ledger was changed; the test of tampering is below",
    ("import", "exposed"): "a secret that is known too late; the test is below",
    ("comparison", "flakiness"): "no task was done twice with one model; tests of comparison have such runs",
    ("comparison", "slices"): "too few tasks for any slice; tests of comparison have more",
}
WITHOUT_JSON: Final = {"completion", "lab", "prove"}


@dataclass(frozen=True)
class Names:
    """A ledger that is only read, and what stands in the commands."""

    ledger: Path
    words: dict[str, str]


@pytest.fixture(scope="module")
def names(demo_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Names:
    folder = tmp_path_factory.mktemp("schemas")
    labels, logs, unlooked = folder / "labels.csv", folder / "logs", folder / "open"
    for place, said in ((logs, "hello"), (unlooked, a_password(a_value("open")))):
        log = Log(place.name)
        log.asks(said)
        path = log.write(place / "damaged.jsonl")
        path.write_text(path.read_text("utf-8") + "{damaged\n", "utf-8")
    with lk.open(demo_path, create=False) as ledger:
        run, other = ledger.runs().sort("steps", "run_id", descending=True)["run_id"].head(2)
        asked = {
            "parent": "select min(parent_run_id) from runs where relation = 'subagent'",
            "message": f"select min(message_id) from messages where kind = 'TOOL_CALL_RESULT' and run_id = '{run}'",
            "hidden": "select min(message_id) from parts where part_visibility = 'AUDIT_ONLY'",
            "safe": "select min(content_id) from stored_artifacts where label = 'safe' and media_type like 'text/%'",
            "restricted": "select min(content_id) from stored_artifacts where label = 'restricted'",
        }
        found = {name: ledger.sql(query).item() for name, query in asked.items()}
    assert all(found.values()), found
    labels.write_text(f"run_id,outcome\nnone,passed\n{run},passed\n", "utf-8")
    return Names(demo_path, {**found, "run": run, "other": other, "labels": str(labels), "logs": str(logs),
                             "open": str(unlooked)})  # fmt: skip


@pytest.fixture
def printed(call: Call) -> Callable[[str, Names, Path], Any]:
    def run(command: str, names: Names, ledger: Path) -> Any:
        parts = [one.format(**names.words) for one in _split(command)]
        own = () if parts[0] in ("demo", "drill") else ("--ledger", ledger)
        form = () if parts[0] == "prove" else ("--json",)
        code = 1 if "--broken" in parts else 0
        return json.loads(call(*parts, *own, *form, code=code).stdout)

    return run


def _split(command: str) -> list[str]:
    before, quote, rest = command.partition("'")
    return [*before.split(), *([rest.removesuffix("'")] if quote else [])]


def _schema(name: str) -> dict[str, Any]:
    return json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))


def _holds(name: str, value: object) -> None:
    jsonschema.Draft202012Validator(_schema(name)).validate(value)  # pyright: ignore[reportUnknownMemberType]


def _tables(name: str, value: Any) -> Iterator[tuple[tuple[str, str], bool]]:
    """The tables that an output could have, and whether it has rows of them."""
    schema = _schema(name)
    if schema.get("type") == "array":
        yield (name, ""), bool(value)
    for key, shape in schema.get("properties", {}).items():
        if shape.get("type") == "array" and shape["items"].get("type") == "object":
            yield (name, key), bool(value.get(key))


@pytest.mark.long
@pytest.mark.filterwarnings("error")
def test_what_is_printed_keeps_its_schema_and_every_table_is_seen_with_rows(
    names: Names, printed: Callable[[str, Names, Path], Any], tmp_path: Path
) -> None:
    copy = tmp_path / "copy.ledger"
    shutil.copytree(names.ledger, copy)
    seen: dict[tuple[str, str], bool] = {}
    for cases, ledger in ((READING, names.ledger), (WRITING, copy)):
        for schema, command in cases:
            value = printed(command, names, ledger)
            _holds(schema, value)
            for table, has_rows in _tables(schema, value):
                seen[table] = seen.get(table, False) or has_rows
    assert {table for table, has_rows in seen.items() if not has_rows} == set(NEVER_HERE) & set(seen)
    assert {schema for schema, _ in (*READING, *WRITING)} == {one.stem for one in SCHEMAS.glob("*.json")}
    asked = {_split(command)[0] for _, command in (*READING, *WRITING)}
    for name in main.list_commands(click.Context(main)):
        command = main.get_command(click.Context(main), name)
        assert command is not None
        has_json = any(parameter.name == "as_json" for parameter in command.params)
        assert has_json == (name not in WITHOUT_JSON)
        assert name in asked or not has_json


def test_a_secret_that_is_known_too_late_and_what_was_tampered_with(
    printed: Callable[[str, Names, Path], Any], call: Call, tmp_path: Path
) -> None:
    value, log, ledger = a_value("late"), Log("late"), tmp_path / "late.ledger"
    log.asks(f"Is it {value}?")
    path = log.write(tmp_path / "late.jsonl")
    call("import", path, "--ledger", ledger)
    before = len(log.records)
    log.asks(a_password(value))
    append_lines(path, log.records[before:])
    account = printed(f"import {path}", Names(ledger, {}), ledger)
    _holds("import", account)
    assert account["exposed"]
    written = next((ledger / "history").rglob("*.parquet"))
    written.write_bytes(written.read_bytes()[:-20])
    report = json.loads(call("verify", "--ledger", ledger, "--json", code=1).stdout)
    _holds("verify", report)
    assert report["findings"]


@pytest.mark.long
def test_json_has_all_rows_unless_somebody_says_how_many(
    names: Names, printed: Callable[[str, Names, Path], Any]
) -> None:
    def rows(command: str) -> int:
        return len(printed(command, names, names.ledger))

    assert rows("runs --reviews") == rows("runs --reviews -n 0") > 30
    assert rows("search e") == rows("search e -n 0") > 50
    for command in ("runs", "search e", "claims", "cost --by run", "cost --by tool", "cost --waste", "cost --explain",
                    "cost --reconcile --by run", "memory --compactions", "info --commits"):  # fmt: skip
        assert rows(f"{command} -n 2") == 2, command
    shown = printed("show {run} -n 2", names, names.ledger)
    assert len({part["message_id"] for part in shown["parts"]}) == 2
    assert all(len(printed("audit -n 1", names, names.ledger)[kind]) <= 1 for kind in ("markers", "taint"))


@pytest.mark.parametrize("name", sorted(one.stem for one in SCHEMAS.glob("*.json")))
def test_a_schema_is_one_and_refuses_what_is_not_its_output(name: str) -> None:
    schema = _schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["description"]
    for wrong in ("text", {"no such": 1}, [3]):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_the_schemas_are_current_and_listed() -> None:
    for program in PROGRAMS:
        command = [sys.executable, str(ROOT / "scripts" / f"{program}.py"), "--check"]
        environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert all(f"schemas/{one.name}" in page for one in SCHEMAS.glob("*.json"))
