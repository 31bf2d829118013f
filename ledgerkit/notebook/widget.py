"""The replay widget: a run step by step in a notebook, its history beside the contexts that strategies would make.

One rule: Python computes, the page shows. Rows travel in messages, a page at a time; traits hold the place alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ledgerkit.errors import MissingExtraError, UnknownNameError
from ledgerkit.notebook.module import module_text, style_text
from ledgerkit.notebook.pages import ReplayPages
from ledgerkit.notebook.replay_page import replay_page
from ledgerkit.replay import Replay, Step
from ledgerkit.run import Run
from ledgerkit.strategies import Strategy, parse_strategy

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise MissingExtraError.for_extra("notebook", "The replay widget") from error

if TYPE_CHECKING:
    from traitlets import Bunch


class ReplayWidget(anywidget.AnyWidget):
    """Steps through a run in a notebook. ``run.replay()`` shows one; make one yourself to hold on to it.

    Keys: j, k and arrows step, PageUp and PageDown go ten steps, Home and End to the ends, f to the next failure, /
    searches, s switches the strategy, c copies the reference of the chosen part.

    Args:
        run: The run, or its replay.
        strategies: Strategies, or their names, to switch between; those of the replay, or a few, if not given.
        step: The step to begin with; negative numbers count from the end.

    Attributes:
        step: Number of the step that is shown. Set it, and the page follows.
        strategy: Number of the strategy that is shown, of ``strategies``.
        selected: Reference of the part that was chosen in the page, ``message:ID``; empty if none was.

    Raises:
        MissingExtraError: When the module is loaded without the extra ``notebook``.

    Example:
        >>> widget = ReplayWidget(ledger.run("7ba219aa"), strategies=["FullHistory"])  # doctest: +SKIP
        >>> widget.step = 12  # doctest: +SKIP
    """

    _esm = module_text()
    _css = style_text()
    step = traitlets.Int(0).tag(sync=True)
    strategy = traitlets.Int(0).tag(sync=True)
    selected = traitlets.Unicode("").tag(sync=True)
    head = traitlets.Dict().tag(sync=True)

    def __init__(self, run: Run | Replay, *, strategies: Sequence[Strategy | str] = (), step: int = 0) -> None:
        self._pages = _pages(run, strategies)
        super().__init__(head=self._pages.head)
        self.on_msg(self._asked)  # pyright: ignore[reportUnknownMemberType] - ipywidgets says no types
        self.step = step

    @property
    def replay(self) -> Replay:
        """The run that is shown, to step through in Python."""
        return self._pages.replay

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """The strategies to switch between."""
        return self._pages.sights.strategies

    @property
    def current(self) -> Step:
        """The step that is shown.

        Raises:
            UnknownNameError: If the run has no step.
        """
        return self.replay.step(self.step)

    def show_run(self, run: Run | Replay, *, strategies: Sequence[Strategy | str] = (), step: int = 0) -> None:
        """Shows another run in the same place.

        Args:
            run: The run, or its replay.
            strategies: Strategies to switch between; the present ones if not given.
            step: The step to begin with.
        """
        self._pages = _pages(run, strategies or self.strategies)
        with self.hold_sync():
            self.head, self.strategy, self.selected = self._pages.head, 0, ""
            self.step = step

    @traitlets.validate("step")
    def _valid_step(self, proposal: Bunch) -> int:
        last = max(len(self._pages.replay) - 1, 0)
        wanted = cast(int, proposal["value"])
        return min(max(wanted + len(self._pages.replay) if wanted < 0 else wanted, 0), last)

    @traitlets.validate("strategy")
    def _valid_strategy(self, proposal: Bunch) -> int:
        wanted, there = cast(int, proposal["value"]), [one.label for one in self.strategies]
        if not 0 <= wanted < len(there):
            raise UnknownNameError(
                f"No strategy {wanted}; there are {len(there)}, numbered from 0.", name=str(wanted), available=there
            )
        return wanted

    def _asked(self, widget: object, content: object, buffers: object) -> None:
        del widget, buffers
        self.send(self._pages.answer(content))  # pyright: ignore[reportUnknownMemberType]

    def bundle(self) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Its forms by media type: the widget, and pages without a kernel a run of folds."""
        shown = cast(Any, super()._repr_mimebundle_())  # pyright: ignore[reportUnknownMemberType]
        live = cast("tuple[dict[str, Any], dict[str, Any]]", shown or ({}, {}))
        head = self._pages.head
        words = (
            f"Replay of {head['title']}: step {self.step} of {head['steps']}, {self.strategies[self.strategy].label}"
        )
        page = replay_page(self.replay, title=head["title"])
        return {**live[0], "text/plain": words, "text/html": page}, live[1]

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], Mapping[str, Any]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.bundle()


def _pages(run: Run | Replay, strategies: Sequence[Strategy | str]) -> ReplayPages:
    chosen = [parse_strategy(one) if isinstance(one, str) else one for one in strategies]
    return ReplayPages(run.replay() if isinstance(run, Run) else run, chosen)
