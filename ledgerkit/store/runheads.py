"""Where runs end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunHead:
    """Where the sealed part of a run ends.

    Attributes:
        revision: Its revision.
        run_date: Its partition.
        next: Sequence number of its next message.
    """

    revision: int
    run_date: str
    next: int
