"""Who mentioned an entity first: trusted, untrusted, or only the model.

The rule: a mention counts by the trust of the part that it stands in.  A person's, the organisation's or the platform's
words clear an entity whenever they come before the call.  A trusted tool's words clear it only if nothing untrusted
mentioned it before: tools repeat what they are asked.  What the model says neither taints nor clears; but what it
said before anything untrusted did is its own.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.extract.mentions import find_mentions
from ledgerkit.protocol.vocabulary import TrustLevel
from ledgerkit.safety.taint.arguments import RUN
from ledgerkit.safety.taint.needles import needles_of, reads_as_named

CLEARS: Final = ("PLATFORM_TRUSTED", "ORG_TRUSTED", "USER_TRUSTED")
_VOICES: Final = {
    **dict.fromkeys(CLEARS, "person"),
    TrustLevel.TOOL_TRUSTED.value: "tool",
    TrustLevel.MODEL_GENERATED.value: "model",
}
_REFUSED: Final = ("CANCELLED", "FAILED", "TIMED_OUT")
_FIRST: Final = ("person_at", "tool_at", "model_at", "untrusted_at")
_SOURCE: Final = ("source_sequence_no", "source_message_id", "source_part_id", "source_kind", "source_trust_level")


def spoken(parts: pl.DataFrame, until: pl.DataFrame) -> pl.DataFrame:
    """What may mention something: each field of each part before the last traced call of its run, with its voice.

    Args:
        parts: The parts.
        until: Columns ``session_id``, ``run_id``, ``last``: number of the last message that holds a traced call.
    """
    kept = parts.join(until, on=RUN, how="inner", maintain_order="left").filter(pl.col("sequence_no") < pl.col("last"))
    # Escapes of JSON would glue a letter to what follows; two blanks keep every place.
    data = pl.col("data").str.replace_all(r"\\[nrt]", "  ")
    fields = [
        kept.select(
            *RUN,
            "sequence_no",
            "part_index",
            "message_id",
            "part_id",
            "kind",
            "part_trust_level",
            "path",
            _voice().alias("voice"),
            field=pl.lit(name),
            text=text,
        )
        for name, text in (("text", pl.col("text")), ("data", data), ("summary", pl.col("summary")))
    ]
    return pl.concat(fields).filter(pl.col("text").fill_null("") != "")


def _voice() -> pl.Expr:
    """Who speaks in a part. A refused approval grants nothing and speaks for nobody; no label is untrusted."""
    refused = (pl.col("kind") == "APPROVAL_DECISION") & (
        pl.col("status").is_in(_REFUSED) | pl.col("data").str.contains(r'"outcome"\s*:\s*"denied"')
    ).fill_null(value=False)
    voice = pl.col("part_trust_level").replace_strict(_VOICES, default="untrusted", return_dtype=pl.String)
    return pl.when(refused.fill_null(value=False)).then(pl.lit("nobody")).otherwise(voice.fill_null("untrusted"))


def first_mentions(entities: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """For each entity the first message of each voice that mentions it, and the first untrusted mention itself.

    Args:
        entities: Columns ``entity``, ``session_id``, ``run_id``, ``kind``, ``value``, ``raw``, ``is_inside``,
            ``working_directory``, ``own_path`` (the file whose content it is written into: what that file itself held
            is no source).
        texts: What :func:`spoken` gives.
    """
    needles = needles_of(entities)
    distinct = texts.select("text").unique(maintain_order=True).with_row_index("id")
    mentions = find_mentions(distinct, needles.select("kind", "needle").unique())
    mentions = mentions.with_columns(reads=reads_as_named())
    of_entity = needles.join(entities.select("entity", *RUN, "own_path"), on="entity", how="inner")
    found = (
        texts.join(distinct, on="text", how="inner")
        .join(mentions, on="id", how="inner", suffix="_of_needle")
        .rename({"kind": "source_kind", "kind_of_needle": "kind"})
        .join(of_entity, on=[*RUN, "kind", "needle"], how="inner")
        .filter(pl.col("own_path").is_null() | pl.col("path").is_null() | (pl.col("path") != pl.col("own_path")))
    )
    taints = found.filter((pl.col("voice") == "untrusted") & pl.col("reads") & ~pl.col("clears_only"))
    others = found.filter(
        pl.col("voice").is_in(["person", "tool"]) | ((pl.col("voice") == "model") & ~pl.col("clears_only"))
    )
    return entities.join(_firsts(others), on="entity", how="left").join(_sources(taints), on="entity", how="left")


def _firsts(found: pl.DataFrame) -> pl.DataFrame:
    at = pl.col("sequence_no")
    return found.group_by("entity").agg(
        at.filter(pl.col("voice") == voice).min().alias(f"{voice}_at") for voice in ("person", "tool", "model")
    )


def _sources(taints: pl.DataFrame) -> pl.DataFrame:
    first = taints.sort("entity", "sequence_no", "part_index", "part_id", "field", "start", "end", nulls_last=True)
    first = first.unique("entity", keep="first", maintain_order=True)
    return first.select(
        "entity",
        pl.col("sequence_no").alias("untrusted_at"),
        pl.col("message_id").alias("source_message_id"),
        pl.col("part_id").alias("source_part_id"),
        "source_kind",
        pl.col("part_trust_level").alias("source_trust_level"),
        pl.col("text").alias("source_text"),
        pl.col("start").alias("source_start"),
        pl.col("end").alias("source_end"),
    )


def origin() -> pl.Expr:
    """Where an argument comes from, by what stands before its call: ``trusted``, ``untrusted`` or ``model``."""
    before = {name: pl.when(pl.col(name) < pl.col("sequence_no")).then(pl.col(name)) for name in _FIRST}
    others = pl.min_horizontal(before["tool_at"], before["model_at"])
    untrusted = before["untrusted_at"].is_not_null() & (others.is_null() | (before["untrusted_at"] <= others))
    tool = before["tool_at"].is_not_null() & (before["model_at"].is_null() | (before["tool_at"] <= before["model_at"]))
    return (
        pl.when(before["person_at"].is_not_null())
        .then(pl.lit("trusted"))
        .when(untrusted)
        .then(pl.lit("untrusted"))
        .when(tool)
        .then(pl.lit("trusted"))
        .otherwise(pl.lit("model"))
    )
