"""Every Claude Code file of the corpus, against values that were computed independently of this code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.importers.shapes import is_object, objects_of
from tests.conftest import NOW, corpus_values, some_fast

pytestmark = pytest.mark.corpus

_EXPECTED = corpus_values()
_FILES = sorted(n for n, v in _EXPECTED["files"].items() if v.get("format") == "claude-code" and n.endswith(".jsonl"))
_GROUPS = sorted(name for name in _EXPECTED["groups"] if name.startswith("claude-code/"))
_NO_USAGE = dict.fromkeys(("input", "output", "cache_creation", "cache_read"), 0)
_UNREAD = ("damaged", "no object")
_EMBEDDED = "coalesce((m.metadata->>'$.record.embedded')::boolean, false) as embedded"
_PARTS = f"select p.*, m.metadata as envelope, {_EMBEDDED} from parts p join messages m using (message_id)"
_USAGE = f"select u.*, m.sequence_no as at, {_EMBEDDED} from usage_rows u join messages m using (message_id)"


@dataclass(frozen=True)
class Imported:
    """A file or folder of the corpus in a ledger of its own."""

    ledger: lk.Ledger
    account: lk.ImportAccount

    @cached_property
    def parts(self) -> pl.DataFrame:
        return self.ledger.sql(_PARTS)

    @cached_property
    def own(self) -> pl.DataFrame:
        return self.parts.filter(~pl.col("embedded"))

    @cached_property
    def embedded(self) -> pl.DataFrame:
        return self.parts.filter("embedded")

    @cached_property
    def usage(self) -> pl.DataFrame:
        return self.ledger.sql(_USAGE)

    @cached_property
    def state(self) -> dict[str, Any]:
        return self.ledger.sql("select * from import_files").row(0, named=True)

    def types(self) -> Iterator[tuple[str, int]]:
        return self.account.details.select("record_type", "count").iter_rows()


@dataclass(frozen=True)
class Expected:
    """The values of a file; where glued lines were taken apart, those computed with what they held."""

    path: Path
    values: dict[str, Any]

    @property
    def is_whole(self) -> bool:
        """Whether no line had to be taken apart: other values were computed without what such lines hold."""
        return "with_recovered" not in self.values

    def __getitem__(self, name: str) -> Any:
        return self.values.get("with_recovered", {}).get(name, self.values[name])

    def records(self) -> Iterator[dict[str, Any]]:
        for line in self.path.read_bytes().split(b"\n"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield cast(dict[str, Any], record)


Import = Callable[[str], Imported]


@pytest.fixture(scope="module")
def imported(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Import:
    done: dict[str, Imported] = {}

    def one(name: str) -> Imported:
        if name not in done:
            ledger = lk.open(tmp_path_factory.mktemp("ledger") / "l", key=bytes(32))
            done[name] = Imported(ledger, ledger.import_logs(corpus / name, now=NOW))
        return done[name]

    return one


def _sum(rows: pl.DataFrame) -> dict[str, int]:
    """Usage in the provider's terms: input without cache tokens."""
    total = {name: sum(cast(list[int], rows[name].drop_nulls().to_list())) for name in rows.columns if "tokens" in name}
    write = total["cache_write_5m_tokens"] + total["cache_write_1h_tokens"]
    read = total["cache_read_tokens"]
    fresh = total["input_tokens"] - write - read
    return {"input": fresh, "output": total["output_tokens"], "cache_creation": write, "cache_read": read}


def _last(rows: pl.DataFrame, key: str | pl.Expr = "call_id") -> pl.DataFrame:
    return rows.sort("at").group_by(key, maintain_order=True).last()


def _ids(parts: pl.DataFrame, part_type: str) -> set[str]:
    """Distinct ids; calls without an id are one, as in the expected values."""
    ids: list[str] = parts.filter(pl.col("part_type") == part_type)["tool_call_id"].to_list()
    return {i.split(":")[0] if i.startswith("unidentified:") else i for i in ids}


@pytest.mark.long
@pytest.mark.parametrize("name", some_fast(_FILES, 4))
def test_a_file_gives_the_values_that_were_computed_independently(name: str, corpus: Path, imported: Import) -> None:
    got, want = imported(name), Expected(corpus / name, _EXPECTED["files"][name])
    _check_account(got, want)
    _check_tool_calls(got, want)
    _check_usage(got, want)
    _check_labels(got, want)


def _check_account(got: Imported, want: Expected) -> None:
    """Everything that the file holds is accounted for, and nothing else."""
    lost = want["malformed_lines"] - _lines_taken_apart(want)
    assert got.account.closes
    assert got.account.records == want.values["records"] + want["recovered_objects"] + lost
    assert got.state["line_count"] == want["lines"]
    assert got.state["distinct_records"] == want["line_uuids"]
    assert len(got.state["sessions"]) == max(want["session_ids"], 1)
    subtypes = Counter({t.split("/", 1)[1]: n for t, n in got.types() if t.startswith("system/")})
    assert subtypes == Counter(want["system_subtypes"])
    if want.is_whole:
        unreadable = sum(entry["record_type"] not in _UNREAD for entry in got.state["quarantine"])
        assert got.state["identified"] + unreadable == want["lines_with_uuid"]
        types: Counter[str] = Counter()
        for record_type, count in got.types():
            types[record_type.split("/")[0]] += count if record_type not in _UNREAD else 0
        assert +types == Counter(want["line_types"])


def _check_tool_calls(got: Imported, want: Expected) -> None:
    asked, answered = _ids(got.own, "tool_call"), _ids(got.own, "tool_result")
    assert len(asked) == want["tool_use_ids"]
    assert len(answered) == want["tool_result_ids"]
    assert len(_ids(got.embedded, "tool_call")) == want.values.get("progress_agent_tool_use_ids", 0)
    assert got.embedded["source_record"].n_unique() == want["progress_agent_uuids"]
    if want.is_whole:
        assert len(asked - answered) == want["calls_without_result"]
        assert len(answered - asked) == want["results_without_call"]
        assert got.own.filter(pl.col("part_type") == "tool_result").height == want["tool_result_blocks"] - _repeated(
            want
        )


def _check_usage(got: Imported, want: Expected) -> None:
    """Once per call, the last row winning; subagents that only progress records hold come on top."""
    rows = got.usage.filter(~pl.col("embedded"))
    last, embedded = _last(rows), _last(got.usage.filter("embedded"))
    assert _sum(last) == want["usage"]
    assert _sum(embedded) == want.values.get("progress_agent_usage", _NO_USAGE)
    synthetic = pl.concat([last, embedded]).filter(pl.col("model") == "<synthetic>").height
    assert got.usage.filter("billed").height + synthetic == last.height + embedded.height
    if want.is_whole:
        assert last.height == want["api_calls"]
        assert _sum(rows) == want["usage_naive_sum"]  # rows are kept as the file wrote them
        message = pl.col("call_id").str.replace(r"^(msg[^:]*):.*$", "$1")
        assert _sum(_last(rows, message)) == want["usage_by_message_id"]
        output = pl.col("output_tokens")
        spread = rows.group_by("call_id").agg(values=output.n_unique(), top=output.max())
        assert spread.filter(pl.col("values") > 1).height == want["groups_changing"]
        assert last.join(spread, on="call_id").filter(output != pl.col("top")).height == want["usage_max_ne_last"]


def _check_labels(got: Imported, want: Expected) -> None:
    versions = got.ledger.sql(
        "select distinct metadata->>'$.record.facts.agent_version' as version from messages where version is not null"
    )
    named = {kind: set[str]() for kind in (True, False)}
    for record in want.records():
        if record.get("version"):
            named[record["type"] == "progress"].add(record["version"])
    assert set(versions["version"]) == set(want["versions"]) - (named[True] - named[False])
    assert set(got.own["model"].drop_nulls()) == set(want["models"]) - {"None"}
    sidechain = sum(r.get("isSidechain") is True and r["type"] == "progress" for r in want.records())
    told = got.own.filter(pl.col("envelope").is_not_null()).unique("message_id")
    relations = told["envelope"].str.json_path_match("$.record.relation").drop_nulls()
    assert want["sidechain_lines"] - sidechain >= 0
    assert (relations.len() > 0) == (want["sidechain_lines"] - sidechain > 0)


def _lines_taken_apart(want: Expected) -> int:
    """How many of the damaged lines are whole objects glued together."""
    lines = want.path.read_bytes().split(b"\n")
    numbers: list[int] = want["malformed_line_numbers"]
    return sum(_is_glued(lines[number - 1].decode()) for number in numbers)


def _is_glued(line: str) -> bool:
    decoder, at, line = json.JSONDecoder(), 0, line.strip()
    try:
        while at < len(line):
            _, at = decoder.raw_decode(line, at)
    except ValueError:
        return False
    return True


def _repeated(want: Expected) -> int:
    """Result blocks of records that the file repeats word for word."""
    seen: set[str] = set()
    repeated = 0
    for record in want.records():
        message = record.get("message")
        content = message.get("content") if is_object(message) else None
        results = sum(block.get("type") == "tool_result" for block in objects_of(content))
        identity = json.dumps([record.get("uuid"), record.get("sessionId"), content])
        if record.get("type") == "user" and results and record.get("uuid"):
            repeated += results if identity in seen else 0
            seen.add(identity)
    return repeated


@pytest.mark.slow
@pytest.mark.parametrize("name", _GROUPS)
def test_a_folder_counts_what_its_files_share_once(name: str, imported: Import) -> None:
    got, want = imported(name), _EXPECTED["groups"][name]
    assert got.account.closes
    assert got.account.files == want["files"]
    assert len(_ids(got.own, "tool_call")) == want["tool_use_ids"]
    assert len(_ids(got.own, "tool_result")) == want["tool_result_ids"]
    assert _sum(got.usage.filter(pl.col("billed") & ~pl.col("embedded"))) == want["usage_last"] == want["usage_max"]
    # Embedded copies come on top where no file holds the subagent, and only there.
    alone = want["progress_agent_uuids"] - want["progress_agent_uuids_also_as_lines"]
    assert got.embedded["source_record"].n_unique() == alone


@pytest.mark.slow
def test_importing_the_whole_corpus_again_adds_nothing(corpus: Path, ledger: lk.Ledger) -> None:
    first = ledger.import_logs(corpus / "claude-code", now=NOW)
    before = ledger.sql("select count(*) from parts").item()
    again = ledger.import_logs(corpus / "claude-code", now=NOW)
    assert first.closes
    assert (again.new_messages, again.files) == (0, 0)
    assert ledger.sql("select count(*) from parts").item() == before
