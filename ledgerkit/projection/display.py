"""How a context shows itself: by section, with trust, tokens and renditions, and what is out and why.

Log text is shown as inert text only: escaped in HTML, without anything that acts on a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from ledgerkit.formatting import plural
from ledgerkit.protocol.vocabulary import ContextSection
from ledgerkit.safety.inert import inert_html, inert_terminal

if TYPE_CHECKING:
    from ledgerkit.projection.context import Context
    from ledgerkit.projection.pieces import Piece

_EXCERPT: Final = 96
_MOST_PIECES: Final = 400
_LAST_PIECES: Final = 3
_STYLE: Final = (
    "<style>.lk-context{font:13px/1.45 system-ui,sans-serif;max-width:72rem}"
    ".lk-context details{border:1px solid #8886;border-radius:6px;margin:.3rem 0;padding:.2rem .6rem}"
    ".lk-context summary{cursor:pointer}.lk-context pre{white-space:pre-wrap;overflow-wrap:anywhere;"
    "margin:.2rem 0 .6rem;max-height:22rem;overflow:auto;border-left:3px solid var(--lk-trust,#888);padding-left:.6rem}"
    ".lk-context small{opacity:.75}.lk-context td{padding:0 .8rem 0 0;text-align:left}"
    ".lk-context .untrusted{--lk-trust:#c2410c}.lk-context .trusted{--lk-trust:#15803d}"
    ".lk-context .model{--lk-trust:#1d4ed8}</style>"
)


def as_text(context: Context) -> str:
    """A context as plain text: its sections, then what is out and why."""
    return "\n".join(_lines(context))


def _lines(context: Context) -> Iterator[str]:
    trace = context.request.trace
    run = trace.run_id if trace is not None else "?"
    yield f"context of run {inert_terminal(run)}, step {context.step}: {context.tokens:,} tokens, {context.strategy}"
    for row in context.sections.iter_rows(named=True):
        if row["state"] == "empty":
            continue
        if row["state"] != "present":
            yield f"  {row['section']:<24} {row['state']}{_lines_left(row)}"
            continue
        share = f" of {row['share_tokens']:,}" if row["share_tokens"] is not None else ""
        cut = f", {row['left_out']} lines cut" if row["left_out"] else ""
        amount = f"{row['tokens'] + row['framing_tokens']:,}{share} tokens"
        yield f"  {row['section']:<24} {plural(row['pieces'], 'piece')}, {amount}{cut}"
        pieces = _of(context, row["section"])
        if earlier := pieces[:-_LAST_PIECES]:
            yield f"      {f'… {len(earlier):,} before these':<44} {sum(tokens for _, (tokens, _) in earlier):>7,}"
        for piece, (tokens, _) in pieces[-_LAST_PIECES:]:
            yield f"      {_what(piece):<44} {tokens:>7,}  {inert_terminal(_start(piece))}"
    for row in context.left_out.iter_rows(named=True):
        yield f"  out: {plural(row['parts'], 'part')}, {row['tokens']:,} tokens: {row['reason'].replace('_', ' ')}"


def as_html(context: Context) -> str:
    """A context as a piece of HTML: a fold per section, its pieces in it; nothing in it acts."""
    trace = context.request.trace
    run = inert_html(trace.run_id) if trace is not None else "?"
    head = (
        f"<p><b>Context</b> of run <code>{run}</code>, step {context.step}: {context.tokens:,} tokens, "
        f"<code>{inert_html(context.strategy)}</code></p>"
    )
    folds = "".join(_fold(context, row) for row in context.sections.iter_rows(named=True) if row["state"] != "empty")
    out = "".join(
        f"<tr><td>{escape(row['reason'].replace('_', ' '))}</td><td>{row['parts']:,} parts</td>"
        f"<td>{row['tokens']:,} tokens</td></tr>"
        for row in context.left_out.iter_rows(named=True)
    )
    table = f"<details><summary>Out, and why</summary><table>{out}</table></details>" if out else ""
    return f'{_STYLE}<div class="lk-context">{head}{folds}{table}</div>'


def _fold(context: Context, row: dict[str, object]) -> str:
    section = str(row["section"])
    if row["state"] != "present":
        return f"<p><small>{escape(section)}: {row['state']}{_lines_left(row)}</small></p>"
    pieces = _of(context, section)
    shown = "".join(_piece_html(piece, *size) for piece, size in pieces[:_MOST_PIECES])
    more = f"<p><small>{len(pieces) - _MOST_PIECES} more</small></p>" if len(pieces) > _MOST_PIECES else ""
    total = sum(content + framing for _, (content, framing) in pieces)
    share = f" of {row['share_tokens']:,}" if row["share_tokens"] is not None else ""
    title = f"<b>{escape(section)}</b> <small>{len(pieces)} pieces, {total:,}{share} tokens</small>"
    return f"<details><summary>{title}</summary>{shown}{more}</details>"


def _lines_left(row: dict[str, object]) -> str:
    return f" ({row['left_out']} lines left in the ledger)" if row["left_out"] else ""


def _piece_html(piece: Piece, tokens: int, framing: int) -> str:
    level = piece.trust_level
    kind = "model" if level.value == "MODEL_GENERATED" else "untrusted" if level.is_untrusted else "trusted"
    notes = [inert_html(_what(piece)), escape(level.value), f"{tokens:,} + {framing} tokens"]
    notes += [f"{piece.edits} characters neutralised"] if piece.edits else []
    return f'<div class="{kind}"><small>{" · ".join(notes)}</small><pre>{inert_html(piece.text.text)}</pre></div>'


def _of(context: Context, section: str) -> list[tuple[Piece, tuple[int, int]]]:
    wanted = ContextSection(section)
    pairs = zip(context.pieces, context.sizes, strict=True)
    return [(piece, size) for piece, size in pairs if piece.section is wanted]


def _what(piece: Piece) -> str:
    name = piece.tool_name or piece.form.value
    of = f"{piece.role.value} {name}" if piece.message_id is not None else f"written {piece.section.value}"
    return f"{of} ({piece.rendition.value})"


def _start(piece: Piece) -> str:
    line = " ".join(piece.text.text[: 4 * _EXCERPT].split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"
