"""Usage as the three services report it, in the ledger's terms: ``input_tokens`` is all input."""

from __future__ import annotations

from ledgerkit.importers.drafts import JsonObject, UsageDraft
from ledgerkit.importers.pieces import count
from ledgerkit.importers.shapes import is_object


def usage_of(usage: object, service_tier: object = None) -> UsageDraft | None:
    """The usage of a model call; ``None`` where nothing is recorded."""
    if not is_object(usage):
        return None
    inputs = count(usage.get("prompt_tokens", usage.get("input_tokens")))
    outputs = count(usage.get("completion_tokens", usage.get("output_tokens")))
    read = count(usage.get("cache_read_input_tokens"))
    write = count(usage.get("cache_creation_input_tokens"))
    if inputs is None and outputs is None:
        return None
    tier = service_tier if isinstance(service_tier, str) else usage.get("service_tier")
    hour = _detail(usage, ("cache_creation",), "ephemeral_1h_input_tokens")
    # Anthropic counts cache tokens beside the input, OpenAI within it.
    cached = _detail(usage, ("prompt_tokens_details", "input_tokens_details"), "cached_tokens")
    return UsageDraft(
        input_tokens=None if inputs is None else inputs + (read or 0) + (write or 0),
        cache_read_tokens=read if read is not None else cached,
        cache_write_5m_tokens=None if write is None else write - min(hour or 0, write),
        cache_write_1h_tokens=None if write is None else min(hour or 0, write),
        output_tokens=outputs,
        reasoning_tokens=_detail(usage, ("completion_tokens_details", "output_tokens_details"), "reasoning_tokens"),
        service_tier=tier if isinstance(tier, str) else None,
    )


def _detail(usage: JsonObject, groups: tuple[str, ...], name: str) -> int | None:
    details = next((usage[group] for group in groups if is_object(usage.get(group))), None)
    return count(details.get(name)) if details else None
