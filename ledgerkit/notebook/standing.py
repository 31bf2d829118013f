"""A run's replay as one HTML page: the widget's own front end with all its answers inside, no kernel, no network.

One rule: the run travels as data that no browser runs. The page's policy names the hash of its one script, so that
nothing else can act in it, and all texts pass the output gate first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from ledgerkit.formatting import format_time
from ledgerkit.notebook.html import Safe, document, joined, tag
from ledgerkit.notebook.module import standing_text, style_text
from ledgerkit.notebook.page_rows import Answer, inert_answer, part_detail, part_row, step_row
from ledgerkit.notebook.pages import ReplayPages
from ledgerkit.notebook.sights import NOTES, Sights
from ledgerkit.notebook.writing import write_page
from ledgerkit.projection.account import Left
from ledgerkit.protocol.vocabulary import ContextSection, Rendition
from ledgerkit.replay import Replay
from ledgerkit.safety.gate import check_output
from ledgerkit.safety.redaction import standard_redactor
from ledgerkit.strategies import Strategy, parse_strategy

_SECTIONS: Final = [one.value for one in ContextSection]
_RENDITIONS: Final = [one.value for one in Rendition]


def export_replay(
    replay: Replay,
    to: str | os.PathLike[str],
    *,
    strategies: Sequence[Strategy | str] = (),
    allow: Collection[str] = (),
) -> Path:
    """Writes the replay of a run as one HTML page that stands alone.

    It shows what the widget shows: the steps, the history beside each step's context under every strategy, what
    entered and left, why something is out, tokens, cost so far. ``page.html#step=12`` opens it at a step. Of a text,
    the first 20,000 characters are in the page; how many are missing is said beside it.

    Args:
        replay: The run (``run.replay()``).
        to: The page, or a folder for it.
        strategies: Strategies, or their names, to switch between; those of the replay, or a few, if not given.
        allow: Findings of the last scan for secrets that may pass, by name, or ``all``.

    Returns:
        Where the page is.

    Raises:
        OutputBlockedError: If a text of the run holds what looks like a secret.
        ExportTargetError: If the page cannot be written.

    Example:
        >>> export_replay(ledger.run("7ba219aa").replay(), "run.html")  # doctest: +SKIP
    """
    page = replay_document(replay, strategies, allow=allow)
    return write_page(page, to, str(replay.facts.get("run_id") or "replay"))


def replay_document(replay: Replay, strategies: Sequence[Strategy | str] = (), *, allow: Collection[str] = ()) -> str:
    """The page that :func:`export_replay` writes.

    Raises:
        OutputBlockedError: If a text of the run holds what looks like a secret.
    """
    chosen = [parse_strategy(one) if isinstance(one, str) else one for one in strategies]
    told = run_data(ReplayPages(replay, chosen))
    check_output("The page", "\n".join(_texts(told)), standard_redactor(), allow=allow)
    title = str(told["head"]["title"] or "Replay")
    needs = "This page needs scripts. In a notebook, run.replay() also has a form without them."
    body = joined([tag("main", id="lkr-here"), tag("noscript", needs), _embedded(told)])
    return document(title, body, styles=style_text() + _PAGE, script=standing_text())


_PAGE: Final = """
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 1500px; padding: 12px; background: light-dark(#fff, #14161a); }
.lkr-panes { height: max(340px, calc(100vh - 420px)); }
"""


def run_data(pages: ReplayPages) -> Answer:
    """All that a page needs to answer every question about a run without Python."""
    sights = pages.sights
    parts = sights.parts
    blank = parts.with_columns(
        tokens_now=pl.lit(None, pl.Int64), rendition=pl.lit(None, pl.String), reason=pl.lit(None, pl.String),
        state=pl.lit(None, pl.String),
    )  # fmt: skip
    places = ("step", "inherited", "visible_from", "absence", "ends_at")
    return inert_answer(
        {
            "head": pages.head,
            "rows": [part_row(row) for row in blank.iter_rows(named=True)],
            "details": [part_detail(row) for row in parts.iter_rows(named=True)],
            "places": [list(row) for row in parts.select(places).iter_rows()],
            "times": [format_time(call.get("created_at")) for call in pages.replay.calls],
            "strategies": [_strategy(pages, number) for number in range(len(sights.strategies))],
            "sections": _SECTIONS,
            "renditions": _RENDITIONS,
            "notes": NOTES,
            "reasons": {"compacted": Left.COMPACTED.value, "otherwise": Left.BY_STRATEGY.value},
            "withheld": sights.withheld,
        }
    )


def _strategy(pages: ReplayPages, number: int) -> Answer:
    timeline = pages.answer({"kind": "timeline", "strategy": number})
    return {
        "bins": timeline["bins"],
        "width": timeline["width"],
        "steps": [step_row(row) for row in pages.steps(number).iter_rows(named=True)],
        "placements": _placements(pages.sights, number),
        "follows": pages.sights.follows_compactions(number),
    }


def _placements(sights: Sights, strategy: int) -> list[list[Any]]:
    """``[row, from_step, to_step, tokens, section, rendition]``, in the order of a context; names by their number."""
    rows = sights.parts.filter(pl.col("part").is_not_null()).select("part", "row")
    placed = sights.placements(strategy).join(rows, on="part", how="left").sort("position", "from_step", "row")
    columns = placed.select(
        "row", "from_step", "to_step", "tokens", _number("section", _SECTIONS), _number("rendition", _RENDITIONS)
    )
    return [list(row) for row in columns.iter_rows()]


def _number(column: str, names: list[str]) -> pl.Expr:
    numbers = {name: number for number, name in enumerate(names)}
    return pl.col(column).cast(pl.String).replace_strict(numbers, return_dtype=pl.Int64)


def _texts(value: object) -> Iterator[str]:
    """Every text as it is read, before it is written as JSON: escapes would hide secrets from the scan."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(one)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for one in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(one)  # pyright: ignore[reportUnknownArgumentType]


def _embedded(told: Answer) -> Safe:
    """Data in an element that a browser does not run, and that no text in it can close."""
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Safe(f'<script type="application/json" id="lkr-run">{text}</script>')
