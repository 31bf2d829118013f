"""The result of an evaluation: its tables, and with them always what they cannot say."""

from __future__ import annotations

import html
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.displays import Displayed
from ledgerkit.evaluation.caveats import CAVEATS
from ledgerkit.evaluation.running import write_atomically
from ledgerkit.evaluation.summary import HEADINGS, LEGEND, cells, with_savings

if TYPE_CHECKING:
    from ledgerkit.evaluation.recommending import Recommendation

_GATES: Final = ("failure_visibility", "policy_retention", "validity", "determinism")


@dataclass(frozen=True)
class About:
    """What makes results comparable.

    Attributes:
        version: Version of the rules of evaluation.
        tokenizer: The encoding by which tokens are counted.
        prices: Name and version of the list of prices; each step is priced at its own day.
        strategies: Hash of each strategy, by its label.
        metrics: Which metrics were asked for.
        budget: Tokens above which a context overflows.
        cache: Rules of the prompt cache.
        control_seeds: Seeds of the control.
    """

    version: int
    tokenizer: str
    prices: str
    strategies: Mapping[str, str]
    metrics: Sequence[str]
    budget: int | None
    cache: str
    control_seeds: Sequence[int]


@dataclass(frozen=True, repr=False)
class Evaluation(Displayed):
    """What strategies would have come to on recorded runs.

    Attributes:
        runs: One row per run and strategy.
        steps: One row per step and strategy, if asked for.
        lost: What was dropped and then needed: run, strategy, step, token, and the part that held it.
        about: What makes results comparable.
        caveats: What the figures cannot say.
    """

    runs: pl.DataFrame
    steps: pl.DataFrame
    lost: pl.DataFrame
    about: About
    caveats: tuple[str, ...] = CAVEATS

    def summary(self) -> pl.DataFrame:
        """One row per strategy, in the order in which they were given.

        Returns:
            ``strategy``, ``runs``, sums of tokens and cost (null where no step has a price), means over the runs that
            define a metric, how many those are (``…_runs``), and ``saved_share``: 1 - cost / cost of ``AsRecorded()``,
            null where that is not among the strategies or the costs cannot be compared.
        """
        shares = ("evidence_retention", "source_retention", "lift", "edit_support", *_GATES, "untrusted_share",
                  "staleness", "refetch_exposure", "summary_fidelity", "overflow_rate")  # fmt: skip
        priced = pl.col("cost_pico").count() > 0
        found = self.runs.group_by("strategy", maintain_order=True).agg(
            runs=pl.len().cast(pl.Int64),
            input_tokens=pl.col("input_tokens").sum(),
            peak_tokens=pl.col("peak_tokens").max(),
            cost_pico=pl.when(priced).then(pl.col("cost_pico").sum()),
            unpriced_steps=pl.col("unpriced_steps").sum(),
            cost_equivalent_tokens=pl.col("cost_equivalent_tokens").sum(),
            needs=pl.col("needs").sum(),
            missing_needs=pl.col("missing_needs").sum(),
            **{name: pl.col(name).mean() for name in shares},
            **{f"{name}_runs": pl.col(name).count().cast(pl.Int64) for name in shares},
        )
        return with_savings(found)

    def recommend(self, by: str = "task_id", *, resamples: int = 1_000, seed: int = 0) -> Recommendation:
        """Which strategies are not beaten in cost and retention at once, by family of tasks.

        Args:
            by: Column of ``runs`` that names the family: ``task_id``, ``repository`` or another.
            resamples: Bootstrap samples of runs.
            seed: Draws them.
        """
        from ledgerkit.evaluation.recommending import recommend

        return recommend(self.runs, by, resamples=resamples, seed=seed, caveats=self.caveats)

    def windows(self) -> pl.DataFrame:
        """How many steps a window would have had to reach back: ages of what was missing, by strategy.

        Returns:
            ``strategy``, ``missing``, ``steps_p50``, ``steps_p90``, ``steps_p99``, ``steps_max``: a window of so many
            steps would have held that share of what was dropped and then needed.
        """
        shares = {"steps_p50": 0.5, "steps_p90": 0.9, "steps_p99": 0.99, "steps_max": 1.0}
        return self.lost.group_by("strategy", maintain_order=True).agg(
            missing=pl.len().cast(pl.Int64),
            **{name: pl.col("age").quantile(q, "higher").cast(pl.Int64) for name, q in shares.items()},
        )

    def outcome_correlation(self, *, resamples: int = 1_000, seed: int = 0) -> pl.DataFrame:
        """Rank correlation of retention with recorded outcomes, within tasks; see :func:`correlate_outcomes`."""
        from ledgerkit.evaluation.validation import correlate_outcomes

        return correlate_outcomes(self.runs, resamples=resamples, seed=seed)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Writes the tables as Parquet, and beside them (and in each) what they rest on and cannot say."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        about = json.dumps(self.as_data(), ensure_ascii=False, indent=2, sort_keys=True)
        for name in ("runs", "steps", "lost"):
            file = io.BytesIO()
            getattr(self, name).write_parquet(file, compression="zstd", metadata={"ledgerkit.evaluation": about})
            write_atomically(place / f"{name}.parquet", file.getvalue())
        write_atomically(place / "evaluation.json", (about + "\n").encode())
        write_atomically(place / "evaluation.md", self.to_markdown().encode())

    def as_data(self) -> dict[str, object]:
        """What the result rests on and cannot say, as plain data."""
        return {"about": asdict(self.about), "caveats": list(self.caveats)}

    def to_markdown(self) -> str:
        """Summary and caveats."""
        rows = [cells(row) for row in self.summary().iter_rows(named=True)]
        lines = ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        said = [f"{number}. {caveat}" for number, caveat in enumerate(self.caveats, 1)]
        return "\n".join(
            [
                "# Evaluation of strategies",
                *("", *lines, "", *(f"- {name}: {meaning}." for name, meaning in LEGEND.items())),
                *("", "What these figures cannot say:", "", *said, ""),
            ]
        )

    def __repr__(self) -> str:
        rows = [list(HEADINGS), *(cells(row) for row in self.summary().iter_rows(named=True))]
        widths = [max(len(row[n]) for row in rows) for n in range(len(HEADINGS))]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        legend = (f"{name}: {meaning}." for name, meaning in LEGEND.items())
        return "\n".join([*table, "", *legend, "", *(f"* {caveat}" for caveat in self.caveats)])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in HEADINGS)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells(row)) + "</tr>"
            for row in self.summary().iter_rows(named=True)
        )
        said = "".join(f"<li>{html.escape(caveat)}</li>" for caveat in self.caveats)
        legend = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(said)}</dd>" for name, said in LEGEND.items())
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<dl>{legend}</dl><ol>{said}</ol>"
