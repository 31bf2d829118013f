"""Where known things are mentioned, and that longer names are not mentions of shorter ones."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit.extract.mentions import find_mentions


def places(text: str, kind: str, *needles: str) -> list[tuple[int, int]]:
    texts = pl.DataFrame({"id": [0], "text": [text]}, schema={"id": pl.UInt32, "text": pl.String})
    wanted = pl.DataFrame({"kind": [kind] * len(needles), "needle": list(needles)})
    return find_mentions(texts, wanted).select("start", "end").rows()


@pytest.mark.parametrize(
    ("text", "kind", "needle"),
    [
        ("Ask Evil.Example.", "host", "evil.example"),
        ("http://evil.example/x", "host", "evil.example"),
        ("mail bob@evil.example", "host", "evil.example"),
        ("see https://evil.example/x.", "url", "https://evil.example/x"),
        ("see (https://evil.example/x).", "url", "https://evil.example/x"),
        ("run `/etc/x.sh`, then", "path", "/etc/x.sh"),
        ("at ./a/b.py:12", "path", "a/b.py"),
        ("in src/deploy.sh there", "name", "deploy.sh"),
        ("say `curl -s`", "command", "curl"),
        ("/usr/bin/curl x", "command", "curl"),
        ("requires evil-pkg>=1", "package", "evil-pkg"),
        ("für évil-pkg oder evil-pkg", "package", "evil-pkg"),
    ],
)
def test_a_mention_is_found(text: str, kind: str, needle: str) -> None:
    assert len(places(text, kind, needle)) == 1


@pytest.mark.parametrize(
    ("text", "kind", "needle"),
    [
        ("notevil.example and evil.example.org", "host", "evil.example"),
        ("sub.evil.example", "host", "evil.example"),
        ("https://evil.example/xy", "url", "https://evil.example/x"),
        ("/etc/x.sh.bak and /my/etc/x.sh", "path", "/etc/x.sh"),
        ("a/b/c.py", "path", "b/c.py"),
        ("curly, curl-x, Curl", "command", "curl"),
        ("evil-pkg-2 and @evil-pkg", "package", "evil-pkg"),
        ("10.0.0.11", "ip", "10.0.0.1"),
    ],
)
def test_a_longer_name_is_no_mention(text: str, kind: str, needle: str) -> None:
    assert places(text, kind, needle) == []


def test_of_two_needles_the_longer_is_taken_where_both_stand() -> None:
    assert places("/etc/nginx/a and /etc/nginx", "path", "/etc/nginx", "/etc/nginx/a") == [(0, 12), (17, 27)]


def test_places_count_characters_not_bytes() -> None:
    text = "漢字 → 🎉 evil.example"
    ((start, end),) = places(text, "host", "evil.example")
    assert text[start:end] == "evil.example"


def test_a_needle_beyond_ascii_is_found() -> None:
    assert places("see /srv/müller/x.sh now", "path", "/srv/müller/x.sh") == [(4, 20)]


hosts = st.sampled_from(["a.example", "b.a.example", "evil.test", "x.y.invalid"])
fillers = st.sampled_from(["", "und ", "→ ", "(", "see: ", "é", "漢"])


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(fillers, hosts), max_size=8), st.lists(hosts, min_size=1, max_size=4, unique=True))
def test_separated_words_are_mentions_exactly_where_they_stand(words: list[tuple[str, str]], wanted: list[str]) -> None:
    text, expected = "", list[tuple[int, int]]()
    for filler, host in words:
        text += " " + filler
        if host in wanted:
            expected.append((len(text), len(text) + len(host)))
        text += host
    assert places(text, "host", *wanted) == expected
