"""The stored tables."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.tables.schema import BYTES, INT, MONEY, SMALL_INT, TEXT, TEXTS, TIME, Column, Role, Table


def _content(name: str, kind: pl.DataType, doc: str) -> Column:
    return Column(name, kind, doc, Role.CONTENT)


def _proof(name: str, kind: pl.DataType, doc: str) -> Column:
    return Column(name, kind, doc, Role.PROOF)


RUN_KEYS = (
    Column("session_id", TEXT, "The session: the source's own id where that is a UUID."),
    Column("run_id", TEXT, "The run within the session."),
)
MESSAGE_KEYS = (
    *RUN_KEYS,
    Column("sequence_no", INT, "Place of the message in its run: 0, 1, 2, … without gaps."),
    Column("message_id", TEXT, "The message. UUIDv7 if recorded live, UUIDv8 if imported."),
)
MESSAGE = (
    Column("kind", TEXT, "What the message is: one of the seventeen kinds."),
    Column("trust_level", TEXT, "Lowest trust of the message's parts."),
    Column("visibility", TEXT, "Widest visibility of the message's parts."),
    Column("actor", TEXT, "Who said it: user, the model's name, a tool's name, the agent program, a hook."),
    Column("created_at", TIME, "When, as the source says; null if it does not."),
    Column(
        "step",
        SMALL_INT,
        "Model call of the run that the message belongs to: the call that wrote it or whose tools answered, else the "
        "next call.",
    ),
    Column("visible_from", SMALL_INT, "First step whose context may hold the message."),
    Column("parent_message_id", TEXT, "The message that this one answers or follows, if the source says so."),
    Column("trace_id", TEXT, "Trace of the recording system, if any."),
    Column("idempotency_key", TEXT, "Key given by a live writer; unique within the run."),
    Column("import_id", TEXT, "The import that brought the message; null if appended live."),
    Column("source_file", TEXT, "File that the message was read from; null if appended live."),
    Column("source_offset", INT, "Byte offset of its record in that file."),
    Column("source_line", INT, "Line number of its record in that file, from 1."),
    Column("source_record", TEXT, "The record's own id in the source (a line's uuid, say)."),
    _content("metadata", TEXT, "What else the record's envelope said (JSON), on part 0 only."),
)
PART = (
    Column("part_id", TEXT, "The part: its message's id, a dot and its index."),
    Column("part_type", TEXT, "One of the nine part types."),
    Column("content_type", TEXT, "Media type of the content."),
    Column("part_trust_level", TEXT, "Where the content really comes from."),
    Column("part_visibility", TEXT, "Who may see the part."),
    _content(
        "text", TEXT, "The text as the model or the person saw it; the head of it where an artifact holds the whole."
    ),
    _content("data", TEXT, "Structured content (JSON): a call's arguments, a result's fields, a verdict's counts."),
    _content("summary", TEXT, "A summary that the source recorded."),
    _content("artifact_refs", TEXTS, "Content ids of artifacts that hold the full content."),
    Column("tool_call_id", TEXT, "Correlates a call with its results."),
    Column("tool_name", TEXT, "The tool."),
    _content("arguments_hash", TEXT, "SHA-256 of the call's canonical arguments."),
    Column("status", TEXT, "How the call ended (on results) or REQUESTED (on calls)."),
    Column("started_at", TIME, "When the call began, if recorded."),
    Column("finished_at", TIME, "When the call ended, if recorded."),
    _content("path", TEXT, "The file that the part is about, as the source wrote it."),
    Column("error_category", TEXT, "Kind of failure, where it is one."),
    _content(
        "evidence_refs", TEXTS, "What the part rests on: message:, tool-call:, artifact:, file:, task: references."
    ),
    Column("token_count", INT, "Tokens of the whole content (o200k_base)."),
    Column("byte_count", INT, "UTF-8 bytes of the whole content."),
    _content("content_id", TEXT, "Keyed hash of the whole content; equal contents of one ledger have equal ids."),
)
USAGE = (
    Column("call_id", TEXT, "The model call that wrote this: the provider's message id and request id."),
    Column("model", TEXT, "Model that answered, as recorded."),
    Column("provider", TEXT, "Provider, where known."),
    Column("service_tier", TEXT, "Tier as recorded (standard, batch, priority)."),
    Column("input_tokens", INT, "ALL input tokens; cache reads and writes are inside it."),
    Column("cache_read_tokens", INT, "Input tokens read from a prompt cache."),
    Column("cache_write_5m_tokens", INT, "Input tokens written to a cache of five minutes."),
    Column("cache_write_1h_tokens", INT, "Input tokens written to a cache of one hour."),
    Column("output_tokens", INT, "ALL output tokens; reasoning is inside it."),
    Column("reasoning_tokens", INT, "Output tokens spent on reasoning, where recorded."),
    Column("reported_cost", MONEY, "Cost in US dollars as the source itself reported it."),
)

_COMMITMENT = (
    _proof("salt", BYTES, "Random bytes that keep the content's commitment from being guessed at."),
    _proof("content_commit", BYTES, "SHA-256 of the salt and the content columns; stays when they go."),
)
_ERASED = _proof("erased", TEXT, "The message that records why this row's content was erased; null if it was not.")

HISTORY: Final = Table(
    "history",
    "a part of a message; every message has at least one",
    (
        Column(
            "run_date", TEXT, "Partition: UTC date of the run's first message as first imported; 1970-01-01 if none."
        ),
        *RUN_KEYS,
        Column("revision", SMALL_INT, "Revision of the run; the highest one counts."),
        Column("sequence_no", INT, "Place of the message in its run: 0, 1, 2, … without gaps."),
        Column("message_id", TEXT, "The message."),
        Column("part_index", SMALL_INT, "Place of the part in its message, from 0."),
        *MESSAGE,
        *PART,
        *USAGE,
        _proof("leaf_index", INT, "Place of the message among all messages of the ledger, in order of commit."),
        _proof("leaf_hash", BYTES, "SHA-256 over the message: a leaf of the ledger's Merkle tree."),
        _proof("prev_hash", BYTES, "Leaf hash of the message before it in its run; zeros for the first."),
        *_COMMITMENT,
        _ERASED,
    ),
    partition_by=("run_date",),
    sort_by=("session_id", "run_id", "revision", "sequence_no", "part_index"),
)
"""The history: a row for each part of a message."""

ARTIFACTS: Final = Table(
    "artifacts",
    "one content kept outside the messages",
    (
        Column("content_id", TEXT, "Keyed hash of the content."),
        Column("media_type", TEXT, "Media type."),
        Column("label", TEXT, "safe, redacted or restricted."),
        Column("byte_count", INT, "Size of the content."),
        Column("content", BYTES, "The content itself."),
        Column("import_id", TEXT, "The import that first brought it."),
    ),
    sort_by=("content_id",),
)
"""Contents kept outside messages, by content id."""

RUN_FACTS = (
    _content("task_id", TEXT, "The task, where the source names one."),
    _content("title", TEXT, "Title that the source gave the run."),
    _content("repository", TEXT, "Repository, or the project directory where no repository is recorded."),
    _content("branch", TEXT, "Branch at the start of the run."),
    _content("working_directory", TEXT, "Working directory at the start of the run."),
    Column("agent", TEXT, "The agent program."),
    Column("agent_version", TEXT, "Its version at the start of the run."),
    Column(
        "parent_run_id",
        TEXT,
        "Run that this one came from; where the ledger does not hold it, the session that the log names.",
    ),
    Column("forked_at", TEXT, "Message of the parent run where it branched off."),
    Column(
        "relation",
        TEXT,
        "subagent, rewind, fork, retry, compaction: how it came from its parent; review: it judges others.",
    ),
    Column("source_format", TEXT, "Log format, or 'recorder' for runs recorded live."),
    Column("source_file", TEXT, "File that holds the start of the run."),
)

RUNS: Final = Table(
    "runs",
    "what the history cannot derive about a run; the latest row of a run counts",
    (
        *RUN_KEYS,
        Column("run_date", TEXT, "Partition of the run's rows in history."),
        Column("revision", SMALL_INT, "Revision of the run that this row belongs to."),
        *RUN_FACTS,
        Column("recorded_at", TIME, "When this row was written; a later row replaces an earlier one."),
        Column("import_id", TEXT, "The import that wrote it; null for a run that is recorded live."),
        _proof("leaf_index", INT, "Place of the row among all rows of this table, in order of commit."),
        _proof("row_hash", BYTES, "SHA-256 over the row: a leaf of the table's Merkle tree."),
        *_COMMITMENT,
        _ERASED,
    ),
    sort_by=("session_id", "run_id", "recorded_at"),
)
"""What history cannot derive about runs; the latest row of a run counts."""

_FATE = pl.Struct({"record_type": TEXT, "fate": TEXT, "reason": TEXT, "count": INT})
_QUARANTINED = pl.Struct({"line": INT, "offset": INT, "bytes": INT, "reason": TEXT, "record_type": TEXT})

IMPORTS: Final = Table(
    "imports",
    "the state of a source file after an import; the latest row of a file counts",
    (
        Column("import_id", TEXT, "The import."),
        Column("path", TEXT, "The file."),
        Column("format", TEXT, "Its format, or 'unsupported'."),
        Column("byte_count", INT, "Size of the file when it was read."),
        Column("begin", INT, "Byte offset at which this reading began; 0 for a whole reading."),
        Column("cursor", INT, "Bytes read for good; a grown file continues here."),
        Column("fingerprint", TEXT, "SHA-256 of the bytes up to the cursor."),
        Column("line_count", INT, "Non-blank lines."),
        Column("record_count", INT, "What the file holds: records, objects recovered from glued lines, damaged lines."),
        Column("accepted", INT, "Records whose content is in the history, brought by this file."),
        Column("duplicate", INT, "Records that the ledger holds already."),
        Column("skipped", INT, "Records left out by a rule."),
        Column("quarantined", INT, "Damaged or unreadable records."),
        Column("identified", INT, "Records with an id of their own."),
        Column("distinct_records", INT, "Distinct ids among them, counted anew for each reading."),
        Column("fates", pl.List(_FATE), "Counts by record type, fate and reason."),
        Column("quarantine", pl.List(_QUARANTINED), "Every quarantined record: where, and why."),
        Column("sessions", TEXTS, "Sessions that the file holds records of; at the end the one that it held last."),
        Column("record_keys", pl.List(INT), "Hashes of the records of this import, in file order (for merging files)."),
        Column("redaction", TEXT, "Redaction mode of the import: off, audit or on."),
        Column("imported_at", TIME, "When."),
    ),
    sort_by=("path", "imported_at"),
)
"""Source files that were imported, each with its account."""

CHECKPOINTS: Final = Table(
    "checkpoints",
    "a head of the ledger's Merkle trees: what the ledger held at a moment, in two hashes",
    (
        Column("checkpoint_id", TEXT, "SHA-256 of the checkpoint's text."),
        Column("created_at", TIME, "When."),
        Column("tree_size", INT, "Messages of the history that it covers."),
        Column("root", BYTES, "Root of the tree over their leaf hashes (RFC 6962)."),
        Column("runs_size", INT, "Rows of ``runs`` that it covers."),
        Column("runs_root", BYTES, "Root of the tree over their row hashes."),
        Column("previous", TEXT, "The checkpoint before it; null for the first."),
        Column("frontier", BYTES, "Hashes of the complete subtrees, from which the next root is computed."),
        Column("runs_frontier", BYTES, "The same for ``runs``."),
    ),
    sort_by=("tree_size", "created_at"),
)
"""Heads of the two Merkle trees."""

SNAPSHOTS: Final = Table(
    "snapshots",
    "a cached projection; it can be computed again from the messages that it names",
    (
        Column("snapshot_id", TEXT, "The snapshot."),
        Column("session_id", TEXT, "The session; null for a repository's."),
        Column("run_id", TEXT, "The run; null for a session's or a repository's."),
        Column("repository", TEXT, "The repository; null for a run's or a session's."),
        Column("projection_type", TEXT, "Which projection."),
        Column("projection_version", INT, "Version of the projection's rules; a newer one makes the snapshot stale."),
        Column("snapshot_version", INT, "1, 2, … for each subject and projection."),
        Column("content", TEXT, "The projection (canonical JSON)."),
        Column("source_message_from", TEXTS, "First message of each range that it was computed from."),
        Column("source_message_to", TEXTS, "Last message of each range."),
        Column("source_size", INT, "Messages in the ledger when it was computed."),
        Column("source_hash", TEXT, "Hash of the leaf hashes of its source messages."),
        Column("created_at", TIME, "When."),
    ),
    sort_by=("projection_type", "session_id", "run_id", "repository", "snapshot_version"),
)
"""Cached projections."""

REDACTIONS: Final = Table(
    "redactions",
    "a placeholder that stands in the place of a secret",
    (
        *MESSAGE_KEYS,
        Column("part_id", TEXT, "The part; null where the placeholder stands in metadata or in an artifact."),
        Column("artifact", TEXT, "Content id of the artifact that holds it; null where a row does."),
        Column("field", TEXT, "Column that it stands in, or content."),
        Column("secret_type", TEXT, "What the secret is."),
        Column("placeholder", TEXT, "The placeholder."),
        Column("fingerprint", TEXT, "Keyed hash of the secret, 12 hexadecimal digits: the same secret has the same."),
        Column("key_id", TEXT, "Which key the fingerprint was made with; null if another program redacted it before."),
        Column("start", INT, "Where the placeholder begins in the field, in characters."),
        Column("source_file", TEXT, "File that holds the original; null if the message was appended live."),
        Column("source_offset", INT, "Byte offset of its record there."),
        Column("source_line", INT, "Line number of its record there."),
        Column("import_id", TEXT, "The import that brought it; null if appended live."),
    ),
    sort_by=("session_id", "run_id", "sequence_no", "part_id", "field", "start"),
)
"""Replacements of secrets."""

TABLES: Final[dict[str, Table]] = {
    t.name: t for t in (HISTORY, ARTIFACTS, RUNS, REDACTIONS, IMPORTS, CHECKPOINTS, SNAPSHOTS)
}
"""The stored tables by name."""
