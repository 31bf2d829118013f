"""Calls that a model wrote into its text, as agents do that use no tool interface."""

from __future__ import annotations

import re
from typing import Final

_TEXT_CALL: Final = re.compile(r"<function=[\w.:-]+>|<tool_call>|<function_calls>|<invoke name=")


def writes_calls(text: str) -> bool:
    """Whether an answer holds a tool call in its text."""
    return _TEXT_CALL.search(text) is not None
