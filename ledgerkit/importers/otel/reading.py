"""Spans of a file as records: each trace is a run, in the order in which its spans began.

Every span of a model call repeats the whole conversation so far. A message is written down where a span holds it more
often than the spans before; what a tool's own span says of its result is not written down again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, RecordDraft, RunFacts, UsageDraft
from ledgerkit.importers.otel import parts
from ledgerkit.importers.otel.spans import EVALUATION, MODEL, TOOL, Span
from ledgerkit.importers.otel.turns import Turn, call_ids, turns_of
from ledgerkit.importers.pieces import count, digest, json_part, money, note_message
from ledgerkit.importers.shapes import nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Visibility

NAME: Final = "otel"
_USAGE: Final = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    "cache_read_tokens": ("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read"),
    "cache_write_5m_tokens": (
        "gen_ai.usage.cache_creation.input_tokens", "llm.token_count.prompt_details.cache_write",
    ),
    "reasoning_tokens": ("gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning"),
}  # fmt: skip
_CONTENT: Final = (
    *("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"),
    *("gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "input.value", "output.value", "tool.parameters"),
)
"""Attributes whose content stands in messages."""
_SHORT: Final = 200
_FLAT: Final = ("gen_ai.prompt.", "gen_ai.completion.", "llm.input_messages.", "llm.output_messages.")


class TraceReading:
    """One trace.

    Args:
        session: Its conversation.
        has_calls: Whether it has spans of model calls; else messages are taken from the spans of agents.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
    """

    def __init__(self, session: str, *, has_calls: bool, keep_reasoning: bool) -> None:
        self._session = session
        self._has_calls = has_calls
        self._keep = keep_reasoning
        self._met: Counter[str] = Counter()
        self._asked: set[str] = set()
        self._answered: set[str] = set()

    def records(self, span: Span) -> Iterator[RecordDraft]:
        """The records of a span."""
        if span.kind == MODEL and not span.covers_call:
            yield from self._call(span)
        elif span.kind == TOOL:
            yield self._tool(span)
        else:
            yield from self._other(span)

    def _draft(self, span: Span, kind: str, said: Any) -> RecordDraft:  # noqa: ANN401 - any JSON value
        return RecordDraft(
            span.item.number, span.item.offset, kind, digest([span.trace_id, said]), session=self._session,
            run_key=span.trace_id, created_at=span.start,
        )  # fmt: skip

    def _call(self, span: Span) -> Iterator[RecordDraft]:
        given, said = turns_of(span)
        yield from self._new(given, span)
        draft = self._draft(span, _record_type(span), [span.span_id, span.value])
        draft.native_id, draft.node = f"{span.trace_id}/{span.span_id}", Node.CALL
        draft.is_model_call, draft.call_id = True, f"{NAME}:{span.trace_id}/{span.span_id}"
        draft.facts = facts_of(span)
        draft.created_at = span.end or span.start
        self._note(said)
        model = nonempty_text(span.attributes.get("gen_ai.response.model")) or _first(
            span, ("gen_ai.request.model", "llm.model_name")
        )
        draft.messages = parts.answer(said, str(model or "assistant"), draft.created_at, keep=self._keep)
        for message in draft.messages:
            message.model = nonempty_text(model)
            message.provider = nonempty_text(_first(span, ("gen_ai.provider.name", "gen_ai.system", "llm.provider")))
        draft.messages[0].usage = usage_of(span)
        draft.messages += self._beside(span)
        self._describe(draft, span)
        yield draft

    def _new(self, given: list[Turn], span: Span) -> Iterator[RecordDraft]:
        """The messages that a span holds more often than the spans before."""
        in_span: Counter[str] = Counter()
        for turn in given:
            key = digest([turn.role, turn.parts])
            in_span[key] += 1
            if in_span[key] > self._met[key]:
                self._met[key] += 1
                yield from self._given(turn, span, [key, self._met[key]])

    def _note(self, said: list[Turn]) -> None:
        for turn in said:
            self._met[digest([turn.role, turn.parts])] += 1
            self._asked.update(call_ids(turn))

    def _given(self, turn: Turn, span: Span, identity: list[Any]) -> Iterator[RecordDraft]:
        """A message that a model was given and that no span gave before."""
        asked = call_ids(turn)
        if asked and self._asked.issuperset(asked):
            return
        self._asked.update(asked)
        answered = [str(p.get("id")) for p in turn.parts if p.get("type") == "tool_call_response"]
        if answered and self._answered.issuperset(answered):
            return
        self._answered.update(answered)
        draft = self._draft(span, f"message/{turn.role}", identity)
        draft.messages = parts.given(turn, keep=self._keep)
        is_prompt = any(message.kind is MessageKind.USER_TASK for message in draft.messages)
        draft.node = Node.RESULT if answered else Node.PROMPT if is_prompt else Node.PASSIVE
        if draft.messages:
            yield draft

    def _tool(self, span: Span) -> RecordDraft:
        draft = self._draft(span, _record_type(span), [span.span_id, span.value])
        draft.native_id, draft.node, draft.facts = f"{span.trace_id}/{span.span_id}", Node.RESULT, facts_of(span)
        named = nonempty_text(_first(span, ("gen_ai.tool.call.id", "tool_call.id", "tool.id")))
        call_id = named or f"span:{span.span_id}"
        draft.messages = parts.tool_run(span, call_id, is_asked=call_id in self._asked)
        self._asked.add(call_id)
        self._answered.add(call_id)
        draft.messages += self._beside(span)
        self._describe(draft, span)
        return draft

    def _other(self, span: Span) -> Iterator[RecordDraft]:
        """Any other span: what it says of itself, and the messages of an agent whose model calls have no spans."""
        given, said = ([], []) if self._has_calls else turns_of(span)
        yield from self._new(given, span)
        draft = self._draft(span, _record_type(span), [span.span_id, span.value])
        draft.native_id, draft.facts = f"{span.trace_id}/{span.span_id}", facts_of(span)
        value = {"note": "span", "name": span.name, "attributes": _described(span)}
        if span.kind == EVALUATION:
            value["attributes"] = span.attributes
            part = json_part(value, TrustLevel.UNKNOWN, visibility=Visibility.HUMAN_VISIBLE)
            draft.messages = [MessageDraft(MessageKind.JUDGE_RESULT, span.name, [part])]
        else:
            draft.messages = [note_message(value, NAME, TrustLevel.UNKNOWN)]
        if any(turn.parts for turn in said):
            self._note(said)
            actor = str(span.attributes.get("gen_ai.agent.name") or "assistant")
            draft.messages += parts.answer(said, actor, span.end, keep=self._keep)
        draft.messages += self._beside(span)
        self._describe(draft, span)
        yield draft

    def _beside(self, span: Span) -> list[MessageDraft]:
        """Errors and evaluations that a span carries."""
        out = [parts.error(span.error)] if span.error else []
        for name, attributes in span.events:
            if name == "gen_ai.evaluation.result":
                actor = str(attributes.get("gen_ai.evaluation.name") or "evaluation")
                part = json_part(attributes, TrustLevel.UNKNOWN, visibility=Visibility.HUMAN_VISIBLE)
                out.append(MessageDraft(MessageKind.JUDGE_RESULT, actor, [part]))
        return out

    def _describe(self, draft: RecordDraft, span: Span) -> None:
        """What else a span says, for audits."""
        kept: JsonObject = {"span": {"name": span.name, "id": span.span_id, "parent": span.parent_id}}
        if span.kind in (MODEL, TOOL):
            kept["attributes"] = _described(span)
        draft.messages[0].metadata = {**draft.messages[0].metadata, **kept}
        for message in draft.messages:
            message.trace_id = span.trace_id
        if span.item.flags:
            draft.messages[0].metadata["repaired"] = list(span.item.flags)


def _described(span: Span) -> JsonObject:
    """Attributes that are no content: what stands in messages is not written down twice, and reasoning not at all."""
    return {
        k: v
        for k, v in span.attributes.items()
        if k not in _CONTENT and not k.startswith(_FLAT) and len(str(v)) <= _SHORT
    }


def _record_type(span: Span) -> str:
    kind = _first(span, ("gen_ai.operation.name", "openinference.span.kind"))
    return f"span/{kind}" if kind else "span"


def _first(span: Span, names: tuple[str, ...]) -> object:
    return next((span.attributes[name] for name in names if span.attributes.get(name) is not None), None)


def facts_of(span: Span) -> RunFacts:
    """What a span says of its run."""
    agent = nonempty_text(_first(span, ("gen_ai.agent.name",)))
    return RunFacts(
        agent=agent or nonempty_text(span.resource.get("service.name")),
        agent_version=nonempty_text(span.resource.get("service.version")),
    )


def usage_of(span: Span) -> UsageDraft | None:
    """Usage of a model call. The conventions count cache tokens within the input."""
    found: JsonObject = {name: count(_first(span, names)) for name, names in _USAGE.items()}
    if found["input_tokens"] is None and found["output_tokens"] is None:
        return None
    return UsageDraft(**found, reported_cost=money(_first(span, ("llm.cost.total", "gen_ai.usage.cost"))))
