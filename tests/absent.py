"""Programs in which some packages are not installed, for tests of what is optional."""

from __future__ import annotations

import subprocess
import sys

_WITHOUT = """\
import sys
from importlib.machinery import PathFinder
absent, found = set(sys.argv[1].split(",")), PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, path=None, target=None: None if name.split(".")[0] in absent else found(name, path, target)
)
"""


def run_without(packages: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process where packages (named with commas) cannot be found.

    The program's own arguments begin at ``sys.argv[2]``.
    """
    command = [sys.executable, "-c", _WITHOUT + program, packages, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
