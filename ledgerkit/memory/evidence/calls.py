"""Tool calls in one form, whatever the agent called its tools: what each is, ran, wrote, sought, and how it ended."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.extract.verifiers.frame import line_of
from ledgerkit.extract.words import words
from ledgerkit.memory.evidence.shellwork import ShellWork, shell_work
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.vocabulary import EvidenceKind

CALL_KEYS: Final = ("session_id", "run_id")
"""What names a run in every frame."""
CALL_SCHEMA: Final = {
    "session_id": pl.String,
    "run_id": pl.String,
    "asked_at": pl.Int64,
    "seen_at": pl.Int64,
    "tool_call_id": pl.String,
    "tool_name": pl.String,
    "action": pl.String,
    "command": pl.String,
    "arguments": pl.String,
    "path": pl.String,
    "is_ok": pl.Boolean,
    "has_result": pl.Boolean,
    "text": pl.String,
    "changes_tree": pl.Boolean,
    "is_opaque": pl.Boolean,
    "is_single": pl.Boolean,
    "git": pl.List(pl.String),
    "shell_writes": pl.List(pl.Struct({"path": pl.String, "change": pl.String})),
    "shell_searches": pl.List(pl.Struct({"pattern": pl.String, "is_narrow": pl.Boolean})),
    "reference": pl.String,
}
"""The columns of calls. ``asked_at`` and ``seen_at`` are the sequence numbers of the request and of its first result
(of the request where none is recorded)."""

_CREATES: Final = words("Write write write_file create_file WriteFile write_to_file save_file")
_EDITS: Final = words(
    "Edit edit MultiEdit NotebookEdit replace edit_file search_replace str_replace apply_diff replace_in_file "
    "insert_edit_into_file"
)
_EDITORS: Final = words("str_replace_editor str_replace_based_edit_tool file_editor")
_PATCHES: Final = words("apply_patch ApplyPatch")
_SEARCHES: Final = words("Grep grep search_file_content codebase_search grep_search search_files content_search")
_PLANS: Final = words("TodoWrite todowrite update_plan write_todos manage_todo_list")
_DELEGATES: Final = words(
    "Task Agent agent spawn_agent delegate new_task subagent TaskOutput BashOutput AgentOutputTool write_stdin "
    "Skill dispatch_agent"
)
_READS: Final = words(
    "Read read read_file Glob LS list_directory ls view find glob read_many_files WebFetch WebSearch "
    "google_web_search think "
    "LSP TaskCreate TaskUpdate TaskList TaskGet KillBash KillShell ExitPlanMode EnterPlanMode AskUserQuestion "
    "finish submit "
    "tool_search search_tool web_search open fetch NotebookRead"
)
_ACTIONS: Final = {
    **dict.fromkeys(_CREATES, "create"),
    **dict.fromkeys(_EDITS, "modify"),
    **dict.fromkeys(_EDITORS, "editor"),
    **dict.fromkeys(_PATCHES, "patch"),
    **dict.fromkeys(_SEARCHES, "search"),
    **dict.fromkeys(_PLANS, "plan"),
    **dict.fromkeys(_DELEGATES, "delegate"),
    **dict.fromkeys(_READS, "read"),
}


def calls_frame(tool_calls: pl.DataFrame) -> pl.DataFrame:
    """Tool calls in one form.

    Args:
        tool_calls: Rows of the view ``tool_calls``; where it is there, ``result_sequence_no`` is the sequence number of
            a call's first result. Without it a result counts as seen one message after the request. A row without a
            ``tool_name`` is a result that came without a call (of a background task, of a user's own command).

    Returns:
        One row a call, in the order in which results were seen; columns as in ``CALL_SCHEMA``.
    """
    arguments = pl.col("arguments")
    command = pl.coalesce(arguments.str.json_path_match("$.command"), arguments.str.json_path_match("$.cmd"))
    known = pl.col("tool_name").replace_strict(_ACTIONS, default=None, return_dtype=pl.String)
    seen = pl.col("result_sequence_no") if "result_sequence_no" in tool_calls.columns else pl.col("sequence_no") + 1
    is_editor = pl.col("tool_name").is_in(_EDITORS)
    calls = tool_calls.with_columns(
        command=pl.when(~is_editor & pl.col("tool_name").is_in(_PATCHES).not_()).then(command),
        editor=pl.when(is_editor).then(command),
        action=known,
        asked_at="sequence_no",
        seen_at=pl.coalesce(seen, "sequence_no"),
        has_result=pl.col("result_message_id").is_not_null(),
        is_ok=pl.when(pl.col("status") == "SUCCEEDED")
        .then(statement=True)
        .when(pl.col("status").is_in(["FAILED", "CANCELLED", "TIMED_OUT"]))
        .then(statement=False),
        text=pl.col("result_text").fill_null(""),
    ).with_columns(
        action=pl.coalesce(
            pl.when(pl.col("editor").is_in(["create"])).then(pl.lit("create")),
            pl.when(pl.col("editor").is_in(["str_replace", "insert", "undo_edit"])).then(pl.lit("modify")),
            pl.when(is_editor).then(pl.lit("read")),
            pl.when(pl.col("command").str.contains(r"\*\*\* (?:Add|Update|Delete) File: ")).then(pl.lit("patch")),
            "action",
            pl.when(pl.col("tool_name").is_null()).then(pl.lit("delegate")),
            pl.when(pl.col("command").is_not_null()).then(pl.lit("shell")),
            pl.lit("other"),
        ),
    )  # fmt: skip
    worked = _with_shell_work(
        calls.join(references(calls["tool_call_id"]), on="tool_call_id", how="left", maintain_order="left")
    )
    return worked.sort("session_id", "run_id", "seen_at", "asked_at", "tool_call_id").select(
        pl.col(name).cast(dtype) for name, dtype in CALL_SCHEMA.items()
    )


def references(ids: pl.Series) -> pl.DataFrame:
    """The evidence references of some tool calls: ``tool_call_id, reference``."""
    distinct = ids.drop_nulls().unique(maintain_order=True).alias("tool_call_id")
    # Ids of logs may be what the protocol refuses elsewhere: they are written as they are, escaped.
    refs = [str(EvidenceRef.model_construct(kind=EvidenceKind.TOOL_CALL, target=target)) for target in distinct]
    return pl.DataFrame(
        {"tool_call_id": distinct, "reference": refs}, schema={"tool_call_id": pl.String, "reference": pl.String}
    )


def _with_shell_work(calls: pl.DataFrame) -> pl.DataFrame:
    """What shell lines do, read once for each distinct one."""
    is_shell = pl.col("action") == "shell"
    lines = calls.filter(is_shell).select("command").unique(maintain_order=True)
    schema = {
        name: CALL_SCHEMA[name]
        for name in ("changes_tree", "is_opaque", "is_single", "git", "shell_writes", "shell_searches")
    }
    read = pl.DataFrame([_row(shell_work(line_of(one))) for one in lines["command"]], schema=schema, orient="row")
    table = lines.hstack([pl.Series("line", [line_of(one) for one in lines["command"]], dtype=pl.String)]).hstack(read)
    joined = calls.join(table, on="command", how="left", maintain_order="left")
    return joined.with_columns(
        command=pl.coalesce("line", "command"),
        is_opaque=pl.col("is_opaque").fill_null(pl.col("action") == "other"),
        changes_tree=pl.col("changes_tree").fill_null(value=False),
        is_single=pl.col("is_single").fill_null(value=True),
        git=pl.col("git").fill_null([]),
        shell_writes=pl.col("shell_writes").fill_null([]),
        shell_searches=pl.col("shell_searches").fill_null([]),
    )


def _row(work: ShellWork) -> tuple[object, ...]:
    return (
        work.changes_tree,
        work.is_opaque,
        work.is_single,
        list(work.git),
        [{"path": path, "change": change} for path, change in work.writes],
        [{"pattern": one.pattern, "is_narrow": one.is_narrow} for one in work.searches],
    )
