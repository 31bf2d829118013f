"""Usage of a Claude Code record in the ledger's terms.

Anthropic's ``input_tokens`` leaves out cache reads and writes; the ledger's holds all input. A cache write without
a breakdown by lifetime is a five-minute one (the API's default).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from ledgerkit.importers.drafts import UsageDraft
from ledgerkit.importers.shapes import is_object


def usage_of(message: dict[str, Any], envelope: dict[str, Any]) -> UsageDraft | None:
    """The usage that a record carries; ``None`` where it carries none."""
    usage = message.get("usage")
    if not is_object(usage):
        return None
    fresh = _count(usage.get("input_tokens"))
    read = _count(usage.get("cache_read_input_tokens"))
    write = _count(usage.get("cache_creation_input_tokens"))
    breakdown = usage.get("cache_creation")
    hour = _count(breakdown.get("ephemeral_1h_input_tokens")) if is_object(breakdown) else None
    known = fresh is not None or read is not None or write is not None
    output = _count(usage.get("output_tokens"))
    if not known and output is None:
        return None
    hour = min(hour or 0, write or 0)
    tier = usage.get("service_tier")
    return UsageDraft(
        input_tokens=(fresh or 0) + (read or 0) + (write or 0) if known else None,
        cache_read_tokens=read or 0,
        cache_write_5m_tokens=(write or 0) - hour,
        cache_write_1h_tokens=hour,
        output_tokens=output,
        reported_cost=_money(envelope.get("costUSD")),
        service_tier=tier if isinstance(tier, str) else None,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _BEYOND_COUNTS else None


def _money(value: object) -> str | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _BEYOND_COSTS:
        return None
    return str(Decimal(str(value)).quantize(Decimal("1e-9")))


_BEYOND_COUNTS: Final = 2**60  # three of them still fit into a column
_BEYOND_COSTS: Final = 10**9
