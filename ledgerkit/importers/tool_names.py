"""Whose words a tool returns, guessed from its name alone: for formats whose logs say nothing else of their tools.

Only untrusted levels are told apart here; a tool that is not known is of unknown origin.
"""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.protocol.vocabulary import TrustLevel

_REPOSITORY: Final = re.compile(
    r"(?:bash|shell|terminal|execute_bash|run_command|run_shell_command|execute_command|cmd|python|ipython|execute_code"
    r"|read|read_file|read_many_files|view|view_file|open_file|cat|get_file_contents|edit|edit_file|write_file"
    r"|str_replace_editor|str_replace_based_edit_tool|apply_patch|create_file|grep|grep_search|search_file|search_dir"
    r"|find_file|find_files|glob|ls|list_dir|list_directory|list_files|local_shell|code_interpreter)",
    re.IGNORECASE,
)
_NETWORK: Final = re.compile(
    r"(?:web_?search|search_web|google_web_search|web_?fetch|fetch|fetch_url|fetch_webpage|browse|browser\w*"
    r"|visit_website|open_url|http_request|tavily\w*|mcp_+\w+)",
    re.IGNORECASE,
)


def trust_of_tool(name: str | None) -> TrustLevel:
    """Whose words a tool returns, by its name; unknown for a tool that is not known."""
    if name and _NETWORK.fullmatch(name):
        return TrustLevel.NETWORK_UNTRUSTED
    if name and _REPOSITORY.fullmatch(name):
        return TrustLevel.REPOSITORY_UNTRUSTED
    return TrustLevel.UNKNOWN
