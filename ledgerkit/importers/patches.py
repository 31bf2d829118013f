"""Patches as parts: a run's submission, or the change that an edit made, one part for each file.

The lines around a change are the repository's, so a patch is never more trusted than the repository.
"""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.importers.drafts import PartDraft
from ledgerkit.protocol.vocabulary import PartType, TrustLevel, Visibility

_FILE: Final = re.compile(r"^diff --git ", re.MULTILINE)
_NEW_NAME: Final = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE)
_OLD_NAME: Final = re.compile(r"^--- (?:a/)?([^\t\n]+)", re.MULTILINE)
_GIT_NAME: Final = re.compile(r"^diff --git a/.+ b/(.+)$", re.MULTILINE)
_HUNK: Final = re.compile(r"^@@ ", re.MULTILINE)
_NOWHERE: Final = "/dev/null"


def is_patch(text: str) -> bool:
    """Whether a text is a patch and not a flag, an answer or an error."""
    head = text.lstrip()
    return head.startswith("diff --git ") or (head.startswith("--- ") and _HUNK.search(text) is not None)


def patch_parts(patch: str) -> list[PartDraft]:
    """The parts of a patch, one for each file that it changes. No model was shown them."""
    starts = [match.start() for match in _FILE.finditer(patch)]
    if not starts:
        return [diff_part(patch)]
    ends = [*starts[1:], len(patch)]
    return [diff_part(patch[start:end]) for start, end in zip(starts, ends, strict=True)]


def diff_part(diff: str, path: str | None = None) -> PartDraft:
    """The change of one file."""
    lines = diff.splitlines()
    body = [line for line in lines if not line.startswith(("+++ ", "--- "))]
    old, new = _name(_OLD_NAME, diff), _name(_NEW_NAME, diff)
    created = old == _NOWHERE or "\nnew file mode" in diff
    deleted = new == _NOWHERE or "\ndeleted file mode" in diff
    named = next((name for name in (new, old, _name(_GIT_NAME, diff)) if name and name != _NOWHERE), None)
    return PartDraft(
        part_type=PartType.DIFF,
        trust=TrustLevel.REPOSITORY_UNTRUSTED,
        visibility=Visibility.HUMAN_VISIBLE,
        content_type="text/x-diff",
        text=diff,
        data={
            "change": "created" if created else "deleted" if deleted else "modified",
            "lines_added": sum(line.startswith("+") for line in body),
            "lines_removed": sum(line.startswith("-") for line in body),
        },
        path=path or named,
    )


def _name(pattern: re.Pattern[str], diff: str) -> str | None:
    found = pattern.search(diff)
    return found[1].strip() if found else None
