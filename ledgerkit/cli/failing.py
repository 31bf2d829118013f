"""Errors as the command line shows them: one line that says where and what to do, and an exit code."""

from __future__ import annotations

import errno
from typing import Final

import click

from ledgerkit import errors
from ledgerkit.safety.inert import inert_terminal

ERROR_EXIT: Final = 2
COMPARISON_ERROR_EXIT: Final = 3


class LedgerkitFailure(click.ClickException):
    """An error of ledgerkit as the command line shows it."""

    exit_code = ERROR_EXIT

    def __init__(self, message: str) -> None:
        super().__init__(inert_terminal(message))  # it may quote a log, or a file's name


class ComparisonFailure(LedgerkitFailure):
    """Whatever kept a comparison from being made: its exit codes 0, 1 and 2 are results."""

    exit_code = COMPARISON_ERROR_EXIT


class explained_errors:
    """Turns errors of ledgerkit, and files that cannot be read or written, into one line and exit code 2."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, errors.LedgerkitError):
            raise LedgerkitFailure(str(error)) from error
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise LedgerkitFailure(_of_file(error)) from error


def _of_file(error: OSError) -> str:
    """What the system says of a file, and of which."""
    said = error.strerror or str(error)
    what_to_do = " Check the path; the folder that is written to must be there." if error.errno == errno.ENOENT else ""
    return f"{error.filename}: {said}.{what_to_do}" if error.filename is not None else f"{said}.{what_to_do}"
