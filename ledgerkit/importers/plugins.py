"""Formats of other packages: found through entry points, used like our own.

A package declares, in its ``pyproject.toml``::

    [project.entry-points."ledgerkit.formats"]
    acme = "acme_logs.ledgerkit_format:FORMAT"

where ``FORMAT`` is a :class:`ledgerkit.importers.registry.LogFormat`. ``docs/formats/your-own.md`` has a whole one.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeVar

from ledgerkit.errors import ConfigurationError

GROUP: Final = "ledgerkit.formats"
"""The group of entry points."""


_Format = TypeVar("_Format")


def plugged_in(kind: type[_Format], found: Iterable[EntryPoint] | None = None) -> list[_Format]:
    """The formats of installed packages, by name of their entry points.

    Args:
        kind: The class of formats.
        found: Entry points; those of the installed packages if not given.

    Raises:
        ConfigurationError: If one cannot be loaded, or is no format. It says which package to mend or remove.
    """
    points = sorted(entry_points(group=GROUP) if found is None else found, key=lambda point: (point.name, point.value))
    formats: list[_Format] = []
    for point in points:
        try:
            loaded = point.load()
        except Exception as error:
            raise ConfigurationError(
                f"The log format {point.name!r} ({point.value}) cannot be loaded: {error}"
            ) from error
        if not isinstance(loaded, kind):
            raise ConfigurationError(
                f"The log format {point.name!r} ({point.value}) is no LogFormat but {loaded!r:.80}."
            )
        formats.append(loaded)
    return formats
