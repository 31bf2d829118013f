"""What stands in contexts by its label: what must stand whole, what is untrusted, and what contradicts its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.evaluation.material import Material, Placed
from ledgerkit.evaluation.presence import Floats, ratio, standing
from ledgerkit.protocol.requests import may_instruct
from ledgerkit.protocol.vocabulary import ContextSection, MessageKind, Rendition, TrustLevel
from ledgerkit.strategies.grid import Ints, ints

_MAY_INSTRUCT: Final = [level.value for level in TrustLevel if may_instruct(level)]
_UNTRUSTED: Final = [TrustLevel.REPOSITORY_UNTRUSTED.value, TrustLevel.NETWORK_UNTRUSTED.value]
_CONSTRAINING: Final = [MessageKind.USER_TASK.value, MessageKind.DEVELOPER_INSTRUCTION.value]
_INSTRUCTING: Final = [
    section.value
    for section in (ContextSection.PLATFORM_POLICY, ContextSection.ORG_POLICY, ContextSection.TASK_CONTRACT)
]


@dataclass(frozen=True)
class Labels:
    """Labels of the parts of some runs, shape (parts,) each.

    Attributes:
        mandatory: Whether a part must stand whole in every context that could hold it: what is pinned, and what a user
            or developer who may instruct said later.
        untrusted: Whether it comes from the repository or the network.
        unlabelled: Whether nobody knows where it comes from.
        instructs: Whether it may stand in an instruction position.
    """

    mandatory: Ints
    untrusted: Ints
    unlabelled: Ints
    instructs: Ints

    @classmethod
    def of(cls, material: Material) -> Labels:
        """Reads the labels."""
        trust, kind = pl.col("trust_level"), pl.col("kind")
        constrains = kind.is_in(_CONSTRAINING) & trust.is_in(_MAY_INSTRUCT) & ~pl.col("is_result")
        found = material.frames.parts.select(
            mandatory=pl.col("is_eligible") & (pl.col("is_pinned") | constrains),
            untrusted=trust.is_in(_UNTRUSTED),
            unlabelled=trust == TrustLevel.UNKNOWN.value,
            instructs=trust.is_in(_MAY_INSTRUCT),
        )
        return cls(*(ints(found[name].fill_null(value=False)) for name in found.columns))

    def steps(self, placed: Placed) -> dict[str, Floats | Ints]:
        """By slot.

        Returns:
            ``mandatory_parts`` and ``mandatory_kept`` (in full), ``policy_retention`` (1 where all are, 0 where one is
            not, NaN where there is none), ``untrusted_tokens``, ``unlabelled_tokens``, and ``trust_inversions``
            (things in an instruction position that may not instruct).
        """
        frames, grid = placed.material.frames, placed.material.frames.grid
        parts = np.flatnonzero(self.mandatory)
        run = frames.column("run")[parts]
        ones = np.ones(parts.size, np.int64)
        wanted = standing(grid, run, frames.column("visible_from")[parts], grid.steps[run], ones)
        must = placed.is_full & (self._of(placed, self.mandatory, 0) == 1)
        there = placed.spans(must).union()
        kept = standing(
            grid, frames.column("run")[there.key], there.start, there.end, np.ones(there.key.size, np.int64)
        )
        is_summary = placed.part < 0
        shown = placed.is_full | placed.is_excerpt | placed.rendered_as(Rendition.SUMMARY)
        in_command = placed.table["section"].cast(pl.String).is_in(_INSTRUCTING).to_numpy()
        inverted = in_command & shown & (self._of(placed, self.instructs, 0) == 0)
        # Nobody has written the summary that a strategy assumes: it would hold what the repository says.
        untrusted = np.where(is_summary, 1, self._of(placed, self.untrusted, 1))
        unlabelled = np.where(is_summary, 0, self._of(placed, self.unlabelled, 0))
        return {
            "mandatory_parts": wanted,
            "mandatory_kept": kept,
            "policy_retention": ratio((kept == wanted).astype(np.int64) * wanted, wanted),
            "untrusted_tokens": self._sum(placed, untrusted * shown * placed.tokens),
            "unlabelled_tokens": self._sum(placed, unlabelled * shown * placed.tokens),
            "trust_inversions": self._sum(placed, inverted.astype(np.int64)),
        }

    @staticmethod
    def _of(placed: Placed, label: Ints, summary: int) -> Ints:
        if not label.size:
            return np.full(placed.part.size, summary, np.int64)
        return np.where(placed.part >= 0, label[np.maximum(placed.part, 0)], summary)

    @staticmethod
    def _sum(placed: Placed, amount: Ints) -> Ints:
        return standing(placed.material.frames.grid, placed.run, placed.start, placed.end, amount)
