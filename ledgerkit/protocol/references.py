"""Evidence references: a text that names what a statement rests on, and reads back as the same reference.

The form is ``KIND:TARGET`` or ``KIND:TARGET#RANGE``:

====================  ==============================================================
``message:ID``        a message
``tool-call:ID``      a tool call with its results
``artifact:ID``       an artifact, by content id
``file:PATH``         a file, by its path as the source wrote it
``task:SECTION``      a section of the task contract
``#L10-L20``          lines 10 to 20, both included, from 1; ``#L10`` is read as ``#L10-L10``
``#c100-180``         characters (Unicode code points) 100 up to, not including, 180, from 0
====================  ==============================================================

The kind ends at the first colon, so colons in a target stay as they are. In a target ``#`` and ``%`` are written
``%23`` and ``%25``, and white space, control and invisible characters as the percent-escapes of their UTF-8 bytes:
a reference is one word in running text. Reading takes white space as it is too; any other ``#`` or ``%`` that is
not an escape is refused. Letters of all scripts stay readable.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from pydantic import Field, GetJsonSchemaHandler, JsonValue, model_serializer, model_validator
from pydantic_core import CoreSchema

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.model import SHOWN_CHARACTERS, Identifier, Model, without_surrogates
from ledgerkit.protocol.vocabulary import EvidenceKind

_KINDS: Final = tuple(kind.value for kind in EvidenceKind)
_POSITION: Final = r"[0-9]{1,12}"
_RANGE: Final = re.compile(rf"L({_POSITION})(?:-L({_POSITION}))?|c({_POSITION})-({_POSITION})")
_BARE_PERCENT: Final = re.compile("%(?![0-9A-Fa-f]{2})")
# White space, control, zero-width and direction characters, as Unicode lists them; fixed, so that a reference is
# written alike by every Python.
_ESCAPED: Final = re.compile(
    "[%#\x00-\x20\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
)
_PATTERN: Final = rf"^({'|'.join(_KINDS)}):[^\s#]+(#(L[0-9]{{1,12}}(-L[0-9]{{1,12}})?|c[0-9]{{1,12}}-[0-9]{{1,12}}))?$"
_ONE_LINE: Final = "KIND:TARGET, with an optional #L10-L20 or #c100-180"


class LineRange(Model):
    """Lines of a text, from 1, both ends included."""

    first: int = Field(strict=True, ge=1, lt=10**12)
    """First line."""
    last: int = Field(strict=True, ge=1, lt=10**12)
    """Last line."""

    @model_validator(mode="after")
    def _in_order(self) -> LineRange:
        if self.last < self.first:
            raise ValueError(f"lines {self.first} to {self.last} run backwards")
        return self

    def __str__(self) -> str:
        """As it stands behind the ``#``."""
        return f"L{self.first}-L{self.last}"


class CharRange(Model):
    """Characters of a text, from 0, the end not included."""

    start: int = Field(strict=True, ge=0, lt=10**12)
    """First character."""
    end: int = Field(strict=True, ge=1, lt=10**12)
    """The character behind the last one."""

    @model_validator(mode="after")
    def _not_empty(self) -> CharRange:
        if self.end <= self.start:
            raise ValueError(f"characters {self.start} up to {self.end} are none")
        return self

    def __str__(self) -> str:
        """As it stands behind the ``#``."""
        return f"c{self.start}-{self.end}"


class EvidenceRef(Model):
    """What a statement rests on. Text in JSON and in tables.

    Example:
        >>> ref = EvidenceRef(kind=EvidenceKind.FILE, target="docs/C# notes.md", range=LineRange(first=10, last=20))
        >>> str(ref)
        'file:docs/C%23%20notes.md#L10-L20'
        >>> EvidenceRef.parse(str(ref)) == ref
        True
    """

    kind: EvidenceKind
    """What is referred to."""
    target: Identifier
    """Its id, path or section, unescaped."""
    range: LineRange | CharRange | None = None
    """The lines or characters that are meant; all of it if there is none."""

    @classmethod
    def parse(cls, text: str) -> EvidenceRef:
        """The reference that a text says.

        Raises:
            ProtocolError: If the text is not an evidence reference.
        """
        kind, colon, rest = without_surrogates(text).partition(":")
        if not colon or kind not in _KINDS:
            raise ProtocolError.unknown_value(
                "kind of evidence reference", (kind if colon else text)[:SHOWN_CHARACTERS], _KINDS
            )
        target, hash_sign, span = rest.partition("#")
        if not target:
            raise _refused(text, f"names no {kind}. Write {kind}: and an id, a path or a section")
        found = _span(span, text) if hash_sign else None
        return cls(kind=EvidenceKind(kind), target=_unescaped(target, text), range=found)

    def __str__(self) -> str:
        """The text that :meth:`parse` reads."""
        target = _ESCAPED.sub(lambda found: quote(found.group(), safe=""), self.target)
        return f"{self.kind}:{target}" + (f"#{self.range}" if self.range else "")

    def __hash__(self) -> int:
        """Equal references have equal hashes."""
        return hash((self.kind, self.target, str(self.range)))

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        if isinstance(value, str):
            return dict(cls.parse(value))
        return value

    @model_serializer
    def _to_text(self) -> str:
        return str(self)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, JsonValue]:
        """A reference is a text, not an object."""
        return {"title": cls.__name__, "description": _ONE_LINE, "type": "string", "pattern": _PATTERN}


def _unescaped(target: str, text: str) -> str:
    if _BARE_PERCENT.search(target):
        raise _refused(text, "'%' in a target is written '%25'")
    try:
        # unquote_to_bytes would leave other characters alone only if they are ASCII; encode them first.
        return unquote_to_bytes(target.encode()).decode()
    except UnicodeError as error:
        raise _refused(text, "a percent-escape that is not UTF-8") from error


def _span(span: str, text: str) -> LineRange | CharRange:
    found = _RANGE.fullmatch(span)
    if found is None:
        raise _refused(text, "'#' in a target is written '%23'; a range is written #L10-L20 or #c100-180")
    first, last, start, end = found.groups()
    try:
        if first is not None:
            return LineRange(first=int(first), last=int(last or first))
        return CharRange(start=int(start), end=int(end))
    except ValueError as error:
        raise _refused(text, "its range is none: lines count from 1, and nothing runs backwards") from error


def _refused(text: str, why: str) -> ProtocolError:
    return ProtocolError(f"Evidence reference {text[:SHOWN_CHARACTERS]!r}: {why}.")
