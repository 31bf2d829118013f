"""Charts to SVG, offline.

One rule: the same chart gives the same bytes.  The theme is an argument, whatever theme the user has switched on in
Altair; nothing is fetched, and the picture carries no text but what it shows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from ledgerkit.charts.extra import needs_altair
from ledgerkit.charts.palette import Theme, theme_config
from ledgerkit.safety.inert import inert_terminal

if TYPE_CHECKING:
    import altair as alt

_GROUND: Final[dict[Theme, str]] = {"light": "#ffffff", "dark": "#14181d"}
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
    return specification_to_svg(_specification(chart), theme=theme)


@needs_altair
def specification_to_svg(specification: Mapping[str, Any], *, theme: Theme = "light") -> str:
    """The same of a chart's Vega-Lite specification: what a renderer of Altair is given.

    Raises:
        MissingExtraError: If the extra ``charts`` is not installed.
        ValueError: If it is not valid, or names data outside itself.
    """
    import vl_convert

    svg = vl_convert.vegalite_to_svg(_said(specification), config=theme_config(theme), allowed_base_urls=[])
    return _renumbered(_TAG.sub(lambda tag: _LONG_NUMBER.sub(_rounded, tag[0]), svg))


@needs_altair
def to_png(chart: alt.TopLevelMixin, *, theme: Theme = "light", scale: float = 2.0) -> bytes:
    """A chart as a PNG on a plain background, for slides and pages that take no SVG.

    Args:
        chart: A chart of this package, or any other.
        theme: Whether its background is white or near-black.
        scale: Pixels per unit of the chart.

    Raises:
        MissingExtraError: If the extra ``charts`` is not installed.
        ValueError: If the chart is not valid, or names data outside itself.
    """
    import vl_convert

    config = {**theme_config(theme), "background": _GROUND[theme]}
    said = _said(_specification(chart))
    return vl_convert.vegalite_to_png(said, config=config, scale=scale, allowed_base_urls=[])


def _said(specification: Mapping[str, Any]) -> str:
    """A specification as JSON. Amounts of money become floats, and control characters visible marks.

    The converter ends the whole process on a control character in a label.
    """
    said = json.dumps(specification, default=float)
    return said if "\\u" not in said else json.dumps(_inert(json.loads(said)))


def _inert(value: object) -> object:
    if isinstance(value, str):
        return inert_terminal(value)
    if isinstance(value, dict):
        return {inert_terminal(key): _inert(one) for key, one in cast(dict[str, object], value).items()}
    return [_inert(one) for one in cast(list[object], value)] if isinstance(value, list) else value


def _specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    import altair as alt

    with alt.theme.enable("none"):
        return chart.to_dict()


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
