"""How many of the secrets a function removes, by kind and carrier."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from tests.redaction.carriers import CARRIERS, Carried, Carrier
from tests.redaction.kinds import KINDS, Kind, Made


@dataclass(frozen=True)
class Trial:
    """One secret in one carrier."""

    kind: Kind
    carrier: Carrier
    seed: int
    made: Made
    carried: Carried

    def is_gone_from(self, text: str) -> bool:
        """Neither the secret nor one of its spellings, nor half of one, stands in a text."""
        return not any(form in text for form in (*self.carried.forms, *self.made.secrets))


def trial(kind: Kind, carrier: Carrier, seed: int) -> Trial:
    """The same secret in the same text for the same seed, another one for every kind, carrier and seed."""
    rng = random.Random(f"{kind.name}/{carrier.name}/{seed}")
    made = kind.make(rng)
    return Trial(kind, carrier, seed, made, carrier.wrap(kind, made, rng))


def trials(seeds: Iterable[int], kinds: Sequence[Kind] = KINDS, carriers: Sequence[Carrier] = CARRIERS) -> list[Trial]:
    """Every kind in every carrier."""
    return [trial(kind, carrier, seed) for seed in seeds for kind in kinds for carrier in carriers]


def measure(
    redact: Callable[[list[str]], list[str]],
    seeds: Iterable[int],
    kinds: Sequence[Kind] = KINDS,
    carriers: Sequence[Carrier] = CARRIERS,
    *,
    batch: bool = False,
) -> pl.DataFrame:
    """What a function leaves of them: a row for each case.

    Args:
        batch: All texts in one call, which is quicker; otherwise each case is a call of its own.
    """
    cases = trials(seeds, kinds, carriers)
    texts = [case.carried.text for case in cases]
    left = redact(texts) if batch else [only for text in texts for only in redact([text])]
    rows = [
        (case.kind.name, case.kind.family, case.carrier.name, case.seed, case.is_gone_from(text))
        for case, text in zip(cases, left, strict=True)
    ]
    schema = {"kind": pl.String, "family": pl.String, "carrier": pl.String, "seed": pl.Int64, "is_gone": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def table(frame: pl.DataFrame) -> pl.DataFrame:
    """Rates of removal: a row for each family and one for all, a column for each carrier and one for all."""
    everything = pl.lit("all")
    doubled = pl.concat([frame, frame.with_columns(family=everything)])
    doubled = pl.concat([doubled, doubled.with_columns(carrier=everything)])
    carriers = ["all", *frame["carrier"].unique(maintain_order=True)]
    rates = doubled.group_by("family", "carrier", maintain_order=True).agg(pl.col("is_gone").mean())
    return pl.DataFrame(
        {
            "family": (families := rates["family"].unique(maintain_order=True)),
            **{carrier: [_rate(rates, family, carrier) for family in families] for carrier in carriers},
        }
    )


def _rate(rates: pl.DataFrame, family: str, carrier: str) -> float | None:
    found = rates.filter(pl.col("family") == family, pl.col("carrier") == carrier)["is_gone"]
    return found.item() if len(found) else None


def misses(frame: pl.DataFrame) -> pl.DataFrame:
    """What was left: the kinds, and the carriers they were left in."""
    return (
        frame.filter(~pl.col("is_gone"))
        .group_by("family", "kind", maintain_order=True)
        .agg(pl.len().alias("times"), pl.col("carrier").unique(maintain_order=True))
        .sort("times", descending=True, maintain_order=True)
    )
