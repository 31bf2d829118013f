"""Text that remembers whose it is until the payload is built.

Mapping moves, joins and nests texts. The rule: nothing is put into a payload without its source, and where each text
ended up is read off the finished payload, never guessed. So the gate can ask of every instruction position who speaks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from pydantic import JsonValue

from ledgerkit.protocol.vocabulary import TrustLevel

JOINT: Final = "\n\n"
"""What stands between texts that share one string."""

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Source:
    """Whose words something is."""

    trust_level: TrustLevel
    """Where the content comes from."""
    part_id: str | None = None
    """The ledger's part that it renders."""


MAPPER: Final = Source(TrustLevel.PLATFORM_TRUSTED)
"""What the mapping itself writes: placeholders."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where in a payload the content of one block stands."""

    path: str
    """Path of the string or object in the body."""
    trust_level: TrustLevel
    """Trust of the block."""
    part_id: str | None
    """The ledger's part that it renders."""
    start: int | None = None
    """First character of it in the string; ``None`` for an object."""
    end: int | None = None
    """Character after the last."""


class Told(str):
    """A string of which every stretch has a source."""

    spans: tuple[tuple[int, int, Source], ...]

    def __new__(cls, text: str, spans: tuple[tuple[int, int, Source], ...]) -> Told:
        """A text with its spans."""
        made = super().__new__(cls, text)
        made.spans = spans
        return made


class ToldObject(dict[str, JsonValue]):
    """An object of one source."""

    source: Source


def told(text: str, source: Source) -> Told:
    """A text of one source."""
    return Told(text, ((0, len(text), source),))


def told_object(value: Mapping[str, JsonValue], source: Source) -> ToldObject:
    """An object of one source."""
    made = ToldObject(value)
    made.source = source
    return made


def joined(texts: Sequence[Told]) -> Told:
    r"""Texts as one, with :data:`JOINT` between them.

    Example:
        >>> both = joined([told("a", MAPPER), told("b", MAPPER)])
        >>> str(both), [(start, end) for start, end, _ in both.spans]
        ('a\n\nb', [(0, 1), (3, 4)])
    """
    spans: list[tuple[int, int, Source]] = []
    at = 0
    for text in texts:
        spans += [(at + start, at + end, source) for start, end, source in text.spans]
        at += len(text) + len(JOINT)
    return Told(JOINT.join(texts), tuple(spans))


def json_text(value: JsonValue) -> str:
    """A value as compact JSON text, keys in the order in which they came."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def joined_path(path: str, key: str | int) -> str:
    """The path of a member: ``messages[0].content``; a key that is no plain word stands in quotes."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{json.dumps(key)}]"
    return f"{path}.{key}" if path else key


def settle(body: Mapping[str, object]) -> tuple[dict[str, JsonValue], tuple[Origin, ...]]:
    """A finished body in plain JSON types, and where the sources of its texts stand in it."""
    origins: list[Origin] = []
    return cast("dict[str, JsonValue]", _settled(dict(body), "", origins)), tuple(origins)


def _settled(value: object, path: str, origins: list[Origin]) -> object:
    if isinstance(value, Told):
        origins += [Origin(path, source.trust_level, source.part_id, start, end) for start, end, source in value.spans]
        return str(value)
    if isinstance(value, ToldObject):
        origins.append(Origin(path, value.source.trust_level, value.source.part_id))
        return dict(value)
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {key: _settled(item, joined_path(path, key), origins) for key, item in fields.items()}
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return [_settled(item, joined_path(path, index), origins) for index, item in enumerate(items)]
    return value
