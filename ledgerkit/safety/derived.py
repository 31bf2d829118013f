"""Non-amplification: what is made from parts is no more trusted, and seen by no more people, than what it is made from.

What a part is made from is what its evidence refers to. The labels of the whole follow from the sources by the
order of trust (the lowest) and by who may see them (only who may see all of them); DESIGN.md, words and §10.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.protocol.vocabulary import Audience, MessageKind, TrustLevel, Visibility

TRUST_RULE: Final = "trust-amplified"
VISIBILITY_RULE: Final = "visibility-widened"
AMPLIFIED_SCHEMA: Final = {
    "rule": pl.String,
    "session_id": pl.String,
    "run_id": pl.String,
    "sequence_no": pl.Int64,
    "message_id": pl.String,
    "part_id": pl.String,
    "kind": pl.String,
    "label": pl.String,
    "source_message_id": pl.String,
    "source_part_id": pl.String,
    "source_label": pl.String,
    "reference": pl.String,
}
"""Columns of the findings."""
OWN_WORDS: Final = tuple(
    kind.value
    for kind in (MessageKind.AGENT_THOUGHT_SUMMARY, MessageKind.ASSISTANT_RESPONSE, MessageKind.TOOL_CALL_REQUEST)
)
"""What a model says in its own name is ``MODEL_GENERATED`` by its origin, whatever it cites."""
_PLACE: Final = ("session_id", "run_id", "sequence_no", "message_id", "part_id", "kind")
_TARGET: Final = r"^(?:message|tool-call|artifact):([^#]+)"


def find_amplified(parts: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Parts whose labels say more than those of the parts that they refer to as evidence.

    Args:
        parts: Rows of the ``parts`` view, of any number of runs. A reference to what is not among them is not judged.

    Returns:
        One row for each part, source and rule, ``AMPLIFIED_SCHEMA``, by run and place. A source without a label
        counts as unknown, and as seen by nobody. The model's own words (``OWN_WORDS``) may be ``MODEL_GENERATED``.

    Example:
        >>> labels = {"part_trust_level": "TOOL_TRUSTED", "part_visibility": "MODEL_VISIBLE"}
        >>> source = {"message_id": "m", "part_id": "p", **labels, "part_trust_level": "NETWORK_UNTRUSTED"}
        >>> summary = {"message_id": "n", "part_id": "q", **labels, "evidence_refs": ["message:m"]}
        >>> find_amplified(pl.DataFrame([source, summary], infer_schema_length=None))["rule"].to_list()
        ['trust-amplified']
    """
    frame = _given(parts)
    claimed = frame.explode("evidence_refs").filter(pl.col("evidence_refs").is_not_null())
    claims = claimed.with_columns(target=pl.col("evidence_refs").str.extract(_TARGET)).drop_nulls("target")
    found = claims.join(_sources(frame), on="target", how="inner", maintain_order="left")
    pairs = found.filter(pl.col("part_id").ne_missing(pl.col("source_part_id")))
    findings = pl.concat([_of_trust(pairs), _of_visibility(pairs)])
    order = ["session_id", "run_id", "sequence_no", "part_id", "reference", "source_part_id", "rule"]
    return findings.unique().sort(order, nulls_last=True)


def _given(parts: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """The columns that are read; those that are missing are null."""
    frame = parts.lazy()
    names = frame.collect_schema().names()
    texts = ("part_trust_level", "part_visibility", "tool_call_id")
    kinds = {name: AMPLIFIED_SCHEMA[name] for name in _PLACE} | dict.fromkeys(texts, pl.String)
    lists = dict.fromkeys(("evidence_refs", "artifact_refs"), pl.List(pl.String))
    columns = [
        (pl.col(name) if name in names else pl.lit(None)).cast(kind).alias(name)
        for name, kind in (kinds | lists).items()
    ]
    return frame.select(columns).collect()


def _sources(frame: pl.DataFrame) -> pl.DataFrame:
    """Every part under each name by which it can be referred to: its message, its call, its artifacts."""
    plain = frame.select(
        source_message_id="message_id",
        source_part_id="part_id",
        source_trust="part_trust_level",
        source_visibility="part_visibility",
        message="message_id",
        call="tool_call_id",
        artifacts="artifact_refs",
    )
    kept = ("source_message_id", "source_part_id", "source_trust", "source_visibility")
    named = [plain.select(pl.col(name).alias("target"), *kept) for name in ("message", "call")]
    named.append(plain.explode("artifacts").select(pl.col("artifacts").alias("target"), *kept))
    return pl.concat(named).drop_nulls("target").unique()


def _of_trust(pairs: pl.DataFrame) -> pl.DataFrame:
    ranks = {level.value: level.rank for level in TrustLevel}
    lowest = TrustLevel.UNKNOWN.rank

    def rank(name: str) -> pl.Expr:
        return pl.col(name).replace_strict(ranks, default=lowest, return_dtype=pl.Int64)

    is_own = pl.col("kind").is_in(OWN_WORDS) & (pl.col("part_trust_level") == TrustLevel.MODEL_GENERATED.value)
    more = rank("part_trust_level") < rank("source_trust")
    amplified = pairs.filter(more & ~is_own.fill_null(value=False))
    return _finished(amplified, TRUST_RULE, "part_trust_level", "source_trust")


def _of_visibility(pairs: pl.DataFrame) -> pl.DataFrame:
    """Who may see the part, but not its source."""

    def seen(name: str, audience: Audience) -> pl.Expr:
        allowed = [level.value for level in Visibility if audience.may_see(level)]
        return pl.col(name).is_in(allowed).fill_null(value=False)

    widened = pl.any_horizontal(
        seen("part_visibility", audience) & ~seen("source_visibility", audience) for audience in Audience
    )
    return _finished(pairs.filter(widened), VISIBILITY_RULE, "part_visibility", "source_visibility")


def _finished(pairs: pl.DataFrame, rule: str, label: str, source: str) -> pl.DataFrame:
    return pairs.select(
        pl.lit(rule).alias("rule"),
        *_PLACE,
        pl.col(label).alias("label"),
        "source_message_id",
        "source_part_id",
        pl.col(source).alias("source_label"),
        pl.col("evidence_refs").alias("reference"),
    ).select(pl.col(name).cast(dtype) for name, dtype in AMPLIFIED_SCHEMA.items())
