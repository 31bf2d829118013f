"""What is verified beside the history: artifacts, what queries can read, erasures, journals and the table's log."""

from __future__ import annotations

from typing import Final

import duckdb

from ledgerkit import errors, tables
from ledgerkit.store.erasures import ERASURES, explained_erasures
from ledgerkit.store.integrity.findings import IntegrityFinding, Rule, VerificationReport
from ledgerkit.store.journal import read_journal
from ledgerkit.store.storage import Storage
from ledgerkit.store.verifiedfiles import UNREADABLE, Seen, batches, unreadable

_EVERY_CELL: Final = "select max(hash(t)) from read_parquet($1, hive_partitioning = false) t"


def check_artifacts(storage: Storage, referenced: set[str], report: VerificationReport) -> None:
    """Whether each artifact is what its id says, and each that is referred to is there."""
    held: set[str] = set()
    is_whole = True
    for file in storage.store.live_files("artifacts"):
        try:
            for rows in batches(storage, "artifacts", file):
                for content_id, content in rows.select("content_id", "content").iter_rows():
                    held.add(content_id)
                    report.artifacts += 1
                    if content is None or storage.layout.content_id(content) != content_id:
                        report.findings.append(
                            IntegrityFinding(
                                Rule.ALTERED_ARTIFACT,
                                f"The content of artifact {content_id} is not what its id says.",
                                file=f"artifacts/{file.path}",
                            )
                        )
        except UNREADABLE as error:
            is_whole = False
            report.findings.append(unreadable("artifacts", file, error))
    for content_id in sorted(referenced - held) if is_whole else ():
        detail = f"Artifact {content_id} is referred to, and is not there."
        report.findings.append(IntegrityFinding(Rule.MISSING_ARTIFACT, detail))


def check_queries(storage: Storage, report: VerificationReport) -> None:
    """Whether queries can read every file too: their engine reads footers more strictly than the reader above."""
    named = {finding.file for finding in report.findings}
    with duckdb.connect() as connection:
        for name in tables.TABLES:
            for file in storage.store.live_files(name):
                if f"{name}/{file.path}" in named:
                    continue
                path = str(storage.store.fetch(name, file.path))
                try:
                    connection.execute(_EVERY_CELL, [path]).fetchall()
                except (duckdb.Error, UnicodeDecodeError) as error:
                    report.findings.append(unreadable(name, file, error))


def check_erasures(storage: Storage, seen: Seen, report: VerificationReport) -> None:
    """Whether each erasure has a record that names what was erased, and each record was carried out."""
    report.erased = len(seen.erased)
    if report.messages == 0:
        return
    try:
        explained = explained_erasures(storage)
    except (errors.LedgerkitError, duckdb.Error, UnicodeDecodeError) as error:
        report.findings.append(
            IntegrityFinding(Rule.UNEXPLAINED_ERASURE, f"Records cannot be read: {str(error).partition(chr(10))[0]}")
        )
        return
    for message_id, record in sorted(seen.erased.items()):
        if message_id not in explained.get(record, ()):
            report.findings.append(_unexplained(record, message_id=message_id))
    for run_id, record in sorted(seen.erased_runs.items()):
        if run_id not in explained.get(record, ()):
            report.findings.append(_unexplained(record, run_id=run_id))
    named = {message_id: record for record, ids in sorted(explained.items()) for message_id in ids}
    for message_id in sorted(named.keys() & seen.unerased(named)):
        detail = f"Its erasure is recorded ({named[message_id]}), and it still has content: erase it again."
        report.findings.append(IntegrityFinding(Rule.INCOMPLETE_ERASURE, detail, message_id=message_id))


def _unexplained(record: str, *, message_id: str | None = None, run_id: str | None = None) -> IntegrityFinding:
    detail = f"Its content is marked as erased by {record}, which is no record of the run {ERASURES} that names it."
    return IntegrityFinding(Rule.UNEXPLAINED_ERASURE, detail, message_id=message_id, run_id=run_id)


def check_journals(storage: Storage, report: VerificationReport) -> None:
    """Whether each record of each journal is whole."""
    kept = [path for path in storage.layout.journals.glob("*.journal*") if path.suffix in (".journal", ".damaged")]
    for path in sorted(kept):  # what a crash left of a journal in the making belongs to nobody
        name = f"journal/{path.name}"
        try:
            content = read_journal(path)
        except FileNotFoundError:  # sealed in the meantime
            continue
        except (errors.JournalError, ValueError) as error:
            report.findings.append(IntegrityFinding(Rule.DAMAGED_JOURNAL, str(error), file=name))
            continue
        if path.suffix == ".journal":
            report.journaled += len(content.records)
        for at, length in content.damaged:
            report.findings.append(
                IntegrityFinding(
                    Rule.DAMAGED_JOURNAL,
                    f"The record at byte {at} ({length} bytes) is damaged; those after it are whole.",
                    session_id=content.header.session_id,
                    run_id=content.header.run_id,
                    file=name,
                )
            )


def check_log(storage: Storage, report: VerificationReport) -> None:
    """Whether the history was appended to alone, as its own log says."""
    handle = storage.store.handle("history")
    if handle.metadata().configuration.get("delta.appendOnly") != "true":
        detail = "The history's append-only property was switched off."
        report.findings.append(IntegrityFinding(Rule.NOT_APPEND_ONLY, detail))
    for entry in handle.history():
        if entry.get("operation") in ("RESTORE", "DELETE", "UPDATE", "MERGE", "SET TBLPROPERTIES", "OPTIMIZE"):
            detail = f"Version {entry['version']} of the history is a {entry['operation']}: no work of this ledger."
            report.findings.append(IntegrityFinding(Rule.NOT_APPEND_ONLY, detail))
