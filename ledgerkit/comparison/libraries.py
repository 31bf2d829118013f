"""The libraries that do the statistics (extra ``stats``): loaded when a comparison is made, never before."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ledgerkit.errors import MissingExtraError


def library(name: str) -> Any:  # noqa: ANN401 - neither library has types
    """A module of scipy or statsmodels.

    Raises:
        MissingExtraError: If the extra ``stats`` is not installed.

    Example:
        >>> float(library("scipy.stats").binomtest(0, 6).pvalue)
        0.03125
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError.for_extra("stats", "Comparing runs") from error
