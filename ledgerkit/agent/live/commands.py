"""Shell commands in a workspace: a scrubbed environment, a time limit for the whole process group, bounded output.

The rule: a command sees the workspace's folder and a fixed environment, and none of ours; nothing that it starts
outlives its time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_OUTPUT_BYTES: Final = 2 * 1024 * 1024
"""How much of an output is kept: the first and the last half of it."""
SAFE_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Ran:
    """How a command ended.

    Attributes:
        output: What it printed, both streams as they came.
        exit_code: How it exited; ``None`` if it was stopped after its time.
    """

    output: str
    exit_code: int | None


def run_in(folder: Path, command: str, seconds: float, *, path: str = SAFE_PATH) -> Ran:
    r"""Runs a command line in a folder.

    This is no sandbox: a program can leave the folder and reach the network as far as the user who runs it can. Run
    the agent in a container or under a user of its own where that matters.

    Args:
        folder: Where it runs, and its home.
        command: For ``/bin/sh``.
        seconds: How long it and all that it starts may take.
        path: Where programs are looked for.

    Example:
        >>> run_in(Path("/"), "echo hello; exit 3", 10)
        Ran(output='hello\n', exit_code=3)
    """
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(  # noqa: S603 - running commands is what this is for
            ["/bin/sh", "-c", command],
            cwd=folder,
            env={"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            exit_code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            exit_code = None
        finally:
            _stop_group(process)
        text = _kept(printed.fileno())
    note = f"[stopped after {seconds:g} s]"
    return Ran(text if exit_code is not None else f"{text}\n{note}".lstrip("\n"), exit_code)


def _stop_group(process: subprocess.Popen[bytes]) -> None:
    """Ends what is left of a command's own session: also what it put into the background."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _kept(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    if size <= MAX_OUTPUT_BYTES:
        return os.pread(descriptor, size, 0).decode("utf-8", "replace")
    half = MAX_OUTPUT_BYTES // 2
    head, tail = os.pread(descriptor, half, 0), os.pread(descriptor, half, size - half)
    note = f"\n[{size - 2 * half} bytes left out]\n"
    return head.decode("utf-8", "replace") + note + tail.decode("utf-8", "replace")
