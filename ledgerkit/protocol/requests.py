"""A request to a model in nobody's dialect: instructions apart from data, every block with the trust it came with.

Only content of the platform, the organisation or the user may stand in an instruction position (an instruction, or
a message of the system or developer role). What tools, models, files and the network said can be nothing but data.
Providers map this form to their own (specification §15).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue, model_validator

from ledgerkit.protocol.model import (
    Count,
    Flag,
    Identifier,
    Json,
    JsonObject,
    MediaType,
    Model,
    Ratio,
    StepNumber,
    Text,
)
from ledgerkit.protocol.partbase import ContentId
from ledgerkit.protocol.responses import ResponseContract
from ledgerkit.protocol.vocabulary import InstructionPriority, LlmRole, PartType, ToolStatus, TrustLevel

_INSTRUCTING_ROLES: Final = frozenset({LlmRole.SYSTEM, LlmRole.DEVELOPER})
_INSTRUCTING_TRUST: Final = frozenset({TrustLevel.PLATFORM_TRUSTED, TrustLevel.ORG_TRUSTED, TrustLevel.USER_TRUSTED})


def may_instruct(trust_level: TrustLevel) -> bool:
    """Whether content of a trust level may stand in an instruction position."""
    return trust_level in _INSTRUCTING_TRUST


class LlmInstruction(Model):
    """An instruction to the model."""

    priority: InstructionPriority
    """How urgent."""
    trust_level: TrustLevel
    """Where it comes from."""
    name: Identifier
    """Name of the section."""
    content: Text
    """Its words."""

    @model_validator(mode="after")
    def _may_instruct(self) -> LlmInstruction:
        if not may_instruct(self.trust_level):
            raise ValueError(f"{self.trust_level} content may inform, not instruct: {self.name!r} is a user message")
        return self


class BlockBase(Model):
    """What all content blocks have."""

    trust_level: TrustLevel
    """Where the content comes from."""
    part_id: Identifier | None = None
    """The ledger's part that it renders; ``None`` for what the projector wrote."""


class LlmTextBlock(BlockBase):
    """A text."""

    type: Literal[PartType.TEXT] = PartType.TEXT
    text: Text
    """The text."""


class LlmJsonBlock(BlockBase):
    """A structured value."""

    type: Literal[PartType.JSON] = PartType.JSON
    data: Json
    """The value."""


class LlmToolCallBlock(BlockBase):
    """A call that the model asked for."""

    type: Literal[PartType.TOOL_CALL] = PartType.TOOL_CALL
    tool_call_id: Identifier
    """Correlates the call with its results."""
    tool_name: Identifier
    """The tool."""
    arguments: JsonObject
    """Its arguments."""


class LlmToolResultBlock(BlockBase):
    """What a call gave."""

    type: Literal[PartType.TOOL_RESULT] = PartType.TOOL_RESULT
    tool_call_id: Identifier
    """The call that it answers."""
    status: ToolStatus
    """How the call ended."""
    text: Text
    """What is shown of the result."""


class LlmArtifactReferenceBlock(BlockBase):
    """A content that stands elsewhere."""

    type: Literal[PartType.ARTIFACT_REF] = PartType.ARTIFACT_REF
    artifact: ContentId
    """Its content id."""
    media_type: MediaType
    """Its media type."""
    summary: Text | None = None
    """What it holds."""
    byte_count: Count | None = None
    """Its size."""


class LlmDiffBlock(BlockBase):
    """A change of a file."""

    type: Literal[PartType.DIFF] = PartType.DIFF
    path: Text | None
    """The file; ``None`` for a change of several."""
    text: Text
    """The unified diff."""


LlmContentBlock = Annotated[
    LlmTextBlock | LlmJsonBlock | LlmToolCallBlock | LlmToolResultBlock | LlmArtifactReferenceBlock | LlmDiffBlock,
    Field(discriminator="type"),
]
"""Any of the six content blocks."""


class LlmMessage(Model):
    """What one role says."""

    role: LlmRole
    """Who speaks."""
    content: tuple[LlmContentBlock, ...] = Field(min_length=1)
    """What."""
    metadata: JsonObject = Field(default_factory=dict[str, JsonValue])
    """What a provider needs to have back: signatures, item ids."""

    @model_validator(mode="after")
    def _blocks_fit_the_role(self) -> LlmMessage:
        for block in self.content:
            if isinstance(block, LlmToolCallBlock) and self.role is not LlmRole.ASSISTANT:
                raise ValueError(f"a tool call is the assistant's, not the {self.role}'s")
            if isinstance(block, LlmToolResultBlock) != (self.role is LlmRole.TOOL):
                raise ValueError("tool results, and nothing else, stand in messages of the tool role")
            if self.role in _INSTRUCTING_ROLES and not may_instruct(block.trust_level):
                raise ValueError(f"{block.trust_level} content may inform, not instruct: {self.role} instructs")
        return self


class ToolDefinition(Model):
    """A tool that the model is told of."""

    name: Annotated[Identifier, Field(max_length=128)]
    """Its name; providers alias what they cannot say."""
    description: Text
    """What it does."""
    parameters: JsonObject
    """JSON Schema of its arguments."""

    @model_validator(mode="after")
    def _takes_an_object(self) -> ToolDefinition:
        if self.parameters.get("type") != "object":
            raise ValueError(f'parameters of tool {self.name!r} need "type": "object" at their root')
        return self


class ToolChoiceMode(StrEnum):
    """Whether the model may, must or may not call a tool."""

    AUTO = "auto"
    REQUIRED = "required"
    NONE = "none"


class ToolChoice(Model):
    """What may be used at this step, of the tools that are declared."""

    mode: ToolChoiceMode = ToolChoiceMode.AUTO
    """Whether a tool may or must be called."""
    allowed: tuple[Identifier, ...] | None = None
    """Tools that may be called; ``None``: all that are declared."""


class LlmRequestOptions(Model):
    """How the model is to answer; ``None`` leaves it to the provider."""

    max_output_tokens: Annotated[Count, Field(ge=1)] | None = None
    temperature: Ratio | None = None
    top_p: Annotated[Ratio, Field(le=1)] | None = None
    seed: Count | None = None
    stop_sequences: tuple[Identifier, ...] = ()
    reasoning_effort: Identifier | None = None
    parallel_tool_calls: Flag | None = None
    tool_choice: ToolChoice = ToolChoice()


class TraceContext(Model):
    """Which step of which run a request belongs to."""

    session_id: Identifier
    run_id: Identifier
    step: StepNumber
    trace_id: Identifier | None = None


class LlmRequest(Model):
    """A request to a model."""

    request_id: Identifier
    """The request."""
    model: Identifier
    """The model that is asked."""
    instructions: tuple[LlmInstruction, ...] = ()
    """What it is to follow, strongest first."""
    messages: tuple[LlmMessage, ...] = ()
    """What it is to know."""
    tools: tuple[ToolDefinition, ...] = ()
    """What it may use."""
    response_contract: ResponseContract | None = None
    """The form of its answer; ``None``: free text."""
    options: LlmRequestOptions = LlmRequestOptions()
    """How it is to answer."""
    trace: TraceContext | None = None
    """The step that it belongs to."""

    @model_validator(mode="after")
    def _tools_are_declared_once(self) -> LlmRequest:
        names = [tool.name for tool in self.tools]
        if len(set(names)) != len(names):
            raise ValueError("a tool is declared more than once")
        if undeclared := set(self.options.tool_choice.allowed or ()) - set(names):
            raise ValueError(f"tool_choice allows what is not declared: {', '.join(sorted(undeclared))}")
        return self
