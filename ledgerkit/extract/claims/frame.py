"""Claims of a ledger's parts: one pass of a pattern over all texts, and a reader for those that may hold one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import polars as pl

from ledgerkit.extract.claims.arguments import spoken_parts
from ledgerkit.extract.claims.changes import count_claims, file_claims
from ledgerkit.extract.claims.checks import verdict_claims
from ledgerkit.extract.claims.deeds import absence_claims, command_claims, done_claims
from ledgerkit.extract.claims.model import CLAIM_SCHEMA, EXTRACTOR_VERSION, Claim, ClaimClass
from ledgerkit.extract.claims.repairs import baseline_claims, fixed_claims
from ledgerkit.extract.claims.units import Unit, units

SPEAKING_KINDS: Final = ("ASSISTANT_RESPONSE", "AGENT_THOUGHT_SUMMARY", "RUN_SUMMARY")
"""Kinds of messages in which a model says what it did."""
_MAY_CLAIM: Final = (
    r"(?i)\b(?:pass(?:es|ed|ing)?|green|clean|succe\w+|fail\w*|fixed|resolved|corrected|gone|broken|happy|"
    r"created|new|wrote|written|saved|generated|updated|modified|changed|edited|refactored|rewrote|added|deleted|removed|renamed|"
    r"found|migrated|converted|replaced|ran|reran|re-ran|executed|committed|pushed|no|zero|nothing|only|anywhere|elsewhere|"
    r"done|completed?|finished|implemented|pre-?existing|already|unrelated|compiles?|builds|ok|"
    r"0\s+(?:lint|eslint|ruff|type|compil|build)\w*)\b|[✅✓✔]"
)
_MAX_UNIT: Final = 1_200
"""A longer sentence is no claim but something else: the patterns' time stays bounded whatever a text holds."""
_UNIT_MAY_CLAIM: Final = re.compile(_MAY_CLAIM)
_READERS: Final[tuple[tuple[ClaimClass, Callable[[Unit], Iterator[Claim]]], ...]] = (
    (ClaimClass.BASELINE, baseline_claims),
    (ClaimClass.VERDICT, verdict_claims),
    (ClaimClass.FIXED, fixed_claims),
    (ClaimClass.ABSENCE, absence_claims),
    (ClaimClass.FILES, file_claims),
    (ClaimClass.COUNT, count_claims),
    (ClaimClass.COMMAND, command_claims),
    (ClaimClass.DONE, done_claims),
)


def read_claims(text: str) -> list[Claim]:
    """The checkable claims of a Markdown text, in order.

    Example:
        >>> [(one.claim_class.value, one.subject) for one in read_claims("All tests pass. I updated `a.py`.")]
        [('verdict', 'test'), ('files', 'modify')]
    """
    found = [
        Claim(
            unit.start + one.start, unit.start + one.end, one.claim_class, one.subject, one.polarity, one.scope,
            one.numbers, one.paths, one.commands,
        )
        for unit in units(text)
        for one in _of_unit(unit)
    ]  # fmt: skip
    return sorted(found, key=lambda one: (one.start, one.end, one.claim_class.value))


def _of_unit(unit: Unit) -> Iterator[Claim]:
    spoken = f"{unit.lead} {unit.masked}" if unit.kind == "bullet" else unit.masked
    if len(unit.masked) > _MAX_UNIT or not _UNIT_MAY_CLAIM.search(spoken):
        return
    seen: set[ClaimClass] = set()
    for claim_class, read in _READERS:
        if claim_class is ClaimClass.VERDICT and ClaimClass.BASELINE in seen:
            continue
        for claim in read(unit):
            seen.add(claim_class)
            yield claim


def claims_frame(parts: pl.DataFrame) -> pl.DataFrame:
    """The checkable claims in what models said.

    Args:
        parts: Rows of the view ``parts``.

    Returns:
        One row a claim, in the order of the messages; columns as in ``CLAIM_SCHEMA``. Only parts that a model wrote
        are read: answers, summaries of its reasoning, summaries of runs, and, where the columns ``data``,
        ``part_type``, ``tool_name`` and ``tool_call_id`` are there, messages of commits and pull requests and the last
        words of tools that end a run. Code blocks, quotations, plans,
        questions, conditions, denials and reports about others hold no claims.
    """
    speaking = (
        spoken_parts(parts)
        .lazy()
        .filter(
            pl.col("kind").is_in(SPEAKING_KINDS),
            pl.col("part_trust_level") == "MODEL_GENERATED",
            pl.col("text").str.contains(_MAY_CLAIM),
            # The title of a session is a summary too, but says nothing at a place of the run.
            (pl.col("kind") != "RUN_SUMMARY") | pl.col("text").str.contains(r"[.!?](?:\s|$)|\n"),
        )
    )
    keys = ["session_id", "run_id", "message_id", "sequence_no", "part_index", "tool_call_id", "step"]
    candidates = speaking.select(*keys, whole="text").collect()
    distinct = candidates.select("whole").unique(maintain_order=True)
    rows = [(whole, *_row(one)) for whole in distinct["whole"] for one in read_claims(whole)]
    names = ("start", "end", "claim_class", "subject", "polarity", "scope", "numbers", "paths", "commands")
    schema = {"whole": pl.String, **{name: CLAIM_SCHEMA[name] for name in names}}
    read = pl.DataFrame(rows, schema=schema, orient="row")
    return (
        candidates.join(read, on="whole", how="inner")
        .with_columns(
            text=pl.col("whole").str.slice(pl.col("start"), pl.col("end") - pl.col("start")),
            extractor_version=pl.lit(EXTRACTOR_VERSION),
        )
        .sort("session_id", "run_id", "sequence_no", "part_index", "start", "end", "claim_class", "subject")
        .select(pl.col(name).cast(dtype) for name, dtype in CLAIM_SCHEMA.items())
    )


def _row(claim: Claim) -> tuple[object, ...]:
    return (
        claim.start, claim.end, claim.claim_class.value, claim.subject, claim.polarity.value, claim.scope.value,
        list(claim.numbers), list(claim.paths), list(claim.commands),
    )  # fmt: skip
