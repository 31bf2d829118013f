"""One reading of a session: its entries as records, in the order and the tree of the file."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from ledgerkit.importers.compactions import keeps_from
from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, PartDraft, RecordDraft, RunFacts
from ledgerkit.importers.pi import messages
from ledgerkit.importers.pieces import JSON_TYPE, digest, micros, note_message, text_part, unknown_message
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_object, nonempty_text, objects_of
from ledgerkit.protocol.identifiers import hash_uuid, is_uuid
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel, Visibility

NAME: Final = "pi"
_PLACE: Final = ("id", "parentId", "firstKeptEntryId", "firstKeptEntryIndex", "fromId", "targetId")
"""Fields that say where an entry stands; a migration of the file changes them."""
_BY_USER: Final = frozenset({"model_change", "thinking_level_change", "label"})


class Reading:
    """The state of one reading.

    Args:
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """

    def __init__(self, *, keep_reasoning: bool) -> None:
        self.records: list[RecordDraft] = []
        self._keep = keep_reasoning
        self._session: str | None = None
        self._start: str | None = None
        self._natives: dict[str, str] = {}
        self._places: list[str | None] = []
        self._behind: dict[str, str | None] = {}
        self._followed: set[str | None] = set()
        self._calls: dict[str, JsonObject] = {}

    def take(self, item: Line) -> str | None:
        """Makes a record of an entry; says why, if it cannot be one."""
        entry = item.value
        kind = entry.get("type")
        message = entry.get("message")
        self._places.append(None)
        if kind == "message" and not is_object(message):
            return "message entry without a message"
        if kind == "session" and nonempty_text(entry.get("id")) is None:
            return "session header without an id"
        draft = self._draft(entry, item)
        if kind == "session":
            self._header(entry, draft)
        elif kind == "message" and is_object(message):
            self._message(message, draft)
        else:
            draft.messages = [self._other(entry, draft)]
        if item.flags and draft.messages:
            draft.messages[0].metadata = {**draft.messages[0].metadata, "repaired": list(item.flags)}
        self._note_branch(draft)
        self.records.append(draft)
        return None

    def _note_branch(self, draft: RecordDraft) -> None:
        """Hangs what opens a branch on the entry where it does: bookkeeping at its head must not hide that."""
        spoken = self._behind.get(draft.parent or "", draft.parent)
        if draft.node is Node.PASSIVE:
            if draft.native_id != self._start:
                self._behind[draft.native_id or ""] = spoken
        elif draft.parent is not None:
            draft.parent = spoken if spoken in self._followed else draft.parent
            self._followed.add(spoken)

    def _draft(self, entry: JsonObject, item: Line) -> RecordDraft:
        said = digest({k: v for k, v in entry.items() if k not in _PLACE})
        native = hash_uuid(NAME, said)
        draft = RecordDraft(
            item.number, item.offset, _record_type(entry), said, session=self._session, native_id=native,
            parent=self._parent(entry), created_at=micros(entry.get("timestamp")),
        )  # fmt: skip
        self._places[-1] = native
        if isinstance(entry.get("id"), str):
            self._natives[entry["id"]] = native
        return draft

    def _parent(self, entry: JsonObject) -> str | None:
        """The entry before it in the tree; the first generation has none, and is a sequence."""
        if "parentId" not in entry:
            return None
        named = entry["parentId"]
        return self._natives.get(named) if isinstance(named, str) else self._start

    def _header(self, entry: JsonObject, draft: RecordDraft) -> None:
        self._session = draft.session = str(entry["id"])
        draft.digest = digest([NAME, self._session])
        draft.native_id = self._start = hash_uuid(NAME, self._session, "start")
        draft.parent = None
        draft.facts = RunFacts(
            working_directory=nonempty_text(entry.get("cwd")), parent_session=_branched_off(entry, self._session)
        )
        about = {k: v for k, v in entry.items() if k != "type"}
        draft.messages = [note_message({"note": "session", **about}, NAME, TrustLevel.TOOL_TRUSTED)]

    def _message(self, message: JsonObject, draft: RecordDraft) -> None:
        role = message.get("role")
        if role == "assistant":
            draft.messages = messages.answer(message, draft.created_at, keep=self._keep)
            draft.node, draft.is_model_call, draft.call_id = Node.CALL, True, f"{NAME}:{draft.native_id}"
            self._calls |= {b["id"]: b for b in objects_of(message.get("content")) if isinstance(b.get("id"), str)}
        elif role == "toolResult":
            call = self._calls.get(str(message.get("toolCallId")), {})
            draft.messages, draft.node = messages.result(message, call), Node.RESULT
        elif role == "user":
            draft.messages, draft.node = messages.prompt(message), Node.PROMPT
        elif role == "bashExecution":
            draft.messages = [messages.user_command(message)]
        elif role in ("custom", "hookMessage"):
            draft.messages = [messages.extension_message(message)]
        elif role in ("compactionSummary", "branchSummary"):
            draft.messages = [_summary(message, "repeated summary")]
        else:
            draft.messages = [unknown_message({"message": message}, NAME)]

    def _other(self, entry: JsonObject, draft: RecordDraft) -> MessageDraft:
        kind = str(entry.get("type"))
        rest = {k: v for k, v in entry.items() if k not in ("type", "timestamp", "id", "parentId")}
        if kind in ("compaction", "branch_summary"):
            draft.node = Node.PROMPT if kind == "branch_summary" else Node.PASSIVE
            summary = _summary(entry, str(kind).replace("_", " "))
            summary.compaction = keeps_from(self._first_kept(entry)) if kind == "compaction" else None
            return summary
        if kind == "custom_message":
            return messages.extension_message(entry)
        if kind == "session_info" and (name := nonempty_text(entry.get("name"))):
            draft.facts = RunFacts(title=name)
            part = text_part(name, TrustLevel.USER_TRUSTED, visibility=Visibility.HUMAN_VISIBLE)
            return MessageDraft(MessageKind.RUN_SUMMARY, "user", [part])
        if kind in _BY_USER:
            return note_message({"note": kind, **rest}, "user", TrustLevel.USER_TRUSTED)
        if kind in ("custom", "context_transform", "ephemeral", "session_info"):
            return note_message({"note": kind, **rest}, NAME, TrustLevel.UNKNOWN)
        return unknown_message(entry, NAME)

    def _first_kept(self, entry: JsonObject) -> str | None:
        """The record from which a compaction keeps everything; the first generation counts lines, its header as 0."""
        named, place = entry.get("firstKeptEntryId"), entry.get("firstKeptEntryIndex")
        if isinstance(named, str):
            return self._natives.get(named)
        if not isinstance(place, int) or isinstance(place, bool):
            return None
        return self._places[place] if 0 < place < len(self._places) else None


def _branched_off(header: JsonObject, own: str) -> str | None:
    """The session that this one was branched off: the header names its file, and the file's name its id."""
    named = nonempty_text(header.get("parentSession")) or nonempty_text(header.get("branchedFrom")) or ""
    parent = PurePath(named.replace("\\", "/")).name.removesuffix(".jsonl").rpartition("_")[2]
    return parent.lower() if is_uuid(parent) and parent.lower() != own.lower() else None


def _record_type(entry: JsonObject) -> str:
    message = entry.get("message")
    role = message.get("role") if is_object(message) else None
    return f"{entry.get('type')}/{role}" if isinstance(role, str) else str(entry.get("type"))


def _summary(entry: JsonObject, note: str) -> MessageDraft:
    """What a model (or an extension in its place) wrote for the messages before."""
    trust = TrustLevel.UNKNOWN if entry.get("fromHook") is True else TrustLevel.MODEL_GENERATED
    kept = ("firstKeptEntryId", "firstKeptEntryIndex", "tokensBefore", "fromId", "details")
    part = PartDraft(
        part_type=PartType.JSON,
        trust=trust,
        text=nonempty_text(entry.get("summary")),
        data={"note": note, **{k: entry[k] for k in kept if entry.get(k) is not None}},
        content_type=JSON_TYPE,
    )
    return MessageDraft(MessageKind.RUN_SUMMARY, "pi" if trust is TrustLevel.UNKNOWN else "assistant", [part])
