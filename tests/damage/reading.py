"""What an importer says of a file, line by line, in a form that can be compared."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from ledgerkit.importers.drafts import PartDraft
from ledgerkit.importers.registry import LogFormat

Content = tuple[Any, ...]
_APART: Final = "ledgerkit-jsonl"
"""A format whose artifacts stand on lines of their own."""


@dataclass
class Told:
    """What a file holds.

    Attributes:
        parts: Content of the parts of each line, in order.
        lines: Lines that are accounted for: told, left out by a rule, or quarantined.
        quarantined: Lines of which something could not be read.
    """

    parts: dict[int, list[Content]] = field(default_factory=dict[int, list[Content]])
    lines: set[int] = field(default_factory=set[int])
    quarantined: set[int] = field(default_factory=set[int])

    @property
    def contents(self) -> set[Content]:
        """All contents of the file."""
        return {content for listed in self.parts.values() for content in listed}


def measure(content: bytes | str) -> str:
    """Stands for the content id that a ledger gives."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content).hexdigest()


def told(log_format: LogFormat, path: Path) -> Told:
    """Reads a file, and checks what every reading must keep."""
    parsed = log_format.read(path, measure=measure)
    parts: defaultdict[int, list[Content]] = defaultdict(list)
    for record in parsed.records:
        assert bool(record.messages) != bool(record.skipped), record
        for message in record.messages:
            assert message.parts
            parts[record.line] += [_content(part, has_blobs=log_format.name != _APART) for part in message.parts]
    quarantined = {each.line for each in parsed.quarantined}
    return Told(dict(parts), {record.line for record in parsed.records} | quarantined, quarantined)


def _content(part: PartDraft, *, has_blobs: bool) -> Content:
    """What a part holds, without whose words they are and which call it belongs to: neighbours may say that."""
    data = msgspec.json.encode(part.data, order="sorted").decode() if part.data is not None else None
    blobs = tuple(measure(blob.content) for blob in part.blobs or () if has_blobs)
    return (part.part_type.value, part.text, _without_neighbours(data), part.measured, blobs)


def _without_neighbours(data: str | None) -> str | None:
    """Structured content as it stands; of a note on usage not which call it is of, which other lines say."""
    if data is None or '"note":"model call"' not in data:
        return data
    return '"note":"model call"'
