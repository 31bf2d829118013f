"""What the contexts of a recorded run were projected with, as the run's own messages say.

The rule: everything that a context depends on beside the ledger's messages stands in the ledger too, so that it can be
projected again from the ledger alone, in any process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from pydantic import JsonValue

from ledgerkit.projection.supplied import Supplied
from ledgerkit.protocol.budget import TokenBudget
from ledgerkit.protocol.contracts import RiskClass
from ledgerkit.protocol.refusals import parse
from ledgerkit.protocol.requests import ToolDefinition
from ledgerkit.protocol.responses import NEXT_ACTION_CONTRACT
from ledgerkit.protocol.toolcalls import canonical_json
from ledgerkit.strategies import Strategy, parse_strategy

NOTE: Final = "agent setup"
"""What the data of the message that holds the set-up says of itself in ``note``."""
DIGEST: Final = "request_digest"
"""Where the metadata of an answer keep the digest of the request that it answers (``Context.digest``)."""
DEFAULT_STRATEGY: Final = "HeadTail"


@dataclass(frozen=True, kw_only=True)
class ContextSetup:
    """What contexts of a run are projected with.

    Attributes:
        model: Name of the model.
        tools: What the model is told of its tools.
        risks: Greatest harm of each tool.
        strategy: What stands where in a context, as ``strategies.parse_strategy`` reads it.
        budget: Tokens of the window, divided as usual; without one the conversation stands in its own order.
    """

    model: str
    tools: tuple[ToolDefinition, ...]
    risks: Mapping[str, RiskClass]
    strategy: str = DEFAULT_STRATEGY
    budget: int | None = None

    def as_data(self) -> dict[str, JsonValue]:
        """As a message keeps it."""
        return {
            "note": NOTE,
            "model": self.model,
            "tools": [tool.model_dump(mode="json") for tool in self.tools],
            "risks": {name: risk.value for name, risk in sorted(self.risks.items())},
            "strategy": self.strategy,
            "budget": self.budget,
        }

    @classmethod
    def of_data(cls, data: Mapping[str, Any], **more: Any) -> Self:  # noqa: ANN401 - fields of who extends it
        """From what a message keeps.

        Raises:
            ProtocolError: If a tool is none.
            KeyError: If something is missing.
            ValueError: If a risk is none.
        """
        return cls(
            model=data["model"],
            tools=tuple(canonical_tool(parse(ToolDefinition, tool)) for tool in data["tools"]),
            risks={name: RiskClass(risk) for name, risk in sorted(data["risks"].items())},
            strategy=data["strategy"],
            budget=data["budget"],
            **more,
        )

    @property
    def arguments(self) -> tuple[Strategy, TokenBudget | None]:
        """Strategy and budget of the projector."""
        return parse_strategy(self.strategy), None if self.budget is None else TokenBudget(context_window=self.budget)

    @property
    def supplied(self) -> Supplied:
        """What stands in the contexts beside what the ledger recorded."""
        return Supplied(
            tools=self.tools,
            tool_risks=dict(self.risks),
            response_contract=NEXT_ACTION_CONTRACT,
            model=self.model,
        )


def canonical_tool(tool: ToolDefinition) -> ToolDefinition:
    """A definition whose schema has its keys in the order that it has when it comes back from the ledger."""
    return tool.model_copy(update={"parameters": json.loads(canonical_json(tool.parameters))})
