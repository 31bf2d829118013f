"""TOML files that users write: read whole, or refused with the file, the name and what to write instead."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from ledgerkit.errors import ConfigurationError

_MOST_BYTES: Final = 1_000_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TomlFile:
    """What a file says, and checks of it that name the file.

    Attributes:
        place: The file.
        data: Its top table.
    """

    place: Path
    data: Mapping[str, Any]

    def wrong(self, what: str) -> ConfigurationError:
        """The error that says what is wrong in the file."""
        return ConfigurationError(f"{self.place}: {what}.")

    def only(self, what: str, names: Mapping[str, Any], known: Collection[str]) -> None:
        """Every name is a known one.

        Args:
            what: What the names are names of.
            names: The names, as a table has them.
            known: Those that there are.

        Raises:
            ConfigurationError: If one is not known.
        """
        for name in names:
            if name not in known:
                raise self.wrong(f"no {what} is called {name!r}; there are {', '.join(known)}")

    def table(self, value: object, otherwise: str) -> dict[str, Any]:
        """A table that says something.

        Raises:
            ConfigurationError: If it is none, or empty; ``otherwise`` says what to write.
        """
        if not isinstance(value, dict) or not value:
            raise self.wrong(otherwise)
        return cast("dict[str, Any]", value)

    def number(self, name: str, value: object, above: float, below: float) -> float:
        """A number between two others.

        Raises:
            ConfigurationError: If it is none.
        """
        if isinstance(value, bool) or not isinstance(value, int | float) or not above < value < below:
            raise self.wrong(f"{name} is a number above {above:g} and below {below:g}, not {value!r}")
        return float(value)

    def whole(self, name: str, value: object, least: int) -> int:
        """A whole number from another on.

        Raises:
            ConfigurationError: If it is none.
        """
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.wrong(f"{name} is a whole number from {least:,}, not {value!r}")
        return value

    def listed(self, name: str, value: object, such_as: str) -> list[object]:
        """A list.

        Raises:
            ConfigurationError: If it is none; ``such_as`` shows one.
        """
        if not isinstance(value, list):
            raise self.wrong(f"{name} is a list such as {such_as}, not {value!r}")
        return cast("list[object]", value)

    def one_of(self, name: str, value: object, among: Collection[T]) -> T:
        """One of the given values.

        Raises:
            ConfigurationError: If it is none of them.
        """
        for each in among:
            if value == each and type(value) is type(each):
                return each
        raise self.wrong(f"{name} is one of {', '.join(map(str, among))}, not {value!r}")


def read_toml(path: str | Path, such_as: str, *, most_bytes: int = _MOST_BYTES) -> TomlFile:
    """Reads a TOML file.

    Args:
        path: The file.
        such_as: What belongs into it, for the error.
        most_bytes: A larger file is not read.

    Raises:
        ConfigurationError: If it is missing, too large or no TOML.
    """
    place = Path(path)
    try:
        with place.open("rb") as file:
            raw = file.read(most_bytes + 1)
        if len(raw) > most_bytes:
            raise ConfigurationError(f"{place}: larger than {most_bytes:,} bytes. Give a TOML file with {such_as}.")
        return TomlFile(place, tomllib.loads(raw.decode("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{place}: {error}. Give a TOML file with {such_as}.") from error
