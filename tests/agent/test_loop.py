"""The loop says everything to its recorder, and goes on where it can."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from ledgerkit.agent.exchange import Request, Response, TextBlock, ToolResult, ToolUse
from ledgerkit.agent.loop import DENIED, Agent, Conversation, Ending, ResultLostError
from ledgerkit.agent.model import LOST_RESULT, ModelUnavailableError
from ledgerkit.agent.outcomes import Outcome
from ledgerkit.agent.record import ApprovalDecided, Compacted, Entry, ModelFailed, ResultLost, ToolFinished
from ledgerkit.agent.toolspecs import TOOLS
from ledgerkit.protocol.usage import Usage

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Answers:
    """A model that gives prepared answers and keeps what it was asked."""

    def __init__(self, answers: Iterable[TextBlock | ToolUse | tuple[ToolUse, ...] | Exception]) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    def complete(self, request: Request) -> Response:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        blocks = answer if isinstance(answer, tuple) else (answer,)
        return Response("msg", "req", request.model, blocks, Usage(input_tokens=1, output_tokens=1))


class Echo:
    """Tools that echo, lose the results of some calls and keep what was run."""

    def __init__(self, lose: Iterable[str] = ()) -> None:
        self.lose = set(lose)
        self.run_ids: list[str] = []

    def run(self, call: ToolUse) -> Outcome:
        self.run_ids.append(call.tool_call_id)
        if call.tool_call_id in self.lose:
            raise ResultLostError("gone")
        return Outcome(f"did {call.tool_call_id}")


class Strict:
    """Denies everything that needs approval: Bash."""

    def reason(self, call: ToolUse) -> str | None:
        return "a shell" if call.name == "Bash" else None

    def decide(self, call: ToolUse) -> tuple[bool, str]:
        del call
        return False, "user"


def agent(model: Answers, tools: Echo | None = None, *, limit: int | None = None) -> tuple[Agent, list[Entry]]:
    recorder: list[Entry] = []
    made = Agent(
        Conversation("m", ("policy",), TOOLS), model, tools or Echo(), recorder, lambda: NOW, limit, approver=Strict()
    )
    made.wait = lambda _seconds: None
    return made, recorder


def results_in(request: Request) -> list[ToolResult]:
    return [block for block in request.messages[-1].blocks if isinstance(block, ToolResult)]


def test_results_of_parallel_calls_go_back_together() -> None:
    model = Answers([(ToolUse("a", "Read", {}), ToolUse("b", "Read", {})), TextBlock("done")])
    working, recorder = agent(model)
    assert working.prompt("go") is Ending.ANSWERED
    assert [r.text for r in results_in(model.asked[1])] == ["did a", "did b"]
    assert [e.call.tool_call_id for e in recorder if isinstance(e, ToolFinished)] == ["a", "b"]


def test_a_lost_result_ends_the_work_and_is_answered_for_on_resumption() -> None:
    model = Answers([(ToolUse("a", "Read", {}), ToolUse("b", "Read", {}), ToolUse("c", "Read", {})), TextBlock("ok")])
    working, recorder = agent(model, Echo(lose=["b"]))
    assert working.prompt("go") is Ending.INTERRUPTED
    assert [e.call.tool_call_id for e in recorder if isinstance(e, ResultLost)] == ["b", "c"]
    assert working.prompt("go on") is Ending.ANSWERED
    assert [r.text for r in results_in(model.asked[1])] == ["did a", LOST_RESULT, LOST_RESULT]
    assert model.asked[1].messages[-1].blocks[-1] == TextBlock("go on")


def test_a_denied_call_is_not_run() -> None:
    model, tools = Answers([ToolUse("a", "Bash", {}), TextBlock("ok")]), Echo()
    working, recorder = agent(model, tools)
    working.prompt("go")
    assert tools.run_ids == []
    assert [e.approved for e in recorder if isinstance(e, ApprovalDecided)] == [False]
    assert results_in(model.asked[1]) == [ToolResult("a", DENIED, is_error=True)]


def test_a_failed_model_call_is_tried_again_with_the_same_request() -> None:
    model = Answers([ModelUnavailableError("busy", 529), TextBlock("ok")])
    working, recorder = agent(model)
    assert working.prompt("go") is Ending.ANSWERED
    assert model.asked[0] == model.asked[1]
    assert [e.status for e in recorder if isinstance(e, ModelFailed)] == [529]


def test_a_model_that_stays_away_is_an_error() -> None:
    working, _ = agent(Answers([ModelUnavailableError("busy", 529)] * 5))
    with pytest.raises(ModelUnavailableError):
        working.prompt("go")


def test_a_long_conversation_is_replaced_by_its_summary() -> None:
    model = Answers([ToolUse("a", "Read", {"file_path": "x " * 4000}), TextBlock("the summary"), TextBlock("ok")])
    working, recorder = agent(model, limit=3000)
    assert working.prompt("go") is Ending.ANSWERED
    (compacted,) = [e for e in recorder if isinstance(e, Compacted)]
    assert compacted.tokens_before > 3000
    assert model.asked[1].purpose == "compaction"
    (only,) = model.asked[2].messages
    assert "the summary" in str(only.blocks[0])


def test_the_work_ends_at_its_step_limit() -> None:
    working, _ = agent(Answers([ToolUse(str(n), "Read", {}) for n in range(9)]))
    working.step_limit = 3
    assert working.prompt("go") is Ending.STEP_LIMIT
    assert working.step == 3
