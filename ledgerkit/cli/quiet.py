"""Whether somebody asked for results and errors alone."""

from __future__ import annotations

from typing import Final

import click

QUIET: Final = "ledgerkit.quiet"
"""Key of the command's context under which ``--quiet`` stands."""


def is_quiet() -> bool:
    """Whether only results and errors are to be printed."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))
