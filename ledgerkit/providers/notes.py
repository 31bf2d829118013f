"""What a mapping changed, and why: one note per change, so that nothing of a request is lost without a word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class NoteKind(StrEnum):
    """What a mapping did to a request."""

    MERGED_MESSAGES = "merged_messages"
    MOVED_TEXT = "moved_text"
    MOVED_RESULT = "moved_result"
    MERGED_RESULTS = "merged_results"
    SYNTHESISED_RESULT = "synthesised_result"
    RESULT_AS_TEXT = "result_as_text"
    CALL_AS_TEXT = "call_as_text"
    SPLIT_CALLS = "split_calls"
    RENAMED_CALL_ID = "renamed_call_id"
    FOLDED_INTO_SYSTEM = "folded_into_system"
    FOLDED_INTO_USER = "folded_into_user"
    RENAMED_ROLE = "renamed_role"
    EMPTY_TEXT_REPLACED = "empty_text_replaced"
    EMPTY_TEXT_DROPPED = "empty_text_dropped"
    ADDED_FIRST_USER = "added_first_user"
    ADDED_LAST_USER = "added_last_user"
    ADDED_REPLY = "added_reply"
    PATH_NOT_SHOWN = "path_not_shown"
    ALIASED_TOOL = "aliased_tool"
    SYNTHESISED_TOOL = "synthesised_tool"
    TOOLS_NOT_DECLARED = "tools_not_declared"
    TOOL_SCHEMA_ADAPTED = "tool_schema_adapted"
    CHOICE_NOT_EXPRESSED = "choice_not_expressed"
    CHOICE_WITHOUT_TOOLS = "choice_without_tools"
    SCHEMA_ADAPTED = "schema_adapted"
    CONTRACT_NOT_ENFORCED = "contract_not_enforced"
    OPTION_LEFT_OUT = "option_left_out"
    OPTION_ADDED = "option_added"
    METADATA_LEFT_OUT = "metadata_left_out"
    NO_SIGNATURE = "no_signature"
    CACHE_KEY_HASHED = "cache_key_hashed"


_SENTENCES: Final[Mapping[NoteKind, str]] = MappingProxyType(
    {
        NoteKind.MERGED_MESSAGES: "Neighbours of one role are one message here.",
        NoteKind.MOVED_TEXT: "A text that followed a call of its message stands before it: calls come last.",
        NoteKind.MOVED_RESULT: "A result that stood elsewhere stands right behind its call.",
        NoteKind.MERGED_RESULTS: "Further results of one call are joined to the first: a call has one result.",
        NoteKind.SYNTHESISED_RESULT: "No result answers this call; a placeholder does.",
        NoteKind.RESULT_AS_TEXT: "The call of this result is not in the request: the result is text of the user.",
        NoteKind.CALL_AS_TEXT: "The interface has no tools: the call is text of the assistant.",
        NoteKind.SPLIT_CALLS: "One call per turn: calls of one turn are turns of their own.",
        NoteKind.RENAMED_CALL_ID: "The id was taken or is not allowed here.",
        NoteKind.FOLDED_INTO_SYSTEM: "The interface takes instructions in one place, at the head.",
        NoteKind.FOLDED_INTO_USER: "The interface has no instructing role: the user says it.",
        NoteKind.RENAMED_ROLE: "The interface has one instructing role in a request.",
        NoteKind.EMPTY_TEXT_REPLACED: "Empty text is refused; a placeholder stands for it.",
        NoteKind.EMPTY_TEXT_DROPPED: "Empty text is refused, and its message holds more.",
        NoteKind.ADDED_FIRST_USER: "The conversation must begin with the user.",
        NoteKind.ADDED_LAST_USER: "The conversation must end with the user or a result; nothing was dropped.",
        NoteKind.ADDED_REPLY: "User and assistant must take turns, and a result does not count as one.",
        NoteKind.PATH_NOT_SHOWN: "Only the text of a diff is shown; it does not hold this path.",
        NoteKind.ALIASED_TOOL: "The name is not allowed by every interface; the alias is used everywhere.",
        NoteKind.SYNTHESISED_TOOL: "Tools must be declared while the history holds calls; it may not be called.",
        NoteKind.TOOLS_NOT_DECLARED: "The interface has no tools.",
        NoteKind.TOOL_SCHEMA_ADAPTED: "The root of a tool's schema must be a plain object; this was taken out of it.",
        NoteKind.CHOICE_NOT_EXPRESSED: "The interface cannot narrow the choice so; the caller checks the answer.",
        NoteKind.CHOICE_WITHOUT_TOOLS: "There is no tool to choose.",
        NoteKind.SCHEMA_ADAPTED: "The schema was brought into the subset that all interfaces enforce.",
        NoteKind.CONTRACT_NOT_ENFORCED: "The interface may not enforce a form; the request's own words say it.",
        NoteKind.OPTION_LEFT_OUT: "The interface does not take this.",
        NoteKind.OPTION_ADDED: "The interface requires this.",
        NoteKind.METADATA_LEFT_OUT: "It is not for this interface, or not in a form that can be given back.",
        NoteKind.NO_SIGNATURE: "The call has no thought signature; models that demand one refuse it.",
        NoteKind.CACHE_KEY_HASHED: "The run's id is not allowed as a cache key; its hash is used.",
    }
)


@dataclass(frozen=True, slots=True)
class Note:
    """One change.

    Example:
        >>> Note(NoteKind.SYNTHESISED_RESULT, "messages[2].content[0]").sentence
        'No result answers this call; a placeholder does.'
    """

    kind: NoteKind
    """What was done."""
    where: str
    """Path in the request."""
    original: str | None = None
    """What no longer stands in the payload as it was."""
    became: str | None = None
    """What stands there instead."""

    @property
    def sentence(self) -> str:
        """Why, in words."""
        return _SENTENCES[self.kind]
