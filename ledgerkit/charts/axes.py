"""Axes and sizes that all charts share.

One rule: the axis says what is measured, in words above it, so that a chart needs no title.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import altair as alt

HEIGHT: Final = 220
ROW: Final = 27
"""Height of a horizontal bar with its gap."""

BAR: Final = 15
"""Height of the bar itself."""

_DATE_FORMATS: Final = {"day": "%-d %b", "week": "%b %Y", "month": "%b %Y"}
_CENTS_BELOW: Final = 10
_MILLS_BELOW: Final = 0.1
_LEAST: Final = 0.0001


def measure(title: str, number_format: str) -> alt.Axis:
    """A vertical axis with its title above it."""
    import altair as alt

    return alt.Axis(
        title=title,
        titleAngle=0,
        titleAlign="left",
        titleAnchor="end",
        titleBaseline="bottom",
        titleX=0,
        titleY=-8,
        format=number_format,
        tickCount=5,
        domain=False,
        ticks=False,
    )


def across(title: str) -> alt.Axis:
    """A horizontal axis of whole numbers."""
    import altair as alt

    return alt.Axis(title=title, grid=False, format=",d", tickMinStep=1, labelFlush=True)


def dates(period: str) -> alt.Axis:
    """A horizontal axis of days, weeks or months."""
    import altair as alt

    return alt.Axis(grid=False, format=_DATE_FORMATS[period], labelOverlap=True, tickCount=6, labelFlush=True)


def names() -> alt.Axis:
    """A vertical axis of names."""
    import altair as alt

    return alt.Axis(title=None, domain=False, ticks=False, labelLimit=220, labelFontSize=11)


def fitted() -> alt.AutoSizeParams:
    """The given size is that of the whole picture, axes included."""
    import altair as alt

    return alt.AutoSizeParams(type="fit", contains="padding")


def dollar_format(highest: float) -> str:
    """The number format of an axis of money that ends at an amount."""
    if highest >= _CENTS_BELOW:
        return "$,.0f"
    return "$.2f" if highest >= _MILLS_BELOW else "$.4f"


def dollars(amount: float) -> str:
    """An amount beside a bar.

    Example:
        >>> dollars(1234.5), dollars(1.5), dollars(0.0123), dollars(0.00001)
        ('$1,234', '$1.50', '$0.0123', '<$0.0001')
    """
    if amount >= _CENTS_BELOW**2:
        return f"${amount:,.0f}"
    if amount >= _MILLS_BELOW or amount == 0:
        return f"${amount:.2f}"
    return f"${amount:.4f}" if amount >= _LEAST else f"<${_LEAST:.4f}"
