"""The agent dies: at every place between two messages, inside a tool, and by kill -9 at random instants."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

import ledgerkit as lk
from ledgerkit.agent.live import ScriptedModel, recorded_context, standard_tools
from ledgerkit.protocol.vocabulary import ToolStatus
from ledgerkit.store.recorder import Recorder
from tests.agent.live_case import RUN, SCRIPT, SESSION, Case, Person, call, finish, shipping_tool
from tests.conftest import ROOT

SHIPPED: Final = ["part-a", "part-b", "part-c"]
MESSAGES: Final = 19
"""Messages of a run that nothing interrupts."""


class PowerCut(BaseException):
    """What no handler of errors may catch."""


def said(messages: Sequence[lk.AgentMessage], *, with_retries: bool = True) -> list[str]:
    """What messages say, without ids and times; and, if so wanted, without what an unknown outcome brought with it."""
    kept = list[str]()
    for message in messages:
        key = message.idempotency_key or ""
        is_retry = "again-" in key or "-retry-" in key
        dump = message.model_dump(mode="json", exclude={"message_id", "sequence_no", "created_at", "parent_message_id"})
        for part in dump["parts"]:
            part.pop("started_at", None), part.pop("finished_at", None)
        if with_retries or not is_retry:
            kept.append(json.dumps(dump, sort_keys=True))
    return kept


def check_history(case: Case, cuts: int, before: Sequence[str] = ()) -> None:
    """What every interrupted run must show once it is finished."""
    messages = case.messages()
    assert messages[-1].metadata["ending"] == "finished"
    assert [m.sequence_no for m in messages] == list(range(len(messages)))
    assert said(messages)[: len(before)] == list(before), "a recorded message was lost or changed"
    calls = case.ledger.run(RUN).tool_calls()
    assert calls["result_count"].to_list() == [1] * calls.height
    unknown = calls.filter(status="UNKNOWN")
    assert unknown.height <= cuts
    ids = set(calls["tool_call_id"])
    asked = {r.tool_call_id for r in case.person.asked} if isinstance(case.person, Person) else ids
    retries = {i for i in ids if "-retry-" in i}
    assert set(unknown["tool_call_id"]) <= asked, "an unknown outcome was repeated unasked"
    assert len(retries) == unknown.height
    # The world outside: a call with a recorded result was carried out once, one with an unknown outcome at most once.
    done, tries = Counter(case.carried_out), Counter[str]()
    recorded = Counter[str]()
    for message in case.messages("TOOL_CALL_REQUEST"):
        part: Any = message.parts[0]
        if part.tool_name == "ship":
            parcel = part.arguments["parcel"]
            tries[parcel] += 1
            known = calls.filter(tool_call_id=part.tool_call_id)["status"].item() == ToolStatus.SUCCEEDED.value
            recorded[parcel] += known
    assert set(recorded) == set(SHIPPED)
    assert all(recorded[parcel] == 1 for parcel in SHIPPED)
    assert all(recorded[parcel] <= done[parcel] <= tries[parcel] for parcel in SHIPPED)


def check_contexts(case: Case, reference: Case) -> None:
    """Replay of the finished run equals that of one that nothing interrupted, up to the declared retries."""
    steps = len(SCRIPT)
    for step in (0, steps - 1):
        ours, theirs = (recorded_context(one.ledger, RUN, step).recorded_messages() for one in (case, reference))
        retried = {m.parts[0].tool_call_id for m in case.messages("TOOL_CALL_REQUEST") if m.metadata.get("retry_of")}  # pyright: ignore
        first = {m.metadata["retry_of"] for m in case.messages("TOOL_CALL_REQUEST") if m.metadata.get("retry_of")}
        kept = [m for m in ours if m.get("tool_call_id") not in retried | first]
        wanted = [m for m in theirs if m.get("tool_call_id") not in first]
        assert kept == wanted


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The run that nothing interrupts."""
    case = Case(tmp_path_factory.mktemp("reference"))
    case.run()
    assert len(case.messages()) == MESSAGES
    return case


def cut_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Cuts the power after so many messages have reached the disk, in the middle of a batch where it falls there."""
    appended = Recorder.append_many
    count = 0

    def append_many(self: Recorder, commands: Sequence[lk.AppendMessageCommand]) -> list[lk.AgentMessage]:
        nonlocal count
        room = number - count
        count += len(commands)
        if room >= len(commands):
            return appended(self, commands)
        if room > 0:
            appended(self, commands[:room])
        raise PowerCut

    monkeypatch.setattr(Recorder, "append_many", append_many)


PLACES: Final = [
    pytest.param(number, marks=() if number in (4, 5, 6) else pytest.mark.slow) for number in range(MESSAGES)
]


@pytest.mark.parametrize("number", PLACES)
def test_a_cut_after_any_message_loses_nothing_and_repeats_nothing_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: Case, number: int
) -> None:
    case = Case(tmp_path)
    with monkeypatch.context() as patched:
        cut_at(patched, number)
        with pytest.raises(PowerCut):
            case.run()
    before = said(case.ledger.list_messages(SESSION, RUN)) if number else []
    assert len(before) == number
    person = Person()
    after = Case(tmp_path, person=person)
    after.run()
    check_history(after, 1, before)
    check_contexts(after, reference)
    was_open = number and json.loads(before[-1])["kind"] == "TOOL_CALL_REQUEST"
    assert len(person.asked) == bool(was_open)
    if not was_open:
        assert said(after.messages()) == said(reference.messages())
        assert after.carried_out == SHIPPED


@pytest.mark.parametrize(
    ("moment", "approves"),
    [
        ("after", True),
        pytest.param("before", True, marks=pytest.mark.slow),
        pytest.param("after", False, marks=pytest.mark.slow),
    ],
)
def test_a_cut_inside_a_destructive_call_leaves_an_unknown_outcome(tmp_path: Path, moment: str, approves: bool) -> None:
    def hook(when: str) -> None:
        if when == moment:
            raise PowerCut

    script = ScriptedModel([call("ship", parcel="part-c"), finish()])
    with pytest.raises(PowerCut):
        Case(tmp_path, tools=(*standard_tools(), shipping_tool(hook)), model=script).run()
    person = Person(approves=approves)
    case = Case(tmp_path, person=person, model=script)
    end = case.resume()
    statuses = case.ledger.run(RUN).tool_calls()["status"].to_list()
    assert statuses == (["UNKNOWN", "SUCCEEDED"] if approves else ["UNKNOWN"])
    assert len(case.carried_out) == (moment == "after") + approves
    assert [request.risk_class.value for request in person.asked] == ["high"]
    assert "outcome of this call is unknown" in recorded_context(case.ledger, RUN, 1).to_json()
    assert end.ending.value == "finished"


def test_arguments_with_a_secret_are_not_run_from_a_ledger_that_does_not_hold_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "ghp_" + "".join(random.Random(7).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop0123456789", k=36))
    script = ScriptedModel(
        [call("write_file", path="env.txt", content=f"GITHUB_TOKEN={key}\n"), finish("FINISH_FAILED")]
    )
    with monkeypatch.context() as patched:
        cut_at(patched, 4)
        with pytest.raises(PowerCut):
            Case(tmp_path, model=script).run()
    case = Case(tmp_path, model=script)
    assert key not in str(case.ledger.run(RUN).parts()["data"].to_list())
    case.resume()
    assert not (tmp_path / "work" / "env.txt").exists()
    assert case.ledger.run(RUN).tool_calls()["status"].to_list() == ["CANCELLED"]


# kill -9


class Agents:
    """A process that starts agents."""

    def __init__(self, errors: Path) -> None:
        self._errors = errors
        with errors.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.agent.live_worker"],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip

    def start(self, folder: Path, seed: int) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([str(folder), seed]) + "\n")
        self._process.stdin.flush()
        return self._number()

    def ended(self) -> int:
        """How the agent that was started last ended."""
        return self._number()

    def _number(self) -> int:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._errors.read_text()
        return int(line)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agents]:
    started = Agents(tmp_path_factory.mktemp("agents") / "stderr")
    yield started
    started.close()


def seconds_of_a_run(folder: Path, agents: Agents) -> float:
    began = time.monotonic()
    agents.start(folder, 0)
    assert agents.ended() == 0
    return time.monotonic() - began


def kill_and_resume(folder: Path, agents: Agents, draw: random.Random, longest: float, kills: int) -> tuple[Case, int]:
    """Kills an agent so many times, each time a new one that took the run up, then lets one finish."""
    lk.open(folder / "runs.ledger", key=bytes(32)).close()
    before, killed = list[str](), 0
    for number in range(kills):
        child = agents.start(folder, number)
        time.sleep(draw.uniform(0, longest))
        with contextlib.suppress(ProcessLookupError):  # it was done before
            os.kill(child, signal.SIGKILL)
        killed += agents.ended() == -signal.SIGKILL
        with lk.open(folder / "runs.ledger") as ledger:
            there = said(ledger.list_messages(SESSION, RUN)) if ledger.runs().height else []
        assert there[: len(before)] == before, "a recorded message was lost or changed"
        before = there
    case = Case(folder, person=_Everyone())
    case.run()
    check_history(case, killed, before)
    return case, killed


class _Everyone(Person):
    """Approves, and knows also what agents that were killed have asked: the ledger says it."""


def trials(tmp_path: Path, agents: Agents, reference: Case, seed: int, count: int) -> int:
    (tmp_path / "warm").mkdir()
    longest = 1.2 * seconds_of_a_run(tmp_path / "warm", agents)
    draw, killed = random.Random(seed), 0
    for number in range(count):
        folder = tmp_path / str(number)
        folder.mkdir()
        case, cuts = kill_and_resume(folder, agents, draw, longest, draw.choice((1, 1, 2)))
        check_contexts(case, reference)
        killed += cuts
        case.ledger.close()
    return killed


def test_kill_9_at_random_instants(tmp_path: Path, agents: Agents, reference: Case) -> None:
    assert trials(tmp_path, agents, reference, 1, 2) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("group", range(5))
def test_kill_9_at_fifty_random_instants(tmp_path: Path, agents: Agents, reference: Case, group: int) -> None:
    killed = 0
    while killed < 10:
        folder = tmp_path / str(killed)
        folder.mkdir()
        killed += trials(folder, agents, reference, 100 * group + killed, 8)
    sys.stdout.write(f"{killed} kills\n")
