"""Token counts are tiktoken's, offline, for any text and with either engine."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import os
import random
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ledgerkit import tokens, vocabularies
from ledgerkit.errors import MissingExtraError, ProtocolError
from ledgerkit.vocabularies import cuts

WITHOUT_TOKTOK = importlib.util.find_spec("toktok") is None
needs_toktok = pytest.mark.skipif(WITHOUT_TOKTOK, reason="the extra 'fast' (toktok-rs) is not installed")
ENGINES = ["tiktoken", pytest.param("toktok", marks=needs_toktok)]
MILLION = 1_000_000

# Text as logs have it: words, code and the characters that the patterns treat apart, rather than uniform noise.
TEXT = st.lists(
    st.one_of(
        st.sampled_from(
            [" ", "  ", "\n", "\n\n", "\r\n", "\t", " \n", "\u00a0", "'s", "'LL", "/", "//", "};", "é", "e\u0301", "中"]
        ),
        st.sampled_from(
            ["the", "The", "HTTPServer", "x1", "1234", "👩\u200d👧", "<|endoftext|>", "ǅ", "\u0301", "\x1c"]
        ),
        st.text(max_size=8),
    ),
    max_size=40,
).map("".join)


def reference_count(text: str, encoding: str = tokens.DEFAULT_ENCODING) -> int:
    return len(tokens.tiktoken_encoding(encoding).encode_ordinary(text))


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent,
        env=os.environ | environment,
    )


@pytest.mark.parametrize("name", tokens.ENCODINGS)
def test_the_shipped_vocabulary_is_the_rank_file_whose_hash_tiktoken_states(name: str) -> None:
    shipped = vocabularies.load_tokens(name)

    rank_file = vocabularies.rank_file_of(shipped)

    assert hashlib.sha256(rank_file).hexdigest() == vocabularies.VOCABULARIES[name].rank_file_sha256
    assert tokens.tiktoken_encoding(name).decode_single_token_bytes(len(shipped) - 1) == shipped[-1]


@pytest.mark.parametrize("name", tokens.ENCODINGS)
def test_packing_a_vocabulary_again_gives_the_content_that_is_shipped(name: str) -> None:
    content = vocabularies.content_of(vocabularies.load_tokens(name))

    assert hashlib.sha256(content).hexdigest() == vocabularies.VOCABULARIES[name].content_sha256


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("encoding", tokens.ENCODINGS)
def test_each_probe_has_the_recorded_count(engine: str, encoding: str) -> None:
    probes = vocabularies.load_probes()

    counts = tokens.TokenCounter(encoding, engine=engine).count_many([probe["text"] for probe in probes])

    assert dict(zip((probe["name"] for probe in probes), counts, strict=True)) == {
        probe["name"]: probe["counts"][encoding] for probe in probes
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_special_tokens_in_a_text_are_ordinary_text(engine: str) -> None:
    assert tokens.TokenCounter(engine=engine).count("<|endoftext|>") == 7


def test_an_unknown_encoding_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ProtocolError, match="o200k_base"):
        tokens.count("x", "o200k")
    with pytest.raises(ProtocolError, match="tiktoken"):
        tokens.TokenCounter(engine="tictoken")


def test_importing_the_module_loads_no_tokenizer() -> None:
    code = "import sys, ledgerkit.tokens as t; t.TokenCounter(); print({'tiktoken', 'toktok'} & set(sys.modules))"

    assert run_python(code).stdout == "set()\n"


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_counting_needs_no_network_no_cache_folder_and_no_environment(engine: str, tmp_path: Path) -> None:
    code = f"""
import socket, sys
class Blocked(Exception): ...
def refuse(*_): raise Blocked
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from ledgerkit.tokens import TokenCounter
print([TokenCounter(e, engine={engine!r}).count("hello world") for e in ("o200k_base", "cl100k_base")])
print("requests" in sys.modules)
"""
    result = run_python(code, TIKTOKEN_CACHE_DIR=str(tmp_path), TMPDIR=str(tmp_path), HOME=str(tmp_path))

    assert result.stdout == "[2, 2]\nFalse\n", result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(" " * MILLION, 7_813, id="blanks"),
        pytest.param(" " * MILLION + "x", 7_814, id="blanks before a letter"),
        pytest.param("x" + "\t" * MILLION + "x", 62_502, id="tabs between letters"),
        pytest.param("\n" * MILLION, 62_500, id="newlines"),
        pytest.param("\n" * MILLION + " " * MILLION + "x", 70_314, id="newlines, then blanks"),
        pytest.param(" " * MILLION + "\nx", 7_815, id="blanks before a newline"),
        pytest.param("a" * MILLION, 125_000, id="one letter"),
        pytest.param("QUJDREVGR0g1" * (MILLION // 12), 583_331, id="base64"),
        pytest.param("中" * MILLION, MILLION, id="cjk"),
        pytest.param("👩\u200d👩" * (MILLION // 4), 1_250_000, id="emoji joined"),
    ],
)
def test_a_million_characters_of_one_kind_are_counted_without_a_panic(
    engine: str, text: str, expected: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert tokens.TokenCounter(engine=engine).count(text) == expected
    assert capfd.readouterr().err == ""


BEFORE_BLANKS = ["", "x", "};", "}\n\n", "x\n", "\n \n", "/", "é\u0301", "\n"]
AFTER_BLANKS = ["", "x", "X", "1", "/", "}", "\n", "\r\nx", "中", "\u0301", "'s"]


def blank_cases() -> Iterator[object]:
    """Each combination; those of a few telling ones are in the fast suite."""
    for before, after in itertools.product(BEFORE_BLANKS, AFTER_BLANKS):
        telling = before in {"x", "}\n\n"} and after in {"", "x", "\n"}
        yield pytest.param(before, after, marks=() if telling else pytest.mark.slow)


@pytest.mark.parametrize("encoding", tokens.ENCODINGS)
@pytest.mark.parametrize(("before", "after"), list(blank_cases()))
def test_a_long_run_of_blanks_is_counted_as_if_it_were_not_cut(encoding: str, before: str, after: str) -> None:
    text = before + "\u00a0" + " " * (cuts.LONG_RUN + 7) + "\t" + after
    counter = tokens.TokenCounter(encoding, engine="tiktoken")

    assert counter.count(text) == reference_count(text, encoding)
    assert counter.count("y " + text + text) == reference_count("y " + text + text, encoding)


@pytest.mark.long
@pytest.mark.parametrize("encoding", tokens.ENCODINGS)
def test_a_long_text_is_cut_and_counted_as_if_it_were_not(encoding: str) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    text = "".join((library / name).read_text("utf-8") for name in ("argparse.py", "typing.py", "inspect.py")) * 8
    shuffled = "".join(random.Random(0).sample(text.splitlines(keepends=True), k=text.count("\n")))
    one_line = json.dumps(text)

    for long in (text, shuffled, one_line):
        assert len(list(cuts.pieces(long, encoding))) > 1
        assert tokens.TokenCounter(encoding, engine="tiktoken").count(long) == reference_count(long, encoding)


@pytest.mark.parametrize("encoding", tokens.ENCODINGS)
@given(before=TEXT, after=TEXT)
@example(before="'s", after="'s")
@example(before="};\n", after="//")
@example(before=" ", after=" ")
@settings(deadline=None)
def test_the_places_to_cut_never_change_a_count(encoding: str, before: str, after: str) -> None:
    for end, start in (("x", " "), ("Z", " "), ("\n", "a"), (" \n", "Z")):
        left, right = before + end, start + after
        assert reference_count(left, encoding) + reference_count(right, encoding) == reference_count(
            left + right, encoding
        )


@given(text=TEXT, blanks=st.integers(cuts.LONG_RUN - 2, cuts.LONG_RUN + 2), at=st.integers(0, 200))
@settings(max_examples=30, deadline=None)
def test_the_pieces_of_a_text_joined_are_the_text(text: str, blanks: int, at: int) -> None:
    whole = text[:at] + " " * blanks + text[at:]

    for encoding in tokens.ENCODINGS:
        assert "".join(piece for piece, _ in cuts.pieces(whole, encoding)) == whole


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("x\ud83d", "x\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ufeff\ud800", "\ufeff\ufffd"),
    ],
)
def test_lone_surrogates_count_as_the_replacement_character(engine: str, text: str, same_as: str) -> None:
    counter = tokens.TokenCounter(engine=engine)

    assert counter.count_many([text, "plain", text * 100]) == counter.count_many([same_as, "plain", same_as * 100])


@pytest.mark.long
@needs_toktok
@pytest.mark.parametrize("encoding", tokens.ENCODINGS)
@given(texts=st.lists(TEXT, max_size=5))
@settings(max_examples=300, deadline=None)
@example(texts=["\U00018d09's", "plain", "\ua7ce's"])
def test_toktok_counts_as_tiktoken_does(encoding: str, texts: list[str]) -> None:
    fast = tokens.TokenCounter(encoding, engine="toktok", memo_size=0)

    assert fast.count_many(texts) == [reference_count(text, encoding) for text in texts]


@needs_toktok
@pytest.mark.slow
@pytest.mark.parametrize("encoding", tokens.ENCODINGS)
def test_toktok_counts_each_token_of_the_vocabulary_and_each_character_as_tiktoken_does(encoding: str) -> None:
    texts = [token.decode("utf-8", "replace") for token in vocabularies.load_tokens(encoding)]
    texts += [
        text
        for code in (*range(0x34000), *range(0xE0000, 0xE0200), 0xF0000, 0x10FFFF)
        for text in (pattern.replace("?", chr(code)) for pattern in ("?'s", "a?? ?B", "A?a!?\n", "1?2  ?"))
    ]

    fast = tokens.TokenCounter(encoding, engine="toktok", memo_size=0).count_many(texts)

    different = [text for text, found in zip(texts, fast, strict=True) if found != reference_count(text, encoding)]
    assert different == []


@needs_toktok
def test_the_faster_engine_is_used_where_it_is_installed() -> None:
    assert (tokens.engine_name(), tokens.engine_note()) == ("toktok", "")


@pytest.mark.long
@pytest.mark.parametrize(
    ("toktok", "note"),
    [
        ("raise ImportError", "toktok is not installed"),
        ("", "toktok cannot count o200k_base: module 'toktok' has no attribute 'batch_count'"),
        ("def batch_count(texts, encoding, threads): return [22] * len(list(texts))", "toktok counts 22 tokens in "),
    ],
)
def test_an_engine_that_is_missing_or_differs_is_not_used_and_the_note_says_so(
    toktok: str, note: str, tmp_path: Path
) -> None:
    (tmp_path / "toktok.py").write_text(toktok + "\n")
    code = "import ledgerkit.tokens as t; print(t.count('hello world'), t.engine_name(), t.engine_note())"

    result = run_python(code, PYTHONPATH=str(tmp_path))

    assert result.stdout.startswith(f"2 tiktoken {note}"), result.stderr


def test_insisting_on_an_engine_that_is_not_usable_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "toktok.py").write_text("raise ImportError\n")

    result = run_python(
        "import ledgerkit.tokens as t; t.TokenCounter(engine='toktok').count('x')", PYTHONPATH=str(tmp_path)
    )

    assert MissingExtraError.__name__ in result.stderr
    assert "pip install 'agent-ledgerkit[fast]'" in result.stderr


def test_count_many_keeps_the_order_and_counts_repeated_texts_alike() -> None:
    assert tokens.count_many(["hello world", "", "hello", "hello world"]) == [2, 0, 1, 2]
    assert tokens.count_many([]) == []


@given(texts=st.lists(st.one_of(TEXT, TEXT.map(lambda text: text * 30)), max_size=20), memo_size=st.integers(0, 8))
@settings(deadline=None)
def test_a_counter_gives_the_same_counts_whatever_it_remembers(texts: list[str], memo_size: int) -> None:
    counter = tokens.TokenCounter(memo_size=memo_size)

    assert counter.count_many(texts) == tokens.count_many(texts)
    assert [counter.count(text) for text in reversed(texts)] == tokens.count_many(texts)[::-1]


def test_a_counter_forgets_the_oldest_texts_beyond_its_memo_size() -> None:
    counter = tokens.TokenCounter(memo_size=10)
    for number in range(1000):
        counter.count(f"text number {number}")

    assert counter.remembered == 10
