"""A run step by step without a kernel: what the widget leaves in a page that cannot ask Python.

One rule: it says what it leaves out, and which call shows it.
"""

from __future__ import annotations

from typing import Final

from ledgerkit.formatting import format_compact, format_money, plural
from ledgerkit.notebook.cards import parts_list
from ledgerkit.notebook.html import Safe, cell, joined, tag
from ledgerkit.notebook.values import toned
from ledgerkit.replay import Replay, Step

MOST_STEPS: Final = 40


def replay_page(replay: Replay, *, title: str = "", most: int = MOST_STEPS) -> Safe:
    """Every step of a run as a fold: what was new to the model, what it wrote, what came back, what was checked.

    Args:
        replay: The run.
        title: Its name.
        most: Steps that are shown; the first ones of a longer run.
    """
    folds = [_fold(replay.step(number)) for number in range(min(most, len(replay)))]
    more = len(replay) - len(folds)
    rest = (
        tag("p", f"{plural(more, 'more step')}: ", tag("code", f"replay.step({len(folds)})", class_="lk-copy"))
        if more
        else None
    )
    name = title or "Replay"
    return cell(
        tag("p", name, class_="lk-name"),
        tag("p", plural(len(replay), "step"), class_="lk-sub"),
        *folds,
        rest,
        label=f"replay: {name}",
    )


def _fold(step: Step) -> Safe:
    tools = [str(name) for name in step.wrote["tool_name"].drop_nulls().to_list()]
    words = f" {', '.join(tools) or 'answer'} · {format_compact(step.call['input_tokens'])} in, "
    words += f"{format_compact(step.call['output_tokens'])} out · {format_money(step.call.get('cost'))} "
    verdicts = [toned(row["verdict"]) for row in step.verdicts.iter_rows(named=True)]
    head = tag("summary", tag("b", f"step {step.number}"), words, joined(verdicts))
    sections = {"new to the model": step.entered, "the model wrote": step.wrote, "came back": step.came_back}
    return tag(
        "details", head, *(parts_list(name, rows) for name, rows in sections.items() if rows.height), class_="lk-step"
    )
