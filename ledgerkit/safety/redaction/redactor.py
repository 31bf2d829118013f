"""Takes secrets out of the texts of a run: detect, remove each confirmed value everywhere, look again.

The source of the method is its own measurement (docs/redaction.md); the two passes are the specification's §18.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ledgerkit.safety.redaction.forms import SHORTEST
from ledgerkit.safety.redaction.keys import RedactionKey
from ledgerkit.safety.redaction.memory import Confirmed, SecretMemory
from ledgerkit.safety.redaction.offsets import OffsetMap
from ledgerkit.safety.redaction.propagation import known_places, remembered_places
from ledgerkit.safety.redaction.scanner import UNJUDGED, SecretScanner, merge, rank
from ledgerkit.safety.redaction.secrets import Replacement, Secret, fingerprint_of, placeholder_of
from ledgerkit.safety.redaction.values import is_stopped

_ROUNDS: Final = 4


@dataclass(frozen=True, slots=True)
class RedactionResult:
    """Texts without the secrets that were found.

    Attributes:
        texts: The texts, in their order.
        replacements: What was replaced, by text and place.
    """

    texts: tuple[str, ...]
    replacements: tuple[Replacement, ...]

    def offsets(self, text_index: int) -> OffsetMap:
        """Where the places of one text stand now."""
        return OffsetMap.of(
            (one.start, one.end, len(one.placeholder)) for one in self.replacements if one.text_index == text_index
        )


class SecretRedactor:
    """Replaces secrets by placeholders that name the type and a keyed fingerprint.

    Args:
        key: The key of the fingerprints.
        scanner: Finds the secrets; one whose rules are not kept between processes if not given.

    Example:
        >>> redactor = SecretRedactor(RedactionKey.public())
        >>> redactor.redact(["export DB_PASSWORD='" + "v9#" + "Lq2xW7'"]).texts[0]
        "export DB_PASSWORD='[REDACTED_SECRET:password#85d84140f523]'"
    """

    def __init__(self, key: RedactionKey, *, scanner: SecretScanner | None = None) -> None:
        self._key = key
        self._scanner = scanner or SecretScanner()

    def __repr__(self) -> str:
        return f"SecretRedactor(key_id={self.key_id!r})"

    @property
    def key_id(self) -> str:
        """Which key the fingerprints are made with."""
        return self._key.key_id

    def scan(self, texts: Sequence[str]) -> list[list[Secret]]:
        """Secrets that rules find in some texts, each looked at alone, in their order."""
        return self._scanner.scan(texts)

    def redact(self, texts: Sequence[str], memory: SecretMemory | None = None) -> RedactionResult:
        """Removes the secrets of a run: a value that one text gives away is removed from all of them.

        Args:
            texts: All texts of the run that are there.
            memory: What is known of the run already; what is confirmed here is added to it.

        Returns:
            The texts, and what was replaced. Redacting them again changes nothing.
        """
        work = _Work(list(texts), SecretMemory() if memory is None else memory, self._key.secret)
        work.add(remembered_places(texts, work.memory, self._key.secret))
        work.add(known_places(texts, work.memory.values))
        open_texts = range(len(texts))
        for _ in range(_ROUNDS):
            scanned = self._scanner.scan([work.current[index] for index in open_texts])
            fresh = work.add_found(zip(open_texts, scanned, strict=True))
            work.add(known_places(texts, fresh))
            open_texts = work.replace()
            if not open_texts:
                break
        return RedactionResult(tuple(work.current), tuple(work.replacements()))


class _Work:
    """The texts of one call, and the places in them that are known so far (in the original texts)."""

    def __init__(self, texts: list[str], memory: SecretMemory, key: bytes) -> None:
        self.current = list(texts)
        self.memory = memory
        self._texts = texts
        self._key = key
        self._places: dict[int, list[Secret]] = {}
        self._pending: dict[int, list[Secret]] = {}

    def add(self, places: Iterable[tuple[int, Secret]]) -> None:
        """Takes up places in the original texts."""
        for index, secret in places:
            self._pending.setdefault(index, []).append(secret)

    def add_found(self, found: Iterable[tuple[int, list[Secret]]]) -> dict[str, Confirmed]:
        """Takes up what rules found in the current texts; returns the values that nobody knew of."""
        fresh: dict[str, Confirmed] = {}
        for index, secrets in found:
            offsets = self._offsets(index) if secrets else None
            for secret in secrets:
                start, end = (secret.start, secret.end) if offsets is None else offsets.to_old(secret.start, secret.end)
                self._pending.setdefault(index, []).append(replace(secret, start=start, end=end))
                for one in (secret, *_others(secret)):
                    self._confirm(one, fresh)
        return fresh

    def _confirm(self, secret: Secret, fresh: dict[str, Confirmed]) -> None:
        known = self.memory.values.get(secret.value)
        new = Confirmed(rank(secret), secret.type, secret.rule)
        if known is not None and known <= new:
            return
        if len(secret.value) >= SHORTEST and not is_stopped(secret.value) and secret.type != UNJUDGED:
            self.memory.values[secret.value] = new
            if known is None or secret.value in fresh:
                fresh[secret.value] = new

    def _offsets(self, index: int) -> OffsetMap:
        return OffsetMap.of((one.start, one.end, len(self._placeholder(one))) for one in self._places.get(index, ()))

    def replace(self) -> list[int]:
        """Replaces what was taken up; returns the texts that it changed."""
        changed: list[int] = []
        for index, secrets in sorted(self._pending.items()):
            before = self._places.get(index, [])
            merged = merge(self._texts[index], [*before, *secrets])
            self._places[index] = merged
            text = _replaced(self._texts[index], [(one.start, one.end, self._placeholder(one)) for one in merged])
            if text != self.current[index]:
                self.current[index] = text
                changed.append(index)
        self._pending = {}
        return changed

    def _kind(self, secret: Secret) -> str:
        """One value has one type in a run, whatever rule found it in which place."""
        known = self.memory.values.get(secret.value)
        return secret.type if known is None else known.type

    def _placeholder(self, secret: Secret) -> str:
        return placeholder_of(self._kind(secret), fingerprint_of(self._key, secret.value))

    def replacements(self) -> Iterator[Replacement]:
        """What was replaced, by text and place."""
        for index, secrets in sorted(self._places.items()):
            for one in secrets:
                yield Replacement(
                    text_index=index,
                    start=one.start,
                    end=one.end,
                    type=self._kind(one),
                    rule=one.rule,
                    placeholder=self._placeholder(one),
                    fingerprint=fingerprint_of(self._key, one.value),
                    found_by=one.found_by,
                    form=one.form,
                )


def _others(secret: Secret) -> Iterator[Secret]:
    """What was found inside a secret and is one of its own: not a piece of it that another reading has cut."""
    for one in secret.inside:
        is_password = secret.value.rstrip("\"'").endswith(f":{one.value}")
        if rank(one) < rank(secret) or one.value not in secret.value or is_password:
            yield one


def _replaced(text: str, places: Iterable[tuple[int, int, str]]) -> str:
    pieces: list[str] = []
    last = 0
    for start, end, placeholder in places:
        pieces += (text[last:start], placeholder)
        last = end
    return "".join([*pieces, text[last:]])
