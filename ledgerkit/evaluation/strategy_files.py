"""Strategy files: strategies and budgets by name, as TOML.

One rule: nothing in the file is run. A strategy is a text that ``parse_strategy`` reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ledgerkit.errors import ConfigurationError, LedgerkitError
from ledgerkit.evaluation.schema import METRICS
from ledgerkit.strategies import Strategy, parse_strategy
from ledgerkit.tomlfiles import TomlFile, read_toml

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
    file = read_toml(path, "a table [strategies]")
    data = file.data
    file.only("setting", data, _KEYS)
    named = file.table(data.get("strategies"), 'it has no table [strategies] with lines such as all = "FullHistory"')
    seeds = file.listed("control_seeds", data.get("control_seeds", [0]), "[0, 1]")
    return StrategyFile(
        {name: _strategy(file, name, text) for name, text in named.items()},
        file.whole("budget", data["budget"], 0) if "budget" in data else None,
        _metrics(file, data["metrics"]) if "metrics" in data else None,
        tuple(file.whole("control_seeds", seed, 0) for seed in seeds),
    )


def _strategy(file: TomlFile, name: str, text: object) -> Strategy:
    if not isinstance(text, str):
        raise file.wrong(f'strategies.{name} is no text. Write it as {name} = "TokenWindow(60000)"')
    try:
        return parse_strategy(text)
    except LedgerkitError as error:
        raise ConfigurationError(f"{file.place}: strategies.{name}: {error}") from error


def _metrics(file: TomlFile, value: object) -> tuple[str, ...]:
    return tuple(file.one_of("metrics", name, METRICS) for name in file.listed("metrics", value, '["cost"]'))
