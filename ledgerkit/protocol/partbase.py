"""What all parts have, and what those parts have that belong to a tool call.

Fields are named like the columns of the history table. ``None`` means that the source does not say, or that the
content was erased; it is never a default in disguise.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from ledgerkit.protocol.model import Count, Identifier, JsonObject, MediaType, Model, Text, Time
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.vocabulary import TrustLevel, Visibility

_ARTIFACT_PREFIX: Final = "artifact:"


def _content_id(value: object) -> object:
    return value.removeprefix(_ARTIFACT_PREFIX) if isinstance(value, str) else value


ContentId = Annotated[Identifier, BeforeValidator(_content_id)]
"""Content id of an artifact; ``artifact:ID`` is read as ``ID``."""


class PartBase(Model):
    """What all parts have."""

    content_type: MediaType = "text/plain"
    """Media type of the content."""
    trust_level: TrustLevel
    """Where the content really comes from."""
    visibility: Visibility
    """Who may see the part."""
    evidence_refs: tuple[EvidenceRef, ...] = ()
    """What the part rests on."""
    token_count: Count | None = None
    """Tokens of the whole content, where they were counted."""
    summary: Text | None = None
    """A short form that the source recorded."""
    artifact_refs: tuple[ContentId, ...] = ()
    """Artifacts that hold the whole content."""

    @property
    def states_null(self) -> bool:
        """Whether a field is null that would not be null if it were left out."""
        return any(getattr(self, name) is None for name in _without_null_default(type(self)))


@cache
def _without_null_default(shape: type[PartBase]) -> tuple[str, ...]:
    return tuple(name for name, field in shape.model_fields.items() if field.is_required() or field.default is not None)


class DetailedBase(PartBase):
    """What parts have whose structure is in their fields."""

    details: JsonObject = Field(default_factory=dict[str, JsonValue])
    """What else the source said, by names other than those of the structured fields."""

    @classmethod
    def structured_fields(cls) -> tuple[str, ...]:
        """Names of the fields that only this type has; they stand beside the details in one JSON object."""
        return tuple(name for name in cls.model_fields if name not in _COMMON_FIELDS)

    @model_validator(mode="after")
    def _details_hide_nothing(self) -> DetailedBase:
        if hidden := self.details.keys() & set(self.structured_fields()):
            raise ValueError(f"details may not repeat fields of the part: {', '.join(sorted(hidden))}")
        return self


class CallBase(PartBase):
    """What parts have that belong to a tool call."""

    path: Text | None = None
    """The file that the part is about, as the source wrote it."""
    started_at: Time | None = None
    """When the call began."""
    finished_at: Time | None = None
    """When it ended."""
    error_category: Text | None = None
    """Kind of failure, where it is one."""


class ToolPartBase(CallBase):
    """What parts have that a tool call may have brought, or nobody."""

    tool_call_id: Identifier | None = None
    """The call that brought it."""
    tool_name: Identifier | None = None
    """The tool that brought it."""
    arguments_hash: Identifier | None = None
    """Hash of the call's canonical arguments."""


_COMMON_FIELDS: Final = frozenset(ToolPartBase.model_fields) | {"type", "text", "details"}
