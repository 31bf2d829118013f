"""What both generations of events have in common: records, results, usage, and whose words a tool returns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft, RecordDraft, UsageDraft
from ledgerkit.importers.pieces import count, digest, json_part, media_part, unknown_message
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.importers.tool_names import trust_of_shell
from ledgerkit.importers.tool_words import EDITORS, editors_words
from ledgerkit.protocol.vocabulary import MessageKind, PartType, ToolStatus, TrustLevel, Visibility

NAME: Final = "openhands"
SOURCES: Final = frozenset({"agent", "user", "environment", "hook"})
FINISH: Final = "finish"
_NETWORK: Final = re.compile(r"(?:browse\w*|browser\w*|fetch\w*|tavily\w*|mcp\w*|call_tool_mcp|web_\w+)", re.IGNORECASE)
_REPOSITORY: Final = frozenset({
    *("run", "run_ipython", "read", "write", "edit", "execute_bash", "execute_ipython_cell", "str_replace_editor"),
    *("terminal", "bash", "file_editor", "edit_file", "glob", "grep", "planning_file_editor", "apply_patch"),
})  # fmt: skip
_SHELLS: Final = frozenset({"run", "execute_bash", "terminal", "bash"})
_OWN_WORDS: Final = re.compile(r"File created successfully at: [^\n]+|Your thought has been logged\.")
"""Fixed sentences of the tools, which quote nothing but a path that the model gave."""
_OWN_ERRORS: Final = re.compile(
    r"(?:RuntimeError: )?Agent reached maximum (?:iteration|budget[\w ]{0,20}) in headless mode\. "
    r"Current \w+: [\d.]+, max \w+: [\d.]+|(?:\w+: )?Agent got stuck in a loop"
    r"|Parameter '[\w.-]{1,64}' is expected to be one of \['[\w.-]+'(?:, '[\w.-]+')*\]\.?"
    r"|Missing required parameters for function '[\w.-]{1,64}': \{[\w.', -]*\}"
    r"|Parameter '[\w.-]{1,64}' is not allowed for function '[\w.-]{1,64}'\. Allowed parameters: \{[\w.', -]*\}"
)
"""What the agent's program says of a call that does not fit its tool, or of a limit that ended the run."""
_NOT_RUN: Final = re.compile(
    r"(?:ERROR: )?Cannot execute multiple commands at once\.\nPlease run each command separately OR chain them into a "
    r"single command via && or ;\nProvided commands:\n\(1\) .*",
    re.DOTALL,
)
"""Quotes the commands that the model gave, and shows nothing that ran."""
_MODEL: Final = TrustLevel.MODEL_GENERATED
_SMALL: Final = 2_000


@dataclass(slots=True)
class Origin:
    """Where a stream stands, and what is known of it from beside its events.

    Attributes:
        line: The line that it stands on, or its first.
        instance: The instance that it is a run of.
        usages: Usage of model calls by the id of the reply, in the order of the calls.
    """

    line: Line
    instance: str | None = None
    usages: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])


def is_sdk(value: object) -> bool:
    """Whether a value is an event of the V1 SDK."""
    if not is_object(value) or str(value.get("source")) not in SOURCES:
        return False
    return all(isinstance(value.get(name), str) for name in ("id", "timestamp", "kind"))


def draft_of(line: Line, record_type: str, said: object, session: str, messages: list[MessageDraft]) -> RecordDraft:
    """A record of an event."""
    if line.flags and messages:
        messages[0].metadata = {**messages[0].metadata, "repaired": list(line.flags)}
    return RecordDraft(line.number, line.offset, record_type, digest(said), session=session, messages=messages)


def unknown_record(line: Line, event: object, session: str) -> RecordDraft:
    """An event of a type that is not known, kept whole."""
    return draft_of(line, "unknown", event, session, [unknown_message(event, NAME)])


def usage_of(usage: object, cost: str | None = None) -> UsageDraft | None:
    """Usage as LiteLLM reports it: cached tokens are within the prompt."""
    if not is_object(usage):
        return None
    prompt, completion = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    if prompt is None and completion is None:
        return None
    read = usage.get("cache_read_tokens", usage.get("cache_read_input_tokens"))
    details = usage.get("prompt_tokens_details")
    read = details.get("cached_tokens") if read is None and is_object(details) else read
    out = usage.get("completion_tokens_details")
    reasoning = usage.get("reasoning_tokens", out.get("reasoning_tokens") if is_object(out) else None)
    return UsageDraft(
        input_tokens=prompt,
        cache_read_tokens=count(read),
        cache_write_5m_tokens=count(usage.get("cache_write_tokens", usage.get("cache_creation_input_tokens"))),
        output_tokens=completion,
        reasoning_tokens=count(reasoning),
        reported_cost=cost,
    )


def trust_of(tool: str | None, text: str, call: PartDraft | None, *, has_run: bool = True) -> TrustLevel:
    """Whose words a tool returns; unknown for a tool that is not known.

    Args:
        tool: The tool, or in V0 what kind of result it is.
        text: What came back.
        call: The call that it answers.
        has_run: Whether a shell ran what it was asked.
    """
    name = (tool or "").lower()
    if _OWN_WORDS.fullmatch(text.strip()):
        return TrustLevel.TOOL_TRUSTED
    is_editor = name in EDITORS or (call is not None and call.tool_name in EDITORS)
    if is_editor and (own := editors_words(text)):
        return own
    if name in _SHELLS:
        return _MODEL if not has_run and _NOT_RUN.fullmatch(text) else trust_of_shell(call.data if call else None)
    if name in _REPOSITORY:
        return TrustLevel.REPOSITORY_UNTRUSTED
    return TrustLevel.NETWORK_UNTRUSTED if _NETWORK.fullmatch(name) else TrustLevel.UNKNOWN


def trust_of_error(text: str) -> TrustLevel:
    """Trust of what the agent's program says of an error: unknown, since it may quote anything, but for fixed forms."""
    return TrustLevel.TOOL_TRUSTED if _OWN_ERRORS.fullmatch(text.strip()) else TrustLevel.UNKNOWN


def texts_of(content: object) -> str:
    """The text of a content: a text, one block, or blocks."""
    if isinstance(content, str):
        return content
    blocks = [content] if is_object(content) else objects_of(content)
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def images_of(content: object, trust: TrustLevel) -> list[PartDraft]:
    """The images of a content."""
    urls: list[Any] = []
    for block in objects_of(content):
        held = block.get("image_urls")
        urls += held if is_list(held) else []
    return [image_part(url, trust) for url in urls]


def image_part(url: object, trust: TrustLevel) -> PartDraft:
    """An image, or where it is."""
    if isinstance(url, str) and not url.startswith(("http://", "https://")):
        return media_part(url, None, trust)
    return json_part({"image": url}, trust)


@dataclass(slots=True)
class Returned:
    """What came back of a call.

    Attributes:
        name: The tool.
        data: What is recorded beside the text.
    """

    call: PartDraft | None
    native: str | None
    name: str | None
    text: str
    trust: TrustLevel
    status: ToolStatus = ToolStatus.UNKNOWN
    category: str | None = None
    data: JsonObject | None = None
    path: str | None = None

    def part(self) -> PartDraft:
        """It as a part: a result if it answers a call."""
        call_id = (self.call.tool_call_id if self.call else None) or self.native
        return PartDraft(
            part_type=PartType.TOOL_RESULT if call_id else PartType.TEXT,
            trust=self.trust,
            text=self.text,
            data=self.data or None,
            status=self.status if call_id else None,
            error_category=self.category,
            tool_call_id=call_id,
            tool_name=self.name if call_id else None,
            path=self.path,
        )


def small(fields: JsonObject) -> JsonObject:
    """The fields that are recorded beside a text, those left out that hold whole files."""
    return {
        name: value
        for name, value in fields.items()
        if value not in (None, "", [], {}) and not (isinstance(value, str) and len(value) > _SMALL)
    }


def exit_status(code: object) -> tuple[ToolStatus, str | None]:
    """How a command ended, by its exit code; -1 says that there is none."""
    if not isinstance(code, int) or isinstance(code, bool) or code < 0:
        return ToolStatus.UNKNOWN, None
    return (ToolStatus.FAILED, "exit_code") if code else (ToolStatus.SUCCEEDED, None)


def has_run(about: object) -> bool:
    """Whether a shell ran a command, by what it noted of it: one that it refused has no exit code and no place."""
    return not is_object(about) or about.get("exit_code") != -1 or bool(about.get("working_dir"))


def error_message(text: str, category: str, *, is_shown: bool) -> MessageDraft:
    """An error."""
    part = PartDraft(
        part_type=PartType.ERROR,
        trust=trust_of_error(text),
        visibility=Visibility.MODEL_VISIBLE if is_shown else Visibility.HUMAN_VISIBLE,
        text=text,
        error_category=category,
    )
    return MessageDraft(MessageKind.ERROR_EVENT, NAME, [part])


def name_of(value: object) -> str:
    """A type's name for the account."""
    return nonempty_text(value) or "unnamed"
