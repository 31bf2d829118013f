"""Texts of a rollout: who speaks in them, and which of them repeat what stands above.

What the user typed, what the model answered and what it says of its reasoning stand in a rollout as an item of the
context, as an event, and in newer versions as a completed item. Which comes first differs; the first is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from ledgerkit.importers.codex.envelope import Entry
from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft
from ledgerkit.importers.pieces import json_part, media_part, text_part
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Visibility

Piece = tuple[MessageKind, str, PartDraft]
Speaker = tuple[MessageKind, str, TrustLevel]
NEAR: Final = 50
"""Records within which the two copies of a text stand."""
_IDE: Final = "# Context from my IDE setup:"
_REQUEST: Final = "## My request for Codex:"
_CLIENT: Final = (MessageKind.DEVELOPER_INSTRUCTION, "codex", TrustLevel.TOOL_TRUSTED)
_REPOSITORY: Final = (MessageKind.REPOSITORY_INSTRUCTION, "repository", TrustLevel.REPOSITORY_UNTRUSTED)
_INJECTED: Final[tuple[tuple[str, Speaker], ...]] = (
    ("# AGENTS.md instructions", _REPOSITORY),
    ("<user_instructions>", _REPOSITORY),
    ("<INSTRUCTIONS>", _REPOSITORY),
    ("<skill>", (MessageKind.REPOSITORY_INSTRUCTION, "skill", TrustLevel.REPOSITORY_UNTRUSTED)),
    ("<user_shell_command>", (MessageKind.TOOL_CALL_RESULT, "shell", TrustLevel.REPOSITORY_UNTRUSTED)),
    ("<subagent_notification>", (MessageKind.TOOL_CALL_RESULT, "subagent", TrustLevel.MODEL_GENERATED)),
    (
        "Another language model started to solve this problem",
        (MessageKind.RUN_SUMMARY, "assistant", TrustLevel.MODEL_GENERATED),
    ),
)
"""What Codex puts into the user's place, by how it begins."""
_OWN_TAGS: Final = ("environment_context", "turn_aborted")
_PERMISSIONS: Final = "permissions instructions"


def is_one(text: str, tag: str) -> bool:
    """Whether a text is one element of a tag and nothing else."""
    inside = text.strip()
    whole = inside.startswith(f"<{tag}>") and inside.endswith(f"</{tag}>")
    return whole and inside.count(f"<{tag}>") == inside.count(f"</{tag}>") == 1


class Repeats:
    """Which texts were met, and in which form."""

    def __init__(self) -> None:
        self._met: dict[tuple[str, str], tuple[int, set[str]]] = {}

    def repeats(self, form: str, role: str, text: str, place: int) -> bool:
        """Whether a text stands above in another form. Each form repeats it once."""
        key = (role, "".join(text.split()))
        since, forms = self._met.get(key, (-NEAR, set[str]()))
        if key[1] and place - since < NEAR and form not in forms:
            forms.add(form)
            return bool(forms - {form})
        self._met[key] = (place, {form})
        return False


def typed_texts(entries: list[Entry]) -> frozenset[str]:
    """What events say that users typed."""
    said = (
        entry.payload.get("message") for entry in entries if (entry.top, entry.kind) == ("event_msg", "user_message")
    )
    return frozenset("".join(text.split()) for text in said if isinstance(text, str))


def speaker_of(text: str, person: Speaker) -> Speaker:
    """Who speaks in a text that stands in the user's place."""
    head = text.lstrip()
    if any(is_one(text, tag) for tag in _OWN_TAGS):
        return _CLIENT
    return next((speaker for start, speaker in _INJECTED if head.startswith(start)), person)


def said_by_user(text: str, person: Speaker, *, is_input: bool = False) -> Iterator[Piece]:
    """A text in the user's place; what an editor put before the request is not the user's.

    Args:
        text: The text.
        person: Who speaks where Codex did not put it there.
        is_input: Whether it is known that Codex did not.
    """
    kind, actor, trust = person if is_input else speaker_of(text, person)
    # To the last mark: what the editor quotes may hold such marks too.
    at = text.rfind(_REQUEST) if text.lstrip().startswith(_IDE) else -1
    if at < 0 or (kind, actor, trust) != person:
        yield kind, actor, text_part(text, trust)
        return
    at += len(_REQUEST)
    yield MessageKind.DEVELOPER_INSTRUCTION, "ide", text_part(text[:at], TrustLevel.REPOSITORY_UNTRUSTED)
    yield kind, actor, text_part(text[at:].strip("\n"), trust)


def by_developer(block: JsonObject) -> Piece:
    """A block in the developer's place: Codex's own words, the operator's, or a list of the repository's skills."""
    text = block.get("text")
    if isinstance(text, str) and is_one(text, _PERMISSIONS):
        return MessageKind.ORG_POLICY, "codex", text_part(text, TrustLevel.TOOL_TRUSTED)
    if isinstance(text, str) and text.lstrip().startswith("<skills_instructions>"):
        return MessageKind.REPOSITORY_INSTRUCTION, "skill", text_part(text, TrustLevel.REPOSITORY_UNTRUSTED)
    return MessageKind.DEVELOPER_INSTRUCTION, "developer", shown(block, TrustLevel.UNKNOWN)


def blocks_of(content: object) -> list[JsonObject]:
    """The blocks of a content; a text is one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if is_list(content):
        return [block if is_object(block) else {"type": "text", "text": str(block)} for block in content]
    return []


def is_image(block: JsonObject) -> bool:
    """Whether a block shows an image that is recorded."""
    return str(block.get("type")).endswith("image") and nonempty_text(block.get("image_url")) is not None


def shown(block: JsonObject, trust: TrustLevel) -> PartDraft:
    """A block as a part."""
    if isinstance(block.get("text"), str):
        return text_part(block["text"], trust)
    if is_image(block):
        return image_part(block["image_url"], trust)
    return json_part(block, trust, visibility=Visibility.AUDIT_ONLY)


def image_part(url: str, trust: TrustLevel) -> PartDraft:
    """An image: its bytes, or the address where it is."""
    if url.startswith("data:"):
        return media_part(url, None, trust)
    return media_part(None, None, trust, {"url": url})


def grouped(pieces: Iterator[Piece]) -> list[MessageDraft]:
    """Pieces in a row that are of one kind and by one actor make one message."""
    return [
        MessageDraft(kind, actor, [piece[2] for piece in group])
        for (kind, actor), group in groupby(pieces, key=lambda piece: (piece[0], piece[1]))
    ]
