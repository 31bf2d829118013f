"""Data stays data: sections with a mark of their run, and nothing inside that could pass for one.

One rule: what stands in a boundary cannot end it. Look-alikes of our tags and control tokens of chat templates are
neutralised, with their places recorded; the finished text is parsed again before it leaves.
"""

from ledgerkit.safety.boundaries.neutral import Edit, Neutralised, neutralise
from ledgerkit.safety.boundaries.tags import (
    Boundary,
    Bounded,
    bounded_parts,
    closing_tag,
    holds_tag,
    nonce_of,
    opening_tag,
)

__all__ = [
    "Boundary",
    "Bounded",
    "Edit",
    "Neutralised",
    "bounded_parts",
    "closing_tag",
    "holds_tag",
    "neutralise",
    "nonce_of",
    "opening_tag",
]
