"""Finds values that are known, in whatever way they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from ledgerkit.safety.redaction.forms import SHORTEST, written_forms
from ledgerkit.safety.redaction.memory import Confirmed, SecretMemory
from ledgerkit.safety.redaction.secrets import PLACEHOLDER, Secret, fingerprint_of
from ledgerkit.safety.redaction.values import looks_random

_CODE_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_CODE_BEFORE: Final = re.compile(r"[A-Za-z0-9+/_-]*$")
_WORD: Final = re.compile(r"[^\s\"'`<>=,;()\[\]{}]{8,400}")
_HALF: Final = re.compile("[\ud800-\udfff]")
"""Halves of characters, which Polars does not take; another character in their place keeps every place."""
_REACH: Final = 20_000
PROPAGATED: Final = "propagation"
REMEMBERED: Final = "fingerprint"


def known_places(texts: Sequence[str], values: Mapping[str, Confirmed]) -> Iterator[tuple[int, Secret]]:
    """Every place where a known value stands.

    Args:
        texts: Where to look.
        values: What is known.

    Yields:
        The number of a text and a secret in it; places may overlap.
    """
    needles: dict[str, tuple[str, str]] = {}
    for value, confirmed in values.items():
        for written, form in written_forms(value, confirmed.type).items():
            needles.setdefault(written, (value, form))
    if not needles:
        return
    random = {value: looks_random(value, least=SHORTEST) for value in values}
    for index, written, place in _matches(texts, sorted(needles)):
        text = texts[index]
        value, form = needles[written]
        end = place + len(written)
        if form == "base64":
            start, end = _whole_code(text, place, end)
        elif not random[value] and _touches_word(text, place, end):
            continue
        else:
            start = place
        known = values[value]
        yield index, Secret(start, end, known.type, known.rule, value, form, found_by=PROPAGATED)


def _matches(texts: Sequence[str], needles: list[str]) -> Iterator[tuple[int, str, int]]:
    """Every needle in every text: the text's number, the needle, and where it begins, in characters."""
    whole = [text if text.isascii() else _HALF.sub("\ufffd", text) for text in texts]
    needles = [needle for needle in needles if needle.isascii() or _HALF.search(needle) is None]
    given = pl.DataFrame({"text": whole}, {"text": pl.String}).with_row_index("index")
    found = (
        given.lazy()
        .filter(pl.col("text").str.contains_any(needles))
        .select(
            "index",
            pl.col("text").str.extract_many(needles, overlapping=True).alias("needle"),
            pl.col("text").str.find_many(needles, overlapping=True).alias("place"),
        )
        .explode("needle", "place")
        .sort("index", "place", "needle")
        .collect()
    )
    for (index,), rows in found.group_by("index", maintain_order=True):
        number = int(str(index))
        text = whole[number]
        is_ascii = text.isascii()
        data = b"" if is_ascii else text.encode()
        characters = last = 0
        for needle, place in rows.select("needle", "place").iter_rows():
            if is_ascii:
                yield number, needle, place
                continue
            characters += len(data[last:place].decode("utf-8", "replace"))
            last = place
            yield number, needle, characters


def _whole_code(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole stretch of base64 around a place: a part of it would be of no use, and its edges hold bits."""
    before = _CODE_BEFORE.search(text[max(0, start - _REACH) : start])
    after = _CODE_RUN.match(text, end, end + _REACH)
    return start - (len(before[0]) if before else 0), after.end() if after else end


def _touches_word(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()


def remembered_places(texts: Sequence[str], memory: SecretMemory, key: bytes) -> Iterator[tuple[int, Secret]]:
    """Words whose fingerprint is that of a secret that was replaced before.

    Args:
        texts: Where to look.
        memory: What is known of the run.
        key: The key of the fingerprints.

    Yields:
        The number of a text and a secret in it.
    """
    if not memory.fingerprints:
        return
    seen: dict[str, str | None] = {}
    for index, text in enumerate(texts):
        for found in _WORD.finditer(text):
            for start, end in _readings(text, found.start(), found.end()):
                word = text[start:end]
                if word not in seen:
                    seen[word] = memory.fingerprints.get(fingerprint_of(key, word))
                kind = seen[word]
                if kind is not None and PLACEHOLDER.search(word) is None:
                    yield index, Secret(start, end, kind, REMEMBERED, word, found_by=REMEMBERED)


def _readings(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A word, and the same without the marks of a sentence at its end."""
    yield start, end
    bare = start + len(text[start:end].rstrip(".:!?\\"))
    if SHORTEST <= bare - start < end - start:
        yield start, bare
