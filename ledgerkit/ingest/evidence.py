"""Evidence references after redaction: what they point at is still there, at another place or under another id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.references import CharRange, EvidenceRef, LineRange
from ledgerkit.safety.redaction import OffsetMap


@dataclass(frozen=True, slots=True)
class RedactedText:
    """A text that lost secrets.

    Attributes:
        before: The text as it was.
        after: The text as it is.
        offsets: Where its places stand now.
        content_id: Its new id, for an artifact.
    """

    before: str
    after: str
    offsets: OffsetMap
    content_id: str | None = None

    def moved(self, span: LineRange | CharRange | None) -> LineRange | CharRange | None:
        """Where a range stands now. One that cuts a secret takes in its whole placeholder."""
        if span is None:
            return None
        if isinstance(span, CharRange):
            start, end = self.offsets.to_new(span.start, span.end)
            return CharRange(start=start, end=end)
        lines = self.before.split("\n")
        first = sum(len(line) + 1 for line in lines[: span.first - 1])
        last = sum(len(line) + 1 for line in lines[: span.last]) - 1
        start, end = self.offsets.to_new(first, last)
        return LineRange(first=self.after.count("\n", 0, start) + 1, last=self.after.count("\n", 0, end) + 1)


def moved_reference(reference: str, texts: Mapping[tuple[str, str], RedactedText]) -> str:
    """A reference to what it meant before.

    Args:
        reference: The reference.
        texts: Texts that lost secrets, by kind and target of a reference to them.

    Example:
        >>> text = RedactedText("my secret.", "my [X].", OffsetMap.of([(3, 9, 3)]))
        >>> moved_reference("message:m#c9-10", {("message", "m"): text})
        'message:m#c6-7'
    """
    try:
        ref = EvidenceRef.parse(reference)
    except ProtocolError:
        return reference  # a source may write what it likes; only the protocol's own references have ranges
    text = texts.get((ref.kind.value, ref.target))
    if text is None:
        return reference
    return str(EvidenceRef(kind=ref.kind, target=text.content_id or ref.target, range=text.moved(ref.range)))
