"""Every stored table and view, its columns, types and partitioning: declared once, as data.

Nothing else in ledgerkit names a column type. Storage, views, Polars frames and the documentation read it here.
Times are UTC microseconds; amounts of money are US dollars as ``decimal(18, 9)`` (whole nano-dollars); identifiers
are text; JSON is text that ``json_valid`` accepts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import polars as pl

LAYOUT_VERSION: Final = 1
"""Version of the stored layout; written into a new ledger, checked when one is opened."""

if TYPE_CHECKING:
    from polars._typing import ColumnNameOrSelector, PolarsDataType

TEXT: Final = pl.String()
INT: Final = pl.Int64()
SMALL_INT: Final = pl.Int32()
REAL: Final = pl.Float64()
FLAG: Final = pl.Boolean()
TIME: Final = pl.Datetime("us", "UTC")
MONEY: Final = pl.Decimal(18, 9)
BYTES: Final = pl.Binary()
TEXTS: Final = pl.List(TEXT)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, type and what stands in it."""

    name: str
    type: pl.DataType
    doc: str


@dataclass(frozen=True, slots=True)
class Table:
    """A stored table."""

    name: str
    one_row_is: str
    columns: tuple[Column, ...]
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()

    @property
    def schema(self) -> pl.Schema:
        """Names and types, in declared order."""
        return pl.Schema({c.name: c.type for c in self.columns})

    @property
    def types(self) -> Mapping[ColumnNameOrSelector | PolarsDataType, PolarsDataType]:
        """Types by name, as a cast takes them."""
        return {c.name: c.type for c in self.columns}

    def frame(self, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
        """Rows as a frame of this table. Every row has every column; times may be microseconds since 1970."""
        listed = list(rows)
        return self.frame_of({c.name: list(map(itemgetter(c.name), listed)) for c in self.columns})

    def frame_of(self, columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
        """Columns as a frame of this table; times may be microseconds since 1970."""
        return pl.DataFrame([_series(c, columns[c.name]) for c in self.columns])

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in declared order."""
        return tuple(c.name for c in self.columns)


def instance(kind: PolarsDataType) -> pl.DataType:
    """A type as an instance, where Polars gives its class."""
    return kind if isinstance(kind, pl.DataType) else kind()


def _series(column: Column, values: Sequence[Any]) -> pl.Series:
    if column.type == TIME and any(isinstance(value, int) for value in values):
        return pl.Series(column.name, values, INT).cast(TIME)
    return pl.Series(column.name, values, column.type)


@dataclass(frozen=True, slots=True)
class View:
    """A view over stored tables: a judgement about rows, or another grain of them."""

    name: str
    one_row_is: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in declared order."""
        return tuple(c.name for c in self.columns)


_RUN_KEYS = (
    Column("session_id", TEXT, "The session: the source's own id where that is a UUID."),
    Column("run_id", TEXT, "The run within the session."),
)
_MESSAGE_KEYS = (
    *_RUN_KEYS,
    Column("sequence_no", INT, "Place of the message in its run: 0, 1, 2, … without gaps."),
    Column("message_id", TEXT, "The message. UUIDv7 if recorded live, UUIDv8 if imported."),
)
_MESSAGE = (
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
    Column("metadata", TEXT, "What else the record's envelope said (JSON), on part 0 only."),
)
_PART = (
    Column("part_id", TEXT, "The part: its message's id, a dot and its index."),
    Column("part_type", TEXT, "One of the nine part types."),
    Column("content_type", TEXT, "Media type of the content."),
    Column("part_trust_level", TEXT, "Where the content really comes from."),
    Column("part_visibility", TEXT, "Who may see the part."),
    Column(
        "text", TEXT, "The text as the model or the person saw it; the head of it where an artifact holds the whole."
    ),
    Column("data", TEXT, "Structured content (JSON): a call's arguments, a result's fields, a verdict's counts."),
    Column("summary", TEXT, "A summary that the source recorded."),
    Column("artifact_refs", TEXTS, "Content ids of artifacts that hold the full content."),
    Column("tool_call_id", TEXT, "Correlates a call with its results."),
    Column("tool_name", TEXT, "The tool."),
    Column("arguments_hash", TEXT, "SHA-256 of the call's canonical arguments."),
    Column("status", TEXT, "How the call ended (on results) or REQUESTED (on calls)."),
    Column("started_at", TIME, "When the call began, if recorded."),
    Column("finished_at", TIME, "When the call ended, if recorded."),
    Column("path", TEXT, "The file that the part is about, as the source wrote it."),
    Column("error_category", TEXT, "Kind of failure, where it is one."),
    Column("evidence_refs", TEXTS, "What the part rests on: message:, tool-call:, artifact:, file:, task: references."),
    Column("token_count", INT, "Tokens of the whole content (o200k_base)."),
    Column("byte_count", INT, "UTF-8 bytes of the whole content."),
    Column("content_id", TEXT, "Keyed hash of the whole content; equal contents of one ledger have equal ids."),
)
_USAGE = (
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

HISTORY: Final = Table(
    "history",
    "a part of a message; every message has at least one",
    (
        Column(
            "run_date", TEXT, "Partition: UTC date of the run's first message as first imported; 1970-01-01 if none."
        ),
        *_RUN_KEYS,
        Column("revision", SMALL_INT, "Revision of the run; the highest one counts."),
        Column("sequence_no", INT, "Place of the message in its run: 0, 1, 2, … without gaps."),
        Column("message_id", TEXT, "The message."),
        Column("part_index", SMALL_INT, "Place of the part in its message, from 0."),
        *_MESSAGE,
        *_PART,
        *_USAGE,
    ),
    partition_by=("run_date",),
    sort_by=("session_id", "run_id", "revision", "sequence_no", "part_index"),
)

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

_RUN_FACTS = (
    Column("task_id", TEXT, "The task, where the source names one."),
    Column("title", TEXT, "Title that the source gave the run."),
    Column("repository", TEXT, "Repository, or the project directory where no repository is recorded."),
    Column("branch", TEXT, "Branch at the start of the run."),
    Column("working_directory", TEXT, "Working directory at the start of the run."),
    Column("agent", TEXT, "The agent program."),
    Column("agent_version", TEXT, "Its version at the start of the run."),
    Column("parent_run_id", TEXT, "Run that this one came from."),
    Column("forked_at", TEXT, "Message of the parent run where it branched off."),
    Column("relation", TEXT, "How it came from its parent: subagent, rewind, fork, retry, compaction."),
    Column("source_format", TEXT, "Log format, or 'recorder' for runs recorded live."),
    Column("source_file", TEXT, "File that holds the start of the run."),
)

RUNS: Final = Table(
    "runs",
    "what the history cannot derive about a run; the latest row of a run counts",
    (
        *_RUN_KEYS,
        Column("run_date", TEXT, "Partition of the run's rows in history."),
        Column("revision", SMALL_INT, "Revision of the run that this row belongs to."),
        *_RUN_FACTS,
        Column("recorded_at", TIME, "When this row was written; a later row replaces an earlier one."),
        Column("import_id", TEXT, "The import that wrote it."),
    ),
    sort_by=("session_id", "run_id", "recorded_at"),
)

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

TABLES: Final[dict[str, Table]] = {t.name: t for t in (HISTORY, ARTIFACTS, RUNS, IMPORTS)}

_WHOLE_RUN = Column("is_copy", FLAG, "True where another session holds the original of this record (a fork's history).")

VIEWS: Final[dict[str, View]] = {
    v.name: v
    for v in (
        View(
            "messages",
            "a message",
            (
                *_MESSAGE_KEYS,
                *_MESSAGE,
                Column("part_count", INT, "Number of parts."),
                Column("text", TEXT, "Texts of the parts, joined by newlines."),
                Column("token_count", INT, "Tokens of all parts."),
                Column("call_id", TEXT, "The model call that wrote it."),
                Column("model", TEXT, "Model that wrote it."),
                _WHOLE_RUN,
            ),
        ),
        View(
            "parts",
            "a part",
            (
                *_MESSAGE_KEYS,
                Column("part_index", SMALL_INT, "Place of the part in its message, from 0."),
                *_MESSAGE,
                *_PART,
                Column("call_id", TEXT, "The model call that wrote it."),
                Column("model", TEXT, "Model that wrote it."),
            ),
        ),
        View(
            "tool_calls",
            "a tool call with its first result",
            (
                *_RUN_KEYS,
                Column("step", SMALL_INT, "Model call that asked for it."),
                Column("sequence_no", INT, "Place of the request in its run."),
                Column("message_id", TEXT, "The request."),
                Column("tool_call_id", TEXT, "Correlates a call with its results."),
                Column("tool_name", TEXT, "The tool."),
                Column("arguments", TEXT, "Arguments (JSON)."),
                Column("arguments_hash", TEXT, "SHA-256 of the canonical arguments."),
                Column("path", TEXT, "File that the call or its result is about."),
                Column("status", TEXT, "SUCCEEDED, FAILED, CANCELLED, TIMED_OUT; UNKNOWN where no result is recorded."),
                Column("error_category", TEXT, "Kind of failure."),
                Column("started_at", TIME, "When it was asked for or began."),
                Column("finished_at", TIME, "When its result was recorded."),
                Column("duration_s", REAL, "Seconds between the two, where both are recorded."),
                Column("result_message_id", TEXT, "Message of its first result; null if there is none."),
                Column("result_text", TEXT, "Text of its first result."),
                Column("result_count", INT, "Number of results."),
                Column("result_tokens", INT, "Tokens of all its results that the model saw."),
                Column("result_trust_level", TEXT, "Lowest trust of its results."),
                _WHOLE_RUN,
            ),
        ),
        View(
            "usage_rows",
            "a usage record as a source wrote it, and whether it counts (the explain table of usage)",
            (
                *_MESSAGE_KEYS,
                Column("created_at", TIME, "When, as the source says."),
                *_USAGE,
                Column("billed", FLAG, "Whether this row counts; exactly one row of a model call does."),
                Column("billed_reason", TEXT, "Why a row does not count: earlier snapshot, copy, synthetic."),
                Column("source_file", TEXT, "File."),
                Column("source_line", INT, "Line."),
            ),
        ),
        View(
            "model_calls",
            "a model call of a run, with the usage row that counts for it",
            (
                *_RUN_KEYS,
                Column("step", SMALL_INT, "Number of the call in its run, from 0."),
                Column("message_id", TEXT, "First message that it wrote."),
                Column("created_at", TIME, "Time of its first message."),
                Column("finished_at", TIME, "Time of its last message."),
                *_USAGE,
                Column("usage_rows", INT, "Usage records of the call in this run."),
                Column("billed", FLAG, "Whether the call counts in this run."),
                Column("billed_reason", TEXT, "Why not: copy of a call in another run, synthetic, no usage recorded."),
            ),
        ),
        View(
            "runs",
            "a run, with what its history derives",
            (
                *_RUN_KEYS,
                *_RUN_FACTS,
                Column("models", TEXTS, "Models that answered, most used first."),
                Column("started_at", TIME, "Time of its first message."),
                Column("finished_at", TIME, "Time of its last message."),
                Column("duration_s", REAL, "Seconds between the two."),
                Column("messages", INT, "Messages."),
                Column("steps", INT, "Model calls."),
                Column("tool_calls", INT, "Tool calls."),
                Column("failed_tool_calls", INT, "Tool calls whose result is an error."),
                Column("pending_tool_calls", INT, "Tool calls without a recorded result."),
                Column("errors", INT, "Error messages, unknown record types not counted."),
                Column("unknown_records", INT, "Records of a type that this version does not know."),
                Column("compactions", INT, "Compactions of the context."),
                Column("input_tokens", INT, "Input tokens of its billed calls."),
                Column("cache_read_tokens", INT, "Of these, read from a cache."),
                Column("output_tokens", INT, "Output tokens of its billed calls."),
                Column("outcome", TEXT, "Last recorded outcome of the whole run (a verifier's verdict); null if none."),
                Column("task", TEXT, "Head of its first user task."),
            ),
        ),
        View(
            "sessions",
            "a session",
            (
                Column("session_id", TEXT, "The session."),
                Column("runs", INT, "Runs in it."),
                Column("agent", TEXT, "The agent program."),
                Column("repository", TEXT, "Repository of its main run."),
                Column("branch", TEXT, "Branch of its main run."),
                Column("started_at", TIME, "Time of its first message."),
                Column("updated_at", TIME, "Time of its last message."),
                Column("messages", INT, "Messages."),
                Column("steps", INT, "Model calls."),
                Column("title", TEXT, "Title, where the source has one."),
                Column("task", TEXT, "Head of its first user task."),
            ),
        ),
        View(
            "verifier_results",
            "a verdict on work, and where it comes from",
            (
                *_MESSAGE_KEYS,
                Column("created_at", TIME, "When."),
                Column("actor", TEXT, "Who verified."),
                Column("verdict", TEXT, "passed, failed or inconclusive."),
                Column("source", TEXT, "recorded: the source said so."),
                Column("scope", TEXT, "What the verdict is about: run, or the check's name."),
                Column("text", TEXT, "What the verifier printed."),
                Column("data", TEXT, "Its fields (JSON)."),
            ),
        ),
        View(
            "file_changes",
            "a recorded change of a file",
            (
                *_MESSAGE_KEYS,
                Column("created_at", TIME, "When."),
                Column("tool_name", TEXT, "Tool that made it."),
                Column("tool_call_id", TEXT, "The call that made it."),
                Column("path", TEXT, "The file, as the source wrote it."),
                Column("diff", TEXT, "The change as a unified diff, where recorded."),
                Column("lines_added", INT, "Lines added."),
                Column("lines_removed", INT, "Lines removed."),
            ),
        ),
        View(
            "import_files",
            "a source file as last imported",
            tuple(c for c in IMPORTS.columns if c.name != "record_keys"),
        ),
    )
}


def describe(name: str) -> tuple[Column, ...]:
    """Columns of a view or stored table; the view wins where both exist (``runs``)."""
    return VIEWS[name].columns if name in VIEWS else TABLES[name].columns
