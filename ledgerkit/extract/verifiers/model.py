"""The words of verifiers: a check that a shell line runs, and what its output says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

from ledgerkit.protocol.vocabulary import Verdict
from ledgerkit.tables import PARSED_CHECKS

EXTRACTOR_VERSION: Final = PARSED_CHECKS.version
"""Raised, where the table is declared, whenever the same parts would give other rows."""
MAX_NAMES: Final = 50
"""How many names of what failed are kept."""
MAX_ERRORS: Final = 50
"""How many error lines are kept."""
MAX_MESSAGE: Final = 300
"""How many characters of a name or a message are kept."""


class CheckKind(StrEnum):
    """What a check is about."""

    TEST = "test"
    BUILD = "build"
    LINT = "lint"
    TYPES = "types"


class Shown(IntEnum):
    """What of a check's output reaches the reader, from all to nothing."""

    WHOLE = 0
    END = 1
    """Its last lines (``tail``)."""
    START = 2
    """Its first lines (``head``)."""
    SELECTED = 3
    """Some of its lines (``grep``)."""
    CHANGED = 4
    """Something that a program made of it (``wc``, ``awk``)."""
    NOTHING = 5
    """It went to a file that the line does not show."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check that a shell line runs."""

    kind: CheckKind
    tool: str
    """The tool whose output is read; a task runner (``make``, ``npm``) where the line does not say more."""
    scope: str = ""
    """Targets and selecting options, as given; empty for all that the tool takes by itself."""
    zero_is_own: bool = True
    """Whether exit code 0 of the line means that the check exited with 0."""
    failure_is_own: bool = True
    """Whether another exit code of the line means that the check failed."""
    hidden_by: str = ""
    """What hides the exit code; empty where nothing does."""
    shown: Shown = Shown.WHOLE
    printed_code: str = ""
    """A pattern of the line in which a following ``echo "exit: $?"`` prints the check's exit code."""
    is_repeated: bool = False
    """Whether the line runs the same tool twice for the same kind: the output is not that of one check."""

    @property
    def owns_exit_code(self) -> bool:
        """Whether the exit code of the whole line is the check's."""
        return self.zero_is_own and self.failure_is_own

    def is_exit_known(self, exit_code: int | None) -> bool:
        """Whether an exit code of the whole line says how this check exited."""
        return exit_code is not None and (self.zero_is_own if exit_code == 0 else self.failure_is_own)


class ErrorLine(NamedTuple):
    """An error and where it is; the line is null where the tool did not say."""

    path: str
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the output of a check says. Numbers that it does not say are null."""

    verdict: Verdict
    passed: int | None = None
    failed: int | None = None
    errors: int | None = None
    skipped: int | None = None
    failing: tuple[str, ...] = ()
    """Names of what failed, at most ``MAX_NAMES``."""
    error_lines: tuple[ErrorLine, ...] = ()
    """At most ``MAX_ERRORS``."""
    is_truncated: bool = False
    reason: str = ""
    """Why the verdict is what it is."""
    lines: tuple[int, int] | None = None
    """First and last line of the output, from 1, that say so; none where it says nothing."""
