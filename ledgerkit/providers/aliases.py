"""Tool names that every interface allows, and the way back.

A name that is safe stays as it is. One that is not becomes its safe spelling; where that is taken, or the name was cut,
a hash follows. The table is a function of the set of names and of the table that a run already has.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.capabilities import SAFE_TOOL_NAME

_SAFE: Final = re.compile(SAFE_TOOL_NAME)
_UNSAFE_CHARACTER: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST: Final = 64
_SHORTEST_HASH: Final = 8


@dataclass(frozen=True)
class ToolAliases:
    """A reversible table of tool names.

    Example:
        >>> table = alias_tools(["repo.search", "read"])
        >>> table.alias_of("repo.search"), table.name_of("repo_search"), table.alias_of("read")
        ('repo_search', 'repo.search', 'read')
    """

    pairs: tuple[tuple[str, str], ...] = ()
    """Name and alias, by name; safe names too."""

    def __post_init__(self) -> None:
        if len(self._aliases) != len(self.pairs) or len(self._names) != len(self.pairs):
            raise ProtocolError("A table of tool aliases names something twice. Make it with alias_tools().")

    @cached_property
    def _aliases(self) -> dict[str, str]:
        return dict(self.pairs)

    @cached_property
    def _names(self) -> dict[str, str]:
        return {alias: name for name, alias in self.pairs}

    @property
    def changed(self) -> dict[str, str]:
        """Alias by name, of the names that have one other than themselves."""
        return {name: alias for name, alias in self.pairs if name != alias}

    def alias_of(self, name: str) -> str:
        """What a tool is called in a payload.

        Raises:
            ProtocolError: If the table does not hold the name.
        """
        if name not in self._aliases:
            raise ProtocolError.unknown_value("tool", name, self._aliases)
        return self._aliases[name]

    def name_of(self, alias: str) -> str:
        """The tool's own name; an alias that the table does not hold is its own name."""
        return self._names.get(alias, alias)

    def holds_alias(self, alias: str) -> bool:
        """Whether a payload may use an alias."""
        return alias in self._names


NO_ALIASES: Final = ToolAliases()
"""The empty table."""


def alias_tools(names: Iterable[str], known: ToolAliases = NO_ALIASES) -> ToolAliases:
    """Gives every name an alias.

    Args:
        names: Names of tools, in any order.
        known: The table that a run already has; it is kept and added to.
    """
    given = dict(known.pairs)
    new = sorted(set(names) - given.keys())
    taken = set(given.values())
    for name in new:
        if _SAFE.fullmatch(name) and name not in taken:
            given[name] = name
            taken.add(name)
    waiting = [name for name in new if name not in given]
    spelt = [safe_name(name) for name in waiting]
    for name, spelling in zip(waiting, spelt, strict=True):
        is_clear = spelling is not None and spelling not in taken and spelt.count(spelling) == 1
        given[name] = spelling if is_clear and spelling is not None else _hashed(name, taken)
        taken.add(given[name])
    return ToolAliases(tuple(sorted(given.items())))


def safe_name(text: str) -> str | None:
    """A text spelt as a safe name; ``None`` where too little of it would be left.

    Example:
        >>> safe_name("mcp.files/read"), safe_name("水")
        ('mcp_files_read', None)
    """
    stem = _stem(text)
    return stem if len(stem) <= _LONGEST and any(character.isalnum() for character in stem) else None


def hashed_name(text: str, digits: int = _SHORTEST_HASH) -> str:
    """A safe name with a hash of the whole text at its end."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:digits]
    return f"{_stem(text)[: _LONGEST - 1 - digits]}_{digest}"


def _stem(text: str) -> str:
    stem = _UNSAFE_CHARACTER.sub("_", text)
    return stem if _SAFE.match(stem) else f"_{stem}"


def _hashed(name: str, taken: set[str]) -> str:
    for digits in range(_SHORTEST_HASH, _LONGEST):
        if (alias := hashed_name(name, digits)) not in taken:
            return alias
    raise ProtocolError(f"No free alias for tool {name!r}. Rename it.")
