"""What a row says about its run as a whole: the task, and how it came out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, RunFacts
from ledgerkit.importers.pieces import verdict_message
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.protocol.vocabulary import Verdict

_PLACES: Final = ("metadata", "info")
_FLAGS: Final = ("resolved", "success", "passed", "correct", "utility")
_SCORES: Final = ("reward", "score")


def facts_of(fields: JsonObject) -> RunFacts:
    """The task, where the row names it."""
    return RunFacts(task_id=_task(fields), repository=nonempty_text(_named(fields, "repo")))


def outcome_messages(fields: JsonObject) -> Iterator[MessageDraft]:
    """A verdict for each outcome that a row records. Where no scale is recorded, the verdict is inconclusive."""
    beside = {name: value for name in ("trial", "exit_status") if (value := _named(fields, name)) is not None}
    for name in (*_FLAGS, *_SCORES):
        value = _named(fields, name)
        if isinstance(value, bool | int | float):
            yield verdict_message(name, _verdict(name, value), {name: value, **beside})
    status = _named(fields, "exit_status")
    if isinstance(status, str | int):
        yield verdict_message("exit status", Verdict.INCONCLUSIVE, {"exit_status": status}, scope="exit")
    security = _named(fields, "security")
    if isinstance(security, bool):
        # Whether true means that the attack failed or succeeded differs from tool to tool.
        yield verdict_message("security", Verdict.INCONCLUSIVE, {"security": security}, scope="security")


def _verdict(name: str, value: float) -> Verdict:
    """A flag says it; so does a reward of one or nothing; anything else is on a scale that is not recorded."""
    if not isinstance(value, bool) and (name == "score" or value not in (0, 1)):
        return Verdict.INCONCLUSIVE
    return Verdict.PASSED if value else Verdict.FAILED


def _task(fields: JsonObject) -> str | None:
    """A benchmark's name for the task; for AgentDojo the suite, the user's task and the injected one."""
    for name in ("instance_id", "task_id"):
        value = _named(fields, name)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    parts = [_named(fields, name) for name in ("suite_name", "user_task_id", "injection_task_id")]
    return "/".join(part for part in parts if isinstance(part, str)) or None if parts[1] else None


def _named(fields: JsonObject, name: str) -> object:
    """A field of the row, or of what it says of itself."""
    if fields.get(name) is not None:
        return fields[name]
    beside = (fields[place] for place in _PLACES if is_object(fields.get(place)))
    return next((each[name] for each in beside if each.get(name) is not None), None)
