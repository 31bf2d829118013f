"""Steps: what people, the agent's program and the model said, and what the model's words cost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ledgerkit.importers.atif.identity import NAME
from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, PartDraft, UsageDraft
from ledgerkit.importers.pieces import count, is_data_uri, json_part, media_part, money, reasoning_part, text_part
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Visibility

AGENT: Final = "agent"
TERMINUS: Final = "terminus"
"""Begins the names of agents that type keys into a terminal, and call nothing by name."""
_SOURCES: Final = frozenset({"system", "user", AGENT})
_AGENTS_ONLY: Final = ("metrics", "model_name", "llm_call_count", "tool_calls", "reasoning_content")
_BULK: Final = ("prompt_token_ids", "completion_token_ids", "logprobs")
_USED_METRICS: Final = frozenset({"prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", *_BULK})
_USED: Final = frozenset({
    "step_id", "timestamp", "source", "message", "reasoning_content", "model_name", "tool_calls", "observation",
    "metrics", "is_copied_context",
})  # fmt: skip
_USED_OF_CALLS: Final = frozenset({"tool_call_id", "function_name", "arguments"})
_HANDOVER: Final = re.compile(
    r"You are picking up work from a previous AI agent on this task:|Here are the answers the other agent provided\."
)
"""Begins what Terminus tells the model that takes over: what the model before it wrote."""
_FIXED: Final = {
    "openhands": ("Added workspace context",),
    "terminus": ("Performed context summarization and handoff to continue task.",),
}
"""What an agent's program says of itself in the place of the system, whole."""
_RECALLED: Final = re.compile(r"Retrieving content for: (.{1,200})", re.DOTALL)
"""OpenHands quotes what it looks up; it looks up the user's words."""
_MODEL: Final = TrustLevel.MODEL_GENERATED
_READ_NAMES: Final = ("cache_read_input_tokens", "cache_read_tokens")
_WRITE_NAMES: Final = ("cache_creation_input_tokens", "cache_write_tokens", "cache_write_input_tokens")


def source_of(step: object) -> str | None:
    """Who speaks in a step; ``None`` where it cannot be told.

    A writer may name another source; the format keeps some fields for agents alone.
    """
    if not is_object(step):
        return None
    source = step.get("source")
    if isinstance(source, str) and source in _SOURCES:
        return source
    return AGENT if any(step.get(name) is not None for name in _AGENTS_ONLY) else None


@dataclass(slots=True)
class Turn:
    """What came before a step, as far as it says whose words stand in it.

    Attributes:
        agent: The program that wrote the trajectory.
        task: What the user said first.
    """

    is_subagent: bool
    is_first: bool = True
    has_answer: bool = False
    is_handed_over: bool = True
    agent: str = ""
    task: str = ""

    def after(self, step: object) -> None:
        """Takes note of a step."""
        self.is_first = self.is_first and source_of(step) == "system"
        if not self.task and is_object(step) and source_of(step) == "user":
            self.task = nonempty_text(step.get("message")) or ""
        if is_object(step) and source_of(step) == AGENT:
            self.has_answer = True
            self.is_handed_over = not step.get("tool_calls") and not step.get("observation")

    def trust_of_user(self, step: JsonObject) -> tuple[str, TrustLevel]:
        """Who speaks as the user.

        Behind an answer that asked for nothing a person speaks; between an agent's actions its program may speak
        in the user's place, with whatever a terminal showed, and so it does in context that is carried over.
        """
        said = nonempty_text(step.get("message")) or ""
        if self.agent.startswith(TERMINUS) and _HANDOVER.match(said):
            return "user", _MODEL
        if step.get("is_copied_context") or not (self.is_handed_over or not self.has_answer):
            return "user", TrustLevel.UNKNOWN
        return ("parent agent", _MODEL) if self.is_subagent else ("user", TrustLevel.USER_TRUSTED)

    def trust_of_program(self, step: JsonObject) -> TrustLevel:
        """Whose words a later message in the system's place is: the program's own if it is known to be nothing else.

        Others may quote the task or files of the workspace.
        """
        said = step.get("message")
        agent = next((name for name in _FIXED if self.agent.startswith(name)), None)
        quoted = _RECALLED.fullmatch(said) if agent == "openhands" and isinstance(said, str) else None
        is_own = agent is not None and said in _FIXED[agent]
        is_own = is_own or (quoted is not None and self.task.startswith(quoted[1].rstrip(".…")))
        return TrustLevel.TOOL_TRUSTED if is_own else TrustLevel.UNKNOWN

    def rest_of(self, step: JsonObject) -> JsonObject:
        """What a step says beside its words, results and usual figures."""
        rest = {name: value for name, value in step.items() if name not in _USED and value is not None}
        metrics = step.get("metrics")
        if is_object(metrics):
            beside = {name: value for name, value in metrics.items() if name not in _USED_METRICS}
            bulk = {name: len(value) for name in _BULK if is_list(value := metrics.get(name))}
            rest |= {"metrics": beside} if beside else {}
            rest |= {"not_kept": bulk} if bulk else {}
        elif metrics is not None:
            rest["metrics"] = metrics
        calls = [
            {k: v for k, v in call.items() if k not in _USED_OF_CALLS} for call in objects_of(step.get("tool_calls"))
        ]
        return rest | ({"calls": calls} if any(calls) else {})


def without_bulk(step: JsonObject) -> JsonObject:
    """A step without the token ids and probabilities that some writers add for training."""
    metrics = step.get("metrics")
    if not is_object(metrics):
        return step
    return {**step, "metrics": {name: value for name, value in metrics.items() if name not in _BULK}}


def told_message(step: JsonObject, source: str, turn: Turn) -> tuple[MessageDraft, Node]:
    """What the model was told in a step, and the place of it in the run."""
    marks: JsonObject = {"copied_context": True} if step.get("is_copied_context") else {}
    if source == "user":
        actor, trust = turn.trust_of_user(step)
        return MessageDraft(MessageKind.USER_TASK, actor, _said(step, trust), metadata=marks), Node.PROMPT
    if _is_compaction(step):
        parts = _said(step, turn.trust_of_program(step))
        for part in parts:
            part.visibility = Visibility.HUMAN_VISIBLE
        about = {**marks, "reason": "compaction"}
        return MessageDraft(MessageKind.RUN_SUMMARY, NAME, parts, metadata=about), Node.PASSIVE
    if turn.is_first:
        parts = _said(step, TrustLevel.ORG_TRUSTED)
        return MessageDraft(MessageKind.SYSTEM_INSTRUCTION, "operator", parts, metadata=marks), Node.PASSIVE
    parts = _said(step, turn.trust_of_program(step))
    return MessageDraft(MessageKind.DEVELOPER_INSTRUCTION, NAME, parts, metadata=marks), Node.PASSIVE


def _is_compaction(step: JsonObject) -> bool:
    extra = step.get("extra")
    managed = extra.get("context_management") if is_object(extra) else None
    return is_object(managed) and managed.get("type") == "compaction"


def answer_messages(step: JsonObject, calls: list[PartDraft], model: str | None, *, keep: bool) -> list[MessageDraft]:
    """Hidden reasoning, text and calls of an answer; usage stands on the first."""
    actor = model or "assistant"
    reasoning = nonempty_text(step.get("reasoning_content"))
    out: list[MessageDraft] = []
    if reasoning:
        out.append(MessageDraft(MessageKind.AGENT_THOUGHT_SUMMARY, actor, [reasoning_part(reasoning, keep=keep)]))
    elif step.get("reasoning_content"):
        part = json_part(step["reasoning_content"], _MODEL, visibility=Visibility.AUDIT_ONLY)
        out.append(MessageDraft(MessageKind.AGENT_THOUGHT_SUMMARY, actor, [part]))
    if step.get("message") or not calls:
        out.append(MessageDraft(MessageKind.ASSISTANT_RESPONSE, actor, _said(step, _MODEL)))
    if calls:
        out.append(MessageDraft(MessageKind.TOOL_CALL_REQUEST, actor, calls))
    marks: JsonObject = {"copied_context": True} if step.get("is_copied_context") else {}
    if step.get("source") != AGENT:
        marks["derived"] = ["source"]
    for message in out:
        message.model = model
        message.metadata = marks
    if not step.get("is_copied_context"):
        out[0].usage = usage_of(step.get("metrics"))
    return out


def usage_of(metrics: object) -> UsageDraft | None:
    """Usage of a step. Cached tokens are counted within the prompt; writers add cache writes and reasoning beside."""
    if not is_object(metrics):
        return None
    inputs, outputs = count(metrics.get("prompt_tokens")), count(metrics.get("completion_tokens"))
    cost = money(metrics.get("cost_usd"))
    if inputs is None and outputs is None and cost is None:
        return None
    extra: Any = metrics.get("extra")
    extra = extra if is_object(extra) else {}
    read = count(metrics.get("cached_tokens"))
    read = read if read is not None else next(_counts(extra, _READ_NAMES), None)
    return UsageDraft(
        input_tokens=inputs,
        cache_read_tokens=read,
        cache_write_5m_tokens=next(_counts(extra, _WRITE_NAMES), None),
        output_tokens=outputs,
        reasoning_tokens=count(extra.get("reasoning_tokens")),
        reported_cost=cost,
    )


def _counts(extra: JsonObject, names: tuple[str, ...]) -> Iterator[int]:
    return (found for name in names if (found := count(extra.get(name))) is not None)


def _said(step: JsonObject, trust: TrustLevel) -> list[PartDraft]:
    return content_parts(step.get("message"), trust) or [text_part("", trust)]


def content_parts(content: object, trust: TrustLevel) -> list[PartDraft]:
    """A text, or since 1.6 parts of texts and images."""
    if isinstance(content, str):
        return [text_part(content, trust)]
    if is_list(content):
        return [_content_part(part, trust) for part in content]
    return [] if content is None else [json_part(content, trust)]


def _content_part(part: object, trust: TrustLevel) -> PartDraft:
    if isinstance(part, str):
        return text_part(part, trust)
    if is_object(part) and isinstance(part.get("text"), str):
        return text_part(part["text"], trust)
    source = part.get("source") if is_object(part) else None
    if not is_object(source):
        return json_part(part, trust, visibility=Visibility.AUDIT_ONLY)
    content = source.get("data")
    where = source.get("path", source.get("url"))
    payload = content if isinstance(content, str) else where if is_data_uri(where) else None
    # An image mostly stands in a file beside the trajectory: then only its place is recorded.
    described = {k: v for k, v in source.items() if v is not payload and k != "media_type"}
    made = media_part(payload, source.get("media_type"), trust, described)
    made.path = where if isinstance(where, str) and payload is None else None
    return made
