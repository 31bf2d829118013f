"""Options and response contracts, as far as they are the same in all dialects: what is left out is noted."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from ledgerkit.protocol.capabilities import ProviderCapabilities, ProviderInterface
from ledgerkit.protocol.requests import LlmRequest
from ledgerkit.providers.aliases import hashed_name, safe_name
from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.schemas import strict_schema
from ledgerkit.providers.told import json_text

MAX_TEMPERATURE: Final = 2.0
MAX_SEED: Final = 2**31 - 1
_CACHE_KEY: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_OPENAI: Final = frozenset({ProviderInterface.OPENAI_RESPONSES, ProviderInterface.OPENAI_CHAT})


def left_out(name: str, value: JsonValue, notes: list[Note]) -> None:
    """Notes an option that an interface does not take, if it was set at all."""
    if value is not None and value != []:
        notes.append(Note(NoteKind.OPTION_LEFT_OUT, f"options.{name}", json_text(value)))


def temperature(request: LlmRequest, notes: list[Note]) -> float | None:
    """The temperature, if it is within what interfaces take."""
    asked = request.options.temperature
    if asked is None or asked <= MAX_TEMPERATURE:
        return asked
    left_out("temperature", asked, notes)
    return None


def seed(request: LlmRequest, notes: list[Note]) -> int | None:
    """The seed, if it is a number of 32 bits."""
    asked = request.options.seed
    if asked is None or asked <= MAX_SEED:
        return asked
    left_out("seed", asked, notes)
    return None


def stops(request: LlmRequest, most: int, notes: list[Note]) -> list[str]:
    """Stop sequences: the first ones, and none that is blank."""
    asked = request.options.stop_sequences
    kept = [one for one in asked if one.strip()][:most]
    for one in asked:
        if one not in kept:
            left_out("stop_sequences", one, notes)
    return kept


def effort(request: LlmRequest, known: Collection[str], notes: list[Note]) -> str | None:
    """The reasoning effort, if the interface knows its name."""
    asked = request.options.reasoning_effort
    if asked is None or asked in known:
        return asked
    left_out("reasoning_effort", asked, notes)
    return None


def cache_key(request: LlmRequest, capabilities: ProviderCapabilities, notes: list[Note]) -> str | None:
    """What keeps requests of one run on one cache: the run's id; ``None`` where the interface has no such key."""
    if request.trace is None or capabilities.interface not in _OPENAI or not capabilities.cache_rules:
        return None
    run_id = request.trace.run_id
    if _CACHE_KEY.fullmatch(run_id):
        return run_id
    key = hashlib.sha256(run_id.encode()).hexdigest()[:32]
    notes.append(Note(NoteKind.CACHE_KEY_HASHED, "trace.run_id", run_id, key))
    return key


@dataclass(frozen=True, slots=True)
class Enforced:
    """The form that an interface holds an answer to."""

    name: str
    """The contract's name in the letters that interfaces allow."""
    schema: dict[str, JsonValue]
    is_strict: bool


def enforced(
    request: LlmRequest, capabilities: ProviderCapabilities, notes: list[Note], *, always_strict: bool
) -> Enforced | None:
    """The form to enforce; ``None`` where there is no contract or the interface may not enforce one."""
    contract = request.response_contract
    if contract is None:
        return None
    if not capabilities.structured_output:
        notes.append(Note(NoteKind.CONTRACT_NOT_ENFORCED, "response_contract", contract.name))
        return None
    name = safe_name(contract.name) or hashed_name(contract.name)
    if not (contract.is_strict or always_strict):
        return Enforced(name, contract.answer_schema, is_strict=False)
    schema, changes = strict_schema(contract.answer_schema, "response_contract.answer_schema")
    notes += changes
    return Enforced(name, schema, is_strict=True)
