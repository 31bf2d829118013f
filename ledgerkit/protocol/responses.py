"""An answer has a form: what an agent does next is read from fields, never out of sentences.

The names in JSON are those of specification §21 (``nextAction``), because they are what a model is shown.
"""

from __future__ import annotations

from typing import Final

from pydantic import ConfigDict, JsonValue, model_validator
from pydantic.alias_generators import to_camel

from ledgerkit.protocol.model import Flag, Identifier, JsonObject, Model, Text
from ledgerkit.protocol.refusals import parse
from ledgerkit.protocol.vocabulary import NextAction

NEXT_ACTION_SCHEMA: Final[dict[str, JsonValue]] = {
    "type": "object",
    "required": ["nextAction", "rationaleSummary"],
    "properties": {
        "nextAction": {"type": "string", "enum": [action.value for action in NextAction]},
        "rationaleSummary": {"type": "string"},
        "toolName": {"type": ["string", "null"]},
        "toolArguments": {"type": ["object", "null"]},
    },
    "additionalProperties": False,
}
"""JSON Schema of the answer (specification §21); null is as good as absent, for providers that want every field."""


class ResponseContract(Model):
    """The form that an answer must have."""

    name: Identifier
    """Its name."""
    answer_schema: JsonObject
    """JSON Schema of the answer."""
    is_strict: Flag = True
    """Whether the provider is to enforce it where it can."""


NEXT_ACTION_CONTRACT: Final = ResponseContract(name="next_action", answer_schema=NEXT_ACTION_SCHEMA)
"""The response contract of specification §21; :class:`NextActionResponse` reads the answer."""


class NextActionResponse(Model):
    """The agent's next action.

    Example:
        >>> NextActionResponse(next_action=NextAction.FINISH_BLOCKED, rationale_summary="No access.").model_dump_json()
        '{"nextAction":"FINISH_BLOCKED","rationaleSummary":"No access.","toolName":null,"toolArguments":null}'
    """

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True)

    next_action: NextAction
    """What it wants to do."""
    rationale_summary: Text
    """Why, in a sentence or two."""
    tool_name: Identifier | None = None
    """The tool to call, or to get an approval for."""
    tool_arguments: JsonObject | None = None
    """Its arguments."""

    @model_validator(mode="after")
    def _tool_fits_the_action(self) -> NextActionResponse:
        if self.next_action is NextAction.CALL_TOOL and self.tool_name is None:
            raise ValueError("CALL_TOOL needs a toolName")
        finishes = self.next_action not in (NextAction.CALL_TOOL, NextAction.REQUEST_APPROVAL)
        if finishes and (self.tool_name is not None or self.tool_arguments is not None):
            raise ValueError(f"{self.next_action} ends the run and takes no tool")
        return self


def parse_next_action(value: object) -> NextActionResponse:
    """The next action from an answer's JSON text, or from the objects that it decodes to.

    Raises:
        ProtocolError: If the answer does not keep the contract; the runtime asks again and guesses nothing.
    """
    return parse(NextActionResponse, value)
