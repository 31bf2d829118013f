"""What well-known tools and programs say of themselves, as against what they carry from elsewhere.

A tool's result is untrusted as a rule, because what it carries is. Some results carry nothing: a file that was created,
a parameter that is missing. Only fixed sentences count, whole, and only of tools that more than one format's logs show;
those of one client stand with its importer. A sentence that quotes what the model asked for is the model's: the lowest
of its origins.
"""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.importers.shapes import is_object
from ledgerkit.importers.tool_names import trust_of_tool
from ledgerkit.protocol.vocabulary import TrustLevel

EDITORS: Final = frozenset({
    *("str_replace_editor", "str_replace_based_edit_tool", "file_editor", "planning_file_editor", "text_editor"),
})  # fmt: skip
"""The reference editor (commands view, create, str_replace, insert, undo_edit), and tools that keep its words."""
NO_OUTPUT: Final = "Your command ran successfully and did not produce any output."
"""What SWE-agent says, and programs made after it, where a command printed nothing."""
_BARE: Final = re.compile(r"[\w.:/@+-]{0,64}")
_LONGEST: Final = 20_000
_HEAD: Final = r"(?:OBSERVATION:\n|ERROR:\n|Error: )?"
"""What agents put before an editor's words."""
_EDITORS_OWN: Final = re.compile(
    _HEAD + r"(?:File created successfully at: [^\n]+"
    r"|Parameter `\w+` is required for command: \w+\.?"
    r"|Invalid `(?:path|view_range|insert_line)` parameter: [^\n]+"
    r"|The path [^\n]+ (?:does not exist\. Please provide a valid path\.|is not an absolute path[^\n]*"
    r"|is a directory and only the `view` command can be used on directories)"
    r"|File already exists at: [^\n]+\. Cannot overwrite files using command `create`\.[^\n]*"
    r"|No replacement was performed\. `new_str` and `old_str` must be different\.)\s*"
)
_EDITORS_QUOTES: Final = re.compile(
    _HEAD + r"No replacement was performed(?:, old_str `.*` did not appear verbatim in [^\n]+\."
    r"|\. Multiple occurrences of old_str `.*` in lines \[[\d, ]+\]\. Please ensure it is unique\.?)\s*",
    re.DOTALL,
)


def editors_words(text: str) -> TrustLevel | None:
    """Trust of what an editor says of itself; ``None`` where it shows a file or anything else.

    Example:
        >>> editors_words("File created successfully at: /app/hello.txt").value
        'TOOL_TRUSTED'
        >>> editors_words("Here's the result of running `cat -n` on /app/hello.txt: …") is None
        True
    """
    if len(text) > _LONGEST:
        return None
    if _EDITORS_OWN.fullmatch(text):
        return TrustLevel.TOOL_TRUSTED
    return TrustLevel.MODEL_GENERATED if _EDITORS_QUOTES.fullmatch(text) else None


def trust_of_result(name: str | None, arguments: object, text: str | None) -> TrustLevel:
    """Whose words a result is, in formats that any agent's program may write.

    Args:
        name: The tool.
        arguments: What it was asked.
        text: What came back.

    Example:
        >>> trust_of_result("finish", {"message": "Done."}, "Done.").value, trust_of_result("finish", {}, "Done.").value
        ('MODEL_GENERATED', 'UNKNOWN')
    """
    own = editors_words(text) if text and name in EDITORS else None
    trust = own or trust_of_tool(name, arguments)
    if trust is TrustLevel.UNKNOWN and text and is_object(arguments):
        asked = {value.strip() for value in arguments.values() if isinstance(value, str)}
        return TrustLevel.MODEL_GENERATED if text.strip() in asked - {""} else trust
    return trust


def has_no_words(value: object) -> bool:
    """Whether a value holds nothing but numbers, flags, nulls and bare names: facts of a program, and no sentence.

    Example:
        >>> has_no_words({"agent": {"name": "terminus-2"}, "total_steps": 6}), has_no_words({"notes": "Do this first."})
        (True, False)
    """
    if is_object(value):
        return all(has_no_words(each) for each in value.values())
    if isinstance(value, str):
        return _BARE.fullmatch(value) is not None
    return value is None or isinstance(value, bool | int | float)
