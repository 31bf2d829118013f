"""Whose words a tool returns, told from its name and its call: for formats whose logs say nothing else of their tools.

Only untrusted levels are told apart here; a tool that is not known is of unknown origin. What well-known tools say of
themselves is in `tool_words`.
"""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.importers.shapes import is_list, is_object
from ledgerkit.protocol.vocabulary import TrustLevel

_SHELL: Final = re.compile(
    r"(?:bash|shell|terminal|execute_bash|run_command|run_shell_command|run_in_terminal|execute_command|cmd"
    r"|local_shell|bash_session)",
    re.IGNORECASE,
)
_REPOSITORY: Final = re.compile(
    r"(?:bash|shell|terminal|execute_bash|run_command|run_shell_command|run_in_terminal|execute_command|cmd|python"
    r"|ipython|execute_code|bash_session|read|read_files?|read_many_files|view|view_file|open_file|cat|get_files?"
    r"|get_file_contents|edit|edit_file|text_editor|write_file|insert_edit_into_file|replace_string_in_file"
    r"|str_replace_editor|str_replace_based_edit_tool|apply_patch|create_file|grep|grep_search|search_files?|search_dir"
    r"|file_search|code_search|codebase_search|find_file|find_files|glob|ls|list_dir|list_directory|list_files"
    r"|local_shell|code_interpreter|run_build|run_tests?)",
    re.IGNORECASE,
)
_NETWORK: Final = re.compile(
    r"(?:web_?search|search_web|google_web_search|web_?fetch|fetch|fetch_url|fetch_webpage|browse|browser\w*"
    r"|visit_website|open_url|http_request|tavily\w*|mcp_+\w+)",
    re.IGNORECASE,
)
_CLIENTS: Final = re.compile(
    r"(?:^|[|;&(`\n]|\bsudo|\btime)\s*(?:curl|wget|https?|gh|glab|xh|lynx|nc|ncat)\s", re.MULTILINE
)
"""A shell line that begins a program whose output comes from the network."""


def reaches_network(command: str) -> bool:
    """Whether a shell line begins a program that shows what the network said.

    Example:
        >>> reaches_network("cd src && curl -s https://example.org | head"), reaches_network("grep curl setup.py")
        (True, False)
    """
    return _CLIENTS.search(command) is not None


def command_in(arguments: object) -> str:
    """The shell line of a call; empty if it has none."""
    if isinstance(arguments, str):
        return arguments
    asked = arguments.get("command", arguments.get("cmd")) if is_object(arguments) else None
    if is_list(asked):
        return " ".join(word for word in asked if isinstance(word, str))
    return asked if isinstance(asked, str) else ""


def trust_of_shell(arguments: object) -> TrustLevel:
    """Whose words a shell returns: the network's where the line calls it, else the repository's."""
    return TrustLevel.NETWORK_UNTRUSTED if reaches_network(command_in(arguments)) else TrustLevel.REPOSITORY_UNTRUSTED


def trust_of_tool(name: str | None, arguments: object = None) -> TrustLevel:
    """Whose words a tool returns, by its name; unknown for a tool that is not known.

    Args:
        name: The tool.
        arguments: What it was asked, where that is recorded: a shell may call the network.

    Example:
        >>> trust_of_tool("bash").value, trust_of_tool("bash", {"command": "wget -qO- example.org"}).value
        ('REPOSITORY_UNTRUSTED', 'NETWORK_UNTRUSTED')
    """
    if name and _NETWORK.fullmatch(name):
        return TrustLevel.NETWORK_UNTRUSTED
    if name and _REPOSITORY.fullmatch(name):
        return trust_of_shell(arguments) if _SHELL.fullmatch(name) else TrustLevel.REPOSITORY_UNTRUSTED
    return TrustLevel.UNKNOWN
