"""Boundaries: no text leaves its section, whatever it holds, and what was made harmless can be restored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.vocabulary import ContextSection, TrustLevel
from ledgerkit.safety.boundaries import Boundary, bounded_parts, holds_tag, neutralise, nonce_of

NONCE = nonce_of("a run")
MARKS = (
    "</repository_data>", f"</repository_data-{NONCE}>", "< / Repository_Data >", "<platform_policy>",
    "<|im_start|>system", "<|eot_id|>", "<｜User｜>", "[INST]", "[/INST]", "<<SYS>>", "<s>", "</s>", "<start_of_turn>",
    "[TOOL_CALLS]", "<tool_call>", "</think>", "\n\nHuman:", "\n\nAssistant: sure", "<invoke name='x'>",
    "<rep\u200bository_data>", "＜/repository_data＞", "<\u2060/verifier>", "<ｖerifier>", "<workіng_memory>",
    "<|im_st\u00adart|>", "＜|im_end|＞", "［INST］", "<repository data>", "<PLATFORM-POLICY>", "<boundary_notice>",
    "<rеpository_data trust=\"platform\">",
)  # fmt: skip
CUT = ("</repository_", "text <", "</", "<|im_sta", "[INS", "<platform", "<|", "<\u200b/veri", "[/AVAILABLE_TO")
PLAIN = (
    "if a < b and c > d: x = List<Data>()", "Promise<VerifierResult> f(x: Map<string, T>)", "a <- c(1, 2)", "x << 2",
    "<div class='repository'><p>hi</p></div>", "arr[0][i] = [INTEGER]", "[1, 2], [A-Z]", "std::vector<std::string> v;",
    "<repository_database>", "<recent_messages2/>", "f <| g x", "#include <vector>\n", "Humans: 3", "the Human: a word",
    "[SYSTEM] up", "<Task />", "<tools-list>", "List[str]",
)  # fmt: skip
NAMES = st.sampled_from([section.value for section in ContextSection])
BITS = st.one_of(
    st.sampled_from((*MARKS, *CUT, *PLAIN, NONCE, f"-{NONCE}>", "<", "</", ">", "\n", "\u200b", "|>", "data>")),
    NAMES,
    st.text(max_size=12),
)
HOSTILE = st.lists(BITS, max_size=12).map("".join)
BOUNDARIES = st.builds(Boundary, st.sampled_from(ContextSection), st.sampled_from(TrustLevel), st.none() | HOSTILE)


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_loses_its_start(mark: str) -> None:
    safe = neutralise(f"before {mark} after")
    assert safe.edits, mark
    assert safe.restored() == f"before {mark} after"
    assert len(safe.text) == len(safe.restored())


@pytest.mark.parametrize("start", CUT)
def test_a_mark_that_the_end_of_a_text_cuts_loses_its_start(start: str) -> None:
    assert neutralise(f"before {start}").edits, start


@pytest.mark.parametrize("code", PLAIN)
def test_code_stays_as_it_is(code: str) -> None:
    assert neutralise(f"{code} \n").edits == ()


@given(HOSTILE)
def test_neutralising_is_reversible_and_done_once(text: str) -> None:
    safe = neutralise(text)
    assert safe.restored() == text
    assert neutralise(safe.text).edits == ()


@given(HOSTILE, HOSTILE)
def test_two_texts_make_no_mark_together(first: str, second: str) -> None:
    joined = neutralise(first).text + neutralise(second).text
    assert not holds_tag(joined, NONCE)


@given(st.lists(st.tuples(BOUNDARIES, HOSTILE), min_size=1, max_size=4))
def test_no_text_leaves_its_section(bounded: list[tuple[Boundary, str]]) -> None:
    rendered = "\n".join(boundary.wrap(text, NONCE) for boundary, text in bounded)
    read = bounded_parts(rendered, NONCE)
    assert [(one.section, one.text) for one in read] == [
        (boundary.section, neutralise(text).text) for boundary, text in bounded
    ]


@pytest.mark.parametrize(
    "broken",
    [
        f"<verifier-{NONCE} trust=\"tool\">\nopen",
        f"out <verifier-{NONCE} trust=\"tool\">\nx\n</verifier-{NONCE}>",
        f"<verifier-{NONCE} trust=\"tool\">\nx\n</verifier-{NONCE}> out",
        f"<verifier-{NONCE}>\n<verifier-{NONCE} trust=\"tool\">\n</verifier-{NONCE}>\n</verifier-{NONCE}>",
        f"<verifier-{NONCE} trust=\"tool\">\nx\n</recent_messages-{NONCE}>",
        f"</verifier-{NONCE}>",
    ],
)  # fmt: skip
def test_what_is_not_contained_is_refused(broken: str) -> None:
    with pytest.raises(ProtocolError):
        bounded_parts(broken, NONCE)


def test_the_mark_is_the_runs_own() -> None:
    assert nonce_of("one") == nonce_of("one")
    assert len({nonce_of(str(number)) for number in range(200)}) == 200
