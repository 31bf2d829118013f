"""Token usage of a model call, with one meaning for all providers: input is ALL input, output ALL output.

OpenTelemetry's GenAI semantics: cache reads and writes are inside ``input_tokens``, reasoning is inside
``output_tokens``. A record in which a part is larger than its whole was read by another provider's rule (Anthropic
reports input without its cache tokens); it is refused, with both numbers.
"""

from __future__ import annotations

from pydantic import model_validator

from ledgerkit.protocol.model import Count, Identifier, Model, Money, Text


class Usage(Model):
    """Tokens of one model call; ``None`` where the source does not say.

    Example:
        >>> Usage(input_tokens=1200, cache_read_tokens=1000, output_tokens=80).fresh_input_tokens
        200
    """

    input_tokens: Count | None = None
    """All input tokens."""
    cache_read_tokens: Count | None = None
    """Input tokens read from a prompt cache."""
    cache_write_5m_tokens: Count | None = None
    """Input tokens written to a cache of five minutes, or of the provider's usual lifetime."""
    cache_write_1h_tokens: Count | None = None
    """Input tokens written to a cache of one hour."""
    output_tokens: Count | None = None
    """All output tokens."""
    reasoning_tokens: Count | None = None
    """Output tokens spent on reasoning."""

    @model_validator(mode="after")
    def _parts_fit_into_wholes(self) -> Usage:
        cached = self.cached_input_tokens
        if self.input_tokens is not None and cached > self.input_tokens:
            hint = "Input tokens include cache reads and writes; add them where the provider reports them apart."
            raise ValueError(f"{cached} cache tokens are more than the {self.input_tokens} input tokens. {hint}")
        if self.output_tokens is not None and (self.reasoning_tokens or 0) > self.output_tokens:
            hint = "Output tokens include reasoning; add it where the provider reports it apart."
            raise ValueError(
                f"{self.reasoning_tokens} reasoning tokens are more than the {self.output_tokens} output tokens. {hint}"
            )
        return self

    @property
    def cached_input_tokens(self) -> int:
        """Input tokens that are known to be read from a cache or written to one."""
        known = (self.cache_read_tokens, self.cache_write_5m_tokens, self.cache_write_1h_tokens)
        return sum(tokens for tokens in known if tokens is not None)

    @property
    def fresh_input_tokens(self) -> int | None:
        """Input tokens that no cache is known to have held; ``None`` if the input is unknown."""
        return None if self.input_tokens is None else self.input_tokens - self.cached_input_tokens


class ModelCall(Model):
    """One call of a model, as its record says; at least one of it is known."""

    call_id: Identifier | None = None
    """The provider's message id and request id."""
    model: Text | None = None
    """The model that answered."""
    provider: Text | None = None
    """Who served it."""
    service_tier: Text | None = None
    """Tier as recorded: standard, batch, priority."""
    usage: Usage = Usage()
    """Its tokens."""
    reported_cost: Money | None = None
    """Cost in US dollars as the source itself reported it."""

    @model_validator(mode="after")
    def _says_something(self) -> ModelCall:
        return self.nonempty("a model call")
