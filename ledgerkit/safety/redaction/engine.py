"""The pattern engine: Kingfisher's own rules and ours, over many texts at once. It never validates, so it needs no net.

Texts are joined to buffers, with a separator that no rule may cross; what is found is given back per text, in
characters.
"""

from __future__ import annotations

import json
import re
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple

from ledgerkit.errors import LedgerkitError
from ledgerkit.safety.redaction.ruleset import Family, contextual_rules, families, shapes

SEPARATOR: Final = "\n\0\n"
BUFFER_SIZE: Final = 262_144
OWN: Final = "ledgerkit."
_ENCODING: Final = "utf-8"


class Hit(NamedTuple):
    """What a pattern found.

    Attributes:
        text_index: The text.
        start: First character of the group, in its text.
        end: The character behind its last.
        rule: The rule's id.
        is_visible: Kingfisher itself would report it; a helper for another rule otherwise.
        is_base64: The place holds the value in base64.
        secret: What the engine takes for the value.
    """

    text_index: int
    start: int
    end: int
    rule: str
    is_visible: bool
    is_base64: bool
    secret: str


@dataclass(frozen=True, slots=True)
class _Buffer:
    """Texts that are scanned together: their numbers, and where each begins."""

    indices: Sequence[int]
    starts: list[int]
    text: str


def own_rules() -> dict[str, Any]:
    """Our rules in the form in which Kingfisher reads them."""
    patterns = {f"prefix-{family.name}": list(_prefix_patterns(family)) for family in families().values()}
    patterns |= {name: [shape.pattern] for name, shape in shapes().items()}
    patterns |= {name: list(rule.patterns) for name, rule in contextual_rules().items()}
    return {
        "rules": [
            {
                "name": name,
                "id": f"{OWN}{name}.{number}",
                "pattern": pattern,
                "min_entropy": 0.0,
                "confidence": "medium",
            }
            for name, choices in patterns.items()
            for number, pattern in enumerate(choices)
        ]
    }


def _prefix_patterns(family: Family) -> Iterator[str]:
    """Find where a family's tokens begin. How far they go is read behind it.

    Only a few characters of the tail are asked for, so that a token that a line's end cuts is found as well. Each
    prefix has a pattern of its own: the engine is several times as fast with many of them as with one of alternatives.
    """
    for prefix in sorted(family.prefixes):
        yield rf"(?:^|[^A-Za-z0-9_])({re.escape(prefix)}{family.tail}{{4}})"


def rule_name(rule_id: str) -> str:
    """The name of a rule: ours without the number of its pattern, Kingfisher's as it calls it.

    Example:
        >>> rule_name("ledgerkit.assignment.3"), rule_name("betterleaks.github-pat.1")
        ('assignment', 'betterleaks.github-pat.1')
    """
    return rule_id.removeprefix(OWN).rpartition(".")[0] if rule_id.startswith(OWN) else rule_id


class Engine:
    """Kingfisher, loaded with its rules and ours.

    Args:
        cache_folder: A folder of its own where the compiled rules are kept; without it they are compiled each time.
        has_builtins: Whether Kingfisher's own rules are loaded too.
    """

    def __init__(self, cache_folder: Path | None = None, *, has_builtins: bool = True) -> None:
        try:
            from kingfisher_sdk import Rules, Scanner
        except ImportError as error:
            message = "Redaction needs the package kingfisher-secret-scanner; install agent-ledgerkit again."
            raise LedgerkitError(message) from error
        with tempfile.TemporaryDirectory(prefix="ledgerkit-rules-") as folder:
            path = Path(folder) / "rules.yml"
            path.write_text(json.dumps(own_rules()), encoding=_ENCODING)
            rules = Rules(
                [path],
                builtins=has_builtins,
                cache=cache_folder is not None,
                cache_dir=cache_folder,
                confidence="medium",
            )
        self._scanner = Scanner(rules, base64=True)
        self._plain = Scanner(rules, base64=False)

    def find(self, texts: Sequence[str], *, decodes_base64: bool) -> Iterator[Hit]:
        """Everything that the patterns find in some texts, text by text in no order.

        Args:
            texts: The texts; none reaches into another.
            decodes_base64: Whether stretches of base64 are looked into.
        """
        for buffer in _buffers(texts):
            yield from self._find_in(buffer, decodes_base64=decodes_base64)

    def _find_in(self, buffer: _Buffer, *, decodes_base64: bool) -> Iterator[Hit]:
        data = buffer.text.encode(_ENCODING, "replace")
        findings = (self._scanner if decodes_base64 else self._plain).scan(data)
        if not findings:
            return
        places = [(place["start_offset"], place["end_offset"]) for place in (found.location for found in findings)]
        to_character = _characters(data, buffer.text, places)
        lone: dict[int, None] = {}
        for found, (first, last) in zip(findings, places, strict=True):
            start, end = to_character[first], to_character[last]
            number = _text_at(buffer.starts, start)
            base = buffer.starts[number]
            limit = (buffer.starts[number + 1] if number + 1 < len(buffer.starts) else len(buffer.text)) - len(
                SEPARATOR
            )
            if end > limit or start < base:
                lone.update(dict.fromkeys(range(number, _text_at(buffer.starts, end) + 1)))
                continue
            yield Hit(
                buffer.indices[number],
                start - base,
                end - base,
                found.rule_id,
                found.visible,
                found.is_base64_encoded,
                found.secret if found.is_base64_encoded else "",
            )
        if len(buffer.indices) > 1:
            for number in lone:
                yield from self._find_in(_single(buffer, number), decodes_base64=decodes_base64)


def _single(buffer: _Buffer, number: int) -> _Buffer:
    """One text of a buffer, alone: for what reached over a separator."""
    end = buffer.starts[number + 1] if number + 1 < len(buffer.starts) else len(buffer.text)
    return _Buffer([buffer.indices[number]], [1], "\n" + buffer.text[buffer.starts[number] : end])


def _buffers(texts: Sequence[str]) -> Iterator[_Buffer]:
    lengths = [len(text) + len(SEPARATOR) for text in texts]
    ends = list(accumulate(lengths))
    first = 0
    while first < len(texts):
        done = ends[first - 1] if first else 0
        last = min(bisect_right(ends, done + BUFFER_SIZE) + 1, len(texts))
        starts = [1, *(end - done + 1 for end in ends[first : last - 1])]
        yield _Buffer(range(first, last), starts, f"\n{SEPARATOR.join(texts[first:last])}{SEPARATOR}")
        first = last


def _text_at(starts: list[int], place: int) -> int:
    return max(0, bisect_right(starts, place) - 1)


def _characters(data: bytes, text: str, places: list[tuple[int, int]]) -> dict[int, int]:
    """Character offsets by byte offset."""
    offsets = sorted({offset for place in places for offset in place})
    if len(data) == len(text):
        return {offset: offset for offset in offsets}
    result: dict[int, int] = {}
    last = count = 0
    for offset in offsets:
        count += len(data[last:offset].decode(_ENCODING, "replace"))
        result[offset] = count
        last = offset
    return result
