"""Real and hand-made rollouts of others: the counts are the independently computed ones."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import ledgerkit as lk
from ledgerkit.importers import codex
from ledgerkit.importers.conformance import check_format
from ledgerkit.importers.registry import FORMATS, recognise
from tests.conftest import NOW, corpus_values, some_fast

VALUES = corpus_values()
FILES = sorted(n for n, v in VALUES["files"].items() if v["format"] == "codex" and "line_types" in v)
FORKS: dict[str, Any] = VALUES.get("codex_forks", {})
USAGE = "sum(input_tokens)::int, sum(cache_read_tokens)::int, sum(output_tokens)::int, sum(reasoning_tokens)::int"
HOSTED = ("web_search", "tool_search", "image_generation")


@pytest.mark.parametrize("name", some_fast(FILES, 4))
def test_a_file_gives_the_independent_counts(name: str, corpus: Path, ledger: lk.Ledger) -> None:
    expected = VALUES["files"][name]
    account = ledger.import_logs(corpus / name, now=NOW)
    assert account.closes
    assert account.records == expected["records"]
    assert not account.damage.height
    tops, kinds = Counter[str](), Counter[str]()
    for row in account.details.to_dicts():
        top, _, kind = str(row["record_type"]).replace("untyped", "None").partition("/")
        tops[top] += row["count"]
        # The kinds of completed items are told apart; the values are by payload.
        kinds[f"{top}/{kind.partition('/')[0] if kind.startswith('item_completed') else kind or None}"] += row["count"]
    assert dict(tops) == expected["line_types"]
    if "None" not in tops:
        assert dict(kinds) == expected["payload_types"]
    _calls_are_equal(ledger, expected)
    _tokens_are_equal(ledger, expected)
    assert ledger.import_logs(corpus / name, now=NOW).new_messages == 0


def _calls_are_equal(ledger: lk.Ledger, expected: dict[str, Any]) -> None:
    calls = ledger.sql("select tool_call_id, arguments from tool_calls where not list_contains(?, tool_name)", [HOSTED])
    assert calls.height == expected["calls"]
    results = ledger.sql(
        "select tool_call_id from parts where part_type = 'tool_result' and tool_name is distinct from 'tool_search'"
    )
    assert results.height == expected["results"]
    named = set(calls["tool_call_id"])
    assert len(named) == expected["call_ids"]
    assert len(named - set(results["tool_call_id"])) == expected["calls_without_result"]
    assert len(set(results["tool_call_id"]) - named) == expected["results_without_call"]
    searches = ledger.sql("select count(*) from tool_calls where tool_name = 'web_search'").item()
    assert searches == expected["web_search_calls"]
    versions = ledger.sql("select agent_version from runs where agent_version is not null")
    assert set(versions["agent_version"]) <= set(expected["cli_versions"])


def _tokens_are_equal(ledger: lk.Ledger, expected: dict[str, Any]) -> None:
    """What the calls used is the sum of what each event says where the total moved, through every reset."""
    events = ledger.sql("select count(*) from parts where data->>'$.note' = 'token_count'").item()
    assert events == expected["token_events_with_info"]
    used: dict[str, int] = expected.get("sum_last_moving") or {}
    row = ledger.sql(f"select {USAGE} from model_calls where billed").row(0)
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    assert [value or 0 for value in row] == [used.get(name, 0) for name in names]
    if expected.get("sum_delta_total"):
        assert row[0] + row[2] == expected["sum_delta_total"]


@pytest.mark.long
@pytest.mark.parametrize("family", FORKS)
@pytest.mark.parametrize("is_child_first", [False, True])
def test_a_family_of_forks_gives_the_independent_counts(
    family: str, is_child_first: bool, corpus: Path, ledger: lk.Ledger
) -> None:
    expected = FORKS[family]
    folder, _, names = family.partition(": ")
    files = [corpus / folder / name for name in names.split(" + ")]
    for path in reversed(files) if is_child_first else files:
        assert ledger.import_logs(path, now=NOW).closes
    billed = "select sum(input_tokens + output_tokens)::int from model_calls where billed"
    assert ledger.sql(billed).item() == expected["deduped_final_total"]
    for number, path in enumerate(files):
        (row,) = ledger.sql(
            "select count(*), sum((data->>'$.last.total_tokens')::int)::int, max((data->>'$.total.total_tokens')::int) "
            "from parts where data->>'$.note' = 'token_count' and source_file = ?",
            [str(path)],
        ).rows()
        of_file = (expected[key][number] for key in ("events", "sum_last_each", "final_total_each"))
        assert row == tuple(of_file)
    counted = (
        "select count(*), sum((data->>'$.last.total_tokens')::int)::int from parts join messages using (message_id) "
        "where data->>'$.note' = 'token_count' and is_copy = ?"
    )
    assert ledger.sql(counted, [True]).row(0)[0] == expected["common_prefix_events"]
    once, again = (ledger.sql(counted, [is_copy]).row(0)[1] for is_copy in (False, True))
    assert (once, once + again) == (expected["deduped_sum_last"], expected["naive_sum_last"])
    relations = set(ledger.sql("select relation from runs")["relation"])
    assert relations <= {None, "fork"}
    assert "fork" in relations
    _parents_are_known(ledger)


def _parents_are_known(ledger: lk.Ledger) -> None:
    """A fork names the run that it left and its last message there; also a parent that is not there."""
    runs = ledger.sql("select run_id, relation, parent_run_id, forked_at from runs").to_dicts()
    mains = [run["run_id"] for run in runs if run["relation"] is None]
    forks = [run for run in runs if run["relation"] == "fork"]
    assert len({run["parent_run_id"] for run in forks} - {None}) == 1
    for run in forks:
        assert [run["parent_run_id"]] == mains or not mains
        assert (run["forked_at"] is None) == (not mains)
        if mains:
            last = "select max(sequence_no) from messages where run_id = ? and (message_id = ? or ?)"
            at, end = (ledger.sql(last, [mains[0], run["forked_at"], whole]).item() for whole in (False, True))
            assert at == end  # these forks hold all of their parents


def test_real_files_conform(corpus: Path) -> None:
    log_format = next(each for each in FORMATS if each.name == codex.NAME)
    check_format(log_format, [corpus / name for name in FILES], cuts=3)


def test_no_other_format_of_the_corpus_is_taken_for_a_rollout(corpus: Path) -> None:
    for name, values in VALUES["files"].items():
        if values["format"] != "codex":
            found = recognise(corpus / name)
            assert found is None or found.name != codex.NAME, name


def test_an_archived_copy_of_a_rollout_adds_nothing(corpus: Path, ledger: lk.Ledger, tmp_path: Path) -> None:
    source = corpus / next(name for name in FILES if "masked" in name)
    ledger.import_logs(source, now=NOW)
    shutil.copy(source, tmp_path / "archived.jsonl")
    assert ledger.import_logs(tmp_path / "archived.jsonl", now=NOW).new_messages == 0
