"""Changes of files, by edit tools, patches, shell lines and git, and as logs record them."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.extract.patterns import PATCH_FILE


def changes_frame(calls: pl.DataFrame, file_changes: pl.DataFrame | None = None) -> pl.DataFrame:
    """Changes of files: by edit tools, patches and shell lines, and those that the log records as such.

    Args:
        calls: As :func:`calls_frame` gives them.
        file_changes: Rows of the view ``file_changes``.

    Returns:
        One row a change: ``session_id, run_id, seen_at, tool_call_id, path, change`` (``create``, ``modify``,
        ``delete``; ``tree`` where git put other content into the working tree, with no path), ``is_ok`` (null where it
        is not known), ``name`` (of the file), ``is_doc``, ``reference``.
    """
    keys = ["session_id", "run_id", "seen_at", "tool_call_id"]
    tools = calls.filter(pl.col("action").is_in(["create", "modify"])).select(
        *keys, path=_path(), change="action", is_ok="is_ok", reference="reference"
    )
    patches = _patched(calls, keys)
    shell = (
        calls.filter(pl.col("shell_writes").list.len() > 0)
        .explode("shell_writes", empty_as_null=True)
        .unnest("shell_writes", separator=".")
        .select(
            *keys,
            path="shell_writes.path",
            change="shell_writes.change",
            is_ok=pl.when(pl.col("is_single") | (pl.col("is_ok") & pl.col("is_ok").is_not_null())).then("is_ok"),
            reference="reference",
        )
    )
    tree = calls.filter("changes_tree", pl.col("is_ok").fill_null(value=True)).select(
        *keys, path=pl.lit(None, pl.String), change=pl.lit("tree"), is_ok="is_ok", reference="reference"
    )
    found = pl.concat([tools, patches, shell, tree, *_recorded(file_changes, tools, keys)])
    path = pl.col("path").str.replace_all("\\", "/", literal=True)
    return (
        found.with_columns(path=path, name=path.str.extract(r"([^/]+)/?$", 1))
        .with_columns(is_doc=path.str.contains(_DOCUMENTS).fill_null(value=False))
        .unique([*keys, "path", "change"], keep="first", maintain_order=True)
        .sort("session_id", "run_id", "seen_at", "path", "change", "tool_call_id")
    )


_DOCUMENTS: Final = (
    r"(?i)(?:\.(?:md|mdx|rst|txt|adoc|log|svg|png|jpe?g|gif|pdf)$)|(?:^|/)(?:LICENSE|CHANGELOG|AUTHORS|\.gitignore)$|"
    r"^(?:/private)?(?:/tmp/|/var/folders/)|(?:^|/)\.claude/|\.log(?:\.\w+)?$"
)
"""Files that no check depends on: documents, pictures, logs, temporary files, the agent's own settings."""


def _path() -> pl.Expr:
    arguments = pl.col("arguments")
    named = [
        arguments.str.json_path_match(f"$.{name}")
        for name in ("file_path", "path", "absolute_path", "notebook_path", "target_file")
    ]
    return pl.coalesce("path", *named)


def _patched(calls: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    text = pl.coalesce("arguments", "command").str.replace_all(r"\n", "\n", literal=True)
    kind = pl.col("line").str.extract(r"(Add|Update|Delete) File", 1)
    return (
        calls.filter(pl.col("action") == "patch")
        .with_columns(line=text.str.extract_all(r"\*\*\* (?:Add|Update|Delete) File: [^\n\"\\]+"))
        .explode("line", empty_as_null=True)
        .filter(pl.col("line").is_not_null())
        .select(
            *keys,
            path=pl.col("line").str.extract(PATCH_FILE, 2).str.strip_chars(),
            change=kind.replace_strict(
                {"Add": "create", "Update": "modify", "Delete": "delete"}, return_dtype=pl.String
            ),
            is_ok="is_ok",
            reference="reference",
        )
    )


def _recorded(file_changes: pl.DataFrame | None, tools: pl.DataFrame, keys: list[str]) -> list[pl.DataFrame]:
    """Recorded changes whose call is not among the calls that write: those of tools that are not known."""
    if file_changes is None:
        return []
    new = file_changes.filter(pl.col("path").is_not_null()).select(
        "session_id",
        "run_id",
        seen_at="sequence_no",
        tool_call_id="tool_call_id",
        path="path",
        change=pl.when(pl.col("diff").str.contains(r"(?m)^--- /dev/null"))
        .then(pl.lit("create"))
        .otherwise(pl.lit("modify")),
        is_ok=pl.lit(value=True),
        reference=pl.lit("message:") + pl.col("message_id"),
    )
    return [new.join(tools.drop_nulls("tool_call_id"), on=[*keys[:2], "tool_call_id"], how="anti", nulls_equal=False)]
