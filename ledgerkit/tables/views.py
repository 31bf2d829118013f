"""The views: what ``sql`` and ``scan`` see."""

from __future__ import annotations

from typing import Final

from ledgerkit.tables.derived import PARSED_CHECKS
from ledgerkit.tables.schema import FLAG, INT, REAL, SMALL_INT, TEXT, TEXTS, TIME, Column, View
from ledgerkit.tables.stored import (
    IMPORTS,
    MESSAGE,
    MESSAGE_KEYS,
    PART,
    REDACTIONS,
    RUN_FACTS,
    RUN_KEYS,
    SNAPSHOTS,
    USAGE,
)

_WHOLE_RUN = Column("is_copy", FLAG, "True where another session holds the original of this record (a fork's history).")
_PARSED = {column.name: column for column in PARSED_CHECKS.columns}

VIEWS: Final[dict[str, View]] = {
    v.name: v
    for v in (
        View(
            "messages",
            "a message",
            (
                *MESSAGE_KEYS,
                *MESSAGE,
                Column("part_count", INT, "Number of parts."),
                Column("text", TEXT, "Texts of the parts, joined by newlines."),
                Column("token_count", INT, "Tokens of all parts."),
                Column("call_id", TEXT, "The model call that wrote it."),
                Column("model", TEXT, "Model that wrote it."),
                _WHOLE_RUN,
                Column("leaf_index", INT, "Place among all messages of the ledger; null until sealed."),
                Column("leaf_hash", TEXT, "Its leaf of the Merkle tree (hexadecimal); null until sealed."),
                Column("erased", TEXT, "The message that records why its content was erased; null if it was not."),
            ),
        ),
        View(
            "parts",
            "a part",
            (
                *MESSAGE_KEYS,
                Column("part_index", SMALL_INT, "Place of the part in its message, from 0."),
                *MESSAGE,
                *PART,
                Column("call_id", TEXT, "The model call that wrote it."),
                Column("model", TEXT, "Model that wrote it."),
                Column("erased", TEXT, "The message that records why its content was erased; null if it was not."),
            ),
        ),
        View(
            "tool_calls",
            "a tool call with its first result",
            (
                *RUN_KEYS,
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
            "a usage record of a model call as a source wrote it, and whether it counts",
            (
                *MESSAGE_KEYS,
                Column("created_at", TIME, "When, as the source says."),
                *USAGE,
                Column("billed", FLAG, "Whether this row counts; exactly one row of a model call does."),
                Column("billed_reason", TEXT, "Why a row does not count: earlier snapshot, copy, synthetic."),
                Column("source_file", TEXT, "File."),
                Column("source_line", INT, "Line."),
            ),
        ),
        View(
            "usage_explained",
            "any usage record of any source, whether it counts, why not, and which one counts instead",
            (
                *MESSAGE_KEYS,
                Column("created_at", TIME, "When, as the source says."),
                *USAGE,
                Column("billed", FLAG, "Whether this record counts."),
                Column(
                    "reason",
                    TEXT,
                    "Why not: earlier snapshot (of the same call), copy (of a call that another run made), replay (the "
                    "same, in the log of a fork), converted copy, synthetic, repeated count (a total that did not "
                    "move), cached evaluation (no call was made); null if it counts.",
                ),
                Column("counts_message_id", TEXT, "Message of the record that counts, its own if it does."),
                Column("counts_run_id", TEXT, "Run of that record."),
                Column("counts_source_file", TEXT, "File of that record."),
                Column("counts_source_line", INT, "Line of that record."),
                Column("source_file", TEXT, "File."),
                Column("source_line", INT, "Line."),
            ),
        ),
        View(
            "model_calls",
            "a model call of a run, with the usage row that counts for it",
            (
                *RUN_KEYS,
                Column("step", SMALL_INT, "Number of the call in its run, from 0."),
                Column("message_id", TEXT, "First message that it wrote."),
                Column("created_at", TIME, "Time of its first message."),
                Column("finished_at", TIME, "Time of its last message."),
                *USAGE,
                Column("usage_rows", INT, "Usage records of the call in this run."),
                Column("billed", FLAG, "Whether the call counts in this run."),
                Column("billed_reason", TEXT, "Why not: copy of a call in another run, synthetic, no usage recorded."),
            ),
        ),
        View(
            "runs",
            "a run, with what its history derives",
            (
                *RUN_KEYS,
                *RUN_FACTS,
                Column("models", TEXTS, "Models that answered, most used first."),
                Column("started_at", TIME, "Time of its first message."),
                Column("finished_at", TIME, "Time of its last message that is no label given later."),
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
                Column("status", TEXT, "open while a journal holds a run of it; closed when all of it is sealed."),
                Column("messages", INT, "Messages."),
                Column("steps", INT, "Model calls."),
                Column("title", TEXT, "Title, where the source has one."),
                Column("task", TEXT, "Head of its first user task."),
            ),
        ),
        View(
            "verifier_results",
            "a verdict on work, recorded by a source or read from what a shell call printed; `source` says which",
            (
                *MESSAGE_KEYS,
                Column("part_id", TEXT, "The part that says it: the record, or the result of the call."),
                Column("step", SMALL_INT, "Model call that asked for the check; of a recorded verdict, its own step."),
                Column("created_at", TIME, "When."),
                Column("actor", TEXT, "Who verified; of a parsed verdict, the tool."),
                Column("verdict", TEXT, "passed, failed or inconclusive."),
                Column("source", TEXT, "recorded: a source said so; parsed: it was read from a call's output."),
                Column("superseded_by", TEXT, "Recorded verdict on the same check (its message); do not count both."),
                Column("is_copy", FLAG, "True where another session holds the original of this record (a fork)."),
                Column(
                    "scope", TEXT, "What it is about: run, or the check's name; if parsed, the tool and its targets."
                ),
                *(_PARSED[name] for name in ("kind", "tool", "targets", "command", "check_no", "tool_call_id")),
                *(_PARSED[name] for name in ("passed", "failed", "errors", "skipped", "failing", "error_lines")),
                *(_PARSED[name] for name in ("is_truncated", "reason", "exit_code", "hidden_by")),
                Column("evidence_refs", TEXTS, "What it rests on; if parsed, the call and the lines of its output."),
                Column("extractor_version", SMALL_INT, "Version of the rules that parsed it; null if recorded."),
                Column("part_trust_level", TEXT, "Whether its source may judge: outcomes are those of trusted ones."),
                Column("part_visibility", TEXT, "Who may see the part that says it; if parsed, and the call."),
                Column("text", TEXT, "What the verifier printed; if parsed, all that the call printed."),
                Column("data", TEXT, "Its fields (JSON), where recorded."),
            ),
        ),
        View(
            "file_changes",
            "a recorded change of a file",
            (
                *MESSAGE_KEYS,
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
        View(
            "checkpoints",
            "a head of the ledger's Merkle trees",
            (
                Column("checkpoint_id", TEXT, "SHA-256 of the checkpoint's text."),
                Column("created_at", TIME, "When."),
                Column("tree_size", INT, "Messages of the history that it covers."),
                Column("root", TEXT, "Root of the tree over their leaf hashes (hexadecimal)."),
                Column("runs_size", INT, "Rows of the stored table ``runs`` that it covers."),
                Column("runs_root", TEXT, "Root of the tree over their row hashes (hexadecimal)."),
                Column("previous", TEXT, "The checkpoint before it."),
            ),
        ),
        View("redactions", REDACTIONS.one_row_is, REDACTIONS.columns),
        View("snapshots", SNAPSHOTS.one_row_is, SNAPSHOTS.columns),
    )
}
"""The views by name, in the order of the documentation."""
