"""Rows of an evaluation: the run of an instance, what it cost, and how it came out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, RecordDraft, RunFacts
from ledgerkit.importers.openhands.records import NAME, Origin, draft_of, error_message, is_sdk, usage_of
from ledgerkit.importers.openhands.sdk import SdkReading
from ledgerkit.importers.openhands.v0 import V0Reading
from ledgerkit.importers.pieces import note_message, text_part, verdict_message
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Verdict, Visibility

_FLAGS: Final = ("resolved", "passed", "success", "correct")
_SCORES: Final = ("score", "reward")
_PATCH: Final = "git_patch"
_APART: Final = frozenset({"history", "metrics", "test_result", "report", "error", "instruction", "instance_id"})


def row_records(item: Line, *, keep_reasoning: bool) -> Iterator[RecordDraft]:
    """The records of a row: its events, then what the evaluation says of the run."""
    row: JsonObject = item.value
    metrics = row.get("metrics")
    metrics = metrics if is_object(metrics) else {}
    usages = {
        usage["response_id"]: usage
        for usage in objects_of(metrics.get("token_usages"))
        if nonempty_text(usage.get("response_id"))
    }
    instance = row.get("instance")
    instance_id = nonempty_text(row.get("instance_id"))
    events = [(item, event) for event in _flat(row["history"])]
    reading = reading_of(Origin(item, instance_id, usages), events, keep_reasoning=keep_reasoning)
    facts: RunFacts | None = RunFacts(
        task_id=instance_id, repository=nonempty_text(instance.get("repo")) if is_object(instance) else None
    )
    for draft in reading.records():
        draft.facts, facts = (None, facts) if draft.skipped else (facts, None)
        yield draft
    for response_id, usage in usages.items():
        if response_id not in reading.answered:
            yield _unseen(item, usage, response_id, reading.session)
    draft = draft_of(item, "row", {k: v for k, v in row.items() if k != "history"}, reading.session, _messages(row))
    draft.facts = facts
    yield draft


def reading_of(origin: Origin, events: list[tuple[Line, Any]], *, keep_reasoning: bool) -> V0Reading | SdkReading:
    """A reading of a stream, of the generation that its events are of."""
    made = SdkReading if any(is_sdk(event) for _, event in events[:3]) else V0Reading
    return made(origin, events, keep_reasoning=keep_reasoning)


def _flat(history: list[Any]) -> Iterator[Any]:
    """The events; older rows hold pairs of an action and its observation."""
    for event in history:
        yield from event if is_list(event) else (event,)


def _unseen(item: Line, usage: JsonObject, response_id: str, session: str) -> RecordDraft:
    """A model call that no event is of (a condenser's, an answer that could not be used)."""
    model = nonempty_text(usage.get("model"))
    message = note_message({"note": "model call", "response_id": response_id}, NAME, TrustLevel.TOOL_TRUSTED)
    message.model, message.usage = model, usage_of(usage)
    draft = draft_of(item, "metrics/token_usage", usage, session, [message])
    draft.node, draft.is_model_call, draft.call_id = Node.PASSIVE, True, f"{session}/{response_id}"
    return draft


def _messages(row: JsonObject) -> list[MessageDraft]:
    metrics = row.get("metrics")
    about = {k: v for k, v in row.items() if k not in _APART and v}
    totals = {k: v for k, v in metrics.items() if k.startswith("accumulated")} if is_object(metrics) else {}
    out = [note_message({"note": "evaluation", **about, "metrics": totals}, NAME, TrustLevel.UNKNOWN)]
    error = nonempty_text(row.get("error"))
    if error is not None:
        out.append(error_message(error, "run_error", is_shown=False))
        out.append(verdict_message("exit status", Verdict.INCONCLUSIVE, {"exit_status": "error"}))
    result = row.get("test_result")
    result = result if is_object(result) else {}
    patch = nonempty_text(result.get(_PATCH)) or nonempty_text(row.get(_PATCH))
    if patch is not None:
        # Text and no change: the edits that it sums up are changes already.
        part = text_part(patch, TrustLevel.REPOSITORY_UNTRUSTED, visibility=Visibility.HUMAN_VISIBLE)
        part.content_type = "text/x-diff"
        out.append(MessageDraft(MessageKind.DIFF_OBSERVATION, NAME, [part], metadata={"submission": True}))
    rest = {k: v for k, v in result.items() if k not in (_PATCH, "report")}
    if rest:
        out.append(note_message({"note": "test_result", **rest}, NAME, TrustLevel.UNKNOWN))
    for report in (result, result.get("report"), row.get("report")):
        if is_object(report):
            out += _verdicts(report)
    return out


def _verdicts(report: JsonObject) -> Iterator[MessageDraft]:
    """A verdict for each outcome in a report. The scale of a score is not recorded, so it proves nothing."""
    beside = {k: v for k, v in report.items() if isinstance(v, bool | int | float)}
    for name in (name for name in (*_FLAGS, *_SCORES) if name in beside):
        verdict = Verdict.INCONCLUSIVE
        if isinstance(beside[name], bool):
            verdict = Verdict.PASSED if beside[name] else Verdict.FAILED
        yield verdict_message(name, verdict, beside)
