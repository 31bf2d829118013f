"""Our rules as data: the tables in ``rules/``, read once."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from ledgerkit.errors import UnknownNameError

_PACKAGE: Final = "ledgerkit.safety.redaction"


@dataclass(frozen=True, slots=True)
class ContextualRule:
    """Secrets that only their surroundings give away.

    Attributes:
        name: Part of the rule's id.
        patterns: Rust regular expressions; the first group of each begins where the value begins.
        reader: What finds the bounds of the value and judges it.
        type: What the value is, for the reader ``explicit``; empty otherwise.
    """

    name: str
    patterns: tuple[str, ...]
    reader: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Prefixes of tokens whose tails are alike.

    Attributes:
        name: Part of the rule's id.
        tail: A class of characters.
        least: The fewest characters of a tail.
        prefixes: Secret type by prefix.
    """

    name: str
    tail: str
    least: int
    prefixes: dict[str, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """Tokens that another part of their shape gives away.

    Attributes:
        name: Part of the rule's id.
        type: What the token is.
        pattern: A Rust regular expression; its first group is the token.
        is_certain: The shape alone is enough; otherwise the token must look random, too.
    """

    name: str
    type: str
    pattern: str
    is_certain: bool = False


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((resources.files(_PACKAGE) / "rules" / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def contextual_rules() -> dict[str, ContextualRule]:
    """The contextual rules by name."""
    table = _table("contextual")
    return {
        row["name"]: ContextualRule(
            row["name"], tuple(_expanded(row["pattern"], table["words"])), row["reader"], row.get("type", "")
        )
        for row in table["rules"]
    }


def _expanded(pattern: str, words: dict[str, list[str]]) -> list[str]:
    patterns = [pattern]
    for name, choices in words.items():
        patterns = [
            one.replace(f"<{name}>", choice) for one in patterns for choice in (choices if f"<{name}>" in one else [""])
        ]
    return patterns


@cache
def families() -> dict[str, Family]:
    """The families of prefixes by name."""
    return {
        row["name"]: Family(
            row["name"],
            row["tail"],
            row["least"],
            {prefix: kind for kind, prefixes in row["types"].items() for prefix in prefixes},
        )
        for row in _table("prefixes")["families"]
    }


@cache
def shapes() -> dict[str, Shape]:
    """The shapes of tokens by name."""
    return {row["name"]: Shape(**row) for row in _table("shapes")["shapes"]}


@cache
def _word_lists() -> dict[str, frozenset[str]]:
    return {name: frozenset(text.split()) for name, text in _table("words").items()}


def words(name: str) -> frozenset[str]:
    """A list of words.

    Args:
        name: Its name in ``rules/words.toml``.

    Raises:
        UnknownNameError: If there is no such list.

    Example:
        >>> "passwd" in words("password")
        True
    """
    lists = _word_lists()
    if name not in lists:
        raise UnknownNameError.among("list of words", name, sorted(lists))
    return lists[name]


@cache
def pair_scores() -> dict[str, int]:
    """How much more often two letters stand beside each other in names than by chance, as log2 of the ratio."""
    return {pair: int(score) for score, text in _table("pairs").items() for pair in text.split()}


@cache
def prefix_types() -> dict[str, str]:
    """Secret type by prefix, over all families."""
    return {prefix: kind for family in families().values() for prefix, kind in family.prefixes.items()}


@cache
def prefix_families() -> dict[str, Family]:
    """The family of each prefix."""
    return {prefix: family for family in families().values() for prefix in family.prefixes}


@cache
def _by_length() -> tuple[str, ...]:
    return tuple(sorted(prefix_types(), key=len, reverse=True))


def prefix_of(value: str) -> str:
    """The longest known prefix that a value begins with; empty if none.

    Example:
        >>> prefix_of("sk-proj-abc"), prefix_of("abc")
        ('sk-proj-', '')
    """
    return next((prefix for prefix in _by_length() if value.startswith(prefix)), "")
