"""Scores: what a program checked is a verdict, what a model judged is a judgement."""

from __future__ import annotations

from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft
from ledgerkit.importers.pieces import json_part, verdict_message
from ledgerkit.importers.shapes import is_object
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Verdict, Visibility

_PASSED, _FAILED, _OPEN = Verdict.PASSED, Verdict.FAILED, Verdict.INCONCLUSIVE
_LETTERS: Final = {"C": _PASSED, "I": _FAILED, "N": _FAILED, "P": _OPEN}
_WORDS: Final = {"yes": _PASSED, "true": _PASSED, "no": _FAILED, "false": _FAILED}
_SHORT: Final = 20
"""A value that is longer is no grade: it may be an answer, in the model's words."""


def verdict_of(value: object, *, is_share: bool) -> Verdict:
    """What a value says: a letter or flag itself, one or nothing where it is a share of right answers."""
    if isinstance(value, bool):
        return _PASSED if value else _FAILED
    if isinstance(value, str):
        return _LETTERS.get(value) or _WORDS.get(value.lower()) or _OPEN
    if is_share and isinstance(value, int | float) and value in (0, 1):
        return _PASSED if value else _FAILED
    return _OPEN


def is_judged(name: str, score: JsonObject, graders: set[str]) -> bool:
    """Whether a model gave a score: one was asked in the scorer, or the scorer keeps what it was told."""
    about = score.get("metadata")
    return name in graders or name.startswith("model_graded") or (is_object(about) and "grading" in about)


def score_message(
    name: str,
    score: Any,  # noqa: ANN401 - any JSON value
    *,
    judged: bool,
    is_share: bool,
    scope: str,
    answered: str = "",
) -> MessageDraft:
    """A score.

    Args:
        name: The scorer.
        score: Its value, with the answer that it was given for and why.
        judged: Whether a model gave it.
        is_share: Whether a number is the share of right answers.
        scope: What it is about: the whole run, or something within it.
        answered: What the model answered at last.
    """
    value = score.get("value") if is_object(score) else score
    verdict = verdict_of(value, is_share=is_share)
    if judged:
        said = {"check": name, "scope": scope, "verdict": verdict.value, **(score if is_object(score) else {})}
        part = json_part(said, TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE)
        return MessageDraft(MessageKind.JUDGE_RESULT, name, [part])
    is_grade = isinstance(value, int | float) or (isinstance(value, str) and len(value) <= _SHORT)
    message = verdict_message(name, verdict, {"value": value} if is_grade else {}, scope=scope)
    beside = {k: v for k, v in score.items() if v is not None} if is_object(score) else {"value": value}
    if is_grade:
        beside.pop("value", None)
    if beside:
        # An explanation may quote a program's output: apart from what the scorer says.
        message.parts.append(json_part(beside, _trust_of(beside, answered), visibility=Visibility.HUMAN_VISIBLE))
    return message


def _trust_of(beside: JsonObject, answered: str) -> TrustLevel:
    """Words that stand in the model's last answer are the model's; a scorer may write them in small letters."""
    said = answered.lower()
    own = all(isinstance(value, str) and value.strip().lower() in said for value in beside.values())
    return TrustLevel.MODEL_GENERATED if own and said else TrustLevel.UNKNOWN
