"""Contexts: what stands where, in whose voice, and that its tokens are those of the placements."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit.errors import ContextError, UnknownNameError
from ledgerkit.projection import QUESTIONS, Supplied
from ledgerkit.protocol.budget import BudgetName, TokenBudget
from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.protocol.contracts import PermissionProfile, TaskContract
from ledgerkit.protocol.requests import LlmMessage, LlmToolResultBlock
from ledgerkit.protocol.responses import NEXT_ACTION_CONTRACT
from ledgerkit.protocol.vocabulary import LlmRole
from ledgerkit.safety.boundaries import bounded_parts, nonce_of
from ledgerkit.strategies import (
    AsRecorded,
    ClearAt,
    FullHistory,
    HeadTail,
    LastObservations,
    RandomDrop,
    Strategy,
    SummariseAt,
    TokenWindow,
)
from tests.projection.made import call, context, part, result, task, texts
from tests.safety.test_boundaries import HOSTILE

RUN = (
    part("SYSTEM_INSTRUCTION", "You mend code.", part_trust_level="PLATFORM_TRUSTED"),
    part("REPOSITORY_INSTRUCTION", "Tests are in tests/.", path="AGENTS.md"),
    task(),
    part("ASSISTANT_RESPONSE", "I look first."),
    call("a", "Read", file_path="shop.py"),
    call("b", "Bash", command="ls"),
    result("a", "def total(): ...\n" * 40, 1, "FILE_OBSERVATION", path="shop.py", tool_name="Read"),
    result("b", "shop.py\n", 1, tool_name="Bash"),
    call("c", "Bash", 1, command="pytest"),
    result("c", "2 failed\n" * 60, 2, "VERIFIER_RESULT", tool_name="Bash", part_trust_level="TOOL_TRUSTED"),
)
STRATEGIES: tuple[Strategy, ...] = (
    FullHistory(), AsRecorded(), LastObservations(1), HeadTail(200, 50), TokenWindow(150), RandomDrop(150, seed=3),
    ClearAt(100, keep=1), SummariseAt(100, 20, 30), HeadTail(200, 50) | LastObservations(1),
)  # fmt: skip


def well(step: int, tokens: int) -> str:
    """A summary."""
    return "Well."


def test_messages_stand_in_the_roles_of_their_kinds() -> None:
    found = context(*RUN)
    assert [one.name for one in found.request.instructions] == ["platform_policy", "platform_policy"]
    assert [message.role for message in found.request.messages] == [
        LlmRole.USER, LlmRole.USER, LlmRole.ASSISTANT, LlmRole.TOOL, LlmRole.ASSISTANT, LlmRole.TOOL,
    ]  # fmt: skip
    notes, asked, said, *_ = found.request.messages
    assert 'trust="untrusted" source="AGENTS.md"' in _text(notes)
    assert _text(asked) == "Mend the shop."
    assert [block.type.value for block in said.content] == ["text", "tool_call", "tool_call"]


def _text(message: LlmMessage) -> str:
    return "".join(getattr(block, "text", "") for block in message.content)


def test_results_stand_in_boundaries_that_are_read_again() -> None:
    found = context(*RUN)
    results = [block for message in found.request.messages for block in message.content]
    for block in results:
        if isinstance(block, LlmToolResultBlock):
            (inside,) = bounded_parts(block.text, nonce_of("r"))
            assert inside.text in texts(found)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize("step", [0, 1, 2])
def test_rendered_tokens_are_those_of_the_placements(strategy: Strategy, step: int) -> None:
    found = context(*RUN, strategy=strategy, step=step, summaries=well)
    there = found.account.filter(pl.col("reason").is_null())
    assert there["tokens"].to_list() == there["rendered_tokens"].to_list()
    placed = found.placements.filter(pl.col("part") >= 0)
    assert there["tokens"].sum() == placed["tokens"].sum()
    assert there.height == placed.height
    assert found.tokens == sum(content + tags for content, tags in found.sizes)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize("budget", [900, 2500])
def test_with_a_budget_every_token_is_within_it(strategy: Strategy, budget: int) -> None:
    found = context(*RUN, strategy=strategy, budget=budget, summaries=well)
    assert found.tokens <= budget - TokenBudget(context_window=budget).tokens(BudgetName.ANSWER)
    there = found.account.filter(pl.col("reason").is_null())
    assert (there["tokens"] == there["rendered_tokens"] + there["framing_tokens"]).all()
    sections = [piece.section for piece in found.pieces]
    assert sections == sorted(sections, key=list(type(sections[0])).index)


@pytest.mark.parametrize("interface", ProviderInterface)
@pytest.mark.parametrize("budget", [None, 2500])
def test_every_provider_takes_it(interface: ProviderInterface, budget: int | None) -> None:
    for strategy in STRATEGIES:
        found = context(*RUN, strategy=strategy, budget=budget, summaries=well)
        assert found.payload(interface).body


def test_what_must_stand_whole_and_does_not_fit_is_an_error() -> None:
    with pytest.raises(ContextError, match="larger window"):
        context(task("word " * 3000), budget=1000)


def test_a_section_without_room_says_so() -> None:
    files = pl.DataFrame(
        {"path": ["src/" + "long_" * 200 + "name.py"], "lines": [3], "read_at": [1], "changed_at": [None]},
        schema_overrides={"changed_at": pl.Int64},
    )

    def observed(step: int) -> pl.DataFrame:
        return files

    found = context(*RUN, budget=900, files=observed)
    row = found.sections.filter(pl.col("section") == "repository_map").row(0, named=True)
    assert (row["state"], row["pieces"], row["left_out"]) == ("no room", 0, 1)
    assert "no room (1 lines left in the ledger)" in str(found)
    wide = context(*RUN, budget=9_000, files=observed).sections
    assert wide.filter(pl.col("section") == "repository_map")["state"].item() == "present"


def test_a_step_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="0 to 2, not 3"):
        context(*RUN, step=3)


def test_what_the_caller_supplies_is_in_and_the_rest_is_not_recorded() -> None:
    plain = context(task())
    states = dict(plain.sections.select("section", "state").iter_rows())
    assert states["permission_profile"] == states["org_policy"] == states["response_contract"] == "not recorded"
    given = Supplied(
        platform_policy="Only change files of the workspace.",
        org_policy="No force pushes.",
        permission_profile=PermissionProfile(name="edit", allowed_tools=("Edit",)),
        task=TaskContract(goal="Mend total()", forbidden_changes=("vendor/**",)),
        response_contract=NEXT_ACTION_CONTRACT,
    )
    found = context(task(), supplied=given)
    names = [one.name for one in found.request.instructions]
    assert names == ["platform_policy", "platform_policy", "response_contract", "org_policy", "permission_profile",
                     "task_contract"]  # fmt: skip
    whole = "".join(one.content for one in found.request.instructions)
    for said in (
        "Only change files",
        "No force pushes",
        "profile: edit",
        "Goal: Mend total()",
        "vendor/**",
        "nextAction",
    ):
        assert said in whole
    assert found.request.response_contract == NEXT_ACTION_CONTRACT
    by = dict(found.sections.select("section", "written_by").iter_rows())
    assert by["task_contract"] == "caller"


def test_the_eight_questions_are_answered() -> None:
    found = context(*RUN).questions
    assert found["question"].to_list() == list(QUESTIONS)
    answers = dict(found.select("question", "answer").iter_rows())
    assert answers["which files are shown"] == "1 part"
    assert answers["which verifier errors are shown"] == "1 part"
    assert answers["which tools are shown"] == "not recorded"
    assert answers["must the answer have a form"] == "no: free text"


@pytest.mark.long
@settings(deadline=None, max_examples=25)
@given(HOSTILE, HOSTILE, HOSTILE, st.sampled_from([None, 3000]))
def test_no_string_leaves_its_section_or_becomes_a_role(printed: str, said: str, name: str, budget: int | None) -> None:
    found = context(
        task(), part("ASSISTANT_RESPONSE", f"x{said}"), call("a", "Read", path=name),
        result("a", f"x{printed}", 1, path=f"x{name}"), part("REPOSITORY_INSTRUCTION", f"x{said}{printed}", path=name),
        budget=budget,
    )  # fmt: skip
    assert [message["text"] for message in found.recorded_messages() if message["role"] == "tool"] == [f"x{printed}"]
    for interface in ProviderInterface:
        roles = [message["role"] for message in _messages(found.payload(interface).body)]
        quiet = context(
            task(), part("ASSISTANT_RESPONSE", "x"), call("a", "Read", path="y"), result("a", "x", 1, path="x"),
            part("REPOSITORY_INSTRUCTION", "x", path="y"), budget=budget,
        )  # fmt: skip
        assert roles == [message["role"] for message in _messages(quiet.payload(interface).body)]


def _messages(body: Any) -> list[dict[str, str]]:
    for name in ("messages", "contents", "input"):
        if name in body:
            return [{"role": str(row.get("role", row.get("type")))} for row in body[name]]
    raise AssertionError(f"no messages in {list(body)}")


def test_it_shows_itself_without_letting_anything_act() -> None:
    found = context(task("<script>alert(1)</script> \x1b[31m"), part("ASSISTANT_RESPONSE", "<b>hi</b>"))
    assert "\x1b" not in str(found)
    page = found._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<script>" not in page
    assert "<b>hi" not in page
    assert "task_contract" in str(found)


def test_the_same_call_gives_the_same_bytes() -> None:
    one, two = context(*RUN, budget=2500), context(*RUN, budget=2500)
    assert one.to_json() == two.to_json()
    assert one.digest == two.digest != context(*RUN, budget=2600).digest
    assert json.loads(one.to_json())["trace"] == {"session_id": "s", "run_id": "r", "step": 2, "trace_id": None}
