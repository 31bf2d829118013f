"""A message is one append-only ledger entry; its labels follow from its parts and cannot be set otherwise.

A message has the lowest trust of its parts and their widest visibility. Both are derived when they are not given,
and refused when they are given differently. Hidden reasoning is no message: what an agent decided is a
:func:`decision_summary` with its evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field, JsonValue, model_validator

from ledgerkit.protocol.model import Count, Identifier, JsonObject, Model, StepNumber, Text, Time
from ledgerkit.protocol.parts import Part, TextPart
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.refusals import parse
from ledgerkit.protocol.usage import ModelCall, Usage
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Visibility


def _lowest_trust(parts: Sequence[Part]) -> TrustLevel:
    if len(parts) == 1:
        return parts[0].trust_level
    return TrustLevel.lowest(part.trust_level for part in parts)


def _widest_visibility(parts: Sequence[Part]) -> Visibility:
    if len(parts) == 1:
        return parts[0].visibility
    return Visibility.widest(part.visibility for part in parts)


class MessageRange(Model):
    """Messages of a run by sequence number, both ends included."""

    first: Count
    """Sequence number of the first message."""
    last: Count
    """Sequence number of the last message."""

    @model_validator(mode="after")
    def _in_order(self) -> MessageRange:
        if self.last < self.first:
            raise ValueError(f"messages {self.first} to {self.last} run backwards; an empty range has no form")
        return self

    def __contains__(self, sequence_no: int) -> bool:
        """Whether a message of that number is among them."""
        return self.first <= sequence_no <= self.last

    def __len__(self) -> int:
        """How many messages they are."""
        return self.last - self.first + 1


class SourceRecord(Model):
    """Where an imported message was read from; at least one of it is known."""

    import_id: Identifier | None = None
    """The import that brought it."""
    source_file: Text | None = None
    """The file."""
    source_offset: Count | None = None
    """Byte offset of the record in the file."""
    source_line: Annotated[Count, Field(ge=1)] | None = None
    """Line number of the record, from 1."""
    source_record: Text | None = None
    """The record's own id."""

    @model_validator(mode="after")
    def _says_something(self) -> SourceRecord:
        return self.nonempty("a source record")


class MessageBase(Model):
    """What a message says, before the ledger gives it an id and a place."""

    session_id: Identifier
    """The session."""
    run_id: Identifier
    """The run within the session."""
    kind: MessageKind
    """What the message is."""
    actor: Identifier
    """Who said it: user, the model's name, a tool's name, the agent program."""
    parts: tuple[Part, ...] = Field(min_length=1)
    """Its parts, at least one."""
    metadata: JsonObject = Field(default_factory=dict[str, JsonValue])
    """What else is known about it."""
    parent_message_id: Identifier | None = None
    """The message that it answers or follows."""
    trace_id: Identifier | None = None
    """Trace of the recording system."""
    idempotency_key: Identifier | None = None
    """Given by a writer, so that a retry appends nothing; unique within the run."""
    step: StepNumber | None = None
    """Model call of the run that the message belongs to."""
    visible_from: StepNumber | None = None
    """First step whose context may hold it."""
    call: ModelCall | None = None
    """The model call that wrote it."""

    @property
    def usage(self) -> Usage | None:
        """Tokens of the model call that wrote it."""
        return self.call.usage if self.call is not None else None


def _derived_trust(fields: dict[str, Any]) -> TrustLevel:
    return _lowest_trust(fields["parts"])


def _derived_visibility(fields: dict[str, Any]) -> Visibility:
    return _widest_visibility(fields["parts"])


class AgentMessage(MessageBase):
    """A message as it stands in the ledger."""

    message_id: Identifier
    """The message."""
    sequence_no: Count
    """Its place in the run, from 0."""
    created_at: Time | None
    """When it was written; ``None`` if the source does not say."""
    trust_level: TrustLevel = Field(default_factory=_derived_trust)
    """Lowest trust of its parts."""
    visibility: Visibility = Field(default_factory=_derived_visibility)
    """Widest visibility of its parts."""
    source: SourceRecord | None = None
    """Where it was read from; ``None`` if it was appended live."""

    @model_validator(mode="after")
    def _labels_follow_from_parts(self) -> AgentMessage:
        lowest, widest = _lowest_trust(self.parts), _widest_visibility(self.parts)
        if self.trust_level is not lowest:
            raise ValueError(f"trust_level is {self.trust_level}, but the lowest trust of the parts is {lowest}")
        if self.visibility is not widest:
            raise ValueError(f"visibility is {self.visibility}, but the widest of the parts is {widest}")
        return self


class AppendMessageCommand(MessageBase):
    """What a writer hands in. The ledger gives the id, the place and, where the writer has none, the time."""

    created_at: Time | None = None
    """When it was written, if the writer knows better than the ledger's clock."""

    @property
    def trust_level(self) -> TrustLevel:
        """Lowest trust of the parts."""
        return _lowest_trust(self.parts)

    @property
    def visibility(self) -> Visibility:
        """Widest visibility of the parts."""
        return _widest_visibility(self.parts)

    def to_message(self, *, message_id: str, sequence_no: int, created_at: datetime | None) -> AgentMessage:
        """The message that this command appends.

        Args:
            message_id: Its id.
            sequence_no: Its place in the run.
            created_at: The ledger's clock, for a command that brings no time.

        Raises:
            ValidationError: If the id, the place or the time is not allowed.
        """
        fields = dict(self)
        fields["created_at"] = self.created_at if self.created_at is not None else created_at
        return AgentMessage(message_id=message_id, sequence_no=sequence_no, **fields)

    def placed(self, *, message_id: str, sequence_no: int, created_at: datetime) -> AgentMessage:
        """The same, unchecked: for a place that the ledger itself gives to a command that was checked when made."""
        fields = {**self.__dict__, "message_id": message_id, "sequence_no": sequence_no, "source": None}
        if fields["created_at"] is None:
            fields["created_at"] = created_at
        fields["trust_level"], fields["visibility"] = self.trust_level, self.visibility
        # What pydantic's model_construct does, without its loop over all fields (ten times as fast).
        message = AgentMessage.__new__(AgentMessage)
        for name, value in (
            ("__dict__", fields),
            ("__pydantic_fields_set__", _ALL_FIELDS),
            ("__pydantic_extra__", None),
            ("__pydantic_private__", None),
        ):
            object.__setattr__(message, name, value)
        return message

    def placed_json(self, message_id: str, sequence_no: int, created_at: str) -> bytes:
        """The message as JSON, from which :func:`parse_message` makes it again; labels are derived anew there.

        Args:
            message_id: Its id.
            sequence_no: Its place in the run.
            created_at: The ledger's clock (ISO 8601), for a command that brings no time.
        """
        # Without nulls it takes half the time; but a null that a part must state has to stay.
        states_null = any(part.states_null for part in self.parts)
        body = self.__pydantic_serializer__.to_json(self, exclude_none=not states_null, exclude=_TIME)
        time = created_at if self.created_at is None else self.created_at.isoformat()
        return b'{"message_id":"%b","sequence_no":%d,"created_at":"%b",%b' % (
            message_id.encode(), sequence_no, time.encode(), body[1:],
        )  # fmt: skip


_ALL_FIELDS: Final = set(AgentMessage.model_fields)
_TIME: Final = {"created_at"}


def decision_summary(
    summary: str,
    evidence: Iterable[EvidenceRef | str],
    *,
    session_id: str,
    run_id: str,
    actor: str,
    visibility: Visibility = Visibility.MODEL_VISIBLE,
    step: int | None = None,
) -> AppendMessageCommand:
    """What an agent decided and why, fit for an audit (specification §3): never its hidden reasoning.

    Args:
        summary: The decision and its reason, in a sentence or two.
        evidence: What it rests on; at least one reference.
        session_id: The session.
        run_id: The run.
        actor: The model that decided.
        visibility: Who may see it.
        step: The model call in which it was decided.

    Raises:
        ValueError: If there is no evidence, or a reference cannot be read.
    """
    refs = tuple(EvidenceRef.parse(ref) if isinstance(ref, str) else ref for ref in evidence)
    if not refs:
        raise ValueError("a decision summary needs evidence; 'task:goal' is evidence too")
    part = TextPart(text=summary, trust_level=TrustLevel.MODEL_GENERATED, visibility=visibility, evidence_refs=refs)
    return AppendMessageCommand(
        session_id=session_id,
        run_id=run_id,
        kind=MessageKind.AGENT_THOUGHT_SUMMARY,
        actor=actor,
        parts=(part,),
        step=step,
    )


def parse_message(value: object) -> AgentMessage:
    """A message from JSON text or from the objects that JSON decodes to.

    Raises:
        ProtocolError: If the protocol does not allow it; names the field, the value and the nearest allowed value.
    """
    return parse(AgentMessage, value)
