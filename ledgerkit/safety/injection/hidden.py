"""What a rendered page does not show, and what it would send away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import polars as pl

from ledgerkit.safety.injection.commands import COMMANDS
from ledgerkit.safety.injection.marks import Detector, Mark, detector, for_polars
from ledgerkit.safety.injection.overrides import OVERRIDES
from ledgerkit.safety.injection.phrases import AGENT, AUTHORITY, CONCEALMENT, ORDERS

_MAX_HIDDEN: Final = 8_000
_HIDING: Final = (
    r"display *: *none|visibility *: *hidden|font-size *: *0|opacity *: *0(?:[;\"' }]|\.0)|"
    r"color *: *(?:white|#fff(?:fff)?|transparent)\b|(?:left|top|text-indent) *: *-[0-9]{3}|[ \"']hidden[ =]|"
    r"aria-hidden *= *[\"']?true"
)
# A comment; a reference definition, whose title no page shows; an element that is not drawn; one that is folded.
_OPENING: Final = (
    r"<!--|(?m:^) {0,3}\[[^\]\n]{1,80}\]: *(?:<[^>\n]{0,200}>|[^\s<]{1,200}) *[(\"']"
    rf"|(?i:<[a-z][a-z0-9]*(?:\s[^<>]{{0,400}})?(?:(?:{_HIDING})[^<>]{{0,400}}|[\s\"']hidden)>)"
    r"|(?i:<(?:details|template|noscript)\b[^<>]{0,400}>)"
)
_OPENINGS: Final = re.compile(_OPENING)
_ELEMENT: Final = re.compile(r"<([A-Za-z][A-Za-z0-9]*)")
_AGENT: Final = rf"(?i){AGENT}"
_ORDER: Final = (
    r"(?i)\b(?:you (?:must|should|need|have|are|may)|must|run|execute|send|upload|fetch|download|delete|install|reply|"
    r"respond|output|ignore|do not|don't|call|use the|insert|include|approve|merge|add)\b"
)
_MARKERS: Final = tuple(
    one for one in (*OVERRIDES, *CONCEALMENT, *AUTHORITY, *ORDERS, *COMMANDS) if one.rule_id != "pipe-to-shell"
)


def _hidden(text: str) -> Iterable[Mark]:
    behind = 0
    for found in _OPENINGS.finditer(text):
        # What lies inside a hidden stretch is read with it: no stretch is read twice.
        if found.start() >= behind:
            behind = _end_of(text, found)
            yield Mark(found.start(), behind)


def _end_of(text: str, found: re.Match[str]) -> int:
    """Where the hidden stretch ends: its closing, or a bounded stretch where there is none."""
    limit = min(len(text), found.end() + _MAX_HIDDEN)
    if found[0].lstrip(" ").startswith("["):
        end = text.find("\n", found.end(), limit)
        return limit if end < 0 else end
    element = _ELEMENT.match(found[0])
    closing = f"</{element[1]}" if element else "-->"
    end = text.find(closing, found.end(), limit)
    return limit if end < 0 else end + len(closing)


def _speak_to_agents(stretches: Sequence[str]) -> Sequence[bool]:
    """Which hidden stretches hold a marker, or name an agent and order something."""
    text = pl.DataFrame({"text": stretches}, schema={"text": pl.String})
    holds = [pl.col("text").str.contains(for_polars(one.pattern)).alias(str(n)) for n, one in enumerate(_MARKERS)]
    both = pl.col("text").str.contains(for_polars(_AGENT)) & pl.col("text").str.contains(for_polars(_ORDER))
    asked = text.select(*holds, both=both)
    speaks: list[bool] = asked["both"].to_list()
    for n, one in enumerate(_MARKERS):
        places: list[int] = asked[str(n)].arg_true().to_list()
        for place in places:
            speaks[place] = speaks[place] or any(True for _ in one.find(stretches[place]))
    return speaks


_BADGES: Final = re.compile(
    r"(?i)^https?://(?:[\w.-]{1,80}\.)?(?:shields\.io|badge\.fury\.io|badgen\.net|codecov\.io|coveralls\.io|"
    r"circleci\.com|travis-ci\.(?:org|com)|appveyor\.com|readthedocs\.(?:org|io)|github\.com|githubusercontent\.com|"
    r"gitlab\.com|star-history\.com|zenodo\.org|localhost|127\.0\.0\.1)(?=[:/?#])"
)
_TO_QUERY: Final = r"https?://[^\s)>\"'?]{1,500}\?"
_IMAGE: Final = (
    rf"!\[[^\]\n]{{0,300}}\]\( {{0,4}}<?{_TO_QUERY}[^)\n]{{0,800}}\)"
    rf"|(?i:<img\b[^<>\n]{{0,300}}src *= *[\"']?{_TO_QUERY}[^\"'>\n]{{0,800}})"
)
_LINK: Final = rf"\[[^\]\n]{{0,120}}\]\( {{0,4}}<?{_TO_QUERY}[^)\n]{{0,800}}\)"
_ADDRESS: Final = re.compile(r"https?://[^\s?]{1,500}\?[^\s)\"']{0,800}(?:[{\[<$][^)\"'\n]{0,800})?")
# Where data would stand: a placeholder, a name that speaks of data with no value yet, a long encoded value.
_PLACE: Final = re.compile(
    r"(?i)=[^&=]{0,200}?(?:\{[^}]{0,200}\}|\[[^\]]{0,200}\]|<[^>]{0,200}>|\$[a-z_({]|%s\b)|"
    r"[?&](?:d|q|data|info|payload|leak|secrets?|tokens?|keys?|content|text|msg|message|conversation|history|prompt|env|"
    r"summary|context|user(?:name)?|email|password|exfil)="
    r"(?:[\s)>\"']|$|your|the_|insert|base64|encoded|user_|secret|conversation|here)|=[A-Za-z0-9+/_-]{80}"
)
_NAMED: Final = re.compile(
    r"(?i)[{\[<$][^}\]>)]{0,80}(?:secret|token|password|conversation|history|api.?key|user.?data|env|prompt|context|"
    r"summary|email|content|data)"
)


def _carries_data(found: re.Match[str]) -> bool:
    address = _ADDRESS.search(found[0])
    if address is None or _BADGES.match(address[0]):
        return False
    return _PLACE.search(found[0][address.start() :]) is not None


def _is_placeholder_link(found: re.Match[str]) -> bool:
    """A link must name what it would carry: search links have open places as well."""
    before = found.string[found.start() - 1 : found.start()] if found.start() else ""
    query = found[0][found[0].find("?") :]
    return before != "!" and _NAMED.search(query) is not None and _carries_data(found)


HIDDEN: Final = (
    Detector("hidden-html", _OPENING, _hidden, _speak_to_agents),
    detector("data-bearing-link", _IMAGE, _carries_data),
    detector("data-bearing-link", _LINK, _is_placeholder_link),
)
"""The detectors."""
