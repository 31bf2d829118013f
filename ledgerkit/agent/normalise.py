"""Recorded tool output, freed of what differs from machine to machine and from run to run.

The rule: the same files and the same command give the same text, wherever and whenever they are run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

PYTHON_VERSION = "3.12.4"
PYTEST_VERSION = "8.4.2"

_DURATION = re.compile(r"\bin \d+\.\d+s\b")
_SUBSTITUTIONS = (
    (re.compile(r"\b0x[0-9a-f]{6,16}\b"), "0x7f0000000000"),
    (re.compile(r"\bPython 3\.\d+\.\d+\S*"), f"Python {PYTHON_VERSION}"),
    (re.compile(r"\bpytest-\d+\.\d+\.\d+\S*"), f"pytest-{PYTEST_VERSION}"),
    (re.compile(r"/[^\s'\"]*/pytest-of-[^/\s]+/pytest-\d+/"), "/tmp/pytest-of-dev/pytest-0/"),  # noqa: S108 - a text
    (re.compile(r"^platform \w+ -- ", re.MULTILINE), "platform linux -- "),
    # Newer Pythons point at the failing expression and guess what was meant.
    (re.compile(r"^E?[ \t]*[\^~]+\n", re.MULTILINE), ""),
    (re.compile(r"\. Did you mean: '[^'\n]*'\?"), ""),
    (re.compile(r"^(?:_|SHLVL|OLDPWD)=.*\n", re.MULTILINE), ""),
)


def normalise(text: str, places: Mapping[str, str]) -> str:
    """Output with paths, addresses, versions and durations replaced.

    Args:
        text: What a command printed.
        places: Real paths and what is shown instead; longer paths are replaced first.

    Example:
        >>> normalise("3 passed in 0.07s", {}) == normalise("3 passed in 1.93s", {})
        True
    """
    for real in sorted(places, key=len, reverse=True):
        text = text.replace(real, places[real])
    for pattern, replacement in _SUBSTITUTIONS:
        text = pattern.sub(replacement, text)
    return _DURATION.sub(f"in {_plausible_duration(_DURATION.sub('', text))}s", text)


def _plausible_duration(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return f"{0.04 + digest[0] / 640:.2f}"
