"""Every Claude Code file of the corpus, against values that were computed independently of this code."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ledgerkit as lk
from tests.conftest import NOW, corpus_values

_EXPECTED = corpus_values()
_FILES = sorted(n for n, v in _EXPECTED["files"].items() if v.get("format") == "claude-code" and n.endswith(".jsonl"))
_GROUPS = sorted(name for name in _EXPECTED["groups"] if name.startswith("claude-code/"))
_USAGE = ("input", "output", "cache_creation", "cache_read")

_OWN_PARTS = """
    select p.*, coalesce((m.metadata->>'$.record.embedded')::boolean, false) as embedded
    from parts p join messages m using (message_id)
"""


def _usage(rows: pl.DataFrame) -> dict[str, int]:
    """Sums in the provider's terms: input without cache tokens."""
    write = rows["cache_write_5m_tokens"].sum() + rows["cache_write_1h_tokens"].sum()
    read = rows["cache_read_tokens"].sum()
    return {
        "input": rows["input_tokens"].sum() - write - read,
        "output": rows["output_tokens"].sum(),
        "cache_creation": write,
        "cache_read": read,
    }


def _usage_rows(ledger: lk.Ledger) -> pl.DataFrame:
    return ledger.sql(
        "select u.*, coalesce((m.metadata->>'$.record.embedded')::boolean, false) as embedded, m.sequence_no as at "
        "from usage_rows u join messages m using (message_id)"
    )


def _last(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort("at").group_by("call_id", maintain_order=True).last()


def _ids(parts: pl.DataFrame, part_type: str) -> set[str]:
    """Distinct ids; calls without an id are one, as in the expected values."""
    ids = parts.filter(pl.col("part_type") == part_type)["tool_call_id"].to_list()
    return {i.split(":")[0] if i.startswith("unidentified:") else i for i in ids}


@pytest.fixture(scope="module")
def imported(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    ledgers: dict[str, tuple[lk.Ledger, lk.ImportAccount]] = {}

    def one(name: str) -> tuple[lk.Ledger, lk.ImportAccount]:
        if name not in ledgers:
            ledger = lk.open(tmp_path_factory.mktemp("ledger") / "l", key=bytes(32))
            ledgers[name] = (ledger, ledger.import_logs(corpus / name, now=NOW))
        return ledgers[name]

    return one


@pytest.mark.corpus
@pytest.mark.parametrize("name", _FILES)
def test_a_file_gives_the_values_that_were_computed_independently(name: str, corpus: Path, imported: Any) -> None:
    want = _EXPECTED["files"][name]
    recovered = want.get("with_recovered", {})
    ledger, account = imported(name)
    parts = ledger.sql(_OWN_PARTS)
    own, embedded = parts.filter(~pl.col("embedded")), parts.filter("embedded")
    rows = _usage_rows(ledger)
    own_rows = rows.filter(~pl.col("embedded"))
    state = ledger.sql("select * from import_files").row(0, named=True)

    def value(key: str) -> Any:
        return recovered.get(key, want.get(key))

    # The account closes.
    lost = want["malformed_lines"] - _lines_recovered(corpus / name, want["malformed_line_numbers"])
    assert account.closes
    assert account.records == want["records"] + want["recovered_objects"] + lost
    assert state["line_count"] == want["lines"]
    # Records.
    assert state["distinct_records"] == value("line_uuids")
    if not recovered:
        unreadable = sum(q["record_type"] not in ("damaged", "no object") for q in state["quarantine"])
        assert state["identified"] + unreadable == want["lines_with_uuid"]
        assert _types(account) == Counter(want["line_types"])
    assert _subtypes(account) == Counter(want["system_subtypes"])
    assert len(state["sessions"]) == max(want["session_ids"], 1)
    # Tool calls.
    asked, answered = _ids(own, "tool_call"), _ids(own, "tool_result")
    assert len(asked) == value("tool_use_ids")
    assert len(answered) == value("tool_result_ids")
    if not recovered:
        assert len(asked - answered) == want["calls_without_result"]
        assert len(answered - asked) == want["results_without_call"]
    assert len(_ids(embedded, "tool_call")) == want.get("progress_agent_tool_use_ids", 0)
    assert embedded["source_record"].n_unique() == want["progress_agent_uuids"]
    # Usage: once per call, the last row winning.
    last = _last(own_rows)
    assert _usage(last) == value("usage")
    if not recovered:
        assert last.height == want["api_calls"]
        spread = own_rows.group_by("call_id").agg(
            n=pl.col("output_tokens").n_unique(), top=pl.col("output_tokens").max()
        )
        assert spread.filter(pl.col("n") > 1).height == want["groups_changing"]
        assert (
            last.join(spread, on="call_id").filter(pl.col("output_tokens") != pl.col("top")).height
            == (want["usage_max_ne_last"])
        )
        message = pl.col("call_id").str.replace(r"^(msg[^:]*):.*$", "$1")
        by_message = own_rows.sort("at").group_by(message).last()
        assert _usage(by_message) == want["usage_by_message_id"]
        assert _usage(own_rows) == want["usage_naive_sum"]
    embedded_last = _last(rows.filter("embedded"))
    assert _usage(embedded_last) == want.get("progress_agent_usage", dict.fromkeys(_USAGE, 0))
    # What bills is what counts once.
    billed = rows.filter("billed")
    synthetic = pl.concat([last, embedded_last]).filter(pl.col("model") == "<synthetic>")
    assert billed.height + synthetic.height == last.height + embedded_last.height
    # Versions and models.
    versions = ledger.sql(
        "select distinct metadata->>'$.record.facts.agent_version' as v from messages where v is not null"
    )
    assert set(versions["v"]) == set(want["versions"]) - _unstored_versions(corpus / name)
    assert set(own.filter(pl.col("call_id").is_not_null())["model"].drop_nulls()) | set(
        own.filter(pl.col("model").is_not_null())["model"]
    ) == set(want["models"]) - {"None"}


def _lines_recovered(path: Path, numbers: list[int]) -> int:
    """How many of the damaged lines are whole objects glued together."""
    lines = path.read_bytes().split(b"\n")
    return sum(_is_glued(lines[number - 1].decode()) for number in numbers)


def _is_glued(text: str) -> bool:
    decoder, at, text = json.JSONDecoder(), 0, text.strip()
    try:
        while at < len(text):
            _, at = decoder.raw_decode(text, at)
    except ValueError:
        return False
    return True


def _unstored_versions(path: Path) -> set[str]:
    """Versions that only skipped or damaged records name."""
    seen: dict[bool, set[str]] = {True: set(), False: set()}
    for line in path.read_text("utf-8").split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("version"):
            seen[record["type"] == "progress"].add(record["version"])
    return seen[True] - seen[False]


def _types(account: lk.ImportAccount) -> Counter[str]:
    counts: Counter[str] = Counter()
    for record_type, count in account.details.select("record_type", "count").iter_rows():
        if record_type not in ("damaged", "no object"):
            counts[record_type.split("/")[0]] += count
    return counts


def _subtypes(account: lk.ImportAccount) -> Counter[str]:
    counts: Counter[str] = Counter()
    for record_type, count in account.details.select("record_type", "count").iter_rows():
        if record_type.startswith("system/"):
            counts[record_type.split("/", 1)[1]] += count
    return counts


@pytest.mark.corpus
@pytest.mark.parametrize("name", _GROUPS)
def test_a_folder_counts_what_its_files_share_once(name: str, corpus: Path, imported: Any) -> None:
    want = _EXPECTED["groups"][name]
    ledger, account = imported(name)
    parts = ledger.sql(_OWN_PARTS)
    own, embedded = parts.filter(~pl.col("embedded")), parts.filter("embedded")
    assert account.closes
    assert account.files == want["files"]
    assert len(_ids(own, "tool_call")) == want["tool_use_ids"]
    assert len(_ids(own, "tool_result")) == want["tool_result_ids"]
    rows = _usage_rows(ledger)
    billed = rows.filter(pl.col("billed") & ~pl.col("embedded"))
    assert _usage(billed) == want["usage_last"]
    # Embedded copies come on top where no file holds the subagent, and only there.
    alone = want["progress_agent_uuids"] - want["progress_agent_uuids_also_as_lines"]
    assert embedded["source_record"].n_unique() == alone


@pytest.mark.corpus
def test_importing_the_whole_corpus_again_adds_nothing(corpus: Path, ledger: lk.Ledger) -> None:
    first = ledger.import_logs(corpus / "claude-code", now=NOW)
    before = ledger.sql("select count(*) from parts").item()
    again = ledger.import_logs(corpus / "claude-code", now=NOW)
    assert first.closes
    assert again.new_messages == 0
    assert again.files == 0
    assert ledger.sql("select count(*) from parts").item() == before
