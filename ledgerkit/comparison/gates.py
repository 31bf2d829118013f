"""What must hold before a candidate goes in, declared before the comparison is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

from ledgerkit.comparison.metrics import DEFAULT_GATES, METRICS
from ledgerkit.comparison.trials import PAIR_COLUMNS
from ledgerkit.tomlfiles import TomlFile, read_toml

Inconclusive = Literal["pass", "fail"]
_INCONCLUSIVE: Final[tuple[Inconclusive, ...]] = ("pass", "fail")
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
    return _gates(read_toml(path, "tables such as [gates.success]"))


def _gates(file: TomlFile) -> Gates:
    data = file.data
    file.only("setting", data, _KEYS)
    declared = file.table(data.get("gates"), "no gate is declared. Write a table such as [gates.success]")
    file.only("metric", declared, METRICS)
    return Gates(
        margins={name: _margin(file, name, table) for name, table in declared.items()},
        inconclusive=file.one_of("inconclusive", data.get("inconclusive", "pass"), _INCONCLUSIVE),
        alpha=file.number("alpha", data.get("alpha", 0.05), 0.0, 0.5),
        pair_by=file.one_of("pair_by", data.get("pair_by", "task_id"), PAIR_COLUMNS),
        seed=file.whole("seed", data.get("seed", 0), 0),
        draws=file.whole("draws", data.get("draws", 9_999), 999),
        slices=tuple(
            file.one_of("slices", one, SLICE_COLUMNS)
            for one in file.listed("slices", data.get("slices", ["repository"]), '["repository"]')
        ),
    )


def _margin(file: TomlFile, name: str, table: object) -> float:
    if not isinstance(table, dict):
        raise file.wrong(f"gates.{name} is no table. Write [gates.{name}] and under it margin = …")
    settings = cast("dict[str, Any]", table)
    file.only(f"setting of gates.{name}", settings, ("margin",))
    metric = METRICS[name]
    least, most = (0.0, 1.0) if metric.kind == "share" else (1.0, 100.0)
    return file.number(f"gates.{name}.margin", settings.get("margin", metric.margin), least, most)


SLICE_COLUMNS: Final = ("repository", "branch", "agent", "agent_version", "model", "length")
"""What slices may be made by. ``length``: thirds of tasks by their steps, taken over both sides."""
