"""Records of Claude Code that are not conversation: system notices, attachments, titles, modes, snapshots.

What the model saw of them keeps its true origin; what only the client saw is for audits.
"""

from __future__ import annotations

from ledgerkit.importers.claude_code import blocks, own_words
from ledgerkit.importers.claude_code.conversation import CLIENT
from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft
from ledgerkit.importers.shapes import is_list, is_object
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel, Verdict, Visibility

_AUDIT = Visibility.AUDIT_ONLY
_ENVELOPE = frozenset(
    {
        *("parentUuid", "logicalParentUuid", "uuid", "sessionId", "session_id", "agentId", "slug"),
        *("type", "subtype", "timestamp", "isSidechain", "isMeta", "userType", "entrypoint"),
        *("cwd", "version", "gitBranch"),
    }
)


def system_message(record: JsonObject) -> MessageDraft:
    """A ``system`` record."""
    subtype = record.get("subtype")
    fields = {k: v for k, v in record.items() if k not in _ENVELOPE and v not in (None, "", [])}
    if subtype == "compact_boundary":
        part = blocks.json_part({"note": "compaction", **fields}, TrustLevel.TOOL_TRUSTED, visibility=_AUDIT)
        return MessageDraft(MessageKind.RUN_SUMMARY, CLIENT, [part])
    if subtype in ("api_error", "error", "api_refusal", "model_refusal_fallback"):
        text = record.get("content") if isinstance(record.get("content"), str) else None
        part = PartDraft(
            part_type=PartType.ERROR,
            trust=TrustLevel.TOOL_TRUSTED,
            visibility=Visibility.HUMAN_VISIBLE,
            text=text,
            data=fields or None,
            error_category=subtype,
        )
        return MessageDraft(MessageKind.ERROR_EVENT, CLIENT, [part])
    if subtype == "stop_hook_summary":
        return _stop_hooks(fields)
    if subtype == "local_command":
        text = str(record.get("content", ""))
        is_typed = text.startswith("<command-name>")
        trust = TrustLevel.USER_TRUSTED if is_typed else TrustLevel.REPOSITORY_UNTRUSTED
        part = blocks.text_part(text, trust, visibility=_AUDIT)
        return MessageDraft(MessageKind.TOOL_CALL_RESULT, "shell", [part])
    return _note({"note": subtype, **fields})


def _stop_hooks(fields: JsonObject) -> MessageDraft:
    """Hooks that ran when the agent wanted to stop: only a failure of theirs is a verdict on the work."""
    failed = bool(fields.get("hookErrors")) or fields.get("preventedContinuation") is True
    errors = "\n".join(map(str, listed)) if is_list(listed := fields.get("hookErrors")) else ""
    part = PartDraft(
        part_type=PartType.VERIFICATION,
        trust=own_words.trust_of_hooks(fields),
        visibility=_AUDIT,
        text=errors or None,
        data={"check": "stop hooks", "verdict": Verdict.FAILED if failed else Verdict.INCONCLUSIVE, **fields},
        status=Verdict.FAILED if failed else Verdict.INCONCLUSIVE,
        content_type=blocks.JSON_TYPE,
    )
    return MessageDraft(MessageKind.VERIFIER_RESULT, "stop hook", [part])


def attachment_message(record: JsonObject) -> MessageDraft:
    """An ``attachment`` record: what the client put beside the conversation."""
    body = record.get("attachment")
    body = body if is_object(body) else {"value": body}
    kind = str(body.get("type"))
    if kind in _QUOTED:
        return _said(body, *_QUOTED[kind])
    if kind in ("hook_blocking_error", "hook_non_blocking_error"):
        part = blocks.json_part(body, TrustLevel.REPOSITORY_UNTRUSTED, error_category=kind)
        part.part_type = PartType.ERROR
        return MessageDraft(MessageKind.ERROR_EVENT, "hook", [part])
    if kind == "hook_permission_decision":
        return MessageDraft(MessageKind.APPROVAL_DECISION, "hook", [blocks.json_part(body, TrustLevel.UNKNOWN)])
    if kind == "goal_status" or kind.startswith("hook_"):
        return _hook(body)
    part = blocks.json_part(body, own_words.trust_of_attachment(kind))
    return MessageDraft(MessageKind.DEVELOPER_INSTRUCTION, CLIENT, [part])


_FILE = (MessageKind.FILE_OBSERVATION, CLIENT, "content", TrustLevel.REPOSITORY_UNTRUSTED)
_QUOTED = {
    "nested_memory": (MessageKind.REPOSITORY_INSTRUCTION, "repository", "content", TrustLevel.REPOSITORY_UNTRUSTED),
    "queued_command": (MessageKind.USER_TASK, "user", "prompt", TrustLevel.USER_TRUSTED),
    "file": _FILE,
    "edited_text_file": (MessageKind.FILE_OBSERVATION, CLIENT, "snippet", TrustLevel.REPOSITORY_UNTRUSTED),
    "compact_file_reference": _FILE,
    "directory": _FILE,
    "read_truncation_notice": (MessageKind.FILE_OBSERVATION, CLIENT, "banner", TrustLevel.REPOSITORY_UNTRUSTED),
}
"""Attachments that quote somebody: kind, actor, the field that holds the words, their trust."""


def _hook(body: JsonObject) -> MessageDraft:
    """A hook's output. Its exit code says how the hook ended, not that the work is right."""
    code = body.get("exitCode")
    verdict = Verdict.FAILED if isinstance(code, int) and code else Verdict.INCONCLUSIVE
    part = PartDraft(
        part_type=PartType.VERIFICATION,
        trust=own_words.trust_of_hooks(body),
        text=_text(body.get("content")) or None,
        data={**body, "check": body.get("hookName"), "verdict": verdict},
        status=verdict,
        content_type=blocks.JSON_TYPE,
    )
    return MessageDraft(MessageKind.VERIFIER_RESULT, "hook", [part])


def _said(body: JsonObject, kind: MessageKind, actor: str, key: str, trust: TrustLevel) -> MessageDraft:
    text = _text(body.get(key))
    rest = {k: v for k, v in body.items() if k != key or not text}
    path = next((body[k] for k in ("path", "filename") if isinstance(body.get(k), str)), None)
    part = PartDraft(part_type=PartType.TEXT, trust=trust, text=text or None, data=rest, path=path)
    if kind is MessageKind.FILE_OBSERVATION:
        part.part_type = PartType.FILE_SNIPPET
    return MessageDraft(kind, actor, [part])


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if is_object(content):
        return _text(content.get("content") or content.get("file") or content.get("text"))
    if is_list(content):
        return "\n".join(t for item in content if (t := _text(item)))
    return ""


def plain_message(record: JsonObject) -> MessageDraft | None:
    """A record of one of the known bookkeeping types; ``None`` for a type that is not known."""
    kind = record.get("type")
    rest = {k: v for k, v in record.items() if k not in _ENVELOPE}
    if kind in ("summary", "custom-title", "ai-title", "agent-name"):
        key = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle", "agent-name": "agentName"}[
            kind
        ]
        trust = TrustLevel.USER_TRUSTED if kind == "custom-title" else TrustLevel.MODEL_GENERATED
        text = record.get(key)
        part = PartDraft(
            part_type=PartType.TEXT,
            trust=trust,
            visibility=Visibility.HUMAN_VISIBLE,
            text=text if isinstance(text, str) else None,
            data={"note": kind, **{k: v for k, v in rest.items() if k != key}},
        )
        return MessageDraft(MessageKind.RUN_SUMMARY, CLIENT, [part])
    if kind in ("permission-mode", "mode", "atis-latch"):
        trust = TrustLevel.TOOL_TRUSTED if kind == "atis-latch" else TrustLevel.USER_TRUSTED
        part = blocks.json_part({"note": kind, **rest}, trust, visibility=_AUDIT)
        return MessageDraft(MessageKind.ORG_POLICY, CLIENT, [part], metadata={"derived": ["kind"]})
    if kind == "file-history-snapshot":
        part = blocks.json_part({"note": kind, **rest}, TrustLevel.TOOL_TRUSTED, visibility=_AUDIT)
        return MessageDraft(MessageKind.FILE_OBSERVATION, CLIENT, [part])
    if kind in _NOTES:
        return _note({"note": kind, **rest})
    return None


_NOTES = frozenset(
    {
        *("last-prompt", "pr-link", "worktree-state", "bridge-session", "frame-link"),
        *("relocated", "started", "result", "queue-operation"),
    }
)


def _note(value: JsonObject) -> MessageDraft:
    """A fact about the run that only the client needed. Where it may quote anybody, its trust is unknown."""
    part = blocks.json_part(value, own_words.trust_of_note(str(value.get("note")), value), visibility=_AUDIT)
    return MessageDraft(MessageKind.RUN_SUMMARY, CLIENT, [part])


def unknown_message(record: JsonObject) -> MessageDraft:
    """A record of a type that this version does not know, kept whole."""
    part = PartDraft(
        part_type=PartType.ERROR,
        trust=TrustLevel.UNKNOWN,
        visibility=_AUDIT,
        data=record,
        content_type=blocks.JSON_TYPE,
        error_category="unknown_record",
    )
    return MessageDraft(MessageKind.ERROR_EVENT, CLIENT, [part])
