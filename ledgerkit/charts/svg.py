"""Charts to SVG, offline.

One rule: the same chart gives the same bytes.  The theme is an argument, whatever theme the user has switched on in
Altair; nothing is fetched, and the picture carries no text but what it shows.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from ledgerkit.charts.extra import needs_altair
from ledgerkit.charts.palette import Theme, theme_config

if TYPE_CHECKING:
    import altair as alt

_TAG: Final = re.compile(r"<[^<>]+>")
_LONG_NUMBER: Final = re.compile(r"\d+\.\d{3,}(?:e-?\d+)?")
_NUMBERED: Final = re.compile(r"\b(clip|gradient_)(\d+)\b")
_IN_ORDER: Final = re.compile(r"\b(clip|gradient_)(-\d+)\b")


@needs_altair
def to_svg(chart: alt.TopLevelMixin, *, theme: Theme = "light") -> str:
    """A chart as SVG with a transparent background.

    Args:
        chart: A chart of this package, or any other.
        theme: Whether it will stand on a light or a dark page.

    Returns:
        The text of the SVG; the same for the same chart.

    Raises:
        MissingExtraError: If the extra ``charts`` is not installed.
        ValueError: If the chart is not valid, or names data outside itself.
    """
    import altair as alt
    import vl_convert

    with alt.theme.enable("none"):
        specification = chart.to_dict()
    svg = vl_convert.vegalite_to_svg(specification, config=theme_config(theme), allowed_base_urls=[])
    return _renumbered(_TAG.sub(lambda tag: _LONG_NUMBER.sub(_rounded, tag[0]), svg))


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _renumbered(svg: str) -> str:
    """Ids by their order in the picture: the converter counts them on from one picture to the next.

    The hash keeps the ids of two pictures on one page apart.
    """
    numbers: dict[str, int] = {}

    def renumber(match: re.Match[str]) -> str:
        return f"{match[1]}-{numbers.setdefault(match[0], len(numbers))}"

    numbered = _TAG.sub(lambda tag: _NUMBERED.sub(renumber, tag[0]), svg)
    own = hashlib.sha256(numbered.encode()).hexdigest()[:8]
    return _TAG.sub(lambda tag: _IN_ORDER.sub(rf"\g<1>{own}\g<2>", tag[0]), numbered)
