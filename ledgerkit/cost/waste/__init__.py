"""What was paid for without need, or beside the work. Frames in, one frame out."""

from ledgerkit.cost.waste.rows import WASTE, Waste
from ledgerkit.cost.waste.sending import cache_misses, compactions, subagents
from ledgerkit.cost.waste.units import repeated_reads, retries, units
from ledgerkit.cost.waste.unused import unused_outputs

__all__ = [
    "WASTE",
    "Waste",
    "cache_misses",
    "compactions",
    "repeated_reads",
    "retries",
    "subagents",
    "units",
    "unused_outputs",
]
