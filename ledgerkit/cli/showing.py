"""``ledgerkit show``: a run with its messages, or one message or artifact whole."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import polars as pl

import ledgerkit as lk
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import audit_option, json_option, print_withheld, reads_past, rows_wanted
from ledgerkit.cli.output import console, footer, head, one_line, print_json, print_table, text
from ledgerkit.formatting import (
    format_compact,
    format_count,
    format_duration,
    format_money,
    format_time,
    plural,
    short_id,
)
from ledgerkit.protocol.identifiers import is_uuid
from ledgerkit.safety.gate import visible_to

if TYPE_CHECKING:
    from ledgerkit.protocol.parts import Part

_OF_CALL = "select message_id from parts where tool_call_id = $id order by sequence_no desc, part_index limit 1"


@click.command("show")
@click.argument("what", type=RUN)
@click.option("-n", "--limit", default=40, show_default=True, help="Messages to show; 0 shows all.")
@click.option("--from", "first", default=0, help="Sequence number of the first message to show.")
@audit_option
@json_option
@reads_past
def show_command(ledger: lk.Ledger, what: str, limit: int, first: int, audience: lk.Audience, as_json: bool) -> None:
    """Show a run (its id, its session's id, or the beginning or end of either), a message, or an artifact.

    WHAT is an id, or a reference as tables and cards show it: message:ID, tool-call:ID (its result), artifact:ID.
    """
    what = _referred(ledger, what)
    if what.startswith("artifact:"):
        _show_artifact(ledger, what, audience, as_json=as_json)
    elif is_uuid(what) and (message := ledger.find_by_id(what)) is not None:
        _show_message(message, audience, as_json=as_json)
    else:
        _show_run(ledger.run(what), limit, first, audience, as_json=as_json)


def _referred(ledger: lk.Ledger, what: str) -> str:
    """The id of the message that a reference means; anything else as it is."""
    kind, colon, rest = what.partition(":")
    if not colon or kind not in ("message", "tool-call"):
        return what
    named = rest.partition("#")[0]
    found = [named] if kind == "message" else ledger.sql(_OF_CALL, {"id": named})["message_id"].to_list()
    if not found or ledger.find_by_id(found[0]) is None:
        raise lk.UnknownNameError(f"No {kind} {named!r}. References stand in: ledgerkit claims --cards", name=what)
    return found[0]


def _show_run(run: lk.Run, limit: int, first: int, audience: lk.Audience, *, as_json: bool) -> None:
    parts, withheld = visible_to(run.parts(), audience)
    heads = parts.filter(parts["part_index"] == 0, parts["sequence_no"] >= first)
    shown = head(heads, rows_wanted(limit, as_json=as_json))
    verdicts, _ = visible_to(run.verifier_results(), audience)
    if as_json:
        whole = parts.join(shown.select("message_id"), on="message_id", how="semi", maintain_order="left")
        print_json({"run": run.facts, "parts": whole, "withheld": withheld, "verifier_results": verdicts,
                    "children": run.children()})  # fmt: skip
        return
    _print_facts(run.facts)
    _print_checks(verdicts)
    columns: dict[str, tuple[str, Any]] = {
        "sequence_no": ("#", format_count),
        "step": ("step", format_count),
        "created_at": ("time", _clock),
        "kind": ("kind", str.lower),
        "part_trust_level": ("trust", _words),
        "token_count": ("tokens", format_compact),
        "what": ("", str),
    }
    rows = ({**row, "what": _what(row)} for row in shown.iter_rows(named=True))
    print_table(rows, columns, right=["sequence_no", "step", "token_count"], flexible="what")
    out = console()
    if shown.height < heads.height:
        footer(f"{shown.height} of {plural(heads.height, 'message')} shown (--from, -n)")
    print_withheld(withheld)
    children = run.children()
    for child in children.iter_rows(named=True):
        out.print(text(f"{child['relation']}: {short_id(child['run_id'])}  {one_line(child['task'], 80)}"))


def _print_facts(facts: dict[str, Any]) -> None:
    out = console()
    out.print(text(f"Run {facts['run_id']}", "bold"), text(facts["relation"] or "main", "dim"))
    lines = {
        "session": facts["session_id"],
        "task": one_line(facts["task"], 160) or "not recorded",
        "agent": f"{facts['agent'] or 'unknown'} {facts['agent_version'] or ''}".strip(),
        "models": ", ".join(facts["models"]) or "none",
        "where": f"{facts['repository'] or 'unknown'} @ {facts['branch'] or 'unknown'}",
        "when": f"{format_time(facts['started_at'])} to {format_time(facts['finished_at'])}",
        "lasted": format_duration(facts["duration_s"]),
        "steps": ", ".join(
            (
                plural(facts["steps"], "model call"),
                plural(facts["tool_calls"], "tool call"),
                f"{format_count(facts['failed_tool_calls'])} failed",
                f"{format_count(facts['pending_tool_calls'])} without result",
                plural(facts["compactions"], "compaction"),
            )
        ),
        "tokens": f"{format_compact(facts['input_tokens'])} in, "
        f"{format_compact(facts['cache_read_tokens'])} of them from cache, "
        f"{format_compact(facts['output_tokens'])} out",
        "cost": format_money(facts["cost"])
        + (f" and {facts['unpriced_calls']} calls unpriced" if facts["unpriced_calls"] else ""),
        "outcome": facts["outcome"] or "not recorded",
        "source": facts["source_file"] or facts["source_format"] or "recorded live",
    }
    for name, value in lines.items():
        out.print(text(f"  {name:<8} ", "dim").append_text(text(value)))


def _print_checks(verdicts: pl.DataFrame) -> None:
    """How often each check passed, failed or said nothing, and whether that was recorded or read from its output."""
    counted = verdicts.filter(pl.col("superseded_by").is_null()).group_by("source", "scope", maintain_order=True)
    for (source, scope), group in counted:
        tally = group["verdict"].value_counts().sort("verdict").rows()
        said = ", ".join(f"{format_count(count)} {verdict}" for verdict, count in tally)
        origin = "recorded" if source == "recorded" else "read from output"
        console().print(text("  check    ", "dim").append_text(text(f"{one_line(scope, 60)}: {said} ({origin})")))


def _clock(time: datetime | None) -> str:
    return "—" if time is None else f"{time:%H:%M:%S}"


def _words(label: str) -> str:
    return label.lower().replace("_", " ")


def _what(row: dict[str, Any]) -> str:
    named = " ".join(str(row[k]) for k in ("tool_name", "status") if row[k] and row[k] != "REQUESTED")
    if row["part_type"] == "tool_call":
        return f"{named} {one_line(row['data'], 200)}"
    body = row["text"] if row["text"] is not None else row["data"]
    return f"{named} {one_line(body, 200)}".strip()


def _show_message(message: lk.AgentMessage, audience: lk.Audience, *, as_json: bool) -> None:
    parts = [part for part in message.parts if audience.may_see(part.visibility)]
    if as_json:
        whole = json.loads(message.model_dump_json())
        shown = [json.loads(part.model_dump_json()) for part in parts]
        print_json({**whole, "parts": shown, "withheld": len(message.parts) - len(parts)})
        return
    out = console()
    out.print(text(f"{message.kind} by {message.actor}", "bold"), text(format_time(message.created_at), "dim"))
    out.print(text(f"  message {message.message_id}, #{message.sequence_no} of run {message.run_id}"))
    out.print(text(f"  trust {message.trust_level}, visible to {message.visibility}, step {message.step}"))
    if message.source:
        out.print(text(f"  from {message.source.source_file}:{message.source.source_line}"))
    for part in parts:
        _print_part(part)
    if len(parts) < len(message.parts):
        footer(f"{plural(len(message.parts) - len(parts), 'part')} withheld (--audit)", "dim")


def _print_part(part: Part) -> None:
    out = console()
    out.print(text(f"\n[{part.type}] {part.trust_level} {part.visibility}", "dim"))
    fields = part.model_dump(mode="json", exclude_defaults=True)
    body = fields.pop("text", None)
    for name in ("type", "trust_level", "visibility", "content_type"):
        fields.pop(name, None)
    if fields:
        out.print(text(json.dumps(fields, indent=2, ensure_ascii=False)))
    if body:
        out.print(text(body))


def _show_artifact(ledger: lk.Ledger, reference: str, audience: lk.Audience, *, as_json: bool) -> None:
    content, media_type, label = ledger.artifact(reference)
    is_withheld = not label.is_projectable and audience is not lk.Audience.AUDIT
    is_text = media_type.startswith("text/") or media_type.endswith("json")
    if as_json:
        said = content.decode("utf-8", "replace") if is_text and not is_withheld else None
        facts = {"artifact": reference, "media_type": media_type, "label": label, "bytes": len(content)}
        print_json({**facts, "withheld": is_withheld, "text": said})
    elif is_withheld:
        console().print(
            text(f"{media_type}, {plural(len(content), 'byte')}, {label}: withheld (--audit shows it)", "dim")
        )
    elif is_text:
        console().print(text(content.decode("utf-8", "replace")))
    else:
        console().print(text(f"{media_type}, {plural(len(content), 'byte')}, {label}"))
