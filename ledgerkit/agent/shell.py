"""Shell commands, really run, in a scrubbed environment.

The rule: what a command prints and changes is a pure function of the workspace's files, the command and the declared
environment. That makes a cache safe: within one process equal inputs are run once.
"""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ledgerkit.agent.normalise import normalise
from ledgerkit.agent.workspace import Workspace, fingerprint
from ledgerkit.errors import MissingExtraError

TIMEOUT_SECONDS = 120
TIMED_OUT = 124

_ENVIRONMENT = {
    "HOME": "/home/dev",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PYTEST_ADDOPTS": "-p no:cacheprovider",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "COLUMNS": "100",
}
_SHOWN_BIN = "/usr/local/bin"


@dataclass(frozen=True, slots=True)
class ShellRun:
    """What a command did."""

    stdout: str
    stderr: str
    exit_code: int
    changed: Mapping[str, str]
    removed: tuple[str, ...]


ShellCache = dict[tuple[str, str, str], ShellRun]
"""Runs by fingerprint of the workspace, command and environment."""


class Shell:
    """Runs commands in a workspace.

    Args:
        workspace: Where commands run.
        tool_folder: A folder of our own for the ``python`` that commands find.
        environment: Variables beside the scrubbed ones.
        stand_ins: Texts that stand for values of this run, replaced in what comes out only. A seeded secret is one:
            the command sees the stand-in, the record the value, and the cache serves all seeds.
        cache: Runs to reuse and add to.
    """

    def __init__(
        self,
        workspace: Workspace,
        tool_folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
        stand_ins: Mapping[str, str] | None = None,
        cache: ShellCache | None = None,
    ) -> None:
        self._workspace = workspace
        self._tools = tool_folder
        self._extra = dict(environment or {})
        self._stand_ins = dict(stand_ins or {})
        self._cache: ShellCache = {} if cache is None else cache

    def run(self, command: str) -> ShellRun:
        """Run a command, or recall the run of an equal one, and leave its changes in the workspace."""
        before = self._workspace.snapshot()
        key = (fingerprint(before), command, fingerprint(self._extra))
        if key in self._cache:
            self._replay(self._cache[key])
        else:
            self._cache[key] = self._execute(command, before)
        return self._fill_in(self._cache[key])

    def _execute(self, command: str, before: Mapping[str, str]) -> ShellRun:
        real = command.replace(self._workspace.shown_as, str(self._workspace.root))
        try:
            done = subprocess.run(  # noqa: S602 - running commands is what this tool is for
                real,
                shell=True,
                cwd=self._workspace.root,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
            stdout, stderr, exit_code = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired:
            stdout, stderr, exit_code = "", f"Command timed out after {TIMEOUT_SECONDS}s", TIMED_OUT
        after = self._workspace.snapshot()
        changed = {path: self._shown(text) for path, text in after.items() if before.get(path) != text}
        for path, text in changed.items():
            self._workspace.write(path, text)
        removed = tuple(path for path in before if path not in after)
        return ShellRun(self._shown(stdout), self._shown(stderr), exit_code, changed, removed)

    def _environment(self) -> dict[str, str]:
        return {**_ENVIRONMENT, "PATH": f"{self._tools}:/usr/bin:/bin", **self._extra}

    def _shown(self, text: str) -> str:
        places = {
            str(self._workspace.root): self._workspace.shown_as,
            str(self._tools): _SHOWN_BIN,
            sys.executable: f"{_SHOWN_BIN}/python",
        }
        return normalise(text, places)

    def _replay(self, run: ShellRun) -> None:
        for path, text in run.changed.items():
            self._workspace.write(path, text)
        for path in run.removed:
            self._workspace.remove(path)

    def _fill_in(self, run: ShellRun) -> ShellRun:
        stdout, stderr = run.stdout, run.stderr
        for stand_in, value in self._stand_ins.items():
            stdout, stderr = stdout.replace(stand_in, value), stderr.replace(stand_in, value)
        return ShellRun(stdout, stderr, run.exit_code, run.changed, run.removed)


def install_python(folder: Path) -> Path:
    """Put a ``python`` into a folder that starts the one that runs now, and return the folder.

    Raises:
        MissingExtraError: If that Python has no pytest, which the tasks' checks are run with.
    """
    if importlib.util.find_spec("pytest") is None:
        raise MissingExtraError("Making demo runs needs pytest: pip install pytest. The runs in data/ need nothing.")
    folder.mkdir(parents=True, exist_ok=True)
    starter = folder / "python"
    starter.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    starter.chmod(0o755)
    return folder
