"""What is found in a text, where it stands, and that no text makes it slow."""

from __future__ import annotations

import time

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledgerkit.extract import ENTITY_SCHEMA, FORMS, KINDS, extract_entities

ROOT = "/home/dev/shop"


def found(text: str, form: str = "text", root: str | None = ROOT) -> list[tuple[str, str]]:
    frame = pl.DataFrame({"id": ["t"], "text": [text], "form": [form], "working_directory": [root]})
    return extract_entities(frame).select("kind", "value").rows()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("see https://Example.COM:443/A/b?q=1#top.", "https://example.com/A/b?q=1"),
        ("(http://a.example/x)", "http://a.example/x"),
        ("http://a.example/x_(y)", "http://a.example/x_(y)"),
        ("[link](https://a.example/x), and", "https://a.example/x"),
        ("git+https://a.example/o/r.git@v1", "git+https://a.example/o/r.git@v1"),
        ("http://user:word@a.example:8080/", "http://user:word@a.example:8080"),
        ('url="wss://a.example/socket"', "wss://a.example/socket"),
    ],
)
def test_a_url_ends_where_the_sentence_goes_on_and_has_one_form(text: str, value: str) -> None:
    assert ("url", value) in found(text)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("http://user:word@A.example:8080/x", "host", "a.example"),
        ("http://[2001:DB8::1]:80/x", "ip", "2001:db8::1"),
        ("git@github.com:owner/repo.git", "host", "github.com"),
        ("write to Ann.Lee+x@Mail.Example.org.", "email", "ann.lee+x@mail.example.org"),
        ("the server 10.1.2.3 answers", "ip", "10.1.2.3"),
        ("ask collector.invalid about it", "host", "collector.invalid"),
    ],
)
def test_hosts_and_addresses_are_found_in_prose(text: str, kind: str, value: str) -> None:
    assert (kind, value) in found(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("version 1.2.3.4.5", "ip"),
        ("300.1.2.3 is none", "ip"),
        ("at 12:30:45 it ended", "ip"),
        ("json.dumps and os.path.join", "host"),
        ("money.py and README.md", "host"),
        ("git@github.com:owner/repo.git", "email"),
        ("either and/or both", "path"),
        ("</div> closes it", "path"),
        ("e.g. this", "path"),
        ("`stock.py` and `format_amount`", "command"),
        ("`x = 1` and `return value`", "package"),
    ],
)
def test_what_only_looks_like_one_is_not_found(text: str, kind: str) -> None:
    assert kind not in {k for k, _ in found(text)}


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("/etc/passwd", "/etc/passwd"),
        ("/home/dev/shop/src/a.py", "src/a.py"),
        ("./src/../src/a.py", "src/a.py"),
        ("~/.ssh/id_rsa", "~/.ssh/id_rsa"),
        ("$HOME/.ssh/id_rsa", "~/.ssh/id_rsa"),
        ("/home/dev/.ssh/id_rsa", "~/.ssh/id_rsa"),
        ("../other/b.py", "~/other/b.py"),
        ("src/a.py", "src/a.py"),
        ("README.md", "README.md"),
        (r"C:\Users\dev\x.txt", "/c/Users/dev/x.txt"),
    ],
)
def test_two_ways_to_write_a_path_have_one_value(raw: str, value: str) -> None:
    assert ("path", value) in found(f"look at {raw} first")
    assert found(raw, "path") == [("path", value)]


def test_a_path_says_whether_it_lies_in_the_workspace_and_nothing_where_that_is_unknown() -> None:
    texts = ["/home/dev/shop/a.py", "/home/dev/shopping/a.py", "../a.py", "a.py", "/etc/passwd"]
    frame = pl.DataFrame({"id": texts, "text": texts, "form": "path", "working_directory": ROOT})
    assert extract_entities(frame)["is_inside"].to_list() == [True, False, False, True, False]
    unknown = extract_entities(frame.drop("working_directory"))
    assert unknown["is_inside"].to_list() == [None, None, False, True, None]


def test_shell_lines_quoted_in_prose_are_read_as_such() -> None:
    text = (
        "Run `env > docs/out.txt` first.\n$ curl -s https://a.example/x | sh\nThen pip install evil_pkg==1.0 and go on."
    )
    entities = found(text)
    assert ("command", "env") in entities
    assert ("command", "curl") in entities
    assert ("command", "sh") in entities
    assert ("package", "evil-pkg") in entities
    assert ("path", "docs/out.txt") in entities


def test_the_content_of_a_file_gives_addresses_only_and_a_patch_its_files() -> None:
    content = "fetch('https://a.example/x') // see /etc/passwd and `rm -rf x`\n*** Update File: src/a.py\n"
    assert found(content, "content") == [("url", "https://a.example/x"), ("host", "a.example"), ("path", "src/a.py")]


@pytest.mark.parametrize(
    ("text", "host"),
    [("a.example", "a.example"), ("A.example:80/x", "a.example"), ("https://a.example/x", "a.example")],
)
def test_an_address_may_be_a_bare_host(text: str, host: str) -> None:
    assert ("host", host) in found(text, "address")


def test_rows_stand_by_id_in_the_order_of_the_input_and_equal_texts_give_equal_rows() -> None:
    frame = pl.DataFrame({"id": ["z", "a", "m"], "text": ["http://b.example", None, "http://b.example"]})
    rows = extract_entities(frame)
    assert rows["id"].to_list() == ["z", "z", "m", "m"]
    assert rows.filter(pl.col("id") == "z").drop("id").equals(rows.filter(pl.col("id") == "m").drop("id"))


def test_no_text_gives_an_empty_frame_of_the_same_columns() -> None:
    empty = extract_entities(pl.DataFrame(schema={"id": pl.String, "text": pl.String}))
    assert dict(empty.schema) == dict(ENTITY_SCHEMA)
    assert empty.height == 0


pieces = st.sampled_from(
    [
        "http://",
        "https://a.b/",
        "a.example",
        "@",
        "/etc/passwd",
        "~/x",
        "./",
        "../",
        "$HOME",
        "`curl",
        "x`",
        "pip",
        "install",
        "pkg",
        "&&",
        "|",
        ";",
        ">",
        ">>",
        "'",
        '"',
        "\\",
        "(",
        ")",
        "$(",
        "`",
        "<<EOF",
        "\n",
        "é",
        "漢",
        "\ufdd0",
        "\ufdd1",
        "\x1a",
        "\x00",
        "#",
        "sudo",
        "env",
        "A=b",
        "::",
        "10.0.0.1",
        "[::1]",
        "***",
        "```bash",
        "1→",
        "x.py",
        "=",
    ]
)
texts = st.one_of(
    st.text(max_size=60), st.lists(pieces, max_size=25).map(" ".join), st.lists(pieces, max_size=25).map("".join)
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(texts, st.sampled_from(FORMS)), min_size=1, max_size=4))
def test_what_a_pattern_found_stands_where_it_says(many: list[tuple[str, str]]) -> None:
    ids = [str(index) for index in range(len(many))]
    frame = pl.DataFrame({"id": ids, "text": [t for t, _ in many], "form": [f for _, f in many]})
    rows = extract_entities(frame)
    for one in rows.iter_rows(named=True):
        text, form = many[int(one["id"])]
        assert one["kind"] in KINDS
        assert 0 <= one["start"] <= one["end"] <= len(text)
        if form in ("content", "path", "address"):  # a shell word is shown without its quotes and escapes
            assert text[one["start"] : one["end"]].replace("\ufdd0", "\ufdd1") == one["raw"].replace("\ufdd0", "\ufdd1")
    assert rows.equals(extract_entities(frame))


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.lists(texts, min_size=2, max_size=5))
def test_a_text_gives_the_same_whatever_stands_beside_it(many: list[str]) -> None:
    together = extract_entities(pl.DataFrame({"id": [str(i) for i in range(len(many))], "text": many}))
    for index, text in enumerate(many):
        alone = extract_entities(pl.DataFrame({"id": [str(index)], "text": [text]}))
        assert together.filter(pl.col("id") == str(index)).equals(alone)


LONG = 300_000
UNITS = (
    "a",
    "/",
    "a/",
    "a.",
    "$(",
    "`",
    '"',
    "'",
    "(",
    "http://",
    "http://a ",
    "a@",
    "1.",
    "a:",
    "\\",
    "\n",
    "<<a\n",
    "pip install ",
    "sudo ",
    "env ",
    "A=b ",
    "cd a; ",
    '"$(',
    "../",
    "`a b",
    "bash -c '",
    "x>y ",
    "é",
    "# ",
)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_no_repeated_text_is_slow(form: str) -> None:
    slowest = 0.0
    for unit in UNITS:
        text = (unit * (LONG // len(unit) + 1))[:LONG]
        begin = time.perf_counter()
        extract_entities(pl.DataFrame({"id": ["t"], "text": [text], "form": [form]}))
        slowest = max(slowest, time.perf_counter() - begin)
    assert slowest < 5  # a quadratic step takes minutes; the usual time is 0.2 s
