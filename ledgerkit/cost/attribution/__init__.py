"""What each part cost over its life in the context, and what no part can be charged with: amounts that add up.

Loads numpy: import it where it is used.
"""

from ledgerkit.cost.attribution.attributing import Attribution, attribute_calls
from ledgerkit.cost.attribution.groups import CALL_LABELS, LABELS, PART_LABELS, RUN_LABELS, by_label, summed
from ledgerkit.cost.attribution.lines import LINES, Line
from ledgerkit.cost.attribution.steps import OUTPUT, by_step

__all__ = [
    "CALL_LABELS",
    "LABELS",
    "LINES",
    "OUTPUT",
    "PART_LABELS",
    "RUN_LABELS",
    "Attribution",
    "Line",
    "attribute_calls",
    "by_label",
    "by_step",
    "summed",
]
