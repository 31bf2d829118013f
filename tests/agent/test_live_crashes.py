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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

import ledgerkit as lk
from ledgerkit.agent.live import ScriptedModel, standard_tools
from ledgerkit.store.recorder import Recorder
from tests.agent.live_case import RUN, SCRIPT, SESSION, Case, Looking, Person, call, finish, shipping_tool
from tests.conftest import ROOT

SHIPPED: Final = ["part-a", "part-b", "part-c"]
MESSAGES: Final = 19
"""Messages of a run that nothing interrupts."""


_OF_THE_LEDGER: Final = {"message_id", "sequence_no", "created_at", "parent_message_id", "call"}


class PowerCut(BaseException):
    """What no handler of errors may catch."""


def said(messages: Sequence[lk.AgentMessage]) -> list[str]:
    """What messages say, without what differs from ledger to ledger: ids, times, and digests of requests with ids."""
    kept = list[str]()
    for message in messages:
        dump = message.model_dump(mode="json", exclude=_OF_THE_LEDGER)
        dump["metadata"].pop("request_digest", None)
        dump["parts"] = [
            {k: v for k, v in part.items() if k not in ("started_at", "finished_at")} for part in dump["parts"]
        ]
        kept.append(json.dumps(dump, sort_keys=True))
    return kept


def check_history(case: Case, cuts: int, before: Sequence[str] = ()) -> None:
    """What every interrupted run must show once it is finished, when whoever is asked looks before a repetition."""
    messages = case.messages()
    assert messages[-1].metadata["ending"] == "finished"
    assert [m.sequence_no for m in messages] == list(range(len(messages)))
    assert said(messages)[: len(before)] == list(before), "a recorded message was lost or changed"
    calls = case.ledger.run(RUN).tool_calls()
    assert calls["result_count"].to_list() == [1] * calls.height
    unknown = set(calls.filter(status="UNKNOWN")["tool_call_id"])
    assert len(unknown) <= cuts
    asked = {m.parts[0].tool_call_id for m in case.messages("APPROVAL_REQUEST")}  # pyright: ignore
    assert asked == unknown, "an unknown outcome was repeated unasked, or somebody was asked about a known one"
    retries = [m for m in case.messages("TOOL_CALL_REQUEST") if m.metadata.get("retry_of")]
    approved = [m for m in case.messages("APPROVAL_DECISION") if m.parts[0].data["outcome"] == "approved"]  # pyright: ignore
    assert len(retries) == len(approved)
    # The world outside: each parcel was shipped once, wherever the power was cut.
    assert case.carried_out == SHIPPED
    recorded = [m.parts[0] for m in case.messages("TOOL_CALL_RESULT") if m.actor == "ship"]
    assert len(recorded) == len({part.tool_call_id for part in recorded})  # pyright: ignore


def check_contexts(case: Case, reference: Case) -> None:
    """Replay of the finished run equals that of one that nothing interrupted, up to the declared retries."""
    declared = {"UNKNOWN"}
    calls = case.ledger.run(RUN).tool_calls()
    apart = set(calls.filter(calls["status"].is_in(declared))["tool_call_id"])
    apart |= {call for call in calls["tool_call_id"] if "-retry-" in call}
    apart |= {call.split("-retry-")[0] for call in apart}
    for step in (0, len(SCRIPT) - 1):
        ours, theirs = (
            [
                m
                for m in one.ledger.recorded_context(RUN, step).recorded_messages()
                if m.get("tool_call_id") not in apart
            ]
            for one in (case, reference)
        )
        assert ours == theirs


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


PLACES: Final = [pytest.param(number, marks=() if number == 5 else pytest.mark.slow) for number in range(MESSAGES)]


@pytest.mark.long
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
    person = Looking(workspace=tmp_path / "work")
    after = Case(tmp_path, person=person)
    after.run()
    check_history(after, 1, before)
    check_contexts(after, reference)
    was_open = number and json.loads(before[-1])["kind"] == "TOOL_CALL_REQUEST"
    assert len(person.asked) == bool(was_open)
    if not was_open:
        assert said(after.messages())[:-1] == said(reference.messages())[:-1]  # the last one cites messages by id


@pytest.mark.parametrize(
    ("moment", "approves"),
    [
        pytest.param("after", True, marks=pytest.mark.slow),
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
    assert "outcome of this call is unknown" in case.ledger.recorded_context(RUN, 1).to_json()
    assert end.ending.value == "finished"


@pytest.mark.long
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


@pytest.mark.slow
def test_a_call_that_was_denied_is_not_taken_for_one_that_was_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = ScriptedModel([call("run_command", command="curl http://example.org"), finish("FINISH_BLOCKED")])
    with monkeypatch.context() as patched:
        cut_at(patched, 5)  # between the intent that says CANCELLED and its result
        with pytest.raises(PowerCut):
            Case(tmp_path, model=script).run()
    person = Person()
    case = Case(tmp_path, model=script, person=person)
    case.resume()
    assert case.ledger.run(RUN).tool_calls().select("status", "result_count").rows() == [("CANCELLED", 1)]
    assert person.asked == []


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
    case = Case(folder, person=Looking(workspace=folder / "work"))
    case.run()
    check_history(case, killed, before)
    return case, killed


def trials(tmp_path: Path, agents: Agents, reference: Case, seed: int, kills: int) -> int:
    """Kills agents until so many died before they were done; gives how many."""
    (tmp_path / "warm").mkdir()
    longest = seconds_of_a_run(tmp_path / "warm", agents)
    draw, killed = random.Random(seed), 0
    for number in range(10 * kills):
        folder = tmp_path / str(number)
        folder.mkdir()
        case, cuts = kill_and_resume(folder, agents, draw, longest, draw.choice((1, 1, 2)))
        check_contexts(case, reference)
        case.ledger.close()
        killed += cuts
        if killed >= kills:
            break
    return killed


@pytest.mark.long
def test_kill_9_at_a_random_instant(tmp_path: Path, agents: Agents, reference: Case) -> None:
    assert trials(tmp_path, agents, reference, 1, 1) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("group", range(5))
def test_kill_9_at_fifty_random_instants(tmp_path: Path, agents: Agents, reference: Case, group: int) -> None:
    killed = trials(tmp_path, agents, reference, 100 + group, 10)
    assert killed >= 10
    sys.stdout.write(f"{killed} kills\n")
