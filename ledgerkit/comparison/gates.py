"""What must hold before a candidate goes in, declared before the comparison is made."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

from ledgerkit.comparison.metrics import DEFAULT_GATES, METRICS
from ledgerkit.comparison.trials import PAIR_COLUMNS
from ledgerkit.errors import ConfigurationError

Inconclusive = Literal["pass", "fail"]
_KEYS: Final = ("alpha", "inconclusive", "pair_by", "seed", "draws", "slices", "gates")


@dataclass(frozen=True)
class Gates:
    """Gates and how strictly they are kept.

    A gate passes where it is shown that the candidate is no worse by more than the margin, fails where it regressed,
    and is inconclusive else.

    Attributes:
        margins: The margin of each gated metric: a difference of shares, or a ratio.
        inconclusive: Whether an inconclusive gate lets the candidate pass (exit 0) or not (exit 2).
        alpha: Level of each test; the gates share it by Holm's method.
        pair_by: The column that says which task a run is about.
        seed: Draws samples and exchanges.
        draws: How many.
        slices: Columns of runs that slices are made by.

    Example:
        >>> Gates.of(["success", "cost"]).margins
        {'success': 0.05, 'cost': 1.1}
    """

    margins: Mapping[str, float] = field(default_factory=lambda: {name: METRICS[name].margin for name in DEFAULT_GATES})
    inconclusive: Inconclusive = "pass"
    alpha: float = 0.05
    pair_by: str = "task_id"
    seed: int = 0
    draws: int = 9_999
    slices: tuple[str, ...] = ("repository",)

    @classmethod
    def of(cls, metrics: list[str]) -> Gates:
        """Gates on some metrics, with their usual margins."""
        return cls({name: METRICS[name].margin for name in metrics})


def read_gates(path: str | Path) -> Gates:
    """Reads a gates file.

    ::

        alpha = 0.05              # everything but [gates] is optional
        inconclusive = "fail"     # or "pass"
        pair_by = "task_id"
        seed = 0
        slices = ["repository"]

        [gates.success]
        margin = 0.05             # a difference of shares

        [gates.cost]
        margin = 1.10             # a ratio

    Raises:
        ConfigurationError: If the file is missing or is no such file; the message says what is wrong where.
    """
    place = Path(path)
    try:
        data = tomllib.loads(place.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{place}: {error}. Give a TOML file with tables such as [gates.success].") from error
    return _Reading(place).gates(data)


@dataclass(frozen=True, slots=True)
class _Reading:
    place: Path

    def gates(self, data: Mapping[str, Any]) -> Gates:
        self._only("setting", data, _KEYS)
        declared: Any = data.get("gates")
        if not isinstance(declared, dict) or not declared:
            raise self._wrong("no gate is declared. Write a table such as [gates.success]")
        named = cast("dict[str, Any]", declared)
        self._only("metric", named, METRICS)
        given: dict[str, Any] = {
            "margins": {name: self._margin(name, table) for name, table in named.items()},
            "inconclusive": self._one_of("inconclusive", data.get("inconclusive", "pass"), ("pass", "fail")),
            "alpha": self._number("alpha", data.get("alpha", 0.05), 0.0, 0.5),
            "pair_by": self._one_of("pair_by", data.get("pair_by", "task_id"), PAIR_COLUMNS),
            "seed": self._whole("seed", data.get("seed", 0), 0),
            "draws": self._whole("draws", data.get("draws", 9_999), 999),
            "slices": self._names("slices", data.get("slices", ["repository"])),
        }
        return Gates(**given)

    def _margin(self, name: str, table: object) -> float:
        if not isinstance(table, dict):
            raise self._wrong(f"gates.{name} is no table. Write [gates.{name}] and under it margin = …")
        settings = cast("dict[str, Any]", table)
        self._only(f"setting of gates.{name}", settings, ("margin",))
        metric = METRICS[name]
        least, most = (0.0, 1.0) if metric.kind == "share" else (1.0, 100.0)
        return self._number(f"gates.{name}.margin", settings.get("margin", metric.margin), least, most)

    def _number(self, name: str, value: object, above: float, below: float) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not above < value < below:
            raise self._wrong(f"{name} is a number above {above:g} and below {below:g}, not {value!r}")
        return float(value)

    def _whole(self, name: str, value: object, least: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._wrong(f"{name} is a whole number from {least:,}, not {value!r}")
        return value

    def _names(self, name: str, value: object) -> tuple[str, ...]:
        listed = cast("list[object]", value) if isinstance(value, list) else [None]
        if not all(isinstance(one, str) for one in listed):
            raise self._wrong(f'{name} is a list of columns such as ["repository"], not {value!r}')
        return tuple(self._one_of(name, one, SLICE_COLUMNS) for one in listed)

    def _one_of(self, name: str, value: object, among: tuple[str, ...]) -> Any:  # noqa: ANN401 - one of the given
        if value not in among:
            raise self._wrong(f"{name} is one of {', '.join(among)}, not {value!r}")
        return value

    def _only(self, what: str, names: Mapping[str, Any], known: Any) -> None:  # noqa: ANN401 - names, in any collection
        for name in names:
            if name not in known:
                raise self._wrong(f"no {what} is called {name!r}; there are {', '.join(known)}")

    def _wrong(self, what: str) -> ConfigurationError:
        return ConfigurationError(f"{self.place}: {what}.")


SLICE_COLUMNS: Final = ("repository", "branch", "agent", "agent_version", "model", "length")
"""What slices may be made by. ``length``: thirds of tasks by their steps, taken over both sides."""
