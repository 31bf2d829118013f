"""How the program ends when it does not end by itself: a closed pipe, Ctrl-C. docs/configuration.md has all codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import click

INTERRUPTED_EXIT: Final = 130
"""128 + SIGINT, as shells have it."""
CLOSED_PIPE_EXIT: Final = 141
"""128 + SIGPIPE, as of any program whose reader has gone."""


@contextmanager
def ended_well(context: click.Context) -> Generator[None]:
    """Turns a closed pipe and Ctrl-C into their exit codes, without a traceback."""
    try:
        yield
        sys.stdout.flush()  # what is still buffered would find the pipe closed after the last handler
    except BrokenPipeError:
        _discard_output()
        context.exit(CLOSED_PIPE_EXIT)
    except KeyboardInterrupt:
        click.echo("\nInterrupted. What was committed stays; the same command can be run again.", err=True)
        context.exit(INTERRUPTED_EXIT)


def _discard_output() -> None:
    """Nobody reads any more: what Python flushes at its end goes nowhere."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream without a file, as in tests
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
