"""Which core object is shown how: what ``ledgerkit.displays`` asks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from ledgerkit.displays import Bundle
from ledgerkit.evaluation import Evaluation
from ledgerkit.ledger import Ledger
from ledgerkit.notebook.cards import ledger_card, run_card, step_card
from ledgerkit.notebook.evaluated import evaluation_card
from ledgerkit.notebook.replay_page import replay_page
from ledgerkit.replay import Replay, Step
from ledgerkit.run import Run
from ledgerkit.safety.inert import inert_terminal


@singledispatch
def bundle_of(shown: object) -> Bundle | tuple[Bundle, Mapping[str, Any]]:
    """The forms of an object by media type; text alone for what has no card."""
    return {"text/plain": inert_terminal(repr(shown))}


@bundle_of.register
def _(shown: Ledger) -> Bundle:
    return _with_text(shown, ledger_card(shown))


@bundle_of.register
def _(shown: Run) -> Bundle:
    return _with_text(shown, run_card(shown))


@bundle_of.register
def _(shown: Step) -> Bundle:
    words = f"Step {shown.number}: {shown.entered.height} parts new to the model, {shown.wrote.height} written by it"
    return {"text/plain": words, "text/html": step_card(shown)}


@bundle_of.register
def _(shown: Evaluation) -> Bundle:
    return _with_text(shown, evaluation_card(shown))


@bundle_of.register
def _(shown: Replay) -> Bundle | tuple[Bundle, Mapping[str, Any]]:
    if is_live():
        from ledgerkit.notebook.widget import ReplayWidget

        return ReplayWidget(shown).bundle()
    return {"text/plain": f"Replay of {len(shown)} steps", "text/html": replay_page(shown)}


def is_live() -> bool:
    """Whether a kernel runs this and the package that carries widgets is installed."""
    from importlib.util import find_spec

    if find_spec("anywidget") is None or find_spec("IPython") is None:
        return False
    from IPython.core.getipython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def _with_text(shown: object, html: str) -> Bundle:
    return {"text/plain": inert_terminal(repr(shown)), "text/html": html}
