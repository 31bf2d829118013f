"""Items of the model's context as messages: what was said, reasoning, calls and their results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ledgerkit.importers.codex import patches, tools
from ledgerkit.importers.codex.envelope import NAME, Entry, said_digest
from ledgerkit.importers.codex.scene import Scene
from ledgerkit.importers.codex.spoken import (
    Piece,
    blocks_of,
    by_developer,
    grouped,
    is_image,
    said_by_user,
    shown,
    speaker_of,
)
from ledgerkit.importers.codex.tools import Asked
from ledgerkit.importers.drafts import JsonObject, Link, MessageDraft, Node, PartDraft, RecordDraft
from ledgerkit.importers.pieces import (
    arguments_of,
    call_part,
    media_part,
    note_message,
    reasoning_part,
    text_part,
    unknown_message,
)
from ledgerkit.importers.shapes import is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel, Visibility

REPEATED: Final = "repeats what stands above in another form"
_HOSTED: Final = {"local_shell_call": "local_shell", "web_search_call": "web_search", "tool_search_call": "tool_search",
                  "image_generation_call": "image_generation"}  # fmt: skip
_ASKED: Final = ("arguments", "input", "action")


def take_item(scene: Scene, entry: Entry, draft: RecordDraft) -> None:
    """Makes messages of an item."""
    kind, payload = entry.kind, entry.payload
    if kind == "message":
        _message(scene, payload, draft)
    elif kind == "reasoning":
        draft.messages = grouped(_reasoning(scene, payload))
    elif kind.endswith("_call"):
        draft.messages = [_call(scene, kind, payload, entry.at)]
    elif kind.endswith("_output"):
        draft.messages, draft.node = [_result(scene, kind, payload, draft)], Node.RESULT
    elif kind == "agent_message":
        parts = [_from_agent(block) for block in blocks_of(payload.get("content"))]
        actor = nonempty_text(payload.get("author")) or "agent"
        draft.messages = [MessageDraft(MessageKind.USER_TASK, actor, parts or [_nothing()])]
    elif kind in ("compaction", "context_compaction", "compaction_summary"):
        sealed = payload.get("encrypted_content")
        note = {"note": "sealed compaction", "sealed_bytes": len(sealed) if isinstance(sealed, str) else 0}
        draft.messages = [note_message(note, NAME, TrustLevel.MODEL_GENERATED)]
    elif kind == "ghost_snapshot":
        draft.messages = [note_message({"note": kind, **payload}, NAME, TrustLevel.TOOL_TRUSTED)]
    else:
        draft.messages = [unknown_message(entry.item.value, NAME)]


def _message(scene: Scene, payload: JsonObject, draft: RecordDraft) -> None:
    role, blocks = payload.get("role"), blocks_of(payload.get("content"))
    if role == "user":
        draft.messages = grouped(iter(_of_user(scene, blocks)))
    elif role == "assistant":
        text = "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
        is_repeated = scene.repeats.repeats("item", "assistant", text, scene.place)
        scene.answer = text
        kept = [b for b in blocks if (is_image(b) if is_repeated else "image_url" not in b or is_image(b))]
        parts = [shown(block, TrustLevel.MODEL_GENERATED) for block in kept]
        if parts:
            draft.messages = [MessageDraft(MessageKind.ASSISTANT_RESPONSE, scene.actor, parts)]
    elif role == "system":
        parts = [shown(block, TrustLevel.ORG_TRUSTED) for block in blocks]
        draft.messages = [MessageDraft(MessageKind.SYSTEM_INSTRUCTION, NAME, parts)] if parts else []
    elif role == "developer":
        draft.messages = grouped(by_developer(block) for block in blocks)
    else:
        draft.messages = [unknown_message(payload, NAME)]
    if any(message.kind is MessageKind.USER_TASK for message in draft.messages):
        draft.node = Node.PROMPT
    if not draft.messages:
        draft.skipped = REPEATED if blocks else "item without content"


def _of_user(scene: Scene, blocks: list[JsonObject]) -> list[Piece]:
    """What stands in the user's place. The texts of a person are one text, however many blocks hold them."""
    anyone = scene.person()
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    joined = "".join(text for text in texts if speaker_of(text, anyone) == anyone or scene.is_agents(text))
    is_repeated = scene.repeats.repeats("item", "user", joined, scene.place)
    person = scene.person(joined)
    pieces: list[Piece] = []
    for block in blocks:
        text = block.get("text")
        if isinstance(text, str):
            is_input = scene.is_agents(text)
            is_persons = is_input or speaker_of(text, anyone) == anyone
            pieces += [] if is_repeated and is_persons else said_by_user(text, person, is_input=is_input)
        elif is_image(block) and not (is_repeated and scene.repeats.repeats("item", "image", block["image_url"], 0)):
            kind, actor, trust = person
            pieces.append((kind, actor, shown(block, trust)))
        elif "image_url" not in block:
            pieces.append((MessageKind.USER_TASK, "user", shown(block, TrustLevel.UNKNOWN)))
    return pieces


def _reasoning(scene: Scene, payload: JsonObject) -> Iterator[Piece]:
    """Reasoning: the summary that people are shown, and the measure of what is hidden or sealed."""
    thought = MessageKind.AGENT_THOUGHT_SUMMARY
    for block in objects_of(payload.get("summary")):
        text = nonempty_text(block.get("text"))
        if text and not scene.repeats.repeats("item", "reasoning", text, scene.place):
            part = text_part(text, TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE)
            yield thought, scene.actor, part
    hidden = "\n".join(b["text"] for b in objects_of(payload.get("content")) if isinstance(b.get("text"), str))
    if hidden and scene.repeats.repeats("item", "hidden", hidden, scene.place):
        hidden = ""
    sealed = payload.get("encrypted_content")
    size = len(sealed) if isinstance(sealed, str) else 0
    yield thought, scene.actor, reasoning_part(hidden, keep=scene.keep_reasoning, sealed_bytes=size)


def call_id_of(payload: JsonObject) -> str:
    """The id that call and result share; items of the service's own tools have one of the item."""
    named = nonempty_text(payload.get("call_id")) or nonempty_text(payload.get("id"))
    return named or f"unidentified:{said_digest(payload)}"


def _call(scene: Scene, kind: str, payload: JsonObject, at: int | None) -> MessageDraft:
    function = payload.get("function")
    name = nonempty_text(payload.get("name")) or _HOSTED.get(kind)
    name = name or (nonempty_text(function.get("name")) if is_object(function) else None)
    arguments = next((arguments_of(payload[key]) for key in _ASKED if payload.get(key) is not None), None)
    if kind == "image_generation_call":
        arguments = {"revised_prompt": payload.get("revised_prompt")}
    call_id = call_id_of(payload)
    namespace = nonempty_text(payload.get("namespace"))
    patch = patches.patch_of(name, arguments)
    scene.calls[call_id] = Asked(name, namespace, arguments, patch)
    asks = (name == tools.ASKS_USER and not namespace) or tools.wants_approval(arguments)
    parts = [call_part(call_id, name, arguments, at)]
    if kind == "image_generation_call" and nonempty_text(payload.get("result")):
        parts.append(media_part(payload["result"], "image/png", TrustLevel.MODEL_GENERATED))
    metadata: JsonObject = {"namespace": namespace} if namespace else {}
    if asks:
        metadata["derived"] = ["kind"]
    request = MessageKind.APPROVAL_REQUEST if asks else MessageKind.TOOL_CALL_REQUEST
    return MessageDraft(request, scene.actor, parts, metadata=metadata)


def _result(scene: Scene, kind: str, payload: JsonObject, draft: RecordDraft) -> MessageDraft:
    call_id = call_id_of(payload)
    asked = scene.calls.get(call_id) or Asked("tool_search" if kind.startswith("tool_search") else None)
    held = tools.read_output(payload.get("output", payload.get("tools")), asked)
    if agent := tools.started_agent(asked, held):
        draft.links = [Link(agent, call_id)]
    status, category = tools.ended(held, asked, payload.get("status"))
    of, trust, path = tools.origin_of(asked, held, category)
    part = PartDraft(
        part_type=PartType.TOOL_RESULT,
        trust=trust,
        text=held.text,
        data=held.data,
        status=status,
        error_category=category,
        tool_call_id=call_id,
        tool_name=asked.name,
        path=path,
    )
    parts = [part]
    for block in held.others:
        if "image_url" not in block or is_image(block):
            other = shown(block, trust)
            other.tool_call_id, other.tool_name = call_id, asked.name
            if kind.startswith("tool_search"):  # the tools that were found, which the model is given
                other.visibility = Visibility.MODEL_VISIBLE
            parts.append(other)
    if status == "SUCCEEDED" and asked.patch is not None and not asked.patched:
        parts += changes(patches.patch_parts(asked.patch), call_id, asked.name)
        asked.patched = True
    actor = "user" if of is MessageKind.APPROVAL_DECISION else asked.name or "tool"
    return MessageDraft(of, actor, parts)


def changes(parts: list[PartDraft], call_id: str | None, name: str | None) -> list[PartDraft]:
    """Changes as those of a call."""
    for part in parts:
        part.tool_call_id, part.tool_name = call_id, name
    return parts


def _from_agent(block: JsonObject) -> PartDraft:
    """What another agent wrote; sealed words only by their size."""
    sealed = block.get("encrypted_content")
    if isinstance(sealed, str):
        return reasoning_part("", keep=False, sealed_bytes=len(sealed))
    return shown(block, TrustLevel.MODEL_GENERATED)


def _nothing() -> PartDraft:
    return text_part("", TrustLevel.MODEL_GENERATED)
