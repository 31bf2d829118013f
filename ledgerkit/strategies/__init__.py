"""Strategies: rules that say which rendition of which part stands in the context of which step, for many runs at once.

Example:
    >>> import ledgerkit as lk
    >>> str(lk.strategies.HeadTail() | lk.strategies.ClearAt(60_000, keep=5))
    'HeadTail(limit=10000, keep=5000) | ClearAt(trigger=60000, target=0, keep=5, at_least=0)'
"""

from ledgerkit.strategies.attribution import attribute, unattributed
from ledgerkit.strategies.caching import NO_CACHE, CacheRules
from ledgerkit.strategies.clearing import ClearAt
from ledgerkit.strategies.eligibility import Absence
from ledgerkit.strategies.excerpts import HeadTail, excerpt_text
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.measures import Measures, measure
from ledgerkit.strategies.naming import parse_strategy
from ledgerkit.strategies.needed import EvidenceFirst
from ledgerkit.strategies.observations import LastObservations
from ledgerkit.strategies.parts import reference_text, run_frames
from ledgerkit.strategies.placements import PLACEMENTS, Projection, change_at, end_at, merge_equal
from ledgerkit.strategies.strategy import Chain, Strategy, project
from ledgerkit.strategies.summaries import SummariseAt
from ledgerkit.strategies.whole import AsRecorded, FullHistory
from ledgerkit.strategies.windows import RandomDrop, SectionBudgets, TokenWindow, evict

__all__ = [
    "NO_CACHE",
    "PLACEMENTS",
    "Absence",
    "AsRecorded",
    "CacheRules",
    "Chain",
    "ClearAt",
    "EvidenceFirst",
    "FullHistory",
    "HeadTail",
    "LastObservations",
    "Measures",
    "Projection",
    "RandomDrop",
    "RunFrames",
    "SectionBudgets",
    "Strategy",
    "SummariseAt",
    "TokenWindow",
    "attribute",
    "change_at",
    "end_at",
    "evict",
    "excerpt_text",
    "measure",
    "merge_equal",
    "parse_strategy",
    "project",
    "reference_text",
    "run_frames",
    "unattributed",
]
