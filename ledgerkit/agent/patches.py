"""Changes of a text as hunks and as a unified diff.

The rule: both forms are computed from the two texts, so they always say the same.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

_CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of a change with their prefix (blank, ``-`` or ``+``); line numbers from 1."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """The hunks that turn one text into the other, with three lines of context."""
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    found: list[Hunk] = []
    for group in matcher.get_grouped_opcodes(_CONTEXT_LINES):
        lines: list[str] = []
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[a1:a2]]
                continue
            lines += [f"-{line}" for line in old[a1:a2]]
            lines += [f"+{line}" for line in new[b1:b2]]
        (_, a1, _, b1, _), (_, _, a2, _, b2) = group[0], group[-1]
        found.append(Hunk(a1 + 1, a2 - a1, b1 + 1, b2 - b1, tuple(lines)))
    return tuple(found)


def unified_diff(path: str, before: str, after: str) -> str:
    r"""The change as a unified diff of one file; empty where nothing changed.

    Example:
        >>> print(unified_diff("a.txt", "one\n", "two\n"))
        --- a/a.txt
        +++ b/a.txt
        @@ -1,1 +1,1 @@
        -one
        +two
    """
    parts = hunks(before, after)
    if not parts:
        return ""
    lines = [f"--- a/{path}" if before else "--- /dev/null", f"+++ b/{path}"]
    for hunk in parts:
        lines.append(f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@")
        lines += hunk.lines
    return "\n".join(lines)
