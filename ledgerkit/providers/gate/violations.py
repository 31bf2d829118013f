"""Rules of the gate by name, and what breaks one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RuleName(StrEnum):
    """A rule that a payload must keep."""

    NOT_JSON = "not_json"
    REQUIRED_KEY = "required_key"
    UNKNOWN_KEY = "unknown_key"
    WRONG_TYPE = "wrong_type"
    UNKNOWN_VALUE = "unknown_value"
    EMPTY_LIST = "empty_list"
    ONE_FIELD = "one_field"
    ARGUMENTS_FORM = "arguments_form"
    CALL_WITHOUT_RESULT = "call_without_result"
    RESULT_WITHOUT_CALL = "result_without_call"
    NOT_ADJACENT = "not_adjacent"
    DUPLICATE_CALL_ID = "duplicate_call_id"
    DUPLICATE_RESULT = "duplicate_result"
    RESULT_NAME = "result_name"
    ONE_CALL_PER_MESSAGE = "one_call_per_message"
    CALL_ID_FORM = "call_id_form"
    ITEM_ID_FORM = "item_id_form"
    REASONING_ALONE = "reasoning_alone"
    SIGNATURE_FIRST = "signature_first"
    SAYS_NOTHING = "says_nothing"
    EMPTY_TEXT = "empty_text"
    BEGINS_WITH_USER = "begins_with_user"
    ENDS_WITH_USER = "ends_with_user"
    ROLES_ALTERNATE = "roles_alternate"
    INSTRUCTION_PLACE = "instruction_place"
    INSTRUCTION_ROLES = "instruction_roles"
    INSTRUCTION_TRUST = "instruction_trust"
    TOOL_NAME_FORM = "tool_name_form"
    UNALIASED_NAME = "unaliased_name"
    DUPLICATE_TOOL = "duplicate_tool"
    TOOLS_MISSING = "tools_missing"
    TOOLS_NOT_SUPPORTED = "tools_not_supported"
    TOOL_SCHEMA = "tool_schema"
    CHOICE_WITHOUT_TOOLS = "choice_without_tools"
    UNDECLARED_CHOICE = "undeclared_choice"
    ALLOWED_NAMES_MODE = "allowed_names_mode"
    CACHE_MARKS = "cache_marks"
    SCHEMA_SUBSET = "schema_subset"
    OPTION_RANGE = "option_range"
    TOO_MANY_MESSAGES = "too_many_messages"


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that an interface would refuse, or must not be sent."""

    rule: RuleName
    """The rule."""
    path: str
    """Where in the body."""
    sentence: str
    """What is wrong, in words."""
