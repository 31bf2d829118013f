"""What a run changed, and what it has read."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.errors import ProtocolError
from ledgerkit.memory.working.intentions import sentence
from ledgerkit.memory.working.record import RunRecord, call_ref, message_ref
from ledgerkit.protocol.memory import ChangedFile, Fact
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.vocabulary import ChangeType, ClaimOutcome, MessageKind, TrustLevel

_CHANGES: Final = {
    "create": ChangeType.CREATED,
    "modify": ChangeType.MODIFIED,
    "delete": ChangeType.DELETED,
    "rename": ChangeType.RENAMED,
}


def changed_files(record: RunRecord) -> list[ChangedFile]:
    """Files that were changed, by path; changes that are known to have failed do not count.

    A file that was created and then modified is a created one; one that was created and deleted again is left out.
    """
    # A shell line may name files by variables and patterns: which ones these were is not recorded.
    is_named = pl.col("path").str.contains(r"[$*?`]").not_()
    rows = record.changes.filter(is_named, pl.col("is_ok").fill_null(value=True))
    found = dict[str, ChangedFile]()
    for path, change, reference, call in rows.select("path", "change", "reference", "tool_call_id").iter_rows():
        kind, before = _CHANGES.get(change), found.get(path)
        if before is not None and before.change is ChangeType.CREATED:
            if kind is ChangeType.DELETED:
                del found[path]
                continue
            kind = ChangeType.CREATED
        refs = (*(before.evidence_refs if before else ()), *_refs(reference, call))
        if refs and sentence(path):
            found[path] = ChangedFile(
                path=path,
                change=kind,
                evidence_refs=tuple(dict.fromkeys(refs))[-4:],
                trust_level=TrustLevel.MODEL_GENERATED,
            )
    return [found[path] for path in sorted(found)]


def read_files(record: RunRecord) -> list[Fact]:
    """Files that were read, by path, each with its last reading; out of date if the file was changed since."""
    reads = record.parts.filter(
        pl.col("kind") == MessageKind.FILE_OBSERVATION.value,
        pl.col("part_type") == "tool_result",
        pl.col("path").is_not_null(),
        pl.col("text").is_not_null(),
        pl.col("status").is_null() | (pl.col("status") == "SUCCEEDED"),
    )
    last = reads.sort("sequence_no", "part_index").unique("path", keep="last", maintain_order=True).sort("path")
    changed = dict(
        record.changes.filter(pl.col("path").is_not_null()).group_by("path").agg(pl.col("seen_at").max()).iter_rows()
    )
    facts = list[Fact]()
    for row in last.iter_rows(named=True):
        lines = row["text"].count("\n") + 1
        call, path = row["tool_call_id"], row["path"]
        facts.append(
            Fact(
                fact=sentence(f"{path} was read: {lines} {'line' if lines == 1 else 'lines'} came back"),
                evidence_refs=(call_ref(call) if call else message_ref(row["message_id"]),),
                trust_level=TrustLevel(row["part_trust_level"]),
                outcome=ClaimOutcome.STALE if changed.get(path, -1) > row["sequence_no"] else ClaimOutcome.SUPPORTED,
            )
        )
    return facts


def _refs(reference: str | None, call: str | None) -> tuple[EvidenceRef, ...]:
    if reference is not None:
        try:
            return (EvidenceRef.parse(reference),)
        except ProtocolError:  # an id of a log that is none here
            pass
    return (call_ref(call),) if call else ()
