"""What a rollout says of the thread and of its turns: headers, settings, the state of the world."""

from __future__ import annotations

from typing import Final

from ledgerkit.importers.codex.envelope import NAME, said_digest
from ledgerkit.importers.codex.scene import Scene
from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft, RecordDraft, RunFacts
from ledgerkit.importers.pieces import json_part, text_part
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Visibility

_OWN: Final = frozenset({
    *("cwd", "workspace_roots", "approval_policy", "approvals_reviewer", "sandbox_policy", "permission_profile"),
    *("file_system_sandbox_policy", "active_permission_profile", "network", "model", "model_provider_id", "effort"),
    *("reasoning_effort", "summary", "reasoning_summary", "service_tier", "personality", "truncation_policy"),
})  # fmt: skip
"""Settings of the client; what else stands there may hold anybody's words."""
_PASSING: Final = frozenset({"turn_id", "current_date", "timezone", "user_instructions", "developer_instructions"})
_HEADER: Final = frozenset({"base_instructions", "instructions", "dynamic_tools"})
_UNCHANGED: Final = "repeats the settings above"


def take_header(scene: Scene, payload: JsonObject, draft: RecordDraft, *, is_own: bool) -> None:
    """A header: the thread's own, or that of an ancestor, copied with its records."""
    note = {"note": "session", **{k: v for k, v in payload.items() if k not in _HEADER and v is not None}}
    parts = [_audit(note, TrustLevel.TOOL_TRUSTED)]
    if payload.get("dynamic_tools"):
        parts.append(_audit({"dynamic_tools": payload["dynamic_tools"]}, TrustLevel.UNKNOWN))
    draft.messages = [MessageDraft(MessageKind.RUN_SUMMARY, NAME, parts)]
    base = payload.get("base_instructions")
    base = nonempty_text(base.get("text")) if is_object(base) else nonempty_text(base)
    if base and base not in scene.instructions:
        part = text_part(base, TrustLevel.ORG_TRUSTED)
        draft.messages.append(MessageDraft(MessageKind.SYSTEM_INSTRUCTION, NAME, [part]))
        scene.instructions.add(base)
    _repository_instructions(scene, payload.get("instructions"), draft)
    scene.provider = nonempty_text(payload.get("model_provider")) or scene.provider
    if is_own:
        git = payload.get("git")
        git = git if is_object(git) else {}
        draft.facts = RunFacts(
            working_directory=nonempty_text(payload.get("cwd")),
            branch=nonempty_text(git.get("branch")),
            repository=nonempty_text(git.get("repository_url")),
            agent_version=nonempty_text(payload.get("cli_version")),
            parent_run=None if scene.thread.is_apart else scene.thread.parent,
            parent_session=scene.thread.parent if scene.thread.is_apart else None,
        )


def take_settings(scene: Scene, source: str, payload: JsonObject, draft: RecordDraft) -> None:
    """The settings of a turn: a policy, and the instructions that hold in it. Unchanged ones are said once."""
    scene.model = nonempty_text(payload.get("model")) or scene.model
    lasting = {k: v for k, v in payload.items() if k not in _PASSING and v is not None}
    digest = said_digest(lasting)
    if scene.settings.get(source) != digest:
        own = {k: v for k, v in lasting.items() if k in _OWN}
        rest = {k: v for k, v in lasting.items() if k not in _OWN}
        parts = [_audit(own, TrustLevel.TOOL_TRUSTED)] if own else []
        parts += [_audit(rest, TrustLevel.UNKNOWN)] if rest else []
        if parts:
            policy = MessageDraft(MessageKind.ORG_POLICY, NAME, parts, metadata={"derived": ["kind"]})
            draft.messages = [policy]
    scene.settings[source] = digest
    _repository_instructions(scene, payload.get("user_instructions"), draft)
    told = nonempty_text(payload.get("developer_instructions"))
    if told and told not in scene.instructions:
        scene.instructions.add(told)
        part = text_part(told, TrustLevel.UNKNOWN, visibility=Visibility.AUDIT_ONLY)
        draft.messages = [*draft.messages, MessageDraft(MessageKind.DEVELOPER_INSTRUCTION, "developer", [part])]
    if not draft.messages:
        draft.skipped = _UNCHANGED


def take_world(scene: Scene, payload: JsonObject, draft: RecordDraft) -> None:
    """The state of the world as the client knew it; AGENTS.md is the repository's."""
    state = payload.get("state")
    state = state if is_object(state) else {}
    digest = said_digest(state)
    if scene.settings.get("world") == digest:
        draft.skipped = "repeats the state above"
        return
    scene.settings["world"] = digest
    agents = state.get("agents_md")
    rest = {**payload, "state": {k: v for k, v in state.items() if k != "agents_md"}}
    about = {"note": "world_state", **rest}
    draft.messages = [MessageDraft(MessageKind.RUN_SUMMARY, NAME, [_audit(about, TrustLevel.UNKNOWN)])]
    _repository_instructions(scene, agents.get("text") if is_object(agents) else agents, draft)


def _repository_instructions(scene: Scene, text: object, draft: RecordDraft) -> None:
    """AGENTS.md and the like. The model was shown them in an item of its context, so these are for audits."""
    told = nonempty_text(text)
    if told is None or told in scene.instructions:
        return
    scene.instructions.add(told)
    part = text_part(told, TrustLevel.REPOSITORY_UNTRUSTED, visibility=Visibility.AUDIT_ONLY)
    draft.messages = [*draft.messages, MessageDraft(MessageKind.REPOSITORY_INSTRUCTION, "repository", [part])]


def _audit(value: JsonObject, trust: TrustLevel) -> PartDraft:
    return json_part(value, trust, visibility=Visibility.AUDIT_ONLY)
