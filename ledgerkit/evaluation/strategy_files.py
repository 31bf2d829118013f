"""Strategy files: strategies and budgets by name, as TOML.

One rule: nothing in the file is run. A strategy is a text that ``parse_strategy`` reads.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from ledgerkit.errors import ConfigurationError, LedgerkitError
from ledgerkit.evaluation.schema import METRICS
from ledgerkit.strategies import Strategy, parse_strategy

_KEYS: Final = ("strategies", "budget", "metrics", "control_seeds")


@dataclass(frozen=True)
class StrategyFile:
    """What a strategy file asks for.

    Attributes:
        strategies: Strategies, by the names that the file gives them.
        budget: Tokens above which a context overflows.
        metrics: Names of metrics; all if ``None``.
        control_seeds: Seeds of the control.
    """

    strategies: dict[str, Strategy]
    budget: int | None = None
    metrics: tuple[str, ...] | None = None
    control_seeds: tuple[int, ...] = (0,)


def read_strategy_file(path: str | Path) -> StrategyFile:
    """Reads a strategy file.

    ::

        budget = 200_000                    # optional; so are metrics and control_seeds
        metrics = ["cost", "evidence_retention"]

        [strategies]
        everything = "FullHistory"
        masked = "LastObservations(10, polling=10)"
        cleared = "HeadTail | ClearAt(60_000)"

    Raises:
        ConfigurationError: If the file is missing or is no such file; the message says what is wrong where.
    """
    place = Path(path)
    try:
        data = tomllib.loads(place.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{place}: {error}. Give a TOML file with a table [strategies].") from error
    if unknown := sorted(set(data) - set(_KEYS)):
        raise ConfigurationError(f"{place}: no setting is called {unknown[0]!r}; there are {', '.join(_KEYS)}.")
    named = data.get("strategies")
    if not isinstance(named, dict) or not named:
        raise ConfigurationError(f'{place}: it has no table [strategies] with lines such as all = "FullHistory".')
    strategies = {name: _strategy(place, name, text) for name, text in cast("dict[str, Any]", named).items()}
    return StrategyFile(
        strategies,
        _whole(place, "budget", data["budget"]) if "budget" in data else None,
        _metrics(place, data["metrics"]) if "metrics" in data else None,
        tuple(_whole(place, "control_seeds", seed) for seed in _list(place, "control_seeds", data["control_seeds"]))
        if "control_seeds" in data
        else (0,),
    )


def _strategy(place: Path, name: str, text: object) -> Strategy:
    if not isinstance(text, str):
        raise ConfigurationError(f'{place}: strategies.{name} is no text. Write it as {name} = "TokenWindow(60000)".')
    try:
        return parse_strategy(text)
    except LedgerkitError as error:
        raise ConfigurationError(f"{place}: strategies.{name}: {error}") from error


def _list(place: Path, name: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise ConfigurationError(f"{place}: {name} is a list, not {value!r}.")
    return cast("list[object]", value)


def _whole(place: Path, name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConfigurationError(f"{place}: {name} is a whole number from 0, not {value!r}.")
    return value


def _metrics(place: Path, value: object) -> tuple[str, ...]:
    names = _list(place, "metrics", value)
    if unknown := [name for name in names if name not in METRICS]:
        raise ConfigurationError(f"{place}: no metric is called {unknown[0]!r}; there are {', '.join(METRICS)}.")
    return tuple(str(name) for name in names)
