"""Tables of words, written as running text."""

from __future__ import annotations


def words(text: str) -> tuple[str, ...]:
    """The words of a text, in order.

    Example:
        >>> words("sh bash zsh")
        ('sh', 'bash', 'zsh')
    """
    return tuple(text.split())
