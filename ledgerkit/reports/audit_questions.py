"""Questions 1 to 5 of the audit report: files, instructions, tools, commands, and what led to what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from ledgerkit.formatting import plural
from ledgerkit.reports.audit_answers import Answer, AnswerRow, answer
from ledgerkit.reports.audit_input import AuditInput, message, quote
from ledgerkit.safety.injection import authority_attempts

_INSTRUCTS: Final = {
    "SYSTEM_INSTRUCTION": "platform or system instruction",
    "ORG_POLICY": "policy of the organisation",
    "DEVELOPER_INSTRUCTION": "instruction of the developer",
    "USER_TASK": "task of the user",
    "APPROVAL_DECISION": "decision about an approval",
    "REPOSITORY_INSTRUCTION": "instruction of the repository",
}
_VALUES: Final = 6


def why_these_files(number: int, given: AuditInput) -> Answer:
    """What named each changed file before it was changed, and what the model said when it changed it."""
    steps = dict(given.material.tool_calls.select("tool_call_id", "step").iter_rows())
    changes = given.material.changes.drop_nulls("path").unique("path", keep="first", maintain_order=True)
    rows = [
        _why(given, path, steps.get(call), reference)
        for path, call, reference in changes.select("path", "tool_call_id", "reference").iter_rows()
    ]
    said = f"{plural(len(rows), 'file')} changed. What named each before, and what the model said then:"
    has_calls = given.material.tool_calls.height > 0
    return answer(number, rows, said, "No change of a file is recorded.", recorded=has_calls)


def _why(given: AuditInput, path: str, step: int | None, reference: str) -> AnswerRow:
    name = path.rsplit("/", 1)[-1]
    uses = given.uses.filter(pl.col("step") == step, pl.col("value").str.contains(name, literal=True))
    sources = uses["message_id"].unique(maintain_order=True).to_list()
    text, evidence = f"{quote(path)}", [reference, *map(message, sources)]
    text += f": named before by {_of(given, sources[0])}." if sources else ": what named it is not recorded."
    if step is not None and (said := given.words.get(step)) is not None:
        text += f" The model said: “{quote(said[1])}”"
        evidence.append(message(said[0]))
    return AnswerRow(text, tuple(evidence))


def _of(given: AuditInput, message_id: str) -> str:
    """What a message is: a result of a tool, a word of the user."""
    kind, tool = given.kinds.get(message_id, ("a message", None))
    word = kind.lower().replace("_", " ")
    return f"{word} of {quote(tool, 60)}" if tool else word


def instructions(number: int, given: AuditInput) -> Answer:
    """Every message that instructs, by kind and trust; whether it was followed is for the reader to see."""
    parts = given.material.parts
    said = parts.filter(pl.col("kind").is_in(list(_INSTRUCTS)), pl.coalesce("text", "data").is_not_null())
    order = list(_INSTRUCTS)
    ranked = said.sort(
        pl.col("kind").replace_strict({k: n for n, k in enumerate(order)}, return_dtype=pl.Int64), "sequence_no"
    )
    rows = [
        AnswerRow(
            f"{_INSTRUCTS[kind]}, by {quote(actor, 60)} ({_trust(trust)}): “{quote(text)}”", (message(message_id),)
        )
        for kind, actor, trust, text, message_id in ranked.select(
            "kind", "actor", "part_trust_level", pl.coalesce("text", "data"), "message_id"
        ).iter_rows()
    ]  # fmt: skip
    has_system = said["kind"].is_in(["SYSTEM_INSTRUCTION", "ORG_POLICY", "DEVELOPER_INSTRUCTION"]).any()
    unseen = "" if has_system else " The system prompt is not recorded."
    attempts = authority_attempts(given.material.markers).height
    claims = f" Untrusted text claims authority {attempts} times; it has none." if attempts else ""
    whole = f"{plural(len(rows), 'part')} that instruct, the highest authority first.{unseen}{claims}"
    return answer(number, rows, whole, "No instruction is recorded.", recorded=False)


def _trust(level: str | None) -> str:
    return (level or "unlabelled").lower().replace("_", " ")


def tools(number: int, given: AuditInput) -> Answer:
    """Every tool with how often it was called and how often it failed."""
    grouped = (
        given.calls.group_by("tool_name", maintain_order=True)
        .agg(
            calls=pl.len(),
            failed=pl.col("status").is_in(["FAILED", "TIMED_OUT"]).sum(),
            cancelled=(pl.col("status") == "CANCELLED").sum(),
            unknown=(pl.col("status") == "UNKNOWN").sum(),
            refs=pl.col("reference").head(3),
        )
        .sort("calls", "tool_name", descending=[True, False])
    )
    rows = [
        AnswerRow(f"{quote(name, 80)}: {plural(calls, 'call')}{_ends(failed, cancelled, unknown)}", tuple(refs))
        for name, calls, failed, cancelled, unknown, refs in grouped.iter_rows()
    ]
    said = f"{plural(given.calls.height, 'call')} of {plural(grouped.height, 'tool')}:"
    return answer(number, rows, said, "No tool call is recorded.")


def _ends(failed: int, cancelled: int, unknown: int) -> str:
    named = ((failed, "failed"), (cancelled, "cancelled"), (unknown, "with no recorded end"))
    told = [f"{count} {word}" for count, word in named if count]
    return f", {', '.join(told)}" if told else ""


def commands(number: int, given: AuditInput) -> Answer:
    """Every command line with how it ended, in order."""
    ran = given.calls.filter(pl.col("command").is_not_null())
    rows = [
        AnswerRow(f"{quote(command)} ({str(status or 'unknown').lower()})", (reference,))
        for command, status, reference in ran.select("command", "status", "reference").iter_rows()
    ]
    return answer(number, rows, f"{plural(len(rows), 'command')}, in order:", "No command is recorded.")


def outputs_used(number: int, given: AuditInput) -> Answer:
    """What the arguments of each call took, word for word, from what stood before it."""
    by_step = given.calls.drop_nulls("step").group_by("step", maintain_order=True).agg("tool_name", "reference")
    calls = {step: (names, refs) for step, names, refs in by_step.iter_rows()}
    rows = list(_decisions(given, calls))
    said = (
        f"{plural(len(rows), 'step')} whose arguments name what an earlier message had brought up. That it stood there "
        "is recorded; that it was the reason is not."
    )
    return answer(number, rows, said, "No call names what an earlier message had brought up.", recorded=bool(calls))


def _decisions(given: AuditInput, calls: dict[int, tuple[list[str], list[str]]]) -> Iterator[AnswerRow]:
    for (step,), uses in given.uses.partition_by("step", as_dict=True, maintain_order=True).items():
        if step not in calls:
            continue
        names, refs = calls[int(str(step))]
        values = uses["value"].unique(maintain_order=True).to_list()
        sources = uses["message_id"].unique(maintain_order=True).to_list()
        shown = ", ".join(quote(one, 60) for one in values[:_VALUES]) + (" …" if len(values) > _VALUES else "")
        origin = "; ".join(dict.fromkeys(_of(given, one) for one in sources[:3]))
        tool = ", ".join(dict.fromkeys(quote(one, 40) for one in names))
        yield AnswerRow(f"Step {step}, {tool}: took {shown} from {origin}", (*refs[:2], *map(message, sources[:4])))
