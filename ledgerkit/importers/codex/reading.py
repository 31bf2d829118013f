"""One reading of a rollout: its records in order, each with what it is known by and the model call that wrote it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ledgerkit.importers.codex.calls import ModelCalls
from ledgerkit.importers.codex.envelope import NAME, Entry, thread_of
from ledgerkit.importers.codex.events import take_event
from ledgerkit.importers.codex.identity import Identity, identities
from ledgerkit.importers.codex.items import take_item
from ledgerkit.importers.codex.replaced import kept_by
from ledgerkit.importers.codex.scene import Scene
from ledgerkit.importers.codex.settings import take_header, take_settings, take_world
from ledgerkit.importers.codex.spoken import NEAR, typed_texts
from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, PartDraft, RecordDraft
from ledgerkit.importers.pieces import JSON_TYPE, note_message, unknown_message
from ledgerkit.importers.shapes import is_list, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel

_ROLLED_BACK: Final = "thread_rolled_back"


class Reading:
    """The state of one reading.

    Args:
        entries: All records of the file.
        file_name: Its name.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
        measure: Content id of a text that is not kept.
    """

    def __init__(
        self, entries: list[Entry], file_name: str, *, keep_reasoning: bool, measure: Callable[[bytes | str], str]
    ) -> None:
        self._entries = entries
        self._thread = thread_of(entries, file_name)
        self._identities = identities(entries, self._thread)
        self._calls = ModelCalls(entries, self._identities)
        self._scene = Scene(self._thread, typed_texts(entries), keep_reasoning)
        self._measure = measure
        self._headers = 0
        self._before: str | None = None
        self._prompts: list[str | None] = []
        self._branch: str | None = None

    def records(self) -> list[RecordDraft]:
        """The records of the file."""
        return [self._record(place, entry) for place, entry in enumerate(self._entries)]

    def _record(self, place: int, entry: Entry) -> RecordDraft:
        known: Identity = self._identities[place]
        draft = RecordDraft(
            entry.item.number, entry.item.offset, entry.record_type, known.digest, session=self._thread.session,
            native_id=known.native, run_key=self._thread.run_key, relation=self._thread.relation,
            created_at=entry.at,
        )  # fmt: skip
        self._scene.place = place
        self._take(entry, draft)
        self._written(place, draft)
        # What may be told better once the file has grown: a call whose count is to come, a text before its event.
        is_last_word = self._scene.typed and _is_doubtful(draft) and place >= len(self._entries) - NEAR
        draft.provisional = bool(draft.messages) and (place in self._calls.open or bool(is_last_word))
        if entry.item.flags and draft.messages:
            first = draft.messages[0]
            first.metadata = {**first.metadata, "repaired": list(entry.item.flags)}
        self._note_place(entry, draft)
        return draft

    def _take(self, entry: Entry, draft: RecordDraft) -> None:
        if entry.top == "response_item":
            take_item(self._scene, entry, draft)
        elif entry.top == "event_msg":
            take_event(self._scene, entry, draft)
        elif entry.top == "session_meta":
            self._headers += 1
            take_header(self._scene, entry.payload, draft, is_own=self._headers == 1)
        elif entry.top == "turn_context":
            take_settings(self._scene, "turn", entry.payload, draft)
        elif entry.top == "world_state":
            take_world(self._scene, entry.payload, draft)
        elif entry.top == "compacted":
            draft.messages = [self._compaction(entry.payload)]
        elif entry.top == "state":
            draft.skipped = "says that the client kept its state"
        elif entry.top == "inter_agent_communication_metadata":
            draft.messages = [note_message({"note": entry.top, **entry.payload}, NAME, TrustLevel.UNKNOWN)]
        else:
            draft.messages = [unknown_message(entry.item.value, NAME)]

    def _compaction(self, payload: JsonObject) -> MessageDraft:
        """The summary that takes the place of what stands above. The list of what takes it repeats that, too."""
        listed = payload.get("replacement_history")
        listed = listed if is_list(listed) else []
        data: dict[str, Any] = {"note": "compaction", "replacement_items": len(listed)}
        if listed:
            data["replacement_content_id"] = self._measure(repr(listed))
        rest = {k: v for k, v in payload.items() if k not in ("message", "replacement_history") and v is not None}
        self._scene.compacted = self._scene.place
        part = PartDraft(
            part_type=PartType.JSON,
            trust=TrustLevel.MODEL_GENERATED,
            text=nonempty_text(payload.get("message")),
            data={**data, **rest},
            content_type=JSON_TYPE,
        )
        place = self._scene.place
        rule = kept_by(payload, self._entries[:place], self._identities[:place])
        return MessageDraft(MessageKind.RUN_SUMMARY, "assistant", [part], compaction=rule)

    def _written(self, place: int, draft: RecordDraft) -> None:
        """Names the model call that wrote a record, and what it used."""
        call_id = self._calls.of.get(place)
        if call_id is None or not draft.messages:
            return
        draft.call_id, draft.is_model_call = call_id, True
        usage = self._calls.usage.get(place)
        if usage is None:
            draft.node = Node.CALL
        for message in draft.messages:
            message.model, message.provider = self._scene.model, self._scene.provider
        draft.messages[0].usage = usage

    def _note_place(self, entry: Entry, draft: RecordDraft) -> None:
        """Where the user went back some turns, the next prompt begins a branch behind what stands before them."""
        if (entry.top, entry.kind) == ("event_msg", _ROLLED_BACK):
            turns = entry.payload.get("num_turns")
            back = turns if isinstance(turns, int) and 0 < turns <= len(self._prompts) else 0
            if back:
                self._branch = self._prompts[-back]
                del self._prompts[-back:]
        elif draft.node is Node.PROMPT:
            draft.parent, self._branch = self._branch, None
            self._prompts.append(draft.parent or self._before)
        if draft.messages and (draft.node is not Node.PASSIVE or self._before is None):
            self._before = draft.native_id


def _is_doubtful(draft: RecordDraft) -> bool:
    """Whether a text in the user's place is said to be typed by no event, yet."""
    return draft.record_type == "response_item/message" and any(
        message.kind is MessageKind.USER_TASK and part.trust is TrustLevel.UNKNOWN
        for message in draft.messages
        for part in message.parts
    )
