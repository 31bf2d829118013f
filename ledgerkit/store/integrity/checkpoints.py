"""Checkpoints: heads of the two trees, in a form to keep elsewhere.

Nothing inside one folder can show that its tail was cut off or that all of it was written anew; a checkpoint that is
kept elsewhere can. Its text follows the checkpoint format of transparency logs (C2SP tlog-checkpoint: origin, size,
root in base64), with the second tree, the time and the checkpoint before it as extension lines.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from datetime import datetime

from ledgerkit import errors

_TEXT = re.compile(
    r"\A(?P<origin>[^\n]+)\n(?P<size>\d+)\n(?P<root>[A-Za-z0-9+/=]{44})\n"
    r"runs (?P<runs_size>\d+) (?P<runs_root>[A-Za-z0-9+/=]{44})\n"
    r"time (?P<time>[^\n]+)\nprevious (?P<previous>[0-9a-f]{64}|-)\n\Z"
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a ledger held at a moment.

    Attributes:
        origin: The ledger.
        size: Messages of the history.
        root: Root over their leaf hashes.
        runs_size: Rows of ``runs``.
        runs_root: Root over their row hashes.
        created_at: When.
        previous: Id of the checkpoint before it.

    Example:
        >>> from datetime import UTC
        >>> first = Checkpoint("ledgerkit/1", 0, bytes(32), 0, bytes(32), datetime(2026, 1, 1, tzinfo=UTC))
        >>> Checkpoint.parse(str(first)) == first
        True
    """

    origin: str
    size: int
    root: bytes
    runs_size: int
    runs_root: bytes
    created_at: datetime
    previous: str | None = None

    @property
    def id(self) -> str:
        """SHA-256 of its text."""
        return hashlib.sha256(str(self).encode()).hexdigest()

    def __str__(self) -> str:
        return (
            f"{self.origin}\n{self.size}\n{_b64(self.root)}\nruns {self.runs_size} {_b64(self.runs_root)}\n"
            f"time {self.created_at.isoformat()}\nprevious {self.previous or '-'}\n"
        )

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Reads a checkpoint's text.

        Raises:
            IntegrityError: If it is none.
        """
        found = _TEXT.match(text.replace("\r\n", "\n").rstrip("\n") + "\n")
        if found is None:
            raise errors.IntegrityError(
                "This is no checkpoint: six lines are expected (origin, size, root, runs, time, previous)."
            )
        try:
            return cls(
                found["origin"],
                int(found["size"]),
                base64.b64decode(found["root"], validate=True),
                int(found["runs_size"]),
                base64.b64decode(found["runs_root"], validate=True),
                datetime.fromisoformat(found["time"]),
                None if found["previous"] == "-" else found["previous"],
            )
        except (ValueError, binascii.Error) as error:
            raise errors.IntegrityError(f"This checkpoint is damaged: {error}.") from error


def _b64(root: bytes) -> str:
    return base64.b64encode(root).decode()
