"""One reading of a session: header, messages, changes and rewinds, replayed in the order of the file."""

from __future__ import annotations

from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, RecordDraft, RunFacts
from ledgerkit.importers.gemini_cli import messages
from ledgerkit.importers.gemini_cli.messages import NAME, TYPES, blocks_of
from ledgerkit.importers.pieces import digest, micros, note_message, text_part, unknown_message
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.protocol.identifiers import is_uuid
from ledgerkit.protocol.vocabulary import MessageKind, RunRelation, TrustLevel, Visibility

_SAME: Final = "a later version of the message stands below"
_REPEATED: Final = "repeats a message above"
_RESULTS: Final = "/results"


class Reading:
    """The state of one reading.

    Args:
        lines: All lines of the file, to know which version of a message is its last.
    """

    def __init__(self, lines: list[Line]) -> None:
        self._last = {line.value["id"]: line for line in lines if isinstance(line.value.get("id"), str)}
        self._records: list[RecordDraft] = []
        self._session: str | None = None
        self._is_subagent = False
        self._replaces = False
        self._active: list[str] = []
        self._notices: set[str] = set()
        self._tips: dict[str, str] = {}
        self._seen: set[str] = set()
        self._start: str | None = None
        self._latest: list[RecordDraft] = []

    def take(self, item: Line) -> None:
        """Makes records of a line."""
        value = item.value
        before = len(self._records)
        if isinstance(value.get("$rewindTo"), str):
            self._rewind(value, item)
        elif is_object(value.get("$set")):
            self._set(value, item)
        elif isinstance(value.get("sessionId"), str):
            self._header(value, item)
        elif str(value.get("type")) in TYPES and "content" in value:
            self._message(value, item)
        else:
            self._keep(self._draft("unknown", value, item), unknown_message(value, NAME))
        drafts = [draft for draft in self._records[before:] if draft.messages]
        if item.flags and drafts:
            drafts[0].messages[0].metadata = {**drafts[0].messages[0].metadata, "repaired": list(item.flags)}

    def finish(self) -> list[RecordDraft]:
        """The records. The last answer may still be written on: what a later reading finds of it replaces it."""
        for draft in self._latest:
            draft.provisional = True
        return self._records

    def _draft(self, record_type: str, said: Any, item: Line) -> RecordDraft:  # noqa: ANN401 - any JSON value
        draft = RecordDraft(item.number, item.offset, record_type, digest(said), session=self._session)
        if self._is_subagent:
            draft.run_key, draft.relation = self._session, RunRelation.SUBAGENT
        draft.parent = self._tip()
        self._records.append(draft)
        return draft

    def _tip(self, before: int | None = None) -> str | None:
        """The last record of the last message that is no notice: notices must not hide where a branch begins."""
        said = (native for native in reversed(self._active[:before]) if native not in self._notices)
        native = next(said, None)
        return self._start if native is None else self._tips.get(native, native)

    def _keep(self, draft: RecordDraft, *kept: MessageDraft) -> None:
        draft.messages = list(kept)

    def _header(self, value: JsonObject, item: Line) -> None:
        """The head of a session; in the older form all of it."""
        self._session = str(value["sessionId"])
        self._is_subagent = value.get("kind") == "subagent"
        about = {k: v for k, v in value.items() if k not in ("messages", "lastUpdated", "summary") and v is not None}
        draft = self._draft("session", [self._session, "start"], item)
        draft.native_id = self._start = f"{self._session}/start"
        draft.parent = None
        draft.created_at = micros(value.get("startTime"))
        self._keep(draft, note_message({"note": "session", **about}, NAME, TrustLevel.TOOL_TRUSTED))
        self._summary(value, item)
        for message in _listed(value.get("messages")):
            self._listed(message, item)

    def _listed(self, message: object, item: Line) -> None:
        if is_object(message) and str(message.get("type")) in TYPES and "content" in message:
            self._message(message, item, is_line=False)
        else:
            self._keep(self._draft("unknown", message, item), unknown_message(message, NAME))

    def _summary(self, value: JsonObject, item: Line) -> None:
        summary = nonempty_text(value.get("summary"))
        if summary is not None:
            draft = self._draft("summary", ["summary", summary], item)
            draft.facts = RunFacts(title=summary)
            part = text_part(summary, TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE)
            self._keep(draft, MessageDraft(MessageKind.RUN_SUMMARY, "gemini", [part]))

    def _set(self, value: JsonObject, item: Line) -> None:
        """Changed fields; a new list of messages is the context from there on."""
        changed: JsonObject = dict(value["$set"])
        if "summary" in changed:
            self._summary(changed, item)
        listed = changed.pop("messages", None)
        if is_list(listed):
            self._active, self._replaces = [], True
            for message in listed:
                self._listed(message, item)
            self._replaces = False
        rest = {k: v for k, v in changed.items() if k not in ("lastUpdated", "summary", "sessionId")}
        draft = self._draft("$set", value["$set"], item)
        if rest:
            self._keep(draft, note_message({"note": "changed", **rest}, NAME, TrustLevel.UNKNOWN))
        else:
            draft.skipped = "says when the session was last written, or repeats what stands in records of their own"

    def _rewind(self, value: JsonObject, item: Line) -> None:
        """The user went back to before a message: what follows is another branch."""
        target = value["$rewindTo"]
        draft = self._draft("$rewindTo", [value, item.number], item)
        self._keep(draft, note_message({"note": "rewind", "to": target}, NAME, TrustLevel.USER_TRUSTED))
        at = self._active.index(target) if target in self._active else 0
        self._active = self._active[:at]

    def _message(self, message: JsonObject, item: Line, *, is_line: bool = True) -> None:
        kind, native = str(message["type"]), nonempty_text(message.get("id"))
        parent = self._tip(self._active.index(native) if native in self._active else None)
        draft = self._draft(kind, _said(message), item)
        draft.native_id, draft.parent = native, parent
        draft.created_at = micros(message.get("timestamp"))
        if native is not None and is_line and self._last[native] is not item:
            draft.skipped = _SAME
        elif native in self._seen or (not is_line and native in self._last):
            draft.skipped = _REPEATED
        elif kind == "user":
            self._prompt(message, draft)
        elif kind == "gemini":
            self._answer(message, draft, item)
        else:
            self._keep(draft, messages.notice_message(message))
            self._notices.add(native or "")
        self._note(native, draft)

    def _note(self, native: str | None, draft: RecordDraft) -> None:
        if native is None:
            return
        if native not in self._active:
            self._active.append(native)
        if not draft.skipped:
            self._seen.add(native)

    def _prompt(self, message: JsonObject, draft: RecordDraft) -> None:
        content = blocks_of(message.get("content"))
        if content and all("functionResponse" in block for block in content):
            draft.skipped = "results of calls; they stand with the calls"
            return
        draft.messages = messages.prompt_messages(message, is_subagent=self._is_subagent)
        if not draft.messages:
            draft.skipped = "message without content"
            return
        # What a compression puts in the place of earlier messages asks for nothing and begins no branch.
        draft.node = Node.PASSIVE if self._replaces else Node.PROMPT
        self._latest = []

    def _answer(self, message: JsonObject, draft: RecordDraft, item: Line) -> None:
        draft.messages = messages.answer_messages(message)
        # Where neither is there, the client wrote in the model's place.
        draft.is_model_call = bool(message.get("model")) or is_object(message.get("tokens"))
        draft.node = Node.CALL if draft.is_model_call else Node.PASSIVE
        native = draft.native_id or draft.digest
        draft.call_id = native if is_uuid(native) else f"{self._session or ''}/{native}"
        self._latest = [draft]
        returned = messages.result_messages(message)
        if returned:
            results = self._draft("gemini" + _RESULTS, [native, message.get("toolCalls")], item)
            results.native_id, results.parent = native + _RESULTS, draft.native_id
            results.node, results.messages = Node.RESULT, returned
            results.created_at = max(filter(None, map(_time_of, objects_of(message.get("toolCalls")))), default=None)
            self._tips[native] = results.native_id
            self._latest.append(results)


def _listed(value: object) -> list[Any]:
    return value if is_list(value) else []


def _time_of(call: JsonObject) -> int | None:
    return micros(call.get("timestamp"))


def _said(message: JsonObject) -> Any:  # noqa: ANN401 - any JSON value
    """What a message says, the same whether its content is a text or a list of one."""
    blocks = blocks_of(message.get("content"))
    return {**message, "content": blocks}
