"""The ledger as a person meets it: opening, searching, finding runs, costs."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit import tables
from tests.builders import START, Log, Record, line_of, text, thinking, tool_use, uid, usage, working_session
from tests.conftest import NOW

# Opening


def test_a_ledger_is_made_where_there_is_none_and_opened_where_there_is(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "runs.ledger"
    log = working_session().write(tmp_path / "a.jsonl")
    with lk.open(path) as ledger:
        ledger.import_logs(log, now=NOW)
        key = ledger.sql("select content_id from parts order by all limit 1").item()
    with lk.open(str(path), key=b"ignored: the ledger has its own") as again:
        assert again.sql("select content_id from parts order by all limit 1").item() == key
        assert again.import_logs(log, now=NOW + timedelta(hours=1)).unchanged == 1
        assert repr(again) == f"Ledger({str(path)!r})"


def test_a_ledger_that_is_not_there_is_an_error_if_it_may_not_be_made(tmp_path: Path) -> None:
    with pytest.raises(lk.LedgerNotFoundError, match="No ledger at") as caught:
        lk.open(tmp_path / "none", create=False)
    assert isinstance(caught.value, FileNotFoundError)
    assert not (tmp_path / "none").exists()


def test_an_empty_folder_may_become_a_ledger_and_any_other_may_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    lk.open(tmp_path / "empty").close()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file.txt").write_text("mine")
    with pytest.raises(lk.LedgerFormatError, match="is not a ledger"):
        lk.open(tmp_path / "full")
    with pytest.raises(lk.LedgerFormatError, match="is not a ledger"):
        lk.open(tmp_path / "full" / "file.txt")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["file.txt"]


def marker(**changes: object) -> dict[str, object]:
    return {"format": "ledgerkit-ledger", "layout_version": 1, "content_key": "00" * 32, **changes}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (json.dumps(marker(layout_version=tables.LAYOUT_VERSION + 1)), "Upgrade agent-ledgerkit"),
        (json.dumps(marker(format="something else")), "does not describe a ledger"),
        (json.dumps({}), "does not describe a ledger"),
        (json.dumps([]), "is damaged"),
        (json.dumps(marker(content_key="not hex")), "is damaged"),
        (json.dumps(marker(content_key="")), "lacks its content key"),
        (json.dumps(marker(layout_version="1")), "is damaged"),
        ('{"format": "ledgerkit', "is damaged"),
        ("", "is damaged"),
    ],
)
def test_a_ledger_that_this_version_cannot_read_is_an_error_that_says_what_to_do(
    tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "ledger.json").write_text(content)
    with pytest.raises(lk.LedgerFormatError, match=message):
        lk.open(tmp_path)


def test_a_ledger_that_lost_a_table_gets_no_empty_one_unnoticed(tmp_path: Path, ledger: lk.Ledger) -> None:
    ledger.import_logs(working_session().write(tmp_path / "a.jsonl"), now=NOW)
    ledger.close()
    (ledger.path / "history").rename(tmp_path / "elsewhere")
    with pytest.raises(lk.LedgerFormatError, match="lacks its table 'history'"):
        lk.open(ledger.path)


@pytest.mark.parametrize("size", [0, 15, 65])
def test_a_content_key_of_another_size_is_refused(tmp_path: Path, size: int) -> None:
    with pytest.raises(ValueError, match="16 to 64 bytes"):
        lk.open(tmp_path / "l", key=bytes(size))
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize("name", ["my runs", "100%", "ünïcode", "#1", "a?b", "it's", "a&b=c", "*", "{x}", '"q"', "~x"])
def test_a_ledger_may_stand_below_any_usual_name(tmp_path: Path, name: str) -> None:
    log = working_session(steps=1).write(tmp_path / name / "a.jsonl")
    with lk.open(tmp_path / name / "l", key=bytes(32)) as ledger:
        ledger.import_logs(log, now=NOW)
        assert ledger.sql("select count(*) from messages").item() == 6


@pytest.mark.parametrize("name", ["a[1]", "a|b", "a^b", "a\\b", "%20", "a\nb"])
def test_a_name_that_delta_lake_cannot_stand_is_refused_before_anything_is_made(tmp_path: Path, name: str) -> None:
    with pytest.raises(lk.LedgerFormatError, match="Choose another path"):
        lk.open(tmp_path / name / "l")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_stays_open_when_the_program_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    working_session().write(tmp_path / "a.jsonl")
    monkeypatch.chdir(tmp_path)
    ledger = lk.open("runs.ledger", key=bytes(32))
    monkeypatch.chdir("/")
    ledger.import_logs(tmp_path / "a.jsonl", now=NOW)
    assert ledger.sql("select count(*) from messages").item() == 14


def test_a_ledger_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    ledger = lk.open(tmp_path / "link" / "l", key=bytes(32))
    ledger.import_logs(working_session().write(tmp_path / "a.jsonl"), now=NOW)
    assert lk.open(tmp_path / "real" / "l").sql("select count(*) from messages").item() == 14


@pytest.mark.long
def test_two_ledgers_on_one_folder_see_each_others_commits(tmp_path: Path) -> None:
    one, other = lk.open(tmp_path / "l", key=bytes(32)), lk.open(tmp_path / "l")
    log = Log("seen")
    for number, (writer, reader) in enumerate([(one, other), (other, one), (one, other)], start=1):
        log.asks(str(number))
        writer.import_logs(log.write(tmp_path / "a.jsonl"), now=NOW + timedelta(hours=number))
        assert reader.sql("select count(*) from messages").item() == number
        assert reader.scan("messages").collect().height == number
        assert len(reader.run(log.session).messages()) == number


# One ledger to ask


def priced_logs(folder: Path) -> None:
    """Sessions of several models, days and repositories."""
    models = ("claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805", "claude-haiku-4-5-20251001", "mystery-model")
    for number in range(6):
        log = Log(f"priced {number}", start=START + timedelta(days=number // 2, hours=number))
        log.asks(f"Task {number}", cwd=f"/home/dev/{'shop' if number % 2 else 'bank'}", gitBranch=f"b{number % 3}")
        for step in range(3):
            model = models[(number + step) % 4]
            used = usage(1000 + number, 100 * step + 7, read=5000 * step, write=300, hour=100)
            log.answers(thinking("hm"), call=f"m{number}{step}", used=usage(1, 1), model=model)
            log.answers(tool_use(f"t{number}{step}", "Bash"), call=f"m{number}{step}", used=used, model=model)
            log.returns(f"t{number}{step}", f"result {step}")
        log.write(folder / f"{number}.jsonl")


SAID: list[Record] = [
    text("Der Fluß heißt ΟΔΟΣ in İstanbul."),
    text("100% of a_b is\nfine: C:\\temp\\new"),
    tool_use("s1", "Bash", command='echo "quoted words" && cd C:\\temp\\new\n# naïve'),
]


def searched_log() -> Log:
    log = Log("searched", start=START + timedelta(days=30))
    log.asks("Find the AttributeError in shop.py; then the attributeerror elsewhere.")
    for block in SAID:
        log.answers(block)
    log.returns("s1", "x" * 70_000 + " a Needle at the end", toolUseResult={"stdout": "x", "stderr": "attributeERROR"})
    log.bare("custom-title", customTitle="For people: AttributeError", sessionId=log.session)
    log.add("system", subtype="turn_duration", durationMs=5, note="for audits: AttributeError")
    return log


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("asked")
    priced_logs(folder / "logs")
    searched_log().write(folder / "logs" / "s.jsonl")
    ledger = lk.open(folder / "l", key=bytes(32))
    ledger.import_logs(folder / "logs", now=NOW)
    return ledger


# Search


def test_search_finds_text_whatever_its_case_the_latest_first(asked: lk.Ledger) -> None:
    found = asked.search("attributeerror")
    # What has no time stands last.
    assert found["kind"].to_list() == ["TOOL_CALL_RESULT", "USER_TASK", "RUN_SUMMARY"]
    assert found["excerpt"].str.to_lowercase().str.contains("attributeerror").all()
    assert asked.search("ATTRIBUTEerror").equals(found)
    assert list(found.columns) == [
        *("run_id", "sequence_no", "part_index", "message_id", "kind", "tool_name", "path", "part_trust_level"),
        *("created_at", "excerpt"),
    ]


@pytest.mark.parametrize(
    "needle",
    [
        "fluß",
        "FLUß",
        "οδοσ",
        "ΟΔΟΣ",
        "İstanbul",
        "istanbul" if "İ".lower() == "i" else "stanbul",
        "100% of",
        "a_b",
        "is\nfine",
    ],
)
def test_search_takes_every_character_for_itself(asked: lk.Ledger, needle: str) -> None:
    assert asked.search(needle).height == 1


@pytest.mark.parametrize("needle", ["a%b", "a.b", "100_ of", "F.uß", ".*", "no such words"])
def test_search_knows_no_wildcards(asked: lk.Ledger, needle: str) -> None:
    assert asked.search(needle).height == 0


@pytest.mark.parametrize("needle", ['echo "quoted words"', "C:\\temp\\new\n# naïve", 'WORDS" &&', "naïve"])
def test_search_finds_what_stands_in_the_arguments_of_a_call_as_it_was_typed(asked: lk.Ledger, needle: str) -> None:
    assert asked.search(needle)["kind"].to_list() == ["TOOL_CALL_REQUEST"]


def test_search_reads_the_whole_of_long_contents(asked: lk.Ledger) -> None:
    found = asked.search("needle AT the end")
    assert found["kind"].to_list() == ["TOOL_CALL_RESULT"]
    assert found["excerpt"].item().endswith("a Needle at the end")


def test_search_can_be_narrowed_to_a_kind_and_cut_off(asked: lk.Ledger) -> None:
    assert asked.search("attributeerror", kind="USER_TASK").height == 1
    assert asked.search("attributeerror", kind=lk.MessageKind.USER_TASK).height == 1
    assert asked.search("attributeerror", limit=2).height == 2
    assert asked.search("attributeerror", limit=0).height == 0
    with pytest.raises(ValueError, match="USER_TSK"):
        asked.search("attributeerror", kind="USER_TSK")


def test_search_shows_an_audience_what_it_may_see(asked: lk.Ledger) -> None:
    heights = {audience: asked.search("attributeerror", audience=audience).height for audience in lk.Audience}
    assert heights == {lk.Audience.MODEL: 2, lk.Audience.PEOPLE: 3, lk.Audience.AUDIT: 4}


def test_an_excerpt_holds_the_place_and_what_stands_around_it(asked: lk.Ledger) -> None:
    excerpt = asked.search("then the attributeerror")["excerpt"].item()
    assert excerpt == "Find the AttributeError in shop.py; then the attributeerror elsewhere."


# Runs


def test_runs_are_listed_the_latest_first_with_their_costs(asked: lk.Ledger) -> None:
    runs = asked.runs()
    assert runs["session_id"][0] == uid("searched")
    assert runs["started_at"].is_sorted(descending=True)
    assert {"cost", "unpriced_calls"} <= set(runs.columns)
    total = asked.cost(by="run_id")
    assert runs["cost"].sum() == total["cost"].sum()
    assert runs["unpriced_calls"].sum() == total["unpriced_calls"].sum() > 0


def test_a_run_is_found_by_its_id_or_that_of_its_session_or_the_beginning_or_end_of_either(asked: lk.Ledger) -> None:
    (run_id,) = asked.sql("select run_id from runs where session_id = ?", [uid("searched")]).row(0)
    for given in (run_id, uid("searched")):
        for part in (given, given[:13], given[-12:], given.upper(), given[:13].upper(), given[-12:].upper()):
            found = asked.run(part)
            assert (found.session_id, found.run_id) == (uid("searched"), run_id)


@pytest.mark.parametrize("given", ["no such run", "", "abc", "%", "________"])
def test_a_run_that_is_not_there_is_an_error_that_says_how_to_list_them(asked: lk.Ledger, given: str) -> None:
    with pytest.raises(lk.UnknownNameError, match="ledgerkit runs") as caught:
        asked.run(given)
    assert caught.value.name == given


def _message(session: str, run: str, number: int = 0) -> Record:
    part = {"type": "text", "text": "x", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
    return {
        "session_id": session,
        "run_id": run,
        "message_id": uid(session, run, number),
        "sequence_no": number,
        "kind": "USER_TASK",
        "actor": "user",
        "created_at": None,
        "parts": [part],
    }


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    """Runs with ids like each other's: two mains and a subagent of one of them."""
    folder = tmp_path_factory.mktemp("alike")
    one, two = "aaaa1111-0000-4000-8000-000000000001", "aaaa2222-0000-4000-8000-000000000002"
    mains = ("bbbb1111-0000-4000-8000-000000000003", "bbbb2222-0000-4000-8000-000000000004")
    side = "bbbb3333-0000-4000-8000-000000000005"
    for number, (session, runs) in enumerate({one: [mains[0]], two: [mains[1], side]}.items()):
        lines: list[Record] = [{"type": "ledgerkit-jsonl", "version": 1, "session_id": session}]
        for run in runs:
            facts = {"parent_run_id": mains[1], "relation": "subagent"} if run == side else {}
            lines += [
                {"type": "run", "run_id": run, **facts},
                {
                    "type": "message",
                    "message": lk.AgentMessage.model_validate(_message(session, run)).model_dump(
                        mode="json", exclude_none=True
                    ),
                },
            ]
        (folder / f"{number}.jsonl").write_text("".join(line_of(line) + "\n" for line in lines))
    ledger = lk.open(folder / "l", key=bytes(32))
    ledger.import_logs(folder, now=NOW)
    return ledger


@pytest.mark.parametrize(
    ("given", "run"),
    [
        ("aaaa1111", "bbbb1111"),
        ("aaaa2222", "bbbb2222"),
        ("bbbb2222", "bbbb2222"),
        ("bbbb3333", "bbbb3333"),
        ("000000000005", "bbbb3333"),
        ("000000000002", "bbbb2222"),
    ],
)
def test_a_part_of_an_id_that_fits_one_run_or_one_session_is_enough(alike: lk.Ledger, given: str, run: str) -> None:
    assert alike.run(given).run_id.startswith(run)


@pytest.mark.parametrize("given", ["aaaa", "bbbb", "bbbb2"])
def test_a_part_of_an_id_that_fits_more_is_an_error_that_names_them(alike: lk.Ledger, given: str) -> None:
    if given == "bbbb2":
        assert alike.run(given).run_id.startswith("bbbb2222")
        return
    with pytest.raises(lk.UnknownNameError, match=f"'{given}' fits .* runs.*Give more of the id") as caught:
        alike.run(given)
    assert len(caught.value.available) == 3


def test_children_of_a_run_are_what_came_from_it(alike: lk.Ledger) -> None:
    assert [run[:8] for run in alike.run("bbbb2222").children()["run_id"]] == ["bbbb3333"]
    assert alike.run("bbbb1111").children().height == 0


def test_a_run_knows_its_facts_calls_and_parts(asked: lk.Ledger) -> None:
    run = asked.run(uid("priced 1"))
    assert (run.facts["task"], run.facts["repository"], run.facts["steps"]) == ("Task 1", "/home/dev/shop", 3)
    assert run.facts["cost"] == run.calls()["cost"].sum()
    assert run.calls()["step"].to_list() == [0, 1, 2]
    assert run.parts()["sequence_no"].is_sorted()
    assert run.tool_calls()["tool_call_id"].to_list() == ["t10", "t11", "t12"]
    assert len(run.messages(lk.MessageRange(first=2, last=4))) == 3
    assert (run.file_changes().height, run.verifier_results().height) == (0, 0)


# Costs


@pytest.mark.parametrize(
    "by", ["model", "run_id", "session_id", "day", "repository", "branch", "agent", "provider", ["model", "day"]]
)
def test_costs_add_up_to_the_same_whatever_they_are_grouped_by(asked: lk.Ledger, by: str | list[str]) -> None:
    whole = asked.cost(by="run_id")
    grouped = asked.cost(by=by, leaves=True)
    for column in ("cost", "unpriced_calls", "input_tokens", "output_tokens"):
        assert grouped[column].sum() == whole[column].sum()
    assert grouped["cost"].sum() == asked.calls()["cost"].sum() > 0
    assert isinstance(grouped["cost"].sum(), Decimal)


def test_a_model_without_a_price_costs_null_and_is_counted(asked: lk.Ledger) -> None:
    mystery = asked.cost(by="model").filter(pl.col("model") == "mystery-model")
    assert mystery["cost"].to_list() in ([None], [Decimal(0)])
    assert mystery["unpriced_calls"].item() == 4
    assert asked.calls().filter(pl.col("model") == "mystery-model")["cost"].null_count() == 4


def test_each_call_is_priced_once_for_all_its_lines(asked: lk.Ledger) -> None:
    calls = asked.calls().filter(pl.col("call_id").str.starts_with("m"))
    assert calls.height == 18 + 3
    assert calls.filter(pl.col("session_id") != uid("searched"))["usage_rows"].to_list() == [2] * 18


def test_a_cost_by_something_that_is_no_column_is_an_error_that_names_the_nearest(asked: lk.Ledger) -> None:
    with pytest.raises(lk.UnknownNameError, match="repository"):
        asked.cost(by="repositry")


# Artifacts


def test_an_artifact_that_is_not_there_is_an_error(asked: lk.Ledger) -> None:
    with pytest.raises(lk.UnknownNameError, match="No artifact"):
        asked.artifact("artifact:" + "0" * 32)
    (there,) = asked.sql("select artifact_refs[1] from parts where artifact_refs is not null limit 1").row(0)
    assert asked.artifact(there) == asked.artifact(f"artifact:{there}")


def test_a_closed_ledger_answers_no_more(tmp_path: Path) -> None:
    ledger = lk.open(tmp_path / "l", key=bytes(32))
    ledger.close()
    with pytest.raises(lk.LedgerkitError, match="closed"):
        ledger.sql("select 1")


def test_a_verdict_counts_only_if_its_source_is_trusted(ledger: lk.Ledger) -> None:
    def verdict(trust: str, status: str, number: int) -> lk.AppendMessageCommand:
        labels = {"trust_level": trust, "visibility": "MODEL_VISIBLE"}
        check = {"type": "verification", "check": f"v{number}", "verdict": status, "scope": "run", **labels}
        fields = {"session_id": "s", "run_id": "r", "kind": "VERIFIER_RESULT", "actor": "verifier", "parts": [check]}
        return lk.AppendMessageCommand.model_validate(fields)

    with ledger.record("s", "r") as recorder:
        recorder.append(verdict("TOOL_TRUSTED", "failed", 1))
        recorder.append(verdict("REPOSITORY_UNTRUSTED", "passed", 2))
    assert ledger.runs()["outcome"].to_list() == ["failed"]
    seen = ledger.sql("select verdict, part_trust_level from verifier_results order by sequence_no").rows()
    assert seen == [("failed", "TOOL_TRUSTED"), ("passed", "REPOSITORY_UNTRUSTED")]
