"""Altair charts in cells, offline and inert: as pictures that follow the theme, or with tooltips where a kernel runs.

One rule: a chart is never put into a page as script; Altair's own HTML output lets text of the data end the script.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ledgerkit import charts
from ledgerkit.errors import MissingExtraError
from ledgerkit.notebook.html import Safe, joined, picture, stylesheet, tag

RENDERER: Final = "ledgerkit"
"""Name under which Altair knows this way of showing charts."""


def use_charts(*, interactive: bool = False) -> None:
    """Lets every Altair chart of this kernel show itself without a network.

    Args:
        interactive: With tooltips, through a widget: the first one takes some seconds, and pages without a kernel show
            nothing. Otherwise as a picture that follows the theme and stays in an exported page.

    Raises:
        MissingExtraError: If the extra ``charts`` is not installed.
    """
    if not charts.can_draw():
        raise MissingExtraError.for_extra("notebook", "Charts in cells")
    import altair as alt

    alt.data_transformers.disable_max_rows()  # pyright: ignore[reportUnknownMemberType]
    if interactive:
        alt.renderers.enable("jupyter", offline=True)
        return
    alt.renderers.register(RENDERER, _rendered)
    alt.renderers.enable(RENDERER)


def chart_html(specification: Mapping[str, Any]) -> Safe:
    """A chart's Vega-Lite specification as two pictures, one for light pages and one for dark ones."""
    words = str(specification.get("description") or "chart")
    themes = {
        theme: picture(charts.specification_to_svg(specification, theme=theme), words) for theme in ("light", "dark")
    }
    shown = [tag("div", image, class_=f"lk-{theme}") for theme, image in themes.items()]
    return joined([stylesheet(), tag("figure", *shown, class_="lk lk-picture")])


def _rendered(specification: dict[str, Any], **_: object) -> dict[str, Any]:
    return {"text/plain": "<chart>", "text/html": chart_html(specification)}
