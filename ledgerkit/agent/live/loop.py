"""The agent's loop on the recorder: a run is started, worked on, and taken up again after a crash, by the same rules.

The rule: what to do next follows from the run's messages, so that a crash at any instant loses nothing that was
recorded and repeats nothing that was done. The intent of a call is on disk before the call begins; a call whose end
nobody recorded has an unknown outcome, and only a person lets it run again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from ledgerkit.agent.live.ending import AgentEnd, Approve
from ledgerkit.agent.live.models import Model
from ledgerkit.agent.live.saying import AGENT, Words
from ledgerkit.agent.live.setup import Limits, recorded_setup, setup_of
from ledgerkit.agent.live.standing import Standing
from ledgerkit.agent.live.tools import Tool, tools_by_name
from ledgerkit.agent.live.toolset import standard_tools
from ledgerkit.agent.live.work import Work
from ledgerkit.agent.workspace import Workspace
from ledgerkit.errors import ConfigurationError
from ledgerkit.ledger import Ledger
from ledgerkit.protocol.contracts import ApprovalRequest, PermissionProfile, TaskContract

AGENT_VERSION: Final = "2"


def nobody(request: ApprovalRequest) -> None:
    """Answers no request."""
    del request


def run_agent(  # noqa: PLR0913 - what a run is made of
    ledger: Ledger,
    task: TaskContract,
    model: Model,
    tools: Sequence[Tool] | None = None,
    *,
    session_id: str,
    run_id: str,
    workspace: Workspace,
    profile: PermissionProfile,
    approvals: Approve = nobody,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    wait: Callable[[float], None] = time.sleep,
    limits: Limits | None = None,
    org_policy: str | None = None,
    strategy: str | None = None,
    budget: int | None = None,
) -> AgentEnd:
    """Works on a task and records everything. A run that is there already is taken up where it stands.

    Args:
        ledger: Where it is recorded.
        task: What is to be done.
        model: Who decides what to do next.
        tools: What it may use; ``standard_tools()`` if not given.
        session_id: The session.
        run_id: The run.
        workspace: Where tools work.
        profile: What the agent may do unasked, with approval, or never.
        approvals: Whom to ask.
        clock: The time.
        wait: Lets so many seconds pass before a failed model call is tried again.
        limits: How far the run may go.
        org_policy: Rules of the organisation, in words.
        strategy: What stands where in a context, such as ``HeadTail | ClearAt(60000)``.
        budget: Tokens of the context window: sections of fixed shares, with working memory. Without one, the
            conversation in its own order.

    Raises:
        IdempotencyError: If the run is there with another task, profile or set-up.
        RunLockedError: If another process is working on it.
        ContextError: If what must stand whole does not fit the budget.
    """
    chosen = tuple(standard_tools() if tools is None else tools)
    settings = {"limits": limits or Limits(), "budget": budget} | ({"strategy": strategy} if strategy else {})
    setup = setup_of(model.name, profile, task, chosen, **settings)
    words = Words(session_id, run_id, clock)
    facts = {"agent": AGENT, "agent_version": AGENT_VERSION, "task_id": task.task_id, "title": task.goal[:120],
             "working_directory": workspace.shown_as}  # fmt: skip
    with ledger.record(session_id, run_id, **facts) as recorder:  # pyright: ignore[reportArgumentType]
        recorder.append_many(words.beginning(setup, org_policy))
        standing = Standing.of(ledger.list_messages(session_id, run_id))
        work = Work(ledger, recorder, words, setup, standing, model, tools_by_name(chosen), workspace, approvals, wait)
        return work.go_on()


def resume_agent(  # noqa: PLR0913 - what a run needs beside the ledger
    ledger: Ledger,
    run: str,
    model: Model,
    tools: Sequence[Tool] | None = None,
    *,
    workspace: Workspace,
    approvals: Approve = nobody,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    wait: Callable[[float], None] = time.sleep,
) -> AgentEnd:
    """Takes a run up where its messages end: after a crash, or when an approval was waited for.

    Task, profile, strategy and limits are those that the ledger holds. Calls that were begun and did not end get the
    result "outcome unknown" first, and run again only if ``approvals`` says so.

    Args:
        ledger: The ledger.
        run: Id of the run.
        model: Who decides what to do next.
        tools: What it may use; the same as when it began.
        workspace: Where tools work.
        approvals: Whom to ask.
        clock: The time.
        wait: Lets so many seconds pass before a failed model call is tried again.

    Raises:
        UnknownNameError: If no run or more than one fits.
        LedgerError: If the run was not recorded by this agent.
        ConfigurationError: If a tool of the run is not given.
        RunLockedError: If another process is working on it.
    """
    chosen = tools_by_name(standard_tools() if tools is None else tools)
    there = ledger.run(run)
    setup = recorded_setup(there.messages())
    if missing := [tool.name for tool in setup.tools if tool.name not in chosen]:
        raise ConfigurationError(f"The run was begun with the tool {missing[0]!r}. Give the same tools.")
    words = Words(there.session_id, there.run_id, clock)
    with ledger.record(there.session_id, there.run_id) as recorder:
        # Read again under the run's lock: whoever wrote it until now is done.
        standing = Standing.of(ledger.list_messages(there.session_id, there.run_id))
        work = Work(ledger, recorder, words, setup, standing, model, chosen, workspace, approvals, wait)
        return work.go_on()
