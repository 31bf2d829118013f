"""An answer while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import JsonValue

from ledgerkit.providers.aliases import ToolAliases
from ledgerkit.providers.answers.answer import AnsweredCall, AnsweredText, StopReason
from ledgerkit.providers.answers.decoding import Fields, arguments_of, made_id, text_of


@dataclass(slots=True)
class Draft:
    """What was found so far."""

    aliases: ToolAliases
    blocks: list[AnsweredText | AnsweredCall] = field(default_factory=list[AnsweredText | AnsweredCall])
    carried: list[tuple[int, Fields]] = field(default_factory=list[tuple[int, Fields]])
    refusals: list[str] = field(default_factory=list[str])
    stop: StopReason = StopReason.UNKNOWN
    stop_word: str | None = None
    call_id: str | None = None
    model: str | None = None
    tier: str | None = None
    usage: Fields = field(default_factory=dict[str, JsonValue])

    @property
    def has_calls(self) -> bool:
        """Whether a call was asked for."""
        return any(isinstance(block, AnsweredCall) for block in self.blocks)

    def say(self, value: JsonValue, *, joins: bool = False) -> None:
        """Adds a text; ``joins``: to the one right before it, of which it is a piece."""
        text = text_of(value)
        if text is None:
            return
        last = self.blocks[-1] if self.blocks else None
        is_apart = self.carried and self.carried[-1][0] == len(self.blocks)
        if joins and isinstance(last, AnsweredText) and not is_apart:
            self.blocks[-1] = AnsweredText(last.text + text)
        else:
            self.blocks.append(AnsweredText(text))

    def ask(self, identifier: JsonValue, name: JsonValue, arguments: JsonValue) -> None:
        """Adds a call."""
        read, problem, written = arguments_of(arguments)
        alias = text_of(name)
        if alias is None:
            problem, alias = "The call names no tool.", "unnamed"
            written = written or ""
        call_id = text_of(identifier) or made_id(len(self.blocks), [name, arguments])
        self.blocks.append(AnsweredCall(call_id, self.aliases.name_of(alias), read, problem, written))

    def carry(self, item: Fields, *, back: int = 0) -> None:
        """Keeps what goes back with the next block, or with the one ``back`` before it."""
        self.carried.append((len(self.blocks) - back, item))

    def refuse(self, value: JsonValue) -> None:
        """Keeps what the model said instead of an answer."""
        if (text := text_of(value)) is not None:
            self.refusals.append(text)

    def kept(self) -> tuple[tuple[int, Fields], ...]:
        """What was carried and has a block to go with."""
        return tuple((at, item) for at, item in self.carried if 0 <= at < len(self.blocks))
