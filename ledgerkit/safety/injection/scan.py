"""Detectors run over many texts: a scan by Polars, then Python on the few that hold something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Final

import polars as pl

from ledgerkit.safety.injection.characters import CHARACTERS
from ledgerkit.safety.injection.commands import COMMANDS
from ledgerkit.safety.injection.encodings import ENCODINGS, ROT13_WORDS, SPELLED, rot13, spell_plainly
from ledgerkit.safety.injection.hidden import HIDDEN
from ledgerkit.safety.injection.marks import MAX_MARKS, Detector, Mark, for_polars, joined
from ledgerkit.safety.injection.overrides import OVERRIDES
from ledgerkit.safety.injection.phrases import AUTHORITY, CONCEALMENT, ORDERS
from ledgerkit.safety.injection.structures import STRUCTURES
from ledgerkit.safety.injection.terminal import TERMINAL

Found = tuple[int, str, Mark]
"""Number of a text, rule, place."""

PLAIN_TEXT: Final = (*STRUCTURES, *OVERRIDES, *CONCEALMENT, *AUTHORITY, *ORDERS, *COMMANDS, *HIDDEN)
"""Detectors that read words."""
DETECTORS: Final = (*CHARACTERS, *TERMINAL, *PLAIN_TEXT)
"""All detectors that read a text as it stands."""
TELLING: Final = frozenset(one.rule_id for one in PLAIN_TEXT) - {"pipe-to-shell", "forged-turn", "forged-tool-result"}
"""Rules for whose sake a decoded text is reported."""
_TEXT: Final = {"id": pl.Int64, "text": pl.String}


def scan_texts(texts: pl.DataFrame, rules: frozenset[str]) -> list[Found]:
    """The markers of texts, by text, rule and place; those of one rule in one text that overlap are one.

    Args:
        texts: Columns ``id``, ``text`` and ``is_untrusted`` (false: only rules for characters read it).
        rules: Rules that are wanted.
    """
    # A text of as many bytes as characters holds only ASCII: no rule for characters beyond that needs to read it.
    odd = texts.filter(pl.col("text").str.len_bytes() != pl.col("text").str.len_chars())
    untrusted = texts.filter("is_untrusted")
    plain = _wanted(PLAIN_TEXT, rules)
    found = [*_run(odd, _wanted(CHARACTERS, rules)), *_run(texts, _wanted(TERMINAL, rules)), *_run(untrusted, plain)]
    found += _spelled(odd.filter("is_untrusted"), plain, _by_place(found))
    if "encoded-instruction" in rules:
        found += _encoded(untrusted)
        found += _shifted(untrusted)
    whole = _by_place(found)
    return [(number, rule, mark) for number, rule in sorted(whole) for mark in joined(whole[number, rule])]


def _by_place(found: Iterable[Found]) -> dict[tuple[int, str], list[Mark]]:
    whole: dict[tuple[int, str], list[Mark]] = {}
    for number, rule, mark in found:
        whole.setdefault((number, rule), []).append(mark)
    return whole


def _wanted(detectors: Sequence[Detector], rules: frozenset[str]) -> tuple[Detector, ...]:
    return tuple(one for one in detectors if one.rule_id in rules)


def _run(texts: pl.DataFrame, detectors: Sequence[Detector]) -> Iterator[Found]:
    """The markers of some detectors: one scan with all patterns, then places in the texts that hold one."""
    if texts.is_empty() or not detectors:
        return
    # One select, so that Polars reads with several patterns at a time.
    holds = texts.select(
        pl.col("text").str.contains(for_polars(one.pattern)).alias(str(n)) for n, one in enumerate(detectors)
    )
    for n, one in enumerate(detectors):
        places: list[tuple[int, str, Mark]] = []
        # Places that are still to be judged must not fill up the list.
        most = None if one.judge else MAX_MARKS
        for number, text in texts.filter(holds[str(n)]).select("id", "text").iter_rows():
            places.extend((number, text, mark) for mark in islice(one.find(text), most))
        if one.judge:
            counts = one.judge([text[mark.start : mark.end] for _, text, mark in places])
            places = [place for place, is_one in zip(places, counts, strict=True) if is_one]
        for number, same in groupby(places, key=itemgetter(0)):
            yield from ((number, one.rule_id, mark) for _, _, mark in islice(same, MAX_MARKS))


def _spelled(
    texts: pl.DataFrame, detectors: Sequence[Detector], known: Mapping[tuple[int, str], Sequence[Mark]]
) -> Iterator[Found]:
    """What stands in a text only when it is spelled plainly."""
    rows = texts.filter(pl.col("text").str.contains(SPELLED)).select("id", "text").rows()
    plain = {number: spell_plainly(text) for number, text in rows}
    changed = [(number, plain[number].text) for number, text in rows if plain[number].text != text]
    for number, rule, found in _run(pl.DataFrame(changed, schema=_TEXT, orient="row"), detectors):
        mark = plain[number].mark(found.start, found.end)
        if not any(mark.start < old.end and old.start < mark.end for old in known.get((number, rule), ())):
            yield number, rule, Mark(mark.start, mark.end, plain[number].text[found.start : found.end])


def _encoded(texts: pl.DataFrame) -> Iterator[Found]:
    """Encoded stretches whose decoded text holds a marker."""
    places = [
        (number, mark)
        for one in ENCODINGS
        for number, text in texts.filter(pl.col("text").str.contains(one.trigger)).select("id", "text").iter_rows()
        for mark in one.decode_runs(text)
    ]
    decoded = pl.DataFrame({"id": range(len(places)), "text": [mark.decoded for _, mark in places]}, schema=_TEXT)
    told = {number for number, _, _ in _run(decoded, _wanted(PLAIN_TEXT, TELLING))}
    for number in sorted(told):
        text, mark = places[number]
        yield text, "encoded-instruction", mark


def _shifted(texts: pl.DataFrame) -> Iterator[Found]:
    """Stretches that hold a marker once their letters are shifted; no character changes its place."""
    holding = texts.filter(pl.col("text").str.contains_any(list(ROT13_WORDS), ascii_case_insensitive=True))
    turned = {number: rot13(text) for number, text in holding.select("id", "text").iter_rows()}
    again = pl.DataFrame(list(turned.items()), schema=_TEXT, orient="row")
    for number, _, mark in _run(again, _wanted(PLAIN_TEXT, _SPOKEN)):
        yield number, "encoded-instruction", Mark(mark.start, mark.end, turned[number][mark.start : mark.end])


_SPOKEN: Final = frozenset(
    {"instruction-override", "concealment", "authority-claim", "agent-directed", "credential-read"}
)
"""Rules about sentences: signs stay what they are when letters are shifted."""
