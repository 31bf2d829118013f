"""Drill 4: the result of a destructive call is lost, and the agent is started again."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ledgerkit.agent.drills.dying import DEPLOYED, SCRIPT, deploying_tool
from ledgerkit.agent.drills.report import Drill, Point
from ledgerkit.agent.drills.scene import RUN, SESSION, Scene
from ledgerkit.agent.live import ScriptedModel, decide, resume_agent
from ledgerkit.errors import LedgerkitError
from ledgerkit.ledger import Ledger
from ledgerkit.protocol.contracts import ApprovalDecision, ApprovalRequest
from ledgerkit.protocol.messages import AppendMessageCommand
from ledgerkit.protocol.vocabulary import MessageKind

_SECONDS: Final = 300


@dataclass
class _Person:
    """Looks before a deployment is repeated: it was made, so it is not; broken, approves whatever is asked."""

    approves: bool
    asked: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])

    def __call__(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(request)
        at = request.requested_at
        if at is None:
            raise LedgerkitError("A request of the agent has a time.")
        return decide(request, approve=self.approves, by="operator", at=at)


def carry_out(folder: Path, broken: bool) -> list[Point]:  # noqa: FBT001 - the form of a drill
    """An agent is killed between a deployment and its record, and taken up in this process."""
    scene, person = Scene(folder), _Person(approves=broken)
    workspace = scene.workspace()
    died = subprocess.run(  # noqa: S603 - this very module's sibling
        [sys.executable, "-m", "ledgerkit.agent.drills.dying", str(folder)],
        check=False, capture_output=True, timeout=_SECONDS,
    ).returncode  # fmt: skip
    if died != -signal.SIGKILL:
        raise LedgerkitError(f"The agent of the drill was to die by SIGKILL and ended with {died}.")
    with scene.ledger() as ledger:
        before = ledger.run(RUN).tool_calls().select("tool_call_id", "status", "arguments_hash").rows()
        resume_agent(
            ledger, RUN, ScriptedModel(SCRIPT), [deploying_tool()], workspace=workspace, approvals=person,
            clock=scene.clock,
        )  # fmt: skip
        statuses = ledger.run(RUN).tool_calls()["status"].to_list()
        results = len([m for m in ledger.list_messages(SESSION, RUN) if m.kind is MessageKind.TOOL_CALL_RESULT])
        checked, exact = _replayed(ledger)
        doubled = _sent_again(ledger)
    deployed = (folder / "workspace" / DEPLOYED).read_text("utf-8").split()
    return [
        Point(
            "Every call has an id, recorded before the call is made.",
            f"After the kill the ledger holds {[f'{call}: {status}' for call, status, _ in before]}.",
            len(before) == 2 and all(call and arguments for call, _, arguments in before),
            "run.tool_calls()",
        ),
        Point(
            "Results are messages; a lost one is recorded as unknown.",
            f"{results} results; calls ended as {', '.join(statuses)}.",
            statuses[:2] == ["SUCCEEDED", "UNKNOWN"] and results == len(statuses),
            'ledger.sql("select tool_call_id, status from tool_calls")',
        ),
        Point(
            "A replay rebuilds the contexts.",
            f"{exact} of {checked} contexts are those that the agent sent, byte for byte.",
            checked == len(SCRIPT) == exact,
            'ledger.recorded_context(run_id, step).digest == answer.metadata["request_digest"]',
        ),
        Point(
            "An idempotency key keeps a destructive call from being doubled.",
            f"Asked {len(person.asked)} time before a repetition; deployed: {', '.join(deployed)}; sending recorded "
            f"messages again added {doubled}.",
            deployed == ["service-a", "service-b"] and len(person.asked) == 1 and doubled == 0,
            'ledger.sql("select idempotency_key from messages")',
        ),
    ]


def _replayed(ledger: Ledger) -> tuple[int, int]:
    """How many answers there are, and of how many the context is the same now as it was then."""
    answers = [m for m in ledger.list_messages(SESSION, RUN) if "request_digest" in m.metadata]
    same = [
        ledger.recorded_context(RUN, message.step or 0).digest == message.metadata["request_digest"]
        for message in answers
    ]
    return len(answers), sum(same)


def _sent_again(ledger: Ledger) -> int:
    """How many messages it adds to send all of a run's calls and results once more."""
    messages = ledger.list_messages(SESSION, RUN)
    kinds = (MessageKind.TOOL_CALL_REQUEST, MessageKind.TOOL_CALL_RESULT)
    fields = set(AppendMessageCommand.model_fields)
    again = [
        AppendMessageCommand(**{name: value for name, value in dict(message).items() if name in fields})
        for message in messages
        if message.kind in kinds
    ]
    with ledger.record(SESSION, RUN) as recorder:
        recorder.append_many(again)
    return len(ledger.list_messages(SESSION, RUN)) - len(messages)


DRILL: Final = Drill(
    4, "A tool's result is lost at a retry", "whoever is asked approves every repetition without looking", carry_out
)
