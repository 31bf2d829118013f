"""One pass that makes a request's messages a conversation that an interface accepts, in nobody's dialect.

Order: texts, calls and results; pairs; instructing roles; empty texts; one call per turn; neighbours; both ends. Trust
never rises: a text moves to a lower place (a result or an instruction said by the user), never to a higher one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from ledgerkit.protocol.capabilities import ProviderCapabilities
from ledgerkit.protocol.requests import LlmRequest
from ledgerkit.protocol.vocabulary import LlmRole
from ledgerkit.providers.aliases import ToolAliases
from ledgerkit.providers.forms import Form, InstructionPlace, form_of
from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.pairing import DETACHED_RESULT, pair
from ledgerkit.providers.told import MAPPER, Source, json_text, told
from ledgerkit.providers.turns import Said, Turn, spell

EMPTY_TEXT: Final = "(empty)"
EMPTY_OUTPUT: Final = "(empty output)"
EARLIER: Final = "(what came before is left out)"
CONTINUE: Final = "(continue)"
RECEIVED: Final = "(the result was received)"

_INSTRUCTING: Final = (LlmRole.SYSTEM, LlmRole.DEVELOPER)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Instructions at the head, and turns in order."""

    head: tuple[Said, ...]
    turns: tuple[Turn, ...]


def converse(
    request: LlmRequest, capabilities: ProviderCapabilities, aliases: ToolAliases, notes: list[Note]
) -> Conversation:
    """A request's instructions and messages, as an interface accepts them.

    Args:
        request: The request.
        capabilities: Of the interface.
        aliases: Names of the tools in payloads.
        notes: Takes what was changed.
    """
    form = form_of(capabilities)
    head = [
        Said(told(one.content, Source(one.trust_level)), f"instructions[{index}]")
        for index, one in enumerate(request.instructions)
    ]
    turns = pair(spell(request.messages, capabilities.interface, notes), notes)
    if not form.has_tools:
        turns = _without_tools(turns, aliases, notes)
    turns = _instructing(head, turns, form, notes)
    if not form.keeps_empty_text:
        turns = [_filled(turn, notes) for turn in turns]
    if form.one_call_per_turn:
        turns = _split(turns, notes)
    if form.merges:
        turns = _merged(turns, form, notes)
    turns = _framed(turns, form, notes)
    return Conversation(tuple(_spoken(head, notes)), tuple(turns))


def _without_tools(turns: Sequence[Turn], aliases: ToolAliases, notes: list[Note]) -> list[Turn]:
    plain: list[Turn] = []
    for turn in turns:
        texts = list(turn.texts)
        for call in turn.calls:
            notes.append(Note(NoteKind.CALL_AS_TEXT, call.where, call.tool_name))
            said = json_text({"tool": aliases.alias_of(call.tool_name), "arguments": call.arguments})
            texts.append(Said(told(said, call.source), call.where, call.carried))
        for result in turn.results:
            notes.append(Note(NoteKind.RESULT_AS_TEXT, result.where))
            texts += [Said(told(DETACHED_RESULT, MAPPER), result.where), Said(result.text, result.where)]
        role = LlmRole.USER if turn.results else turn.role
        plain.append(Turn(role, turn.where, tuple(texts)))
    return plain


def _instructing(head: list[Said], turns: Sequence[Turn], form: Form, notes: list[Note]) -> list[Turn]:
    """Gives messages of instructing roles a role or a place that the interface has."""
    kept: list[Turn] = []
    for turn in turns:
        if turn.role not in _INSTRUCTING:
            kept.append(turn)
        elif not form.instructing_roles:
            notes.append(Note(NoteKind.FOLDED_INTO_USER, turn.where))
            kept.append(replace(turn, role=LlmRole.USER))
        elif form.instructions is InstructionPlace.HEAD:
            notes.append(Note(NoteKind.FOLDED_INTO_SYSTEM, turn.where))
            head += turn.texts
        elif turn.role in form.instructing_roles:
            kept.append(turn)
        else:
            notes.append(Note(NoteKind.RENAMED_ROLE, turn.where, turn.role, form.instructing_roles[0]))
            kept.append(replace(turn, role=form.instructing_roles[0]))
    if head and not form.instructing_roles:
        notes.append(Note(NoteKind.FOLDED_INTO_USER, "instructions"))
        kept.insert(0, Turn(LlmRole.USER, "instructions", tuple(head)))
        head.clear()
    return kept


def _is_blank(text: str) -> bool:
    return not text.strip()


def _spoken(head: Sequence[Said], notes: list[Note]) -> list[Said]:
    notes += [Note(NoteKind.EMPTY_TEXT_DROPPED, said.where, str(said.text)) for said in head if _is_blank(said.text)]
    return [said for said in head if not _is_blank(said.text)]


def _filled(turn: Turn, notes: list[Note]) -> Turn:
    """A turn without empty texts: dropped where the turn says more, else with a placeholder."""
    results = tuple(
        replace(result, text=told(EMPTY_OUTPUT, MAPPER)) if _is_blank(result.text) else result
        for result in turn.results
    )
    notes += [
        Note(NoteKind.EMPTY_TEXT_REPLACED, result.where, str(result.text), EMPTY_OUTPUT)
        for result in turn.results
        if _is_blank(result.text)
    ]
    says_more = bool(turn.calls) or any(not _is_blank(said.text) for said in turn.texts)
    texts: list[Said] = []
    for index, said in enumerate(turn.texts):
        if not _is_blank(said.text):
            texts.append(said)
        elif not says_more and index == 0:
            notes.append(Note(NoteKind.EMPTY_TEXT_REPLACED, said.where, str(said.text), EMPTY_TEXT))
            texts.append(replace(said, text=told(EMPTY_TEXT, MAPPER)))
        else:
            notes.append(Note(NoteKind.EMPTY_TEXT_DROPPED, said.where, str(said.text)))
            notes += [Note(NoteKind.METADATA_LEFT_OUT, said.where, json_text(item)) for item in said.carried]
            if said.ends_head and texts:
                texts[-1] = replace(texts[-1], ends_head=True)
    return replace(turn, texts=tuple(texts), results=results)


def _split(turns: Sequence[Turn], notes: list[Note]) -> list[Turn]:
    """Calls of one turn as turns of their own, each with its result behind it."""
    parts: list[Turn] = []
    for index, turn in enumerate(turns):
        if len(turn.calls) < 2:
            parts += [] if len(turn.results) > 1 else [turn]
            continue
        notes.append(Note(NoteKind.SPLIT_CALLS, turn.where))
        for call, result in zip(turn.calls, turns[index + 1].results, strict=True):
            texts = turn.texts if call is turn.calls[0] else ()
            parts.append(Turn(LlmRole.ASSISTANT, call.where, texts, (call,)))
            parts.append(Turn(LlmRole.TOOL, result.where, results=(result,)))
    return parts


def _merged(turns: Sequence[Turn], form: Form, notes: list[Note]) -> list[Turn]:
    """Neighbours of one role as one turn; results with the user's words that follow, where an interface wants it so."""
    merged: list[Turn] = []
    for turn in turns:
        last = merged[-1] if merged else None
        if last is not None and last.role is turn.role and turn.role is not LlmRole.TOOL:
            notes.append(Note(NoteKind.MERGED_MESSAGES, turn.where))
            merged[-1] = replace(last, texts=last.texts + turn.texts, calls=turn.calls)
        elif last is not None and form.results_with_user and last.results and turn.role is LlmRole.USER:
            merged[-1] = replace(last, role=LlmRole.USER, texts=turn.texts)
        else:
            merged.append(turn)
    return merged


def _framed(turns: Sequence[Turn], form: Form, notes: list[Note]) -> list[Turn]:
    """A conversation that begins and ends with whom an interface wants."""
    framed = list(turns)
    if form.replies_between:
        framed = _with_replies(framed, notes)
    if not framed or (form.begins_with_user and framed[0].role is not LlmRole.USER):
        notes.append(Note(NoteKind.ADDED_FIRST_USER, "messages", became=EARLIER))
        framed.insert(0, _aside(LlmRole.USER, EARLIER))
    if form.ends_with_user and framed[-1].role not in (LlmRole.USER, LlmRole.TOOL):
        notes.append(Note(NoteKind.ADDED_LAST_USER, framed[-1].where, became=CONTINUE))
        framed.append(_aside(LlmRole.USER, CONTINUE))
    return framed


def _with_replies(turns: Sequence[Turn], notes: list[Note]) -> list[Turn]:
    replied = list(turns[:1])
    for last, turn in pairwise(turns):
        if last.role is LlmRole.TOOL and turn.role is LlmRole.USER:
            notes.append(Note(NoteKind.ADDED_REPLY, turn.where, became=RECEIVED))
            replied.append(_aside(LlmRole.ASSISTANT, RECEIVED))
        replied.append(turn)
    return replied


def _aside(role: LlmRole, text: str) -> Turn:
    return Turn(role, "messages", (Said(told(text, MAPPER), "messages"),))
