"""What recorded compactions kept, format by format: from the log through the ledger to the context after them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.protocol.vocabulary import Audience
from ledgerkit.strategies import AsRecorded, FullHistory, Strategy, project
from tests.builders import Log, text
from tests.conftest import NOW
from tests.importers.codex.rollouts import Rollout
from tests.importers.openhands.test_openhands import act, action, back, person, sdk
from tests.importers.pi.test_pi import Tree, header, words


def contexts(ledger: lk.Ledger, session: str, strategy: Strategy | None = None) -> dict[int, list[str]]:
    """What stands in the context of each step of a session's run: the texts of the parts, in order."""
    (run,) = ledger.sql("select run_id from runs where session_id = ?", [session])["run_id"]
    frames = ledger.frames([run])
    placed = frames.named(project(frames, strategy or AsRecorded()).placements)
    said = ledger.sql("select message_id, part_index::int as part_index, text from parts where text is not null")
    rows = placed.join(said, on=["message_id", "part_index"], how="inner").sort("position")
    return {
        step: rows.filter(pl.col("from_step") <= step, pl.col("to_step") > step)["text"].to_list()
        for step in range(int(frames.runs["steps"].item()))
    }


def write(folder: Path, name: str, lines: list[Any]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def taken(ledger: lk.Ledger, folder: Path, lines: list[Any]) -> lk.ImportAccount:
    account = ledger.import_logs(write(folder, "session.jsonl", lines), now=NOW)
    assert account.closes
    assert account.quarantined == 0
    return account


def rules(ledger: lk.Ledger, session: str | None = None) -> list[dict[str, Any]]:
    asked = (
        "select metadata->>'$.compaction' from messages where (metadata->>'$.compaction') is not null "
        "and ($session is null or session_id = $session) order by session_id, sequence_no"
    )
    return [json.loads(rule) for (rule,) in ledger.sql(asked, {"session": session}).rows()]


def named_records(ledger: lk.Ledger) -> set[str]:
    """Every record that a rule names."""
    lists = [rule.get("records") or rule.get("forgets") or [rule.get("record")] for rule in rules(ledger)]
    return {one for listed in lists for one in listed if one}


def stored_records(ledger: lk.Ledger) -> set[str]:
    return set(ledger.sql("select distinct source_record from messages")["source_record"].drop_nulls())


# Claude Code


def claude_log(name: str, about: Callable[[list[str]], dict[str, Any]]) -> Log:
    log = Log(name)
    ids = [log.asks("Fix it."), log.answers(text("First.")), log.asks("Then this."), log.answers(text("Second.")),
           log.asks("And that."), log.answers(text("Third."))]  # fmt: skip
    before, summary = log.last, {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    metadata = {"trigger": "auto", "preTokens": 9, **about(ids)}
    log.add("system", parent=None, subtype="compact_boundary", logicalParentUuid=before, compactMetadata=metadata)
    log.asks("Summary.", **summary)
    log.answers(text("Fourth."))
    return log


CLAUDE: dict[str, tuple[Callable[[list[str]], dict[str, Any]], list[str]]] = {
    "nothing": (lambda _: {}, []),
    "listed": (lambda ids: {"preservedMessages": {"uuids": ids[3:5], "allUuids": ids[2:5]}}, ["Second.", "And that."]),
    "end": (lambda ids: {"preservedSegment": {"headUuid": ids[4], "tailUuid": ids[5]}}, ["And that.", "Third."]),
    "middle": (lambda ids: {"preservedSegment": {"headUuid": ids[1], "tailUuid": ids[2]}}, ["First.", "Then this."]),
    "no ids": (lambda _: {"preservedMessages": {"uuids": ["no uuid", 7, None]}}, []),
    "no ends": (lambda _: {"preservedSegment": {"headUuid": None, "tailUuid": 3}}, []),
}


@pytest.fixture(scope="module")
def claude(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("claude")
    for name, (about, _) in CLAUDE.items():
        log = claude_log(name, about)
        log.write(folder / f"{log.session}.jsonl")
    made = lk.open(folder / "runs.ledger", key=bytes(32))
    made.import_logs(*folder.glob("*.jsonl"), now=NOW)
    return made


@pytest.mark.long
@pytest.mark.parametrize("name", CLAUDE)
def test_claude_code_keeps_what_its_boundary_lists(name: str, claude: lk.Ledger) -> None:
    session = Log(name).session
    seen = contexts(claude, session)
    assert seen[3] == ["Fix it.", *CLAUDE[name][1], "Summary."]
    assert seen[2] == ["Fix it.", "First.", "Then this.", "Second.", "And that."]
    assert contexts(claude, session, FullHistory())[3][:3] == ["Fix it.", "First.", "Then this."]
    assert named_records(claude) <= stored_records(claude)


def test_a_segment_whose_chain_is_lost_is_kept_from_its_beginning(ledger: lk.Ledger, tmp_path: Path) -> None:
    lines = claude_log("lost", lambda ids: {"preservedSegment": {"headUuid": ids[2], "tailUuid": ids[5]}}).records
    lines[4]["parentUuid"] = "11111111-1111-4111-8111-111111111111"
    taken(ledger, tmp_path, lines)
    assert rules(ledger) == [{"keeps": "from_record", "record": lines[2]["uuid"]}]


@pytest.mark.long
def test_a_session_read_in_pieces_keeps_the_same(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = claude_log("pieces", lambda ids: {"preservedSegment": {"headUuid": ids[1], "tailUuid": ids[4]}})
    taken(ledger, tmp_path, log.records[:6])
    taken(ledger, tmp_path, log.records)
    seen = contexts(ledger, log.session)
    assert seen[3] == ["Fix it.", "First.", "Then this.", "Second.", "And that.", "Summary."]


def test_ids_of_records_still_fit_after_redaction(ledger: lk.Ledger, tmp_path: Path) -> None:
    token = "ghp_" + secrets.token_hex(18)
    log = claude_log("secret", lambda ids: {"preservedMessages": {"uuids": ids[2:4]}})
    lines = log.records
    lines[2]["message"]["content"] = f"Then this: {token}"
    # A list of ids is no place to carry anything else past redaction.
    lines[6]["compactMetadata"]["preservedMessages"]["uuids"].append(token)
    taken(ledger, tmp_path, lines)
    assert ledger.sql("select count(*) from redactions").item() > 0
    assert named_records(ledger) == {lines[2]["uuid"], lines[3]["uuid"]} <= stored_records(ledger)
    assert ledger.sql("select count(*) from messages where contains(metadata, ?)", [token]).item() == 0
    assert contexts(ledger, log.session)[3][2] == "Second."


# Codex


def item(role: str, said: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": said}]}


SEALED = {"type": "compaction", "encrypted_content": "x"}
CALLS = [{"type": kind, "call_id": "call_3"} for kind in ("function_call", "function_call_output")]
CODEX: dict[str, tuple[Any, list[str]]] = {
    "no list": (None, ["One.", "Two.", "Two."]),
    "empty": ([], ["One.", "Two.", "Two."]),
    "once": ([item("user", "One."), item("user", "Two."), item("user", "So far.")], ["One.", "Two."]),
    "answer": ([item("user", "Two."), item("assistant", "Done 3."), SEALED], ["One.", "Two.", "Done 3."]),
    "sealed": ([SEALED], ["One."]),
    "other": ([item("user", "of another log")], ["One.", "Two.", "Two."]),
    "cut": ([item("user", "One."), item("user", "Tw …9 tokens truncated… o.")], ["One."]),
    "call": ([item("user", "Two."), *CALLS], ["One.", "Two.", "Exit code: 0\nWall time: 1 seconds\nOutput:\na.py\n"]),
}
"""What takes the place of the context, and what of it then stands there. The first task stands there in any case."""
FIRST_STEP_AFTER = 6


def thread(name: str) -> str:
    return f"01990000-0000-7000-8000-0000000000{list(CODEX).index(name) + 16:02x}"


@pytest.fixture(scope="module")
def codex(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("codex")
    for name, (replaced, _) in CODEX.items():
        log = Rollout(thread(name))
        for number, said in enumerate(("One.", "Two.", "Two."), 1):
            log.turn(said, number)
        log.add("compacted", message="So far.", **({} if replaced is None else {"replacement_history": replaced}))
        log.event("context_compacted")
        log.turn("Four.", 4)
        write(folder, f"{name}.jsonl", log.lines)
    made = lk.open(folder / "runs.ledger", key=bytes(32))
    made.import_logs(*folder.glob("*.jsonl"), now=NOW)
    return made


@pytest.mark.parametrize("name", CODEX)
def test_codex_keeps_what_takes_the_place_of_the_context_or_the_words_of_the_user(name: str, codex: lk.Ledger) -> None:
    seen = contexts(codex, thread(name))[FIRST_STEP_AFTER]
    assert [said for said in seen if not said.startswith(("<", "{"))] == [*CODEX[name][1], "So far.", "Four."]
    (rule,) = rules(codex, thread(name))
    kinds = {"no list": "user_messages", "empty": "user_messages", "other": "user_messages", "sealed": "nothing"}
    assert rule["keeps"] == kinds.get(name, "records")
    assert rule.get("tokens") in (None, 20_000)
    if "records" in rule:  # of the two records that say the same thing one is stored
        assert stored_records(codex) & set(rule["records"])


# pi


PI = [(generation, first) for generation in ("ids", "numbers") for first in (1, 4, None)]


def pi_session(generation: str, first: int | None) -> str:
    return f"11111111-2222-4333-8444-00000000000{PI.index((generation, first))}"


@pytest.fixture(scope="module")
def pi(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("pi")
    for generation, first in PI:
        log = Tree()
        for said in ("a", "b", "c"):
            log.user(said.upper())
            log.answer(words(said))
        where = {} if first is None else {"firstKeptEntryId": f"{first:08x}", "firstKeptEntryIndex": first}
        log.add("compaction", summary="So far.", tokensBefore=5, **where)
        log.user("D")
        log.answer(words("d"))
        dropped = {"ids": ("firstKeptEntryIndex",), "numbers": ("firstKeptEntryId", "id", "parentId")}[generation]
        lines = [{k: v for k, v in line.items() if k not in dropped} for line in log.lines[1:]]
        more = {"version": 3} if generation == "ids" else {}
        write(folder, f"{generation}-{first}.jsonl", [header(pi_session(generation, first), **more), *lines])
    made = lk.open(folder / "runs.ledger", key=bytes(32))
    made.import_logs(*folder.glob("*.jsonl"), now=NOW)
    return made


@pytest.mark.parametrize(("generation", "first"), PI)
def test_pi_keeps_everything_from_an_entry_on(generation: str, first: int | None, pi: lk.Ledger) -> None:
    kept = [] if first is None else ["A", "a", "B", "b", "C", "c"][max(first - 1, 1) :]
    assert contexts(pi, pi_session(generation, first))[3] == ["A", *kept, "So far.", "D"]
    assert named_records(pi) <= stored_records(pi)


# OpenHands


FORGOTTEN: list[dict[str, Any]] = [
    {"forgotten_event_ids": [2, 3]},
    {"forgotten_events_start_id": 2, "forgotten_events_end_id": 3},
    {},
]


@pytest.mark.long
@pytest.mark.parametrize("forgotten", FORGOTTEN)
def test_openhands_forgets_the_events_that_a_condensation_names(
    forgotten: dict[str, Any], ledger: lk.Ledger, tmp_path: Path
) -> None:
    events = [
        action(1, "message", "user", args={"content": "go"}),
        action(2, "message", args={"content": "First."}),
        action(3, "message", "user", args={"content": "Then?"}),
        action(4, "message", args={"content": "Second."}),
        action(5, "condensation", args={"summary": "So far.", **forgotten}),
        action(6, "message", args={"content": "Third."}),
        action(7, "condensation", args={"summary": "Later.", "forgotten_event_ids": [4]}),
        action(8, "message", args={"content": "Fourth."}),
    ]
    taken(ledger, tmp_path, events)
    seen = contexts(ledger, ledger.sql("select session_id from runs").item())
    # One that names none leaves nothing that can be known to have stayed.
    assert seen[2] == ["go", *(["Second."] if forgotten else []), "So far."]
    assert seen[3] == ["go", "Third.", "Later."]  # a summary takes the place of the one before
    assert named_records(ledger) <= stored_records(ledger)


def test_an_event_and_its_result_leave_together(ledger: lk.Ledger, tmp_path: Path) -> None:
    events = [
        person(1, "go"),
        act(2, "c1", "terminal", {"command": "ls"}, "r1"), back(3, "c1", "terminal", "a.py"),
        act(4, "c2", "terminal", {"command": "pwd"}, "r2"), back(5, "c2", "terminal", "/work"),
        sdk(6, "Condensation", "environment", summary="So far.", forgotten_event_ids=["e2", "e3"]),
        act(7, "c3", "terminal", {"command": "id"}, "r3"), back(8, "c3", "terminal", "me"),
        sdk(9, "Condensation", "environment", summary="Later.", forgotten_event_ids=["e6-summary", "e4", "e5"]),
        act(10, "c4", "terminal", {"command": "true"}, "r4"),
    ]  # fmt: skip
    taken(ledger, tmp_path, events)
    assert named_records(ledger) <= stored_records(ledger)
    seen = contexts(ledger, ledger.sql("select session_id from runs").item())
    wanted = ("a.py", "/work", "me", "So far.", "Later.")
    assert [one in seen[2] for one in wanted] == [False, True, False, True, False]
    assert [one in seen[3] for one in wanted] == [False, False, True, False, True]


# Real files


@pytest.mark.long
@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("claude-code/entire-cli/6a/71b2542fc4/0/full.jsonl", "nothing"),
        ("claude-code/spotter/258c7280-ae70-4798-800f-63464d01a85d.jsonl", "nothing"),
        ("pi/pi-mono/before-compaction.jsonl", "from_record"),
        ("pi/agent-sessions/small.jsonl", "from_record"),
        ("codex/agent-sessions/small.jsonl", None),
    ],
)
def test_compactions_of_real_files(name: str, listed: str | None, corpus: Path, ledger: lk.Ledger) -> None:
    ledger.import_logs(corpus / name, now=NOW)
    found = rules(ledger)
    assert found
    assert listed is None or {rule["keeps"] for rule in found} == {listed}
    assert {rule.get("record") for rule in found if "record" in rule} <= stored_records(ledger)
    asked = "select count(*) from messages where kind = 'RUN_SUMMARY' and (metadata->>'$.compaction') is not null"
    assert ledger.sql("select sum(compactions)::int from runs").item() == ledger.sql(asked).item()


@pytest.mark.corpus
def test_the_context_shrinks_where_a_real_session_was_compacted(corpus: Path, ledger: lk.Ledger) -> None:
    ledger.import_logs(corpus / "pi/pi-mono/before-compaction.jsonl", now=NOW)
    frames = ledger.frames()
    parts = frames.parts
    at = parts.filter(pl.col("ends_at").is_not_null())["ends_at"].unique().sort().to_list()
    assert len(at) == 2
    placed = project(frames, AsRecorded()).placements
    tokens = [
        int(placed.filter(pl.col("from_step") <= step, pl.col("to_step") > step)["tokens"].sum())
        for step in (at[0] - 1, at[0])
    ]
    assert tokens[1] < tokens[0] / 2


# ledgerkit's own format


@pytest.mark.long
@pytest.mark.parametrize("name", ["listed", "end", "nothing"])
def test_what_was_kept_comes_back_from_an_export(name: str, claude: lk.Ledger, tmp_path: Path) -> None:
    session = Log(name).session
    claude.export(tmp_path / "out", format="jsonl", audience=Audience.AUDIT)
    other = lk.open(tmp_path / "other.ledger", key=bytes(32))
    other.import_logs(*(tmp_path / "out").glob("*.jsonl"), now=NOW)
    assert contexts(other, session) == contexts(claude, session)
