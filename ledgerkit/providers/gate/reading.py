"""A body read back into one form: messages of texts, calls and results, whatever the interface.

The gate reads what will be sent, and knows nothing of how it was made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.providers.forms import Form, form_of
from ledgerkit.providers.payloads import ProviderPayload
from ledgerkit.providers.told import joined_path

Json = Any  # the body has passed its shape by now


class Kind(StrEnum):
    """What a piece of a message is."""

    TEXT = "text"
    CALL = "call"
    RESULT = "result"
    REASONING = "reasoning"


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a message."""

    kind: Kind
    path: str
    text: str = ""
    call_id: str = ""
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message, or one item of a list of items."""

    role: str
    """``system``, ``developer``, ``user``, ``assistant`` or ``tool``."""
    path: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A payload and what was read in its body."""

    payload: ProviderPayload
    form: Form
    head: tuple[Piece, ...]
    """Instructions in a field of their own."""
    messages: tuple[Spoken, ...]

    @property
    def body(self) -> Mapping[str, Json]:
        """The body."""
        return self.payload.body

    @property
    def interface(self) -> ProviderInterface:
        """The interface."""
        return self.payload.interface

    @property
    def instructing(self) -> Iterator[Piece]:
        """Every text in an instruction position."""
        yield from self.head
        for message in self.messages:
            if message.role in ("system", "developer"):
                yield from message.pieces

    @property
    def pieces(self) -> Iterator[Piece]:
        """Every piece of every message."""
        for message in self.messages:
            yield from message.pieces


def read_body(payload: ProviderPayload) -> Reading:
    """Reads a body that has the shape of its interface."""
    head, messages = _READERS[payload.interface](payload.body)
    return Reading(payload, form_of(payload.capabilities), head, messages)


_Read = tuple[tuple[Piece, ...], tuple[Spoken, ...]]


def _texts(content: Json, path: str) -> tuple[Piece, ...]:
    """Texts of a content that is a string or a list of text parts."""
    if isinstance(content, str):
        return (Piece(Kind.TEXT, path, content),)
    parts: list[Json] = content
    return tuple(Piece(Kind.TEXT, f"{path}[{at}].text", part["text"]) for at, part in enumerate(parts))


def _responses(body: Mapping[str, Json]) -> _Read:
    head = _texts(body["instructions"], "instructions") if "instructions" in body else ()
    return head, tuple(_item(item, f"input[{at}]") for at, item in enumerate(body["input"]))


def _item(item: Json, path: str) -> Spoken:
    match item["type"]:
        case "message":
            return Spoken(item["role"], path, _texts(item["content"], f"{path}.content"))
        case "function_call":
            piece = Piece(Kind.CALL, path, item["arguments"], item["call_id"], item["name"])
            return Spoken("assistant", path, (piece,))
        case "function_call_output":
            return Spoken("tool", path, (Piece(Kind.RESULT, f"{path}.output", item["output"], item["call_id"]),))
        case _:
            return Spoken("assistant", path, (Piece(Kind.REASONING, path),))


def _chat(body: Mapping[str, Json]) -> _Read:
    return (), tuple(_chat_message(message, f"messages[{at}]") for at, message in enumerate(body["messages"]))


def _chat_message(message: Json, path: str) -> Spoken:
    role = message["role"]
    if role == "tool":
        piece = Piece(Kind.RESULT, f"{path}.content", message["content"], message["tool_call_id"])
        return Spoken(role, path, (piece,))
    texts = _texts(message["content"], f"{path}.content") if "content" in message else ()
    calls = tuple(
        Piece(Kind.CALL, f"{path}.tool_calls[{at}]", "", call["id"], call["function"]["name"])
        for at, call in enumerate(message.get("tool_calls", ()))
    )
    return Spoken(role, path, texts + calls)


def _anthropic(body: Mapping[str, Json]) -> _Read:
    messages = tuple(
        Spoken(
            message["role"],
            f"messages[{at}]",
            tuple(_block(block, f"messages[{at}].content[{n}]") for n, block in enumerate(message["content"])),
        )
        for at, message in enumerate(body["messages"])
    )
    return _texts(body.get("system", ()), "system"), messages


def _block(block: Json, path: str) -> Piece:
    match block["type"]:
        case "text":
            return Piece(Kind.TEXT, f"{path}.text", block["text"])
        case "tool_use":
            return Piece(Kind.CALL, path, "", block["id"], block["name"])
        case "tool_result":
            return Piece(Kind.RESULT, f"{path}.content", block["content"], block["tool_use_id"])
        case _:
            return Piece(Kind.REASONING, path)


def _gemini(body: Mapping[str, Json]) -> _Read:
    instruction = body.get("systemInstruction", {"parts": ()})
    roles = {"user": "user", "model": "assistant"}
    messages = tuple(
        Spoken(roles[content["role"]], f"contents[{at}]", tuple(_parts(content["parts"], f"contents[{at}].parts")))
        for at, content in enumerate(body["contents"])
    )
    return _texts(instruction["parts"], "systemInstruction.parts"), messages


def _parts(parts: Json, path: str) -> Iterator[Piece]:
    counts: Counter[tuple[str, str]] = Counter()
    for at, part in enumerate(parts):
        place = joined_path(path, at)
        if "text" in part:
            yield Piece(Kind.TEXT, f"{place}.text", part["text"])
            continue
        key = "functionCall" if "functionCall" in part else "functionResponse"
        value = part[key]
        counts[key, value["name"]] += 1
        # Without ids, calls and responses of one name pair in order.
        call_id = value.get("id") or f"{value['name']} {counts[key, value['name']]}"
        if key == "functionCall":
            yield Piece(Kind.CALL, f"{place}.{key}", "", call_id, value["name"])
        else:
            field, text = next(iter(value["response"].items()))
            yield Piece(Kind.RESULT, f"{place}.{key}.response.{field}", text, call_id, value["name"])


_READERS: Final[Mapping[ProviderInterface, Callable[[Mapping[str, Json]], _Read]]] = MappingProxyType(
    {
        ProviderInterface.OPENAI_RESPONSES: _responses,
        ProviderInterface.OPENAI_CHAT: _chat,
        ProviderInterface.ANTHROPIC: _anthropic,
        ProviderInterface.GEMINI: _gemini,
        ProviderInterface.LOCAL: _chat,
    }
)
