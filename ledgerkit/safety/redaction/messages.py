"""Redacts messages that are about to be recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ledgerkit.protocol.messages import AppendMessageCommand
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.protocol.vocabulary import PartType, Visibility
from ledgerkit.safety.redaction.memory import SecretMemory
from ledgerkit.safety.redaction.redactor import SecretRedactor
from ledgerkit.safety.redaction.strings import strings_of, with_strings

_KEPT: Final = frozenset(
    {"session_id", "run_id", "parent_message_id", "idempotency_key", "kind", "type", "trust_level", "visibility"}
)
"""Names and ids: what they say is checked against lists, or must stay what it is."""


class CommandRedactor:
    """Redacts the commands of one run, and remembers its secrets as long as it lives.

    Args:
        redactor: Finds and replaces secrets.
        memory: What is known of the run already.
    """

    def __init__(self, redactor: SecretRedactor, memory: SecretMemory) -> None:
        self._redactor = redactor
        self._memory = memory

    @property
    def key_id(self) -> str:
        """Which key the fingerprints are made with."""
        return self._redactor.key_id

    def facts(self, facts: Mapping[str, str | None]) -> dict[str, str | None]:
        """What is known about the run, without secrets."""
        names = [name for name, value in facts.items() if value is not None]
        texts = self._redactor.redact([facts[name] or "" for name in names], self._memory).texts
        return {**facts, **dict(zip(names, texts, strict=True))}

    def __call__(self, commands: Sequence[AppendMessageCommand]) -> list[AppendMessageCommand]:
        """The commands without secrets; those that hold none are the same objects."""
        dumped = [command.model_dump(mode="json") for command in commands]
        texts: list[str] = []
        bounds: list[int] = []
        for one in dumped:
            bounds.append(len(texts))
            texts.extend(strings_of(one, kept=_KEPT))
        result = self._redactor.redact(texts, self._memory)
        if not result.replacements:
            return list(commands)
        touched = {one.text_index for one in result.replacements}
        redacted: list[AppendMessageCommand] = []
        for command, one, start, end in zip(commands, dumped, bounds, [*bounds[1:], len(texts)], strict=True):
            if touched.isdisjoint(range(start, end)):
                redacted.append(command)
            else:
                redacted.append(AppendMessageCommand.model_validate_json(_json(one, iter(result.texts[start:end]))))
        return redacted


def _json(command: dict[str, Any], texts: Iterator[str]) -> str:
    before = command["parts"]
    after = with_strings(command, texts, kept=_KEPT)
    for old, new in zip(before, after["parts"], strict=True):
        if old == new:
            continue
        if new["visibility"] == Visibility.MODEL_VISIBLE:
            new["visibility"] = Visibility.REDACTED.value
        if new["type"] == PartType.TOOL_CALL and old.get("arguments_hash"):
            new["arguments_hash"] = arguments_hash(new["arguments"])  # the hash of what was there could be guessed at
    return json.dumps(after)
