"""What a trajectory says of its run as a whole: the task, the agent, the run's figures, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from ledgerkit.importers.drafts import JsonObject, MessageDraft, RunFacts
from ledgerkit.importers.patches import is_patch, patch_parts
from ledgerkit.importers.pieces import json_part, note_message, text_part, verdict_message
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Verdict, Visibility

NAME: Final = "swe-agent"
_NOT_KEPT: Final = frozenset(
    {"model_stats", "submission", "review", "edited_files30", "edited_files50", "edited_files70"}
)
_NO_TASKS: Final = frozenset({"main", "swe_main", "tmp"})
"""What the environment is called where it is not called after its task."""


def config_of(run: JsonObject) -> JsonObject:
    """The configuration that the agent kept to repeat the run; empty if it kept none."""
    kept = run.get("replay_config")
    if isinstance(kept, str):
        try:
            kept = msgspec.json.decode(kept)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return {}
    return kept if is_object(kept) else {}


def model_of(config: JsonObject) -> str | None:
    """The model that the run was configured to ask."""
    return nonempty_text(_at(config, "agent", "model", "name"))


def facts_of(run: JsonObject, config: JsonObject, first_state: JsonObject) -> RunFacts:
    """The run's task, repository and place."""
    info: object = run.get("info")
    place = nonempty_text(run.get("environment"))
    named = nonempty_text(_at(config, "problem_statement", "id"))
    return RunFacts(
        task_id=named or (place if place not in _NO_TASKS else None),
        repository=nonempty_text(_at(config, "env", "repo", "github_url")),
        working_directory=nonempty_text(first_state.get("working_dir")),
        agent_version=nonempty_text(info.get("swe_agent_version")) if is_object(info) else None,
    )


def _at(value: Any, *names: str) -> object:  # noqa: ANN401 - any JSON value
    for name in names:
        value = value.get(name) if is_object(value) else None
    return value


def info_messages(info: JsonObject, config: JsonObject, environment: object, asked: str) -> Iterator[MessageDraft]:
    """The run's figures and settings, what it handed in, what a reviewer said of it, how it ended.

    Args:
        info: What the agent keeps of the run.
        config: Its configuration.
        environment: Where it ran.
        asked: The last command of the model.
    """
    stats = info.get("model_stats")
    if is_object(stats) and stats:
        # Tokens of the whole run. No call has them: which call took how many is not recorded.
        yield note_message({"note": "model_stats", **stats}, NAME, TrustLevel.TOOL_TRUSTED)
    about = {name: value for name, value in info.items() if name not in _NOT_KEPT}
    about |= {"environment": environment, "config": config}
    yield note_message({"note": "run", **{k: v for k, v in about.items() if v}}, NAME, TrustLevel.UNKNOWN)
    submission = info.get("submission")
    if isinstance(submission, str) and submission.strip():
        yield _submitted(submission, asked)
    elif submission:
        yield MessageDraft(MessageKind.RUN_SUMMARY, NAME, [json_part(submission, TrustLevel.UNKNOWN)])
    if review := info.get("review"):
        part = json_part(review, TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE)
        yield MessageDraft(MessageKind.JUDGE_RESULT, "reviewer", [part])
    status = info.get("exit_status")
    if isinstance(status, str | int) and status != "":
        handed_in = bool(submission)
        yield verdict_message("exit status", Verdict.INCONCLUSIVE, {"exit_status": status, "submitted": handed_in})


def _submitted(submission: str, asked: str) -> MessageDraft:
    """What a run handed in: a patch, or an answer. One that the model's last command spells out is the model's."""
    if is_patch(submission):
        return MessageDraft(MessageKind.DIFF_OBSERVATION, NAME, patch_parts(submission), metadata={"submission": True})
    trust = TrustLevel.MODEL_GENERATED if submission.strip() in asked else TrustLevel.UNKNOWN
    part = text_part(submission, trust, visibility=Visibility.HUMAN_VISIBLE)
    part.data = {"note": "submission"}
    return MessageDraft(MessageKind.RUN_SUMMARY, NAME, [part])


def state_of(step: JsonObject) -> JsonObject:
    """The state of the environment after a step: an object, or in 0.x a JSON text."""
    state = step.get("state")
    if isinstance(state, str):
        try:
            state = msgspec.json.decode(state)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return {}
    return state if is_object(state) else {}


def attempts_of(document: JsonObject) -> list[Any]:
    """The attempts of the retry agent; none for a run by itself."""
    attempts = document.get("attempts")
    return attempts if is_list(attempts) else []
