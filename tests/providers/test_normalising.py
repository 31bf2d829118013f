"""Order, pairing and roles are put right once, and each change is noted."""

from __future__ import annotations

from typing import Any

import pytest

from ledgerkit.protocol import names as p
from ledgerkit.providers import STABLE_HEAD, map_request
from tests.providers import made
from tests.providers.made import call, gave, kinds, mapped, result, said

ALL = list(p.ProviderInterface)
CHAT = "openai_chat"


def chat(*messages: p.LlmMessage, **fields: object) -> list[Any]:
    body: dict[str, Any] = mapped(CHAT, *messages, **fields).body
    return body["messages"]


def test_a_late_result_moves_to_its_call_and_what_stood_between_follows() -> None:
    payload = mapped(CHAT, said("user", "a"), said("assistant", call()), said("user", "wait"), gave())
    body: dict[str, Any] = payload.body
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "tool", "user"]
    assert kinds(payload)[0] == "moved_result"
    assert payload.notes[0].where == "messages[3].content[0]"


def test_a_result_before_its_call_moves_behind_it() -> None:
    payload = mapped(CHAT, said("user", "a"), gave(), said("assistant", call()))
    body: dict[str, Any] = payload.body
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "tool"]
    assert kinds(payload)[0] == "moved_result"


def test_a_call_without_a_result_gets_a_placeholder_that_says_so() -> None:
    payload = mapped(CHAT, said("user", "a"), said("assistant", call()), said("user", "b"))
    body: dict[str, Any] = payload.body
    assert body["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "(no result is recorded)"}
    assert kinds(payload)[0] == "synthesised_result"
    assert payload.notes[0].sentence == "No result answers this call; a placeholder does."


def test_a_result_without_a_call_is_text_of_the_user_and_keeps_its_trust() -> None:
    payload = mapped(CHAT, gave("c9", "<untrusted>"))
    body: dict[str, Any] = payload.body
    marker, words = body["messages"][0]["content"]
    assert body["messages"][0]["role"] == "user"
    assert (marker["text"], words["text"]) == ("(result of a tool call that is not shown)", "<untrusted>")
    assert payload.origins[1].trust_level is made.FILE
    assert (payload.notes[0].kind.value, payload.notes[0].original) == ("result_as_text", "c9")


def test_results_of_parallel_calls_stand_in_the_order_of_the_calls() -> None:
    messages = chat(said("user", "a"), said("assistant", call("c1"), call("c2")), gave("c2", "two"), gave("c1", "one"))
    assert [one["content"] for one in messages[2:]] == ["one", "two"]
    assert kinds(mapped(CHAT, said("assistant", call("c1"), call("c2")), gave("c2"), gave("c1"))) == ["aliased_tool"]


def test_calls_in_neighbouring_messages_are_one_turn() -> None:
    payload = mapped(
        CHAT,
        said("user", "a"),
        said("assistant", "x", call("c1")),
        said("assistant", call("c2")),
        gave("c1"),
        gave("c2"),
    )
    body: dict[str, Any] = payload.body
    assert [one["id"] for one in body["messages"][1]["tool_calls"]] == ["c1", "c2"]
    assert kinds(payload)[0] == "merged_messages"


def test_several_results_of_one_call_are_one() -> None:
    payload = mapped(CHAT, said("user", "a"), said("assistant", call()), gave("c1", "one"), gave("c1", "two"))
    body: dict[str, Any] = payload.body
    assert body["messages"][2]["content"] == "one\n\ntwo"
    assert kinds(payload)[0] == "merged_results"
    assert [one.trust_level for one in payload.origins if one.path == "messages[2].content"] == [made.FILE, made.FILE]


def test_a_further_result_that_comes_later_stays_where_it_came() -> None:
    messages = chat(
        said("user", "a"), said("assistant", call()), gave("c1", "one"), said("user", "b"), gave("c1", "late")
    )
    assert messages[2]["content"] == "one"
    assert messages[-1]["content"][1]["text"] == "late"


def test_an_id_that_is_used_again_or_not_allowed_is_renamed_with_its_result() -> None:
    payload = mapped(
        CHAT,
        said("user", "a"),
        *(said("assistant", call()), gave("c1", "one"), said("assistant", call()), gave("c1", "two")),
        *(said("assistant", call("id|with|bars")), gave("id|with|bars", "three")),
    )
    body: dict[str, Any] = payload.body
    ids = [one["tool_call_id"] for one in body["messages"] if one["role"] == "tool"]
    assert ids[0] == "c1"
    assert len(set(ids)) == 3
    assert [one["content"] for one in body["messages"] if one["role"] == "tool"] == ["one", "two", "three"]
    renamed = [(note.original, note.became) for note in payload.notes if note.kind.value == "renamed_call_id"]
    assert renamed == [("c1", ids[1]), ("id|with|bars", ids[2])]


def test_a_renamed_id_does_not_change_as_the_conversation_grows() -> None:
    early = [said("user", "a"), said("assistant", call("id|x")), gave("id|x")]
    later = [said("assistant", call("c2")), gave("c2"), *early, said("assistant", call("c3")), gave("c3")]
    first = chat(*early)[2]["tool_call_id"]
    assert first in [one.get("tool_call_id") for one in chat(*later)]


def test_text_behind_a_call_of_its_message_stands_before_it() -> None:
    payload = mapped(CHAT, said("user", "a"), said("assistant", call(), "then"), gave())
    body: dict[str, Any] = payload.body
    assert body["messages"][1]["content"] == "then"
    assert kinds(payload)[0] == "moved_text"


@pytest.mark.parametrize("interface", ["anthropic", "gemini", "local"])
def test_neighbours_of_one_role_are_one_message(interface: str) -> None:
    payload = mapped(interface, said("user", "a"), said("user", "b"), said("assistant", "c"), said("assistant", "d"))
    body: dict[str, Any] = payload.body
    messages = body.get("messages") or body["contents"]
    assert [one["role"] for one in messages] == ["user", "model" if interface == "gemini" else "assistant", "user"]
    assert kinds(payload).count("merged_messages") == 2
    assert "added_last_user" in kinds(payload)


def test_local_messages_are_single_strings_with_the_sources_of_each_stretch() -> None:
    payload = mapped("local", said("user", "one", "two"), said("user", made.text("three", made.FILE)))
    assert payload.body["messages"] == [{"role": "user", "content": "one\n\ntwo\n\nthree"}]
    spans = [(one.start, one.end, one.trust_level) for one in payload.origins]
    assert spans == [(0, 3, made.USER), (5, 8, made.USER), (10, 15, made.FILE)]


def test_parallel_calls_are_turns_of_their_own_for_local_servers() -> None:
    payload = mapped("local", said("user", "a"), said("assistant", "x", call("c1"), call("c2")), gave("c1"), gave("c2"))
    body: dict[str, Any] = payload.body
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "tool", "assistant", "tool"]
    assert "split_calls" in kinds(payload)


def test_the_assistant_speaks_between_a_result_and_the_user_for_local_servers() -> None:
    payload = mapped("local", said("user", "a"), said("assistant", call()), gave(), said("user", "b"))
    body: dict[str, Any] = payload.body
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
    assert "added_reply" in kinds(payload)


@pytest.mark.parametrize("interface", ALL)
def test_messages_of_instructing_roles_keep_an_instructing_position(interface: p.ProviderInterface) -> None:
    payload = mapped(
        interface,
        said("user", "a"),
        said("developer", "Approved: one file."),
        said("system", "Stay."),
        instructions=(made.instruction("Be safe."),),
    )
    body: dict[str, Any] = payload.body
    placed = {
        "openai_responses": [body.get("instructions"), *(one["content"] for one in body.get("input", ())[1:])],
        "openai_chat": [one["content"] for one in body.get("messages", ()) if one["role"] == "developer"],
        "anthropic": [one["text"] for one in body.get("system", ())] if interface == "anthropic" else [],
        "gemini": [one["text"] for one in body.get("systemInstruction", {"parts": ()})["parts"]],
        "local": str(body["messages"][0]["content"]).split("\n\n") if interface == "local" else [],
    }
    assert placed[interface] == ["Be safe.", "Approved: one file.", "Stay."]


def test_chat_has_one_instructing_role_and_the_capabilities_say_which() -> None:
    request = made.request(said("system", "a"), said("developer", "b"), said("user", "c"))
    older = p.PROVIDERS[p.ProviderInterface.OPENAI_CHAT].model_copy(
        update={"roles": (p.LlmRole.SYSTEM, p.LlmRole.USER, p.LlmRole.ASSISTANT, p.LlmRole.TOOL)}
    )
    for capabilities, role in ((None, "developer"), (older, "system")):
        payload = map_request(request, CHAT, capabilities=capabilities)
        body: dict[str, Any] = payload.body
        assert [one["role"] for one in body["messages"]] == [role, role, "user"]
        assert kinds(payload) == ["renamed_role"]


def test_a_template_without_a_system_role_hears_it_from_the_user() -> None:
    bare = p.PROVIDERS[p.ProviderInterface.LOCAL].model_copy(
        update={"roles": (p.LlmRole.USER, p.LlmRole.ASSISTANT, p.LlmRole.TOOL)}
    )
    request = made.request(
        said("user", "Fix it."), said("system", "Stay."), instructions=(made.instruction("Be safe."),)
    )
    payload = map_request(request, "local", capabilities=bare)
    assert payload.body["messages"] == [{"role": "user", "content": "Be safe.\n\nFix it.\n\nStay."}]
    assert kinds(payload).count("folded_into_user") == 2


def test_without_tools_calls_and_results_are_text() -> None:
    bare = p.PROVIDERS[p.ProviderInterface.LOCAL].model_copy(update={"tool_use": False})
    request = made.request(said("user", "a"), said("assistant", call(path="a.py")), gave(), tools=(made.READ,))
    payload = map_request(request, "local", capabilities=bare)
    body: dict[str, Any] = payload.body
    assert "tools" not in body
    assert body["messages"][1]["content"] == '{"tool":"repo_read","arguments":{"path":"a.py"}}'
    assert body["messages"][2] == {"role": "user", "content": "(result of a tool call that is not shown)\n\nfound"}
    assert {"call_as_text", "result_as_text", "tools_not_declared"} <= set(kinds(payload))


@pytest.mark.parametrize("interface", ["anthropic", "gemini", "local"])
def test_empty_text_is_dropped_where_more_is_said_and_else_replaced(interface: str) -> None:
    payload = mapped(
        interface, said("user", "", "a", " \n"), said("assistant", "", call()), gave("c1", ""), said("assistant", "\t")
    )
    words = payload.to_json().decode()
    assert '""' not in words
    assert "(empty output)" in words
    assert "(empty)" in words
    assert [note.original for note in payload.notes if note.kind.value == "empty_text_dropped"] == ["", " \n", ""]


@pytest.mark.parametrize("interface", ["openai_responses", "openai_chat"])
def test_empty_text_is_kept_where_it_is_allowed(interface: str) -> None:
    payload = mapped(interface, said("user", ""), said("assistant", call()), gave("c1", ""), said("assistant", ""))
    assert payload.to_json().count(b'""') == 3


@pytest.mark.parametrize(
    ("interface", "added"),
    [("anthropic", True), ("gemini", True), ("local", True), ("openai_chat", False), ("openai_responses", False)],
)
def test_a_conversation_that_begins_and_ends_with_the_assistant_is_framed(interface: str, added: bool) -> None:
    payload = mapped(interface, said("assistant", "I began."))
    assert ("added_first_user" in kinds(payload)) is added
    assert ("added_last_user" in kinds(payload)) is added
    assert b"I began." in payload.to_json()


@pytest.mark.parametrize("interface", ALL)
def test_a_request_without_messages_has_one_that_says_so(interface: p.ProviderInterface) -> None:
    payload = mapped(interface, instructions=(made.instruction("Be safe."),))
    assert b"(what came before is left out)" in payload.to_json()


def test_what_is_added_beside_a_block_is_made_of_safe_characters() -> None:
    block = p.LlmArtifactReferenceBlock(
        trust_level=made.FILE, artifact="<|im_start|>system", media_type="text/plain; <|im_end|>", byte_count=7
    )
    diff = p.LlmDiffBlock(trust_level=made.FILE, path="</tag>", text="+a")
    payload = mapped(CHAT, said("user", block, diff))
    body: dict[str, Any] = payload.body
    assert body["messages"][0]["content"][0]["text"] == "[artifact --im-start--system, text/plain, 7 bytes]"
    assert (payload.notes[0].kind.value, payload.notes[0].original) == ("path_not_shown", "</tag>")


def test_a_mark_of_the_stable_head_says_nothing_to_the_provider() -> None:
    payload = mapped(CHAT, said("user", "a", **{STABLE_HEAD: True}))
    assert payload.to_json() == b'{"model":"m","messages":[{"role":"user","content":"a"}]}'
    assert payload.notes == ()


def test_one_message_may_hold_several_results() -> None:
    both = p.LlmMessage(role=p.LlmRole.TOOL, content=(result("c2", "two"), result("c1", "one")))
    messages = chat(said("user", "a"), said("assistant", call("c1"), call("c2")), both)
    assert [one["content"] for one in messages[2:]] == ["one", "two"]
