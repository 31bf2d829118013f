"""Which parts a context may hold at all, and why not: an allowlist, so that what nobody thought of stays out.

A part is eligible if its kind is spoken to a model without being selected, the model may see it, its artifacts may be
projected, it holds something, and some step comes after it. ``absence`` gives the first rule that keeps it out.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import polars as pl

from ledgerkit.protocol.requests import may_instruct
from ledgerkit.protocol.roles import ROLE_OF_KIND
from ledgerkit.protocol.vocabulary import Audience, ContextSection, MessageKind, TrustLevel, Visibility
from ledgerkit.strategies.placements import SECTIONS


class Absence(StrEnum):
    """Why a part stands in no context. Where several apply, the first of them is given."""

    UNKNOWN_KIND = "unknown_kind"
    """Its message is of a kind that this version does not know."""
    NOT_SELECTED = "not_selected"
    """Its kind is sent only where a strategy selects it: judge results, approval requests, errors."""
    NOT_VISIBLE = "not_visible"
    """The model never saw it: it is for people, the audit or the runtime."""
    UNKNOWN_TRUST = "unknown_trust"
    """Its trust level is none that this version knows."""
    RESTRICTED = "restricted"
    """Its content is an artifact that is never projected."""
    ERASED = "erased"
    """Its content was erased."""
    EMPTY = "empty"
    """It holds neither text nor data nor an artifact."""
    AFTER_LAST_STEP = "after_last_step"
    """No step of the run came after it."""


_SPOKEN: Final = [kind.value for kind, row in ROLE_OF_KIND.items() if not row.only_if_selected]
_SEEN: Final = [level.value for level in Visibility if Audience.MODEL.may_see(level)]
_MAY_INSTRUCT: Final = [level.value for level in TrustLevel if may_instruct(level)]
_ALWAYS_PINNED: Final = (MessageKind.SYSTEM_INSTRUCTION.value, MessageKind.ORG_POLICY.value)
_PINNED_AT_FIRST: Final = (
    MessageKind.DEVELOPER_INSTRUCTION.value,
    MessageKind.REPOSITORY_INSTRUCTION.value,
    MessageKind.USER_TASK.value,
)
_INSTRUCTING: Final = {
    MessageKind.SYSTEM_INSTRUCTION.value: ContextSection.PLATFORM_POLICY.value,
    MessageKind.ORG_POLICY.value: ContextSection.ORG_POLICY.value,
    MessageKind.DEVELOPER_INSTRUCTION.value: ContextSection.TASK_CONTRACT.value,
    MessageKind.USER_TASK.value: ContextSection.TASK_CONTRACT.value,
}
_RESULTS: Final = {
    MessageKind.FILE_OBSERVATION.value: ContextSection.REPOSITORY_DATA.value,
    MessageKind.DIFF_OBSERVATION.value: ContextSection.VERIFIER.value,
    MessageKind.VERIFIER_RESULT.value: ContextSection.VERIFIER.value,
}
_OWN: Final = {
    MessageKind.REPOSITORY_INSTRUCTION.value: ContextSection.REPOSITORY_INSTRUCTIONS.value,
    MessageKind.VERIFIER_RESULT.value: ContextSection.VERIFIER.value,
    MessageKind.RUN_SUMMARY.value: ContextSection.WORKING_MEMORY.value,
}


def absence() -> pl.Expr:
    """Why a part stands in no context; null if it may.

    Of columns ``kind``, ``part_visibility``, ``part_trust_level``, ``is_restricted``, ``erased``, ``has_content``,
    ``visible_from`` and ``run_steps``.
    """
    rules = {
        Absence.UNKNOWN_KIND: ~pl.col("kind").is_in([kind.value for kind in MessageKind]),
        Absence.NOT_SELECTED: ~pl.col("kind").is_in(_SPOKEN),
        Absence.NOT_VISIBLE: ~pl.col("part_visibility").is_in(_SEEN),
        Absence.UNKNOWN_TRUST: ~pl.col("part_trust_level").is_in([level.value for level in TrustLevel]),
        Absence.RESTRICTED: pl.col("is_restricted"),
        Absence.ERASED: pl.col("erased").is_not_null(),
        Absence.EMPTY: ~pl.col("has_content"),
        Absence.AFTER_LAST_STEP: pl.col("visible_from") >= pl.col("run_steps"),
    }
    # A null is no permission: what a rule cannot tell keeps the part out.
    return pl.coalesce(*(pl.when(rule.fill_null(value=True)).then(pl.lit(name.value)) for name, rule in rules.items()))


def is_pinned() -> pl.Expr:
    """Whether a part stands in every context: instructions, and what the first step was given as its task."""
    at_first = pl.col("kind").is_in(_PINNED_AT_FIRST) & (pl.col("entered") == 0)
    return (pl.col("kind").is_in(_ALWAYS_PINNED) | at_first) & pl.col("tool_call_id").is_null()


def section() -> pl.Expr:
    """The section of a part. A unit's parts stand together, in the section of its result.

    Of columns ``kind``, ``part_trust_level``, ``is_pinned``, ``run``, ``unit`` and ``is_result``. What may not instruct
    never stands in a section that does.
    """
    kind = pl.col("kind")
    results = pl.when(pl.col("is_result")).then(kind.replace_strict(_RESULTS, default=None, return_dtype=pl.String))
    of_unit = results.drop_nulls().first().over("run", "unit")
    instructs = pl.col("is_pinned") & pl.col("part_trust_level").is_in(_MAY_INSTRUCT)
    return pl.coalesce(
        pl.when(instructs).then(kind.replace_strict(_INSTRUCTING, default=None, return_dtype=pl.String)),
        of_unit,
        pl.when(pl.col("tool_call_id").is_null()).then(kind.replace_strict(_OWN, default=None, return_dtype=pl.String)),
        pl.lit(ContextSection.RECENT_MESSAGES.value),
    ).cast(SECTIONS)
