"""Finds secrets in texts: patterns over several readings of each text, then a judgement on every candidate."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from ledgerkit.safety.redaction.canonical import canonical
from ledgerkit.safety.redaction.engine import Engine, Hit, rule_name
from ledgerkit.safety.redaction.judging import judge, next_line
from ledgerkit.safety.redaction.places import Place, value_at
from ledgerkit.safety.redaction.ruleset import shapes
from ledgerkit.safety.redaction.secrets import Secret, is_in_placeholder
from ledgerkit.safety.redaction.views import DecodedView, decoded_view, may_hold_codes, soft_views

SHORTEST: Final = 8
"""Texts with fewer characters hold no secret that could be told from a word."""
_PIECE: Final = 1_000_000
_OVERLAP: Final = 20_000
_BATCH: Final = 4_000_000
_CANDIDATES: Final = 20_000
"""The most candidates of one piece of text that are judged one by one."""
_NEAR: Final = (130, 400)
_WINDOWS: Final = {
    "authorization": (130, 4_100),
    "bearer": (130, 4_100),
    "cookie": (130, 4_100),
    "kubernetes": (1_600, 4_100),
    "private-key": (130, 20_100),
    "private-key-tail": (9_100, 400),
}
"""How far the readers of some rules look before and behind a candidate, and how far those of all others."""
_WEAK: Final = frozenset({"prose", "kubernetes"})
UNJUDGED: Final = "unjudged"
"""The type of what stands behind so many candidates that nobody judged it."""


class _Piece(NamedTuple):
    """A stretch of a text: a whole text, or a part of a very long one."""

    text_index: int
    base: int
    text: str


_AT_START: Final = _Piece(0, 0, "")


class SecretScanner:
    """Finds secrets in texts. Rules are loaded at the first use; one scanner serves a whole process.

    Args:
        cache_folder: Where compiled rules are kept between processes (nothing else is). Without it they are compiled
            anew, which takes some seconds.

    Example:
        >>> SecretScanner()
        SecretScanner(is_loaded=False)
    """

    def __init__(self, cache_folder: Path | None = None) -> None:
        self._cache_folder = cache_folder
        self._loaded: Engine | None = None

    def __repr__(self) -> str:
        return f"SecretScanner(is_loaded={self._loaded is not None})"

    def __reduce__(self) -> tuple[type[SecretScanner], tuple[Path | None]]:
        return (SecretScanner, (self._cache_folder,))  # the engine itself cannot travel to another process

    @property
    def _engine(self) -> Engine:
        if self._loaded is None:
            self._loaded = Engine(self._cache_folder)
        return self._loaded

    def scan(self, texts: Sequence[str]) -> list[list[Secret]]:
        """Finds the secrets of each text.

        Args:
            texts: The texts; each is looked at alone.

        Returns:
            For each text its secrets, in their order, none overlapping another.

        Raises:
            LedgerkitError: If the pattern engine is not installed.
        """
        distinct = {text: index for index, text in enumerate(dict.fromkeys(texts)) if len(text) >= SHORTEST}
        found: dict[int, list[Secret]] = {}
        for batch in _batches(distinct):
            for index, secret in self._scan_batch(batch):
                found.setdefault(index, []).append(secret)
        merged = {text: merge(text, found[index]) for text, index in distinct.items() if index in found}
        return [list(merged.get(text, ())) for text in texts]

    def _scan_batch(self, batch: list[_Piece]) -> Iterator[tuple[int, Secret]]:
        yield from self._scan_raw(batch)
        soft: list[tuple[_Piece, str]] = []
        decoded: list[tuple[_Piece, DecodedView]] = []
        for piece, view in zip(batch, soft_views([piece.text for piece in batch]), strict=True):
            if view is not None:
                soft.append((piece, view))
            text = piece.text if view is None else view
            if may_hold_codes(text) and (plain := decoded_view(text)) is not None:
                decoded.append((piece, plain))
        yield from self._scan_soft(soft)
        yield from self._scan_decoded(decoded)

    def _scan_raw(self, batch: list[_Piece]) -> Iterator[tuple[int, Secret]]:
        texts = [piece.text for piece in batch]
        for hit, place in self._judged(texts, decodes_base64=True):
            piece = batch[hit.text_index]
            if hit.is_base64:
                yield from self._inside_base64(piece, hit)
                continue
            yield piece.text_index, _secret(piece, place, hit.rule, "raw", piece.text[place.start : place.end])

    def _scan_soft(self, views: list[tuple[_Piece, str]]) -> Iterator[tuple[int, Secret]]:
        for hit, place in self._judged([view for _, view in views], decodes_base64=False):
            piece, _ = views[hit.text_index]
            yield piece.text_index, _secret(piece, place, hit.rule, "escaped", piece.text[place.start : place.end])

    def _scan_decoded(self, views: list[tuple[_Piece, DecodedView]]) -> Iterator[tuple[int, Secret]]:
        for hit, place in self._judged([view.text for _, view in views], decodes_base64=True):
            piece, view = views[hit.text_index]
            inside = self._inside_base64(_Piece(0, 0, view.text), hit) if hit.is_base64 else ()
            written = view.text[place.start : place.end]
            found = (
                [one for _, one in inside]
                if hit.is_base64
                else [_secret(_AT_START, place, hit.rule, "decoded", written)]
            )
            for one in found:
                start, end = view.origin(one.start), view.origin(one.end, is_end=True)
                if start < end <= start + 8 * (one.end - one.start) + 40:
                    yield piece.text_index, replace(one, start=piece.base + start, end=piece.base + end)

    def _judged(self, texts: Sequence[str], *, decodes_base64: bool) -> Iterator[tuple[Hit, Place]]:
        """Candidates that were accepted. Where a text has too many, those beyond the cap count without a judgement."""
        counts: Counter[int] = Counter()
        memory: dict[tuple[str, int], tuple[tuple[int, int, str], ...]] = {}
        for hit in self._engine.find(texts, decodes_base64=decodes_base64):
            if hit.is_base64:
                yield hit, Place(hit.start, hit.end, "")
                continue
            text = texts[hit.text_index]
            before, behind = _WINDOWS.get(rule_name(hit.rule), _NEAR)
            key = (hit.rule, hash(text[max(0, hit.start - before) : hit.start + behind]))
            places = memory.get(key)
            if places is None:
                if is_in_placeholder(text, hit.start):
                    continue
                counts[hit.text_index] += 1
                if counts[hit.text_index] > _CANDIDATES:
                    yield hit, Place(hit.start, max(hit.end, value_at(text, hit.start)[1]), UNJUDGED)
                    continue
                found = [*judge(text, hit)]
                found += _split(text, hit, found)
                places = tuple((p.start - hit.start, p.end - hit.start, p.type) for p in found)
                if _is_near(hit, places, before, behind):
                    memory[key] = places
            for start, end, kind in places:
                yield hit, Place(hit.start + start, hit.start + end, kind)

    def _inside_base64(self, piece: _Piece, hit: Hit) -> Iterator[tuple[int, Secret]]:
        """A secret inside a stretch of base64: the whole stretch goes."""
        region = piece.text[hit.start : hit.end]
        plain = _plain_of(region)
        if plain is None:
            return
        for inner, place in self._judged([plain], decodes_base64=False):
            value = canonical(plain[place.start : place.end], place.type)
            yield piece.text_index, _secret(piece, Place(hit.start, hit.end, place.type), inner.rule, "base64", value)
            return


def _is_near(hit: Hit, places: Iterable[tuple[int, int, str]], before: int, behind: int) -> bool:
    """Whether a judgement holds wherever the same stands around the candidate: nothing reached out of what was seen."""
    return hit.end - hit.start < behind - 100 and all(
        start >= -before and end < behind - 100 for start, end, _ in places
    )


def _secret(piece: _Piece, place: Place, rule: str, form: str, written: str) -> Secret:
    value = canonical(written, place.type)
    return Secret(piece.base + place.start, piece.base + place.end, place.type, rule_name(rule), value, form)


def _plain_of(region: str) -> str | None:
    code = region.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        plain = base64.b64decode(code + "=" * (-len(code) % 4)).decode()
    except ValueError:
        return None
    return "\n" + plain


def _split(text: str, hit: Hit, found: list[Place]) -> list[Place]:
    """A value of an assignment that goes on in the next lines."""
    del hit
    longer: list[Place] = []
    for place in found:
        end = place.end
        head = text[place.start : end]
        while (more := next_line(text, end, head)) is not None and end - place.start < 1_000:
            head, end = head + more[0], more[1]
        if end != place.end and " " not in text[place.start : place.end]:
            longer.append(Place(place.start, end, place.type))
    return longer


def _batches(texts: dict[str, int]) -> Iterator[list[_Piece]]:
    """Pieces of the texts, a few megabytes at a time."""
    batch: list[_Piece] = []
    size = 0
    for text, index in texts.items():
        if len(text) <= _PIECE + _OVERLAP:
            batch.append(_Piece(index, 0, text))
        else:
            starts = range(0, len(text) - _OVERLAP, _PIECE)
            batch += [_Piece(index, base, text[base : base + _PIECE + _OVERLAP]) for base in starts]
        size += len(text)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def rank(secret: Secret) -> int:
    """How much a finding says, less is more: a key block, a token of a known shape, a place that gives it away."""
    if secret.type == "private-key":
        return 0
    if secret.rule.startswith("prefix-") or secret.rule in shapes():
        return 1
    if secret.rule in _WEAK:
        return 4
    return 2 if "." in secret.rule or "/" in secret.rule else 3


def merge(text: str, secrets: list[Secret]) -> list[Secret]:
    """Secrets that overlap as one: the widest bounds, and the value and type of the finding that says most of them."""
    merged: list[list[Secret]] = []
    end = -1
    for secret in sorted(secrets, key=lambda s: (s.start, -s.end)):
        if secret.start < end:
            merged[-1].append(secret)
        else:
            merged.append([secret])
        end = max(end, secret.end)
    return [_united(text, group) for group in merged]


def _united(text: str, group: list[Secret]) -> Secret:
    start, end = group[0].start, max(secret.end for secret in group)
    inside = tuple(group) if len({secret.value for secret in group}) > 1 else ()
    whole = [secret for secret in group if (secret.start, secret.end) == (start, end)]
    if whole:
        best = min(whole, key=lambda s: (rank(s), s.found_by != "rule", s.form == "raw", s.rule))
        return replace(best, inside=inside)
    best = min(group, key=lambda s: (rank(s), s.start - s.end, s.rule))
    return replace(best, start=start, end=end, value=canonical(text[start:end], best.type), inside=inside)
