"""One part of a message, as a report shows it.

One rule: a part shows what the ledger holds of it and says what it does not: the size of what was left out, the content
that an artifact holds, the reasoning that was only measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ledgerkit.formatting import format_bytes, format_count, format_time, plural
from ledgerkit.protocol.vocabulary import MessageKind, PartType, Visibility
from ledgerkit.reports.blocks import Cell, Excerpt, chip
from ledgerkit.reports.excerpts import Argument, arguments, excerpt, indented, one_line
from ledgerkit.reports.labels import kind_chip, status_chip, trust_chip

Form = Literal["text", "call", "folded", "diff", "none"]

_OPEN_KINDS = frozenset(
    {
        MessageKind.USER_TASK,
        MessageKind.ASSISTANT_RESPONSE,
        MessageKind.AGENT_THOUGHT_SUMMARY,
        MessageKind.APPROVAL_REQUEST,
        MessageKind.APPROVAL_DECISION,
        MessageKind.ERROR_EVENT,
    }
)


@dataclass(frozen=True, slots=True)
class PartBlock:
    """A part, ready to be shown.

    Attributes:
        form: ``text`` open, ``call`` with its arguments, ``folded`` until it is opened, ``diff`` shown elsewhere, or
            ``none`` where there is no content to show.
        chips: Its labels.
        heading: Tool name or path.
        meta: Number in the run, who said it, when, how large.
        content: Its text.
        arguments: Arguments of a call.
        remark: What is to say about content that is not shown.
        href: Where else it is shown.
    """

    form: Form
    chips: Sequence[Cell]
    heading: str
    meta: str
    content: Excerpt
    arguments: Sequence[Argument] = ()
    remark: str = ""
    href: str | None = None

    @property
    def preview(self) -> str:
        """The head of its text, to show while it is folded."""
        return one_line(self.content.text, 140) or "blank"


def part_block(part: dict[str, Any], limit: int, *, diff_anchor: str | None = None) -> PartBlock:
    """A part as a block.

    Args:
        part: A row of the view ``parts``.
        limit: Characters of one text.
        diff_anchor: Where the report shows the diff, if the part is one.
    """
    form = _form(part)
    call = part["part_type"] == PartType.TOOL_CALL.value
    return PartBlock(
        form=form,
        chips=_chips(part),
        heading=one_line(part["tool_name"] if call else part["path"], 200),
        meta=_meta(part),
        content=Excerpt("") if call else _content(part, limit),
        arguments=arguments(part["data"], limit) if call else (),
        remark=_remark(part),
        href=diff_anchor if form == "diff" else None,
    )


def _form(part: dict[str, Any]) -> Form:
    if part["part_type"] == PartType.TOOL_CALL.value:
        return "call"
    if part["part_type"] == PartType.DIFF.value:
        return "diff"
    if not part["text"] and not part["summary"] and not _data(part):
        return "none"
    return "text" if part["kind"] in _OPEN_KINDS and part["text"] else "folded"


def _content(part: dict[str, Any], limit: int) -> Excerpt:
    if part["part_type"] == PartType.DIFF.value:
        return Excerpt("")
    if part["text"]:
        whole = part["byte_count"] if part["artifact_refs"] else None
        return excerpt(part["text"], limit, whole_bytes=whole)
    return excerpt(part["summary"], limit) if part["summary"] else indented(_data(part), limit)


def _data(part: dict[str, Any]) -> str | None:
    return None if is_hidden_reasoning(part) else part["data"]


def is_hidden_reasoning(part: dict[str, Any]) -> bool:
    """Whether a part is reasoning that was measured and not kept."""
    return part["kind"] == MessageKind.AGENT_THOUGHT_SUMMARY.value and not part["text"]


def _chips(part: dict[str, Any]) -> list[Cell]:
    chips = [kind_chip(part["kind"]), trust_chip(part["part_trust_level"])]
    if part["part_type"] in (PartType.TOOL_RESULT.value, PartType.ERROR.value) and part["status"]:
        chips.append(status_chip(part["status"]))
    if part["error_category"]:
        chips.append(chip(part["error_category"].replace("_", " "), "bad"))
    if part["part_visibility"] != Visibility.MODEL_VISIBLE.value:
        chips.append(chip(part["part_visibility"].replace("_", " ").lower(), "faint", hint="who may see it"))
    return chips


def _meta(part: dict[str, Any]) -> str:
    size = f"{format_count(part['token_count'])} tokens, {format_bytes(part['byte_count'])}"
    facts = (
        f"message {part['sequence_no']:,d}",
        one_line(part["actor"], 60),
        format_time(part["created_at"], unknown="no time recorded"),
        size if part["token_count"] is not None else "",
    )
    return " · ".join(fact for fact in facts if fact)


def _remark(part: dict[str, Any]) -> str:
    if is_hidden_reasoning(part):
        size = f"{format_count(part['token_count'])} tokens, {format_bytes(part['byte_count'])}"
        return f"Hidden reasoning: measured ({size}), its text is not in the history."
    if part["artifact_refs"]:
        kept = plural(len(part["artifact_refs"]), "artifact")
        return f"Its whole content ({format_bytes(part['byte_count'])}) is kept as {kept}, not shown here."
    if _form(part) == "none":
        return "No content is recorded."
    return ""
