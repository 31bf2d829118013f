"""Colours and type of the charts.

One rule: a chart holds only colours that read on white and on near-black; text, grid and axis colours come from the
theme, which is applied when a chart becomes SVG.
"""

from __future__ import annotations

from typing import Final, Literal

Theme = Literal["light", "dark"]

CATEGORIES: Final = ("#4c86d9", "#d9822b", "#2a9d8f", "#9b6dd6", "#d65c7a", "#8a9a3b", "#a97b50")
"""For names without a meaning of their own, in order of size."""

REST: Final = "#8a929c"
"""For what is left over: others, unknown, no result."""

FIRST: Final = CATEGORIES[0]
SECOND: Final = CATEGORIES[1]
THIRD: Final = CATEGORIES[2]
FOURTH: Final = CATEGORIES[3]
FAILURE: Final = "#d64545"

WIDTH: Final = 520
"""Width of a chart in pixels, axes included."""

FONT: Final = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"

_INK: Final[dict[Theme, dict[str, str]]] = {
    "light": {"text": "#3d4650", "faint": "#66707b", "grid": "#e3e6ea", "axis": "#b8bfc7"},
    "dark": {"text": "#d5dae0", "faint": "#98a2ad", "grid": "#2c333b", "axis": "#4a535d"},
}
# Widths are measured with the first of the fonts that is there; a page may show a wider one.
_PADDING: Final = {"left": 16, "right": 10, "top": 4, "bottom": 4}
_LEGEND: Final = {
    "orient": "bottom",
    "title": None,
    "columns": 3,
    "columnPadding": 22,
    "symbolType": "square",
    "symbolSize": 80,
    "labelLimit": 220,
    "offset": 10,
}


def theme_config(theme: Theme) -> dict[str, object]:
    """The Vega-Lite configuration of a theme."""
    ink = _INK[theme]
    words = {"labelColor": ink["faint"], "titleColor": ink["faint"], "labelFontSize": 11, "titleFontSize": 11}
    axis = {
        **words,
        "titleFontWeight": "normal",
        "gridColor": ink["grid"],
        "domainColor": ink["axis"],
        "tickColor": ink["axis"],
        "tickSize": 4,
        "labelPadding": 4,
    }
    return {
        "aria": False,
        "background": "transparent",
        "font": FONT,
        "padding": _PADDING,
        "view": {"stroke": None},
        "axis": axis,
        "legend": {**words, **_LEGEND},
        "text": {"color": ink["text"], "fontSize": 11},
    }
