"""Exporters: runs of a ledger as files of other formats. Frames in, documents out; each says what it left out.

One rule: nothing is lost silently. What a format has no place for is counted, by kind and field, with the reason; what
the audience may not see is counted with its label. Who calls an exporter puts every document through the output gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ledgerkit.exporters import atif, ledgerkit_jsonl, scout
from ledgerkit.exporters.losses import Losses
from ledgerkit.exporters.material import Document, Material


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format that runs can be written in.

    Attributes:
        name: As ``Ledger.export`` takes it.
        suffix: End of its files' names.
        documents: Makes its documents of the runs of some sessions, and counts what else they leave out.
        lost: Columns of history that it has no place for, and why each is left out.
    """

    name: str
    suffix: str
    documents: Callable[[Iterable[Material], Losses], Iterator[Document]]
    lost: Mapping[str, str]


FORMATS: Final[dict[str, ExportFormat]] = {
    each.name: each
    for each in (
        ExportFormat("atif", atif.SUFFIX, atif.documents, atif.LOST),
        ExportFormat("scout", scout.SUFFIX, scout.documents, scout.LOST),
        ExportFormat("jsonl", ledgerkit_jsonl.SUFFIX, ledgerkit_jsonl.documents, {}),
    )
}
"""The formats that runs can be written in, by name."""
