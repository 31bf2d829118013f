"""Which secrets a run is known to hold: so that a value which one place gave away is removed in all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Confirmed(NamedTuple):
    """A value that a rule has confirmed.

    Attributes:
        rank: How much the rule's finding says; less is more.
        type: What the value is.
        rule: The rule.
    """

    rank: int
    type: str
    rule: str


@dataclass(slots=True)
class SecretMemory:
    """Secrets of a run. Values are kept in this object alone: it lives as long as an import or a recorder does.

    Attributes:
        values: What was confirmed for each value.
        fingerprints: Secret type by fingerprint, of secrets that were replaced before this object was made.
    """

    values: dict[str, Confirmed] = field(default_factory=dict[str, Confirmed], repr=False)
    fingerprints: Mapping[str, str] = field(default_factory=dict[str, str])
