"""Hostile text is shown, never obeyed."""

from __future__ import annotations

import unicodedata
from html.parser import HTMLParser

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from ledgerkit.protocol.vocabulary import Audience, Visibility
from ledgerkit.safety.gate import visible_to
from ledgerkit.safety.inert import inert_html, inert_terminal

_HOSTILE = st.text(
    st.sampled_from("a\x1b[]0;\x07\x9b\u202e\u200b\u2066\U000e0041\r\n\t<>&\"'\ud800é") | st.characters()
)


def _drives(text: str) -> list[str]:
    """Characters that drive a terminal, turn text around or hide."""
    return [c for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cs")] + [
        c
        for c in text
        if c in "\u200b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" or "\U000e0000" <= c <= "\U000e007f"
    ]


@given(_HOSTILE)
def test_a_terminal_gets_no_character_that_drives_it(text: str) -> None:
    assert _drives(inert_terminal(text)) == []


@given(_HOSTILE)
def test_html_of_a_text_is_one_text_and_no_markup(text: str) -> None:
    met: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            del attrs
            met.append(tag)

    shown = inert_html(text)
    Reader().feed(shown)
    assert met == []
    assert not set("<>\"'") & set(shown)
    assert _drives(shown) == []


def test_plain_text_stays_as_it_is() -> None:
    assert inert_terminal("Grüße, 1 < 2\n\tcode") == "Grüße, 1 < 2\n\tcode"


def test_each_audience_sees_what_its_labels_allow_and_the_rest_is_counted() -> None:
    parts = pl.DataFrame({"part_visibility": [level.value for level in Visibility] * 2})
    for audience in Audience:
        seen, withheld = visible_to(parts, audience)
        assert set(seen["part_visibility"]) == {v.value for v in Visibility if audience.may_see(v)}
        assert seen.height + withheld["withheld"].sum() == parts.height
