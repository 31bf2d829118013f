"""Summaries that a model writes: each item is validated against the record, and what it may not say is named.

The model is a callable: it is given what it may cite, and answers with a draft. Nothing of a draft is taken on trust.
An item that has not the form of one, or that its evidence does not carry, is left out, by name and with the rule; what
the draft keeps quiet about (a failing check, a changed file) is put in from the record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import polars as pl
from pydantic import ValidationError

from ledgerkit.memory.summaries.checking import check_summary, repaired
from ledgerkit.memory.working.intentions import sentence
from ledgerkit.memory.working.projector import working_memory
from ledgerkit.memory.working.proposals import judge_update
from ledgerkit.memory.working.record import RunRecord, message_ref
from ledgerkit.protocol.memory import ChangedFile, Decision, EvidencedBase, Fact, OpenProblem, Summary, WorkingMemory
from ledgerkit.protocol.messages import MessageRange
from ledgerkit.protocol.vocabulary import TrustLevel

SummaryDraft = str | Mapping[str, object]
"""What a model answers: a JSON object by the schema of ``Summary``, as text or read already."""
FORM: Final = "form"
"""Named as the rule of an item that has not the form of one."""
_LISTS: Final[dict[str, tuple[str, type[EvidencedBase]]]] = {
    "facts": ("fact", Fact),
    "decisions": ("decision", Decision),
    "open_problems": ("open_problem", OpenProblem),
    "changed_files": ("changed_file", ChangedFile),
}
_SAYS: Final = ("fact", "decision", "problem", "path")
_FENCE: Final = "```"


@dataclass(frozen=True)
class Citable:
    """A message that a summary may cite. Its text is data, whoever wrote it: it gives no orders.

    Attributes:
        ref: What to write as the reference.
        kind: The message's kind.
        trust_level: Its trust.
        text: What it says.
    """

    ref: str
    kind: str
    trust_level: TrustLevel
    text: str


@dataclass(frozen=True)
class SummaryRequest:
    """What a writer is given.

    Attributes:
        run_id: The run.
        covers: The messages that the summary is to cover.
        memory: The run's working memory at that point.
        material: What may be cited, in order.
        schema: The JSON schema of the answer.
    """

    run_id: str
    covers: MessageRange
    memory: WorkingMemory
    material: tuple[Citable, ...]
    schema: Mapping[str, Any]


class SummaryWriter(Protocol):
    """A model, or anything in its place, that writes a draft. It is called once for each summary."""

    def __call__(self, request: SummaryRequest, /) -> SummaryDraft:
        """Writes a draft."""
        ...


@dataclass(frozen=True)
class Discarded:
    """An item of a draft that the summary does not hold, the rule that decided, and why."""

    kind: str
    item: str
    rule: str
    why: str


@dataclass(frozen=True)
class WrittenSummary:
    """A summary that a model wrote, as far as the record carries it.

    Attributes:
        summary: The summary. It names what was discarded.
        covers: The messages that it covers.
        discarded: Items of the draft that it does not hold.
        findings: What was wrong with the draft (``FINDING_SCHEMA``): invented, hidden, lost, silent.
        outcome: ``accepted`` (nothing was wrong), ``repaired``, or ``rejected``: nothing of the draft could be taken,
            and the summary is a fresh projection of the record.
    """

    summary: Summary
    covers: MessageRange
    discarded: tuple[Discarded, ...]
    findings: pl.DataFrame
    outcome: str


def write_summary(record: RunRecord, write: SummaryWriter, *, step: int | None = None) -> WrittenSummary:
    """Has a summary of a run written, and validates it item by item.

    Args:
        record: The rows of the run.
        write: The writer.
        step: The step up to which the summary covers the run; the whole run if not given.

    Raises:
        ValueError: If there is nothing to sum up.
    """
    seen = record.up_to(step)
    if seen.parts.is_empty():
        raise ValueError(f"run {record.run_id!r} holds no message up to step {step}: there is nothing to sum up")
    request = _request(seen)
    items, malformed, said = _read(write(request))
    own = [line for line in said if isinstance(line, str) and line.strip()]
    kept = {name: tuple(one for of, one in items if of == name) for name in _LISTS}
    draft = Summary.model_validate({**kept, "discarded_details": tuple(sentence(line) for line in own)})
    findings = check_summary(seen, draft)
    mended = repaired(seen, draft)
    discarded = (*malformed, *_refused(seen, draft, mended))
    named = tuple(f"Left out, {one.rule}: {one.kind.replace('_', ' ')}: {one.item} ({one.why})" for one in discarded)
    details = tuple(dict.fromkeys((*mended.discarded_details, *(sentence(line) for line in named))))
    is_taken = bool(items) and len(discarded) - len(malformed) < len(items)
    outcome = "rejected" if not is_taken else "repaired" if discarded or findings.height else "accepted"
    return WrittenSummary(
        mended.model_copy(update={"discarded_details": details}), request.covers, discarded, findings, outcome
    )


@dataclass(frozen=True)
class WritingSummarizer:
    """A :class:`Summarizer` whose summaries a writer drafts and the record validates."""

    write: SummaryWriter

    def summarise(self, record: RunRecord, step: int | None = None) -> Summary:
        """What of the writer's draft the record carries, and what it kept quiet about."""
        return write_summary(record, self.write, step=step).summary


def _request(seen: RunRecord) -> SummaryRequest:
    texts = seen.parts.filter(pl.col("text").str.strip_chars() != "", pl.col("part_visibility") == "MODEL_VISIBLE")
    material = tuple(
        Citable(str(message_ref(message)), kind, TrustLevel(trust), text)
        for message, kind, trust, text in texts.sort("sequence_no", "part_index")
        .select("message_id", "kind", "part_trust_level", "text")
        .iter_rows()
    )
    first, last = seen.parts.select(first=pl.col("sequence_no").min(), last=pl.col("sequence_no").max()).row(0)
    covers = MessageRange(first=int(first), last=int(last))
    return SummaryRequest(seen.run_id, covers, working_memory(seen), material, Summary.model_json_schema())


def _read(draft: SummaryDraft) -> tuple[list[tuple[str, EvidencedBase]], list[Discarded], Sequence[object]]:
    """The items of a draft that have the form of one, the others, and what it says that it leaves out."""
    fields: Mapping[str, object] | None = _object(draft) if isinstance(draft, str) else draft
    if fields is None:
        why = "The answer is no JSON object."
        return [], [Discarded("summary", sentence(str(draft)) or "nothing", FORM, why)], []
    items, malformed = list[tuple[str, EvidencedBase]](), list[Discarded]()
    for name, (kind, model) in _LISTS.items():
        for one in _listed(fields.get(name)):
            try:
                items.append((name, model.model_validate(one)))
            except ValidationError as error:
                malformed.append(_malformed(kind, one, error))
    return items, malformed, _listed(fields.get("discarded_details"))


def _object(text: str) -> Mapping[str, object] | None:
    """The JSON object of an answer, which may stand between fences."""
    body = text.strip()
    if body.startswith(_FENCE):
        body = body.partition("\n")[2].rpartition(_FENCE)[0]
    try:
        read: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None  # pyright: ignore[reportUnknownVariableType] - keys of JSON are text


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()  # pyright: ignore[reportUnknownVariableType]


def _malformed(kind: str, one: object, error: ValidationError) -> Discarded:
    first = error.errors()[0]
    where = ".".join(str(place) for place in first["loc"])
    cites_nothing = where.startswith("evidence_refs") and first["type"] in ("missing", "too_short")
    why = "It cites nothing." if cites_nothing else sentence(f"{where}: {first['msg']}" if where else first["msg"])
    return Discarded(kind, _said(one), "R1" if cites_nothing else FORM, why)


def _said(one: object) -> str:
    if isinstance(one, Mapping):
        texts = (one.get(name) for name in _SAYS)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        one = next((text for text in texts if isinstance(text, str)), json.dumps(one, default=str, sort_keys=True))  # pyright: ignore[reportUnknownVariableType]
    return sentence(str(one)) or "nothing"


def _refused(seen: RunRecord, draft: Summary, mended: Summary) -> Iterator[Discarded]:
    """Items of a draft that the mended summary does not hold."""
    verdicts = {id(item): verdict for item, verdict in zip(_items(draft), judge_update(seen, draft), strict=True)}
    for item in _items(draft):
        verdict = verdicts[id(item)]
        text = getattr(item, {"open_problem": "problem"}.get(verdict.kind, verdict.kind))
        if text not in {_text(one) for one in _items(mended)}:
            yield Discarded(verdict.kind, sentence(text), verdict.rule, verdict.why)
    there = {one.path for one in mended.changed_files}
    for one in draft.changed_files:
        if one.path not in there:
            yield Discarded("changed_file", sentence(one.path), "R17", f"No recorded change of {one.path}.")


def _items(summary: Summary) -> tuple[Fact | Decision | OpenProblem, ...]:
    return (*summary.facts, *summary.decisions, *summary.open_problems)


def _text(item: Fact | Decision | OpenProblem) -> str:
    return item.fact if isinstance(item, Fact) else item.decision if isinstance(item, Decision) else item.problem
