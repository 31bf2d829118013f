"""Usage of model calls in the ledger's terms: ``input_tokens`` is all input."""

from __future__ import annotations

from typing import Any

from ledgerkit.importers.drafts import UsageDraft
from ledgerkit.importers.pieces import count, money
from ledgerkit.importers.shapes import is_object


def usage_of(usage: Any) -> UsageDraft | None:  # noqa: ANN401 - any JSON value
    """The usage of a call; ``None`` where nothing is recorded.

    Whether input holds cache tokens differs between services and versions; the total says which. Where it does not,
    the figures stand as they are.
    """
    if not is_object(usage):
        return None
    inputs, outputs = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    if inputs is None and outputs is None:
        return None
    read, write = count(usage.get("input_tokens_cache_read")), count(usage.get("input_tokens_cache_write"))
    cached = (read or 0) + (write or 0)
    total = count(usage.get("total_tokens"))
    spoken = (inputs or 0) + (outputs or 0)
    is_beside = inputs is not None and total is not None and cached > 0 and total >= spoken + cached
    return UsageDraft(
        input_tokens=(inputs or 0) + cached if is_beside else inputs,
        cache_read_tokens=read,
        cache_write_5m_tokens=write,
        output_tokens=outputs,
        reasoning_tokens=count(usage.get("reasoning_tokens")),
        reported_cost=money(usage.get("total_cost")),
    )
