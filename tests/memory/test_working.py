"""Working memory: what it says of a run, that it says nothing without evidence, and nothing of the future."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import ledgerkit as lk
from ledgerkit.cli import main
from ledgerkit.memory import resolve_citations
from ledgerkit.memory.citations import CITING_SCHEMA
from ledgerkit.memory.summaries import repaired
from ledgerkit.protocol.contracts import SpendingLimits
from ledgerkit.protocol.memory import (
    Decision,
    EvidencedBase,
    Fact,
    OpenProblem,
    PlanStatus,
    Summary,
    WorkingMemory,
)
from ledgerkit.protocol.vocabulary import ChangeType, ClaimOutcome, TrustLevel
from ledgerkit.strategies.conformance import check_strategy
from tests.builders import Log, text, tool_use, uid
from tests.conftest import NOW

FAILED = """\
FAILED tests/test_a.py::test_one - AssertionError
FAILED tests/test_a.py::test_two - ValueError: no
========================= 2 failed, 3 passed in 0.12s =========================
"""
PASSED = "========================= 5 passed in 0.10s =========================\n"
TODOS = [
    {"content": "Read the code", "status": "completed", "activeForm": "Reading"},
    {"content": "Mend total()", "status": "in_progress", "activeForm": "Mending"},
]
LISTS = [
    name for name in WorkingMemory.model_fields if name not in ("memory_kind", "run_id", "task_goal", "budget_left")
]


class Work(Log):
    """A session of commands, edits and what came of them, one call a step."""

    def shell(self, command: str, printed: str, *, code: int = 0) -> str:
        return self.call("Bash", printed, is_error=code != 0, command=command)

    def edit(self, path: str) -> str:
        return self.call("Edit", "The file has been updated.", file_path=path, old_string="a", new_string="b")

    def create(self, path: str) -> str:
        return self.call("Write", f"File created successfully at: {path}", file_path=path, content="x = 1\n")

    def read(self, path: str, printed: str) -> str:
        return self.call("Read", printed, file_path=path)

    def plan(self, todos: list[dict[str, str]]) -> str:
        return self.call("TodoWrite", "Todos have been modified successfully.", todos=todos)

    def call(self, tool: str, printed: str, *, is_error: bool = False, **arguments: object) -> str:
        call = f"toolu_{uid(self.name, len(self.records))[:12]}"
        self.answers(tool_use(call, tool, **arguments))
        self.returns(call, printed, is_error=is_error or None)
        return call


def imported(ledger: lk.Ledger, folder: Path, *logs: Log) -> lk.Ledger:
    for log in logs:
        log.write(folder / f"{log.session}.jsonl")
    ledger.import_logs(folder, now=NOW)
    return ledger


def entries(memory: WorkingMemory) -> list[EvidencedBase]:
    every = [entry for name in LISTS for entry in getattr(memory, name)]
    return [*every, memory.task_goal] if memory.task_goal else every


def worked(name: str = "w") -> Work:
    """Reads, plans, sees two tests fail, mends one, and leaves the other."""
    log = Work(name)
    log.asks("Make total() round to cents.")
    log.read("/home/dev/shop/shop.py", "     1\tdef total():\n     2\t    return 1")
    log.plan(TODOS)
    log.shell("pytest tests/test_a.py", FAILED, code=1)
    log.edit("/home/dev/shop/shop.py")
    log.shell("ruff check .", "All checks passed!")
    log.answers(text("Done."))
    return log


def test_memory_says_what_is_recorded_and_where(ledger: lk.Ledger, tmp_path: Path) -> None:
    memory = imported(ledger, tmp_path / "logs", worked()).memory(uid("w"))
    assert memory.task_goal is not None
    assert memory.task_goal.goal == "Make total() round to cents."
    assert memory.task_goal.trust_level is TrustLevel.USER_TRUSTED
    assert [(p.item, p.status) for p in memory.current_plan] == [
        ("Read the code", PlanStatus.DONE), ("Mend total()", PlanStatus.IN_PROGRESS),
    ]  # fmt: skip
    assert [(f.path, f.change) for f in memory.changed_files] == [("/home/dev/shop/shop.py", ChangeType.MODIFIED)]
    assert [p.problem for p in memory.open_problems] == [
        f"tests/test_a.py::{name} fails in pytest tests/test_a.py" for name in ("test_one", "test_two")
    ]
    assert [(f.check, f.is_resolved) for f in memory.failure_history] == [("pytest tests/test_a.py", False)]
    facts = {f.fact: f.outcome for f in memory.known_facts}
    assert facts == {
        "ruff check . passed": ClaimOutcome.SUPPORTED,
        "/home/dev/shop/shop.py was read: 2 lines came back": ClaimOutcome.STALE,
    }
    assert memory.budget_left is None


def test_a_check_that_passes_again_takes_its_failure_back(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = worked()
    log.shell("pytest", PASSED)
    memory = imported(ledger, tmp_path / "logs", log).memory(uid("w"))
    assert memory.open_problems == ()
    assert [f.is_resolved for f in memory.failure_history] == [True]
    assert "pytest passed (5 passed)" in [f.fact for f in memory.known_facts]


def test_a_narrower_check_that_passes_leaves_the_failure_of_the_whole(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Work("n")
    log.asks("Go.")
    log.shell("pytest", FAILED, code=1)
    log.shell("pytest tests/test_b.py", PASSED)
    assert len(imported(ledger, tmp_path / "logs", log).memory(uid("n")).open_problems) == 2


def test_a_result_that_proves_nothing_takes_no_failure_back(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Work("i")
    log.asks("Go.")
    log.shell("pytest", FAILED, code=1)
    log.shell("pytest | head -1", "===== test session starts =====")
    assert len(imported(ledger, tmp_path / "logs", log).memory(uid("i")).open_problems) == 2


def test_a_file_that_was_made_and_removed_is_no_change(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Work("f")
    log.asks("Go.")
    log.create("/home/dev/shop/new.py")
    log.edit("/home/dev/shop/new.py")
    log.create("/home/dev/shop/gone.py")
    log.shell("rm /home/dev/shop/gone.py", "")
    memory = imported(ledger, tmp_path / "logs", log).memory(uid("f"))
    assert [(f.path, f.change) for f in memory.changed_files] == [("/home/dev/shop/new.py", ChangeType.CREATED)]


def test_a_list_of_tasks_in_an_answer_is_a_plan_until_a_tool_gives_another(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Work("p")
    log.asks("Go.")
    log.answers(text("Plan:\n- [x] look\n- [ ] mend it\n- [-] rewrite"))
    before = imported(ledger, tmp_path / "logs", log).memory(uid("p"))
    assert [(p.item, p.status) for p in before.current_plan] == [
        ("look", PlanStatus.DONE), ("mend it", PlanStatus.PENDING), ("rewrite", PlanStatus.DROPPED),
    ]  # fmt: skip
    log.plan(TODOS)
    after = imported(ledger, tmp_path / "logs", log).memory(uid("p"))
    assert [p.item for p in after.current_plan] == ["Read the code", "Mend total()"]


def test_a_plan_that_is_said_oddly_is_read_as_far_as_it_can_be(ledger: lk.Ledger, tmp_path: Path) -> None:
    odd = Work("o")
    odd.answers(text("Nobody asked for anything."))
    odd.call("TodoWrite", "ok", todos=["look", {"status": "completed"}, 5, {"step": "mend", "status": "someday"}])
    empty = Work("q")
    empty.asks("Go.")
    empty.plan(TODOS)
    empty.call("TodoWrite", "ok", todos=[])
    empty.call("TodoWrite", "ok", todos="none")
    imported(ledger, tmp_path / "logs", odd, empty)
    memory = ledger.memory(uid("o"))
    assert memory.task_goal is None
    assert [(item.item, item.status) for item in memory.current_plan] == [("look", None), ("mend", None)]
    assert len(ledger.memory(uid("q")).current_plan) == 2


@pytest.mark.slow
def test_a_step_knows_nothing_of_the_future(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = worked()
    log.shell("pytest", PASSED)
    imported(ledger, tmp_path / "logs", log)
    steps = ledger.run(uid("w")).facts["steps"]
    memories = [ledger.memory(uid("w"), step=step) for step in range(steps)]
    assert memories[0].current_plan == memories[0].changed_files == memories[0].open_problems == ()
    assert [len(m.open_problems) for m in memories] == [0, 0, 0, 2, 2, 2, 2][:steps]
    assert memories[1].known_facts[0].outcome is ClaimOutcome.SUPPORTED  # the file was changed later
    # A log that ends at a step gives the memory that the whole log gives at that step.
    for step in range(1, steps):
        with lk.open(tmp_path / f"cut-{step}", key=bytes(32)) as cut:
            short = Work("w")
            short.records = log.records[: 1 + 2 * step]
            memory = imported(cut, tmp_path / f"logs-{step}", short).memory(uid("w"))
        assert memory == memories[step]


def test_a_budget_is_what_is_left_of_given_limits(ledger: lk.Ledger, tmp_path: Path) -> None:
    imported(ledger, tmp_path / "logs", worked())
    left = ledger.memory(uid("w"), limits=SpendingLimits(steps=10, output_tokens=12, seconds=60)).budget_left
    assert left is not None
    assert (left.steps, left.output_tokens, left.seconds, left.cost_usd) == (4, 0, None, None)


def proposal(call: str, message: str) -> Summary:
    return Summary(
        facts=(
            Fact(fact="2 tests failed", evidence_refs=(f"tool-call:{call}",)),  # pyright: ignore[reportArgumentType]
            Fact(fact="All tests pass", evidence_refs=(f"tool-call:{call}",)),  # pyright: ignore[reportArgumentType]
            Fact(fact="The shop uses 7 databases", evidence_refs=("tool-call:nobody",)),  # pyright: ignore[reportArgumentType]
            Fact(fact="3 tests passed", evidence_refs=(f"message:{message}",)),  # pyright: ignore[reportArgumentType]
        ),
        open_problems=(
            OpenProblem(problem="`test_two` fails with a ValueError", evidence_refs=(f"tool-call:{call}",)),  # pyright: ignore[reportArgumentType]
        ),
        discarded_details=(),
    )


def test_a_made_up_fact_never_enters_a_memory(ledger: lk.Ledger, tmp_path: Path) -> None:
    """Drill 3 of the specification, the memory side."""
    log = Work("d")
    log.asks("Go.")
    call = log.shell("pytest tests/test_a.py", FAILED, code=1)
    log.answers(text("All tests pass now, 3 tests passed."))
    imported(ledger, tmp_path / "logs", log)
    answer = ledger.sql("select message_id from messages where kind = 'ASSISTANT_RESPONSE'").item()
    verdicts = ledger.propose(uid("d"), proposal(call, answer))
    assert [v.is_accepted for v in verdicts] == [True, False, False, False, True]
    assert [v.rule for v in verdicts if not v.is_accepted] == ["R10", "R1", "R6"]
    assert all(v.why for v in verdicts)
    memory = ledger.memory(uid("d"))
    facts = [f.fact for f in memory.known_facts]
    assert "2 tests failed" in facts
    assert not {"All tests pass", "The shop uses 7 databases", "3 tests passed"} & set(facts)
    assert "`test_two` fails with a ValueError" in [p.problem for p in memory.open_problems]
    accepted = next(f for f in memory.known_facts if f.fact == "2 tests failed")
    assert accepted.trust_level is TrustLevel.REPOSITORY_UNTRUSTED
    assert accepted.outcome is ClaimOutcome.SUPPORTED
    # The failing check is needed from when it was seen; what accepted items cite, from when they were accepted.
    assert ledger.evidence().select("from_step", "to_step").rows() == [(1, None), (2, None)]
    kept = ledger.sql("select data->>'$.decision' as d from parts where data->>'$.note' = 'memory proposal' order by 1")
    assert kept["d"].to_list() == ["accepted"] * 2 + ["rejected"] * 3


def test_a_summary_made_from_the_ledger_keeps_every_rule(ledger: lk.Ledger, tmp_path: Path) -> None:
    imported(ledger, tmp_path / "logs", worked())
    summary = ledger.summarise(uid("w"))
    assert ledger.check_summary(uid("w"), summary).height == 0
    assert summary == ledger.summarise(uid("w"))
    assert summary.discarded_details


def test_a_summary_that_hides_invents_or_loses_is_found_out(ledger: lk.Ledger, tmp_path: Path) -> None:
    imported(ledger, tmp_path / "logs", worked())
    good = ledger.summarise(uid("w"))
    call = good.open_problems[0].evidence_refs[0]
    invented = Fact(fact="All 5 tests pass", evidence_refs=(call,))
    required = Decision(decision="Use 3 decimals", reason="asked for", evidence_refs=(call,))
    bad = good.model_copy(
        update={"facts": (invented,), "decisions": (required,), "open_problems": (), "changed_files": (),
                "discarded_details": ()}
    )  # fmt: skip
    found = ledger.check_summary(uid("w"), bad)
    assert found["problem"].to_list() == ["hidden", "invented", "invented", "lost", "silent"]
    mended = repaired(ledger._record_of(*ledger._resolve(uid("w"))), bad)  # pyright: ignore[reportPrivateUsage]
    assert ledger.check_summary(uid("w"), mended).height == 0


def test_memory_of_a_repository_holds_nothing_of_another(ledger: lk.Ledger, tmp_path: Path) -> None:
    imported(ledger, tmp_path / "logs", worked("one"), worked("two"))
    (name,) = ledger.sql("select distinct repository from runs").rows()[0]
    if name is None:
        pytest.skip("the format gives no repository")
    memory = ledger.repository_memory(name)
    assert {f.topic.value for f in memory.facts} >= {"command", "module"}
    with pytest.raises(lk.UnknownNameError, match="No run names the repository"):
        ledger.repository_memory("elsewhere")


def test_a_session_is_its_runs(ledger: lk.Ledger, tmp_path: Path) -> None:
    imported(ledger, tmp_path / "logs", worked())
    assert ledger.session_summary(uid("w")) == ledger.summarise(uid("w"))
    with pytest.raises(lk.UnknownNameError, match="No session"):
        ledger.session_summary("nowhere")


def test_the_command_shows_memory(ledger: lk.Ledger, tmp_path: Path) -> None:
    imported(ledger, tmp_path / "logs", worked())
    shown = CliRunner().invoke(main, ["memory", uid("w"), "--ledger", str(ledger.path)])
    assert shown.exit_code == 0, shown.output
    for said in (
        "Make total() round",
        "open problems (2)",
        "still failing",
        "Mend total()  [in_progress]",
        "tool-call:",
    ):
        assert said in shown.output
    as_json = CliRunner().invoke(main, ["memory", uid("w"), "--step", "2", "--json", "--ledger", str(ledger.path)])
    assert WorkingMemory.model_validate(json.loads(as_json.output)) == ledger.memory(uid("w"), step=2)


def unresolved(ledger: lk.Ledger, session_id: str, run_id: str) -> list[str]:
    """References of a run's memory that name nothing in the ledger."""
    record = ledger._record_of(session_id, run_id)  # pyright: ignore[reportPrivateUsage]
    memory = ledger.memory(run_id)
    refs = sorted({str(ref) for entry in entries(memory) for ref in entry.evidence_refs})
    claims = pl.DataFrame(
        [{"claim_id": "c", "run_id": run_id, "sequence_no": 10**9, "refs": refs, "hashes": [None] * len(refs)}],
        schema={name: CITING_SCHEMA[name] for name in ("claim_id", "run_id", "sequence_no", "refs", "hashes")},
    ).with_columns(pl.lit(None, dtype).alias(name) for name, dtype in CITING_SCHEMA.items() if name not in (
        "claim_id", "run_id", "sequence_no", "refs", "hashes"))  # fmt: skip
    cited = resolve_citations(claims, record.parts, record.verifier_results, record.changes)
    return cited.filter(~pl.col("is_found"), pl.col("ref").is_not_null())["ref"].to_list()


@pytest.mark.corpus
@pytest.mark.slow
def test_every_reference_of_every_real_memory_resolves_and_every_hidden_failure_is_found(
    corpus: Path, tmp_path: Path
) -> None:
    with lk.open(tmp_path / "l", key=bytes(32)) as ledger:
        ledger.import_logs(corpus, now=NOW, redact="off")
        runs = ledger.sql("select session_id, run_id from runs where tool_calls > 0 order by all").rows()
        failing = 0
        for session_id, run_id in runs:
            assert unresolved(ledger, session_id, run_id) == []
            summary = ledger.summarise(run_id)
            assert ledger.check_summary(run_id, summary).filter(pl.col("problem") != "silent").height == 0
            if summary.open_problems:
                failing += 1
                hidden = summary.model_copy(update={"open_problems": ()})
                assert "hidden" in ledger.check_summary(run_id, hidden)["problem"].to_list()
        assert failing > 3


def test_what_memory_rests_on_leaves_a_context_last(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Work("e")
    log.asks("Go.")
    log.shell("pytest tests/test_a.py", FAILED, code=1)
    for n in range(6):
        log.read(f"/home/dev/shop/{n}.py", "x = 1\n" * 60)
    log.shell("pytest tests/test_a.py", PASSED)
    for n in range(6):
        log.read(f"/home/dev/shop/more{n}.py", "x = 1\n" * 60)
    imported(ledger, tmp_path / "logs", log)
    evidence = ledger.evidence()
    assert evidence.select("from_step", "to_step").rows() == [(1, 8), (8, None)]
    frames = ledger.frames()
    budget = int(frames.base["tokens"].sum()) // 3
    spared = lk.strategies.project(frames, lk.strategies.EvidenceFirst(budget, evidence)).placements
    plain = lk.strategies.project(frames, lk.strategies.TokenWindow(budget)).placements
    failure = frames.parts.filter(message_id=evidence.filter(from_step=1)["message_id"].item())["part"].item()

    def last_step(placements: pl.DataFrame) -> int:
        return placements.filter(part=failure)["to_step"].max()  # pyright: ignore[reportReturnType]

    assert last_step(spared) >= 8 > last_step(plain)
    check_strategy(lk.strategies.EvidenceFirst(budget, evidence), frames)
    measures = lk.strategies.measure(
        frames, lk.strategies.project(frames, lk.strategies.EvidenceFirst(budget, evidence))
    )
    assert measures.runs()["peak_tokens"].max() <= budget  # pyright: ignore[reportOperatorIssue]
    bare = lk.strategies.project(frames, lk.strategies.EvidenceFirst(budget, evidence.clear())).placements
    assert bare.sort("part", "from_step").equals(plain.sort("part", "from_step"))
