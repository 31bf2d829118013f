"""Templates to HTML.

One rule: nothing from a log reaches a page but as marked and escaped text.  Every value that a template prints goes
through ``inert_terminal`` and then through escaping; no template and no function here can switch that off.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from ledgerkit import formatting
from ledgerkit.safety.inert import inert_terminal

if TYPE_CHECKING:
    from jinja2 import Environment

_FILTERS: Final = {
    "count": formatting.format_count,
    "bytes": formatting.format_bytes,
}


def render(template: str, values: dict[str, object]) -> str:
    """Renders one of the package's templates to a whole HTML document."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ledgerkit.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_marked,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_FILTERS)
    return environment


def _marked(value: object) -> object:
    """Text with visible marks; markup that a macro of ours has made already went through here."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return inert_terminal(value)
    return value
