"""One demo session: a task, a configuration and a seed, really worked on and really checked.

The rule: a session is a pure function of seed, task and configuration. The workspace, its commands and its edits are
real; only the model, the clock and the identifiers are simulated.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from ledgerkit.agent.clock import SeededIds, SimulatedClock, stream
from ledgerkit.agent.contracts import (
    AGENT,
    AGENT_VERSION,
    EXPLORER_POLICY,
    INSTRUCTION_FILE,
    ORG_POLICY,
    PERMISSION_PROFILE,
    PLATFORM_POLICY,
    PROFILE,
    ProfileApprover,
    repository_reminder,
    task_contract,
)
from ledgerkit.agent.dead_keys import dead_key
from ledgerkit.agent.exchange import ToolUse
from ledgerkit.agent.faults import FaultyTools, SimulatedTools
from ledgerkit.agent.loop import Agent, Conversation, Ending
from ledgerkit.agent.model import ScriptedModel
from ledgerkit.agent.outcomes import Outcome, SubagentFields
from ledgerkit.agent.record import Instructed, Prompted, RunRecord, SessionRecord, ToolFinished, Verified
from ledgerkit.agent.scripts.behaviour import FOLLOW_UP, explorer_script, script_for
from ledgerkit.agent.scripts.plan import Configuration, Plan
from ledgerkit.agent.scripts.task import FULL_SUITE, Task
from ledgerkit.agent.scripts.tasks.debug_region import ACCESS_KEY_STAND_IN, SECRET_KEY_STAND_IN
from ledgerkit.agent.shell import Shell, ShellCache, install_python
from ledgerkit.agent.tools import Toolbox
from ledgerkit.agent.toolspecs import READ_ONLY, TOOLS
from ledgerkit.agent.usage import PromptCache
from ledgerkit.agent.workspace import Workspace, toy_repository
from ledgerkit.protocol.identifiers import uuid7
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Verdict

ROOT: Final = "/home/dev/src/tillroll"
"""The workspace as the agent knows it."""

EXPLORER_MODEL: Final = "claude-haiku-4-5-20251001"
RESUMPTION: Final = "The session was cut off. Please go on where you were."
_FIRST_DAY: Final = datetime(2026, 1, 12, tzinfo=UTC)
_DAYS_BETWEEN_SEEDS: Final = 7
_DAYS: Final = 343
_HIDDEN: Final = "hidden_check.py"


@dataclass(slots=True)
class Bench:
    """Where sessions run: a folder for their workspaces and what commands already gave.

    Attributes:
        folder: A folder of our own.
        python: Folder with the ``python`` that commands find.
        cache: Runs of commands, shared by all sessions.
    """

    folder: Path
    python: Path
    cache: ShellCache = field(default_factory=ShellCache)


@contextmanager
def open_bench() -> Generator[Bench]:
    """A bench in a temporary folder.

    Raises:
        MissingExtraError: If pytest is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="tillroll-") as name:
        folder = Path(name).resolve()
        yield Bench(folder, install_python(folder / "bin"))


def run_session(
    bench: Bench, task: Task, configuration: Configuration, plan: Plan, started_at: datetime
) -> SessionRecord:
    """Work on a task and check the work."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as name:
        return _Session(bench, Path(name), task, plan, started_at, configuration).run()


def start_of(seed: int, task_number: int, configuration_number: int) -> datetime:
    """When a session begins: two tasks a day, one configuration after the other, seeds a week apart within 2026."""
    day = _FIRST_DAY + timedelta(days=(seed - 1) * _DAYS_BETWEEN_SEEDS % _DAYS + task_number // 2)
    rng = stream("start", seed, task_number, configuration_number)
    hours = 8 + 4 * (task_number % 2) + configuration_number
    return day + timedelta(hours=hours, milliseconds=rng.randrange(1_800_000))


class _Session:
    def __init__(
        self, bench: Bench, folder: Path, task: Task, plan: Plan, started_at: datetime, configuration: Configuration
    ) -> None:
        names = (plan.seed, task.task_id, configuration.name)
        self.task, self.configuration, self.plan = task, configuration, plan
        self.ids = SeededIds(stream("ids", *names))
        self.clock = SimulatedClock(started_at, stream("clock", *names))
        self.rng = stream("words", *names)
        self.cache = PromptCache()
        self.session_id = self.ids.uuid4()
        self.record = self._new_record(configuration.model)
        self.workspace = _prepared(folder, task)
        key = dead_key(plan.seed)
        self.shell = Shell(
            self.workspace,
            bench.python,
            environment=task.environment,
            stand_ins={ACCESS_KEY_STAND_IN: key.access_key_id, SECRET_KEY_STAND_IN: key.secret_access_key},
            cache=bench.cache,
        )

    def run(self) -> SessionRecord:
        agent = self._agent()
        self._instruct()
        contract = task_contract(self.task)
        prompt = Prompted(self.clock(), 0, self.task.prompt, contract=contract)
        ending = agent.prompt(self.task.prompt, prompt)
        while ending is Ending.INTERRUPTED:
            self.clock.spend(480, spread=0.25)
            ending = agent.prompt(RESUMPTION)
        if self.plan.follow_up:
            agent.prompt(FOLLOW_UP, self._follow_up(agent.step))
        self._verify(agent.step)
        return SessionRecord(self.session_id, self.record)

    def _agent(self) -> Agent:
        model = ScriptedModel(
            script_for(self.task, self.plan, ROOT, self.rng),
            ids=self.ids,
            clock=self.clock,
            cache=self.cache,
            overloads=self.plan.overloaded,
        )
        outputs = f"/home/dev/.claude/projects/{ROOT.replace('/', '-')}/{self.session_id}/tool-results"
        toolbox = Toolbox(self.workspace, self.shell, outputs=outputs, delegate=self._delegate)
        lose = frozenset[int]() if self.plan.loses_result is None else frozenset({self.plan.loses_result})
        reminder = repository_reminder(self.workspace.read(INSTRUCTION_FILE), f"{ROOT}/{INSTRUCTION_FILE}")
        system = (PLATFORM_POLICY, ORG_POLICY, PERMISSION_PROFILE)
        return Agent(
            Conversation(self.configuration.model, system, TOOLS, (reminder,)),
            model,
            FaultyTools(SimulatedTools(toolbox, self.clock), lose),
            self.record,
            self.clock,
            context_limit=self.configuration.context_limit,
            approver=ProfileApprover(self.clock),
            wait=self.clock.spend,
        )

    def _instruct(self) -> None:
        at, kinds, trust = self.clock(), MessageKind, TrustLevel
        append = self.record.append
        append(Instructed(at, kinds.SYSTEM_INSTRUCTION, trust.PLATFORM_TRUSTED, "platform_policy", PLATFORM_POLICY))
        append(Instructed(at, kinds.ORG_POLICY, trust.ORG_TRUSTED, "org_policy", ORG_POLICY))
        profile = Instructed(at, kinds.ORG_POLICY, trust.ORG_TRUSTED, "permission_profile", PERMISSION_PROFILE)
        append(replace(profile, profile=PROFILE))
        text, path = self.workspace.read(INSTRUCTION_FILE), f"{ROOT}/{INSTRUCTION_FILE}"
        kind, untrusted = kinds.REPOSITORY_INSTRUCTION, trust.REPOSITORY_UNTRUSTED
        append(Instructed(at, kind, untrusted, "repository_instructions", text, path))

    def _follow_up(self, step: int) -> Prompted:
        answered_at = self.clock()
        queued_at = answered_at - timedelta(seconds=2, milliseconds=self.rng.randrange(1500))
        if not self.plan.queued:
            self.clock.spend(90, spread=0.6)
        return Prompted(self.clock(), step, FOLLOW_UP, queued_at=queued_at if self.plan.queued else None)

    def _delegate(self, call: ToolUse) -> Outcome:
        began = self.clock()
        record = self._new_record(EXPLORER_MODEL)
        record.agent_id, record.parent_call = "a" + self.ids.hex(6), call
        record.title = str(call.arguments.get("description", ""))
        self.record.subagents.append(record)
        record.append(
            Instructed(began, MessageKind.SYSTEM_INSTRUCTION, TrustLevel.PLATFORM_TRUSTED, "explorer", EXPLORER_POLICY)
        )
        script = explorer_script(self.task, ROOT, self.rng)
        model = ScriptedModel(script, ids=self.ids, clock=self.clock, cache=self.cache)
        toolbox = Toolbox(self.workspace, self.shell, outputs="")
        conversation = Conversation(EXPLORER_MODEL, (EXPLORER_POLICY,), READ_ONLY)
        agent = Agent(conversation, model, SimulatedTools(toolbox, self.clock), record, self.clock)
        agent.prompt(str(call.arguments["prompt"]))
        return _report(record, call, round((self.clock() - began).total_seconds() * 1000))

    def _verify(self, step: int) -> None:
        self.clock.spend(4)
        self._check("test suite", "suite", FULL_SUITE, step)
        self.workspace.write(_HIDDEN, self.task.hidden_check)
        self._check("hidden check", "run", f"{FULL_SUITE} {_HIDDEN}", step)
        self.workspace.remove(_HIDDEN)

    def _check(self, name: str, scope: str, command: str, step: int) -> None:
        done = self.shell.run(command)
        self.clock.spend(1.5)
        verdict = Verdict.FAILED if done.exit_code else Verdict.PASSED
        entry = Verified(self.clock(), step, name, scope, command, verdict, done.exit_code, done.stdout.rstrip("\n"))
        self.record.append(entry)

    def _new_record(self, model: str) -> RunRecord:
        task, run_id = self.task, uuid7(self.clock(), self.ids.random_bytes(10))
        return RunRecord(run_id, AGENT, AGENT_VERSION, model, task.task_id, task.title, task.branch, ROOT)


def _prepared(folder: Path, task: Task) -> Workspace:
    workspace = Workspace(folder, ROOT)
    files = toy_repository()
    for change in task.setup:
        files[change.path] = files[change.path].replace(change.old or "", change.new)
    workspace.restore(files)
    return workspace


def _report(record: RunRecord, call: ToolUse, duration_ms: int) -> Outcome:
    last = record.answers[-1]
    usage = last.usage
    total = sum(r.usage.output_tokens or 0 for r in record.answers) + (usage.input_tokens or 0)
    calls = sum(isinstance(e, ToolFinished) for e in record.entries)
    prompt = str(call.arguments["prompt"])
    agent_id = record.agent_id or record.run_id
    fields = SubagentFields(agent_id, record.run_id, prompt, last.text, total, calls, duration_ms, usage)
    return Outcome(f"{last.text}\n{fields.note}", fields=fields)
