"""What a rule says about a claim, and how the rulings of several rules become one verdict.

A ruling is a row: the claim, the rule, its outcome, a sentence that says why, and the evidence that it looked at. A
rule that does not apply to a claim gives no row. Which ruling decides: evidence that is not there or of the wrong kind
goes first (nothing else can be said without it), then evidence that is out of date, then what contradicts the claim,
then what does not reach as far as the claim, then what cannot be told. A claim is supported only if
all its rulings are.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import polars as pl

from ledgerkit.protocol.vocabulary import ClaimOutcome

RULING_SCHEMA: Final = {
    "claim_id": pl.String,
    "rule": pl.String,
    "outcome": pl.String,
    "why": pl.String,
    "evidence": pl.List(pl.String),
}
"""The columns of rulings. ``evidence`` holds evidence references."""

SUPPORTED: Final = ClaimOutcome.SUPPORTED.value
CONTRADICTED: Final = ClaimOutcome.CONTRADICTED.value
UNSUPPORTED: Final = ClaimOutcome.UNSUPPORTED.value
STALE: Final = ClaimOutcome.STALE.value
UNVERIFIED: Final = ClaimOutcome.UNVERIFIED.value


class Rule(NamedTuple):
    """A rule: its name and the question that it answers."""

    name: str
    question: str


RULES: Final[dict[str, Rule]] = {
    "R1": Rule("REF_EXISTS", "Does the evidence exist in the run, or in one that it is linked with?"),
    "R2": Rule("REF_BEFORE", "Was it there before the claim was made?"),
    "R3": Rule("REF_VISIBLE", "Had the model seen it?"),
    "R4": Rule("SPAN_IN_RANGE", "Does the cited range lie in the text?"),
    "R5": Rule("HASH_MATCH", "Is the cited text the one in the ledger?"),
    "R6": Rule("REF_KIND_OK", "Is it a kind of evidence that can support such a claim?"),
    "R7": Rule("QUOTE_MATCH", "Does what is quoted stand there, word for word?"),
    "R8": Rule("NUMBER_MATCH", "Do the numbers stand there, or follow from it?"),
    "R9": Rule("IDENT_MATCH", "Do the paths, names and addresses stand there?"),
    "R10": Rule("VERDICT_CONSISTENT", "Does the outcome agree with the claim?"),
    "R11": Rule("SCOPE", "Does the check reach as far as the claim?"),
    "R12": Rule("NOT_STALE", "Was nothing changed since?"),
    "R13": Rule("NOT_SUPERSEDED", "Does no other run of the same check say the opposite?"),
    "R14": Rule("NEGATIVE", "Did a search that covers the claim find nothing?"),
    "R15": Rule("NO_INVENTED_REQUIREMENT", "Did somebody with the authority to do so require it?"),
    "R16": Rule("FAILURE_COMPLETENESS", "Is no failure left out?"),
    "R17": Rule("CHANGED_FILES", "Are the changed files those that were changed?"),
    "R18": Rule("COVERAGE", "Do the covered ranges follow each other without a gap?"),
    "R19": Rule("TAINT", "Is no untrusted evidence given more trust than it has?"),
}
"""The rules, from R1 to R19."""

_FIRST: Final = ("R1", "R2", "R6")
_ORDER: Final = {
    **{(rule, UNSUPPORTED): 0 for rule in _FIRST},
    **{(rule, UNVERIFIED): 1 for rule in _FIRST},
}
_BY_OUTCOME: Final = {STALE: 2, CONTRADICTED: 3, UNSUPPORTED: 4, UNVERIFIED: 5, SUPPORTED: 6}
_TIES: Final = (
    "R13",
    "R8",
    "R17",
    "R16",
    "R14",
    "R10",
    "R11",
    "R12",
    "R7",
    "R9",
    "R4",
    "R5",
    "R15",
    "R19",
    "R3",
    "R18",
    "R2",
    "R6",
    "R1",
)
"""Which rule is named where several say the same: the most specific one."""


def rulings(rows: pl.DataFrame, rule: str, outcome: pl.Expr, why: pl.Expr) -> pl.DataFrame:
    """Rulings of one rule.

    Args:
        rows: One row a claim, with ``claim_id`` and ``evidence`` (a list of references; none if it is not there).
        rule: The rule's id.
        outcome: Its outcome; null where it does not apply.
        why: The sentence.
    """
    evidence = pl.col("evidence") if "evidence" in rows.columns else pl.lit([], pl.List(pl.String))
    return (
        rows.select("claim_id", rule=pl.lit(rule), outcome=outcome, why=why, evidence=evidence)
        .filter(pl.col("outcome").is_not_null())
        .select(pl.col(name).cast(dtype) for name, dtype in RULING_SCHEMA.items())
    )


def cases(*pairs: tuple[pl.Expr, str | None], otherwise: str | None = None) -> pl.Expr:
    """The value of the first condition that holds; a null condition does not hold."""
    chosen = pl.lit(otherwise, pl.String)
    for condition, value in reversed(pairs):
        chosen = pl.when(condition.fill_null(value=False)).then(pl.lit(value, pl.String)).otherwise(chosen)
    return chosen


def sentences(*pairs: tuple[pl.Expr, pl.Expr | str], otherwise: pl.Expr | str) -> pl.Expr:
    """The sentence of the first condition that holds."""
    chosen = pl.lit(otherwise) if isinstance(otherwise, str) else otherwise
    for condition, said in reversed(pairs):
        sentence = pl.lit(said) if isinstance(said, str) else said
        chosen = pl.when(condition.fill_null(value=False)).then(sentence).otherwise(chosen)
    return chosen


def no_rulings() -> pl.DataFrame:
    """No row, with the columns of rulings."""
    return pl.DataFrame(schema=RULING_SCHEMA)


def decide(found: pl.DataFrame) -> pl.DataFrame:
    """One verdict a claim, from its rulings.

    Args:
        found: Rulings of any rules.

    Returns:
        ``claim_id, verdict, rule, why, evidence``, by claim: those of the ruling that decides.

    Example:
        >>> found = pl.DataFrame(
        ...     [("c", "R10", "contradicted", "It failed.", []), ("c", "R12", "stale", "Changed since.", [])],
        ...     schema=RULING_SCHEMA, orient="row",
        ... )
        >>> decide(found).row(0)
        ('c', 'stale', 'R12', 'Changed since.', [])
    """
    general = pl.col("outcome").replace_strict(_BY_OUTCOME, return_dtype=pl.Int64)
    rank = general
    for (rule, outcome), place in _ORDER.items():
        rank = pl.when((pl.col("rule") == rule) & (pl.col("outcome") == outcome)).then(place).otherwise(rank)
    tie = pl.col("rule").replace_strict({rule: n for n, rule in enumerate(_TIES)}, return_dtype=pl.Int64)
    return (
        found.with_columns(rank=rank, tie=tie)
        .sort("claim_id", "rank", "tie", "why")
        .group_by("claim_id", maintain_order=True)
        .agg(pl.col("outcome", "rule", "why", "evidence").first())
        .rename({"outcome": "verdict"})
    )
