"""What an evaluation cannot say. It stands in every result and in everything that is written from one."""

from __future__ import annotations

from typing import Final

CAVEATS: Final = (
    "Off-policy: the recorded actions were taken under another context. No success rate may be claimed, only what the "
    "recorded next action would have lost.",
    "Presence is not use: what stands in a context may still be overlooked, in the middle of a long one above all.",
    "Absence is not failure: an agent may read it again, or know it.",
    "Effects on the length of runs are invisible: summaries, for one, are known to lengthen them.",
    "Survivorship: the steps after a deviation never happened. Restrict to early steps, or report by decile of steps.",
    "Literal matching counts common tokens too often (hence weights and lift over random dropping) and misses "
    "paraphrase.",
    "Tokens and caches are approximations: lifetime, eviction and routing of a provider's cache cannot be observed.",
    "What a server edited, compacted or sealed is not in a client's log: the recorded context may not be what the "
    "model saw.",
    "Somebody chose these runs. Weight by task before comparing.",
    "Many strategies and metrics are compared at once: correct for it. Retention is a measure to be validated (live "
    "runs of two strategies or more, 100 tasks or more), not one to gate on untested.",
)
"""In the order of the groundwork's list, (a) to (j)."""
