"""A part is one typed piece of a message, and carries its own labels: where it comes from, and who may see it.

Nine types (specification §6), told apart by ``type``; :mod:`ledgerkit.protocol.columns` maps them to the columns of
the history table and back, without loss.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from ledgerkit.protocol.model import Count, Identifier, Json, MediaType, Model, Text
from ledgerkit.protocol.partbase import CallBase, DetailedBase, ToolPartBase
from ledgerkit.protocol.refusals import parse_as
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.protocol.vocabulary import ChangeType, PartType, ToolStatus, Verdict


class TextPart(DetailedBase):
    """A text: what somebody said."""

    type: Literal[PartType.TEXT] = PartType.TEXT
    text: Text | None
    """The text as the model or the person saw it; the head of it where an artifact holds the whole."""
    path: Text | None = None
    """The file that it was read from, as the source wrote it."""


class JsonPart(ToolPartBase):
    """A structured value."""

    type: Literal[PartType.JSON] = PartType.JSON
    content_type: MediaType = "application/json"
    data: Json
    """The value."""
    text: Text | None = None
    """The form in which it was seen, if it was."""


class ArtifactRefPart(ToolPartBase, DetailedBase):
    """A content that only an artifact holds: an image, a document, a log too long to quote."""

    type: Literal[PartType.ARTIFACT_REF] = PartType.ARTIFACT_REF
    content_type: MediaType = "application/octet-stream"
    text: Text | None = None
    """An excerpt."""


class FileSnippetPart(ToolPartBase, DetailedBase):
    """Lines of a file as they stood when they were read."""

    type: Literal[PartType.FILE_SNIPPET] = PartType.FILE_SNIPPET
    text: Text | None
    """The lines."""
    start_line: Annotated[Count, Field(ge=1)] | None = None
    """Number of the first line, from 1."""
    end_line: Count | None = None
    """Number of the last line, included; one less than the first for an empty snippet."""
    total_lines: Count | None = None
    """Lines of the whole file."""

    @model_validator(mode="after")
    def _lines_in_order(self) -> FileSnippetPart:
        if self.start_line is not None and self.end_line is not None and self.end_line < self.start_line - 1:
            raise ValueError(f"start_line {self.start_line} stands behind end_line {self.end_line}")
        return self


class DiffPart(ToolPartBase, DetailedBase):
    """A change of a file, or of several if there is no path."""

    type: Literal[PartType.DIFF] = PartType.DIFF
    content_type: MediaType = "text/x-diff"
    text: Text | None
    """The change as a unified diff; none where only the fact is recorded."""
    change: ChangeType | None = None
    """What happened to the file."""
    previous_path: Text | None = None
    """Where the file was before it was renamed."""
    lines_added: Count | None = None
    """Lines added."""
    lines_removed: Count | None = None
    """Lines removed."""


def _hash_of(fields: dict[str, Any]) -> str:
    return arguments_hash(fields["arguments"])


class ToolCallPart(CallBase):
    """A tool call as it was asked for. The hash of its arguments is derived where it is not given.

    A hash that is given is kept as it is: the arguments may since have been redacted or moved to an artifact.
    """

    type: Literal[PartType.TOOL_CALL] = PartType.TOOL_CALL
    content_type: MediaType = "application/json"
    tool_call_id: Identifier
    """Correlates the call with its results."""
    tool_name: Identifier
    """The tool."""
    arguments: Json
    """The arguments: an object, or whatever the source has in its place."""
    arguments_hash: Identifier | None = Field(default_factory=_hash_of)
    """Hash of the canonical arguments."""
    status: ToolStatus = ToolStatus.REQUESTED
    """How the call stands as far as this message knows."""
    text: Text | None = None
    """The call as a person saw it, where it was shown."""


class ToolResultPart(CallBase):
    """What a tool call gave: a summary, an excerpt, and references to the whole output."""

    type: Literal[PartType.TOOL_RESULT] = PartType.TOOL_RESULT
    tool_call_id: Identifier
    """The call that it answers."""
    tool_name: Identifier | None = None
    """The tool."""
    arguments_hash: Identifier | None = None
    """Hash of the call's canonical arguments."""
    status: ToolStatus
    """How the call ended."""
    text: Text | None = None
    """The output as the model saw it; the head of it where an artifact holds the whole."""
    data: Json = None
    """Its structured form."""

    @model_validator(mode="after")
    def _has_ended(self) -> ToolResultPart:
        if self.status is ToolStatus.REQUESTED:
            raise ValueError("a result cannot be REQUESTED; use UNKNOWN where nothing says how the call ended")
        return self


class CheckCounts(Model):
    """What a verifier counted; ``None`` where it did not say."""

    passed: Count | None = None
    failed: Count | None = None
    errors: Count | None = None
    skipped: Count | None = None


class VerificationPart(ToolPartBase, DetailedBase):
    """What a verifier said about the work."""

    type: Literal[PartType.VERIFICATION] = PartType.VERIFICATION
    verdict: Verdict
    """Its verdict; ``inconclusive`` where the result proves neither."""
    check: Text | None = None
    """Name of the check; results with the same name follow each other."""
    scope: Text | None = None
    """What was checked: ``run``, a module, a test."""
    command: Text | None = None
    """The command that ran."""
    exit_code: Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)] | None = None
    """How it ended."""
    counts: CheckCounts = CheckCounts()
    """Passed, failed, errors, skipped."""
    failing: tuple[Text, ...] = ()
    """Names of what failed."""
    text: Text | None = None
    """What the verifier printed."""


class ErrorPart(ToolPartBase):
    """Something that went wrong in the agent, its client or a provider."""

    type: Literal[PartType.ERROR] = PartType.ERROR
    text: Text | None
    """The error's message."""
    data: Json = None
    """Its structured form."""


Part = Annotated[
    TextPart
    | JsonPart
    | ArtifactRefPart
    | FileSnippetPart
    | DiffPart
    | ToolCallPart
    | ToolResultPart
    | VerificationPart
    | ErrorPart,
    Field(discriminator="type"),
]
"""Any of the nine part types."""


def parse_part(value: object) -> Part:
    """A part from JSON text or from the objects that JSON decodes to.

    Raises:
        ProtocolError: If the protocol does not allow it; names the field, the value and the nearest allowed value.

    Example:
        >>> parse_part('{"type": "text", "text": "hi", "trust_level": "UNKNOWN", "visibility": "AUDIT_ONLY"}').text
        'hi'
    """
    return cast(Part, parse_as(Part, value, what="part"))
