"""HTML for cells and pages, in which text cannot be anything but text.

One rule: what is not ``Safe`` is escaped, and what acts on a display is shown as a mark; only this module makes
``Safe`` from a string.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from html import escape
from importlib import resources
from typing import Final

from ledgerkit.safety.inert import inert_html

_VOID: Final = frozenset({"img", "meta", "br"})


class Safe(str):
    """HTML that is complete and inert. Made by :func:`tag` and :func:`joined`."""

    __slots__ = ()


Child = Safe | str | None


def tag(element: str, /, *children: Child, **attributes: str | bool | None) -> Safe:
    """An element.

    Args:
        element: Its name.
        children: What stands in it: ``Safe`` as it is, text escaped and inert.
        attributes: Its attributes; ``_`` at the end of a name is left out, others become ``-``. ``None`` and false
            ones are left out. Values are escaped, but nothing here makes a URL harmless: give no log text as one.

    Example:
        >>> tag("td", "<b>", class_="right")
        '<td class="right">&lt;b&gt;</td>'
    """
    given = {
        key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value not in (None, False)
    }
    written = "".join(
        f" {key}" if value is True else f' {key}="{inert_html(str(value))}"' for key, value in given.items()
    )
    if element in _VOID:
        return Safe(f"<{element}{written}>")
    return Safe(f"<{element}{written}>{joined(children)}</{element}>")


def joined(children: Iterable[Child]) -> Safe:
    """Elements and texts one after the other."""
    return Safe("".join(one if isinstance(one, Safe) else inert_html(one) for one in children if one is not None))


def picture(svg: str, words: str) -> Safe:
    """A picture as an image, so that nothing in it can act.

    Args:
        svg: The picture.
        words: What it shows, for those who do not see it.
    """
    return tag("img", src="data:image/svg+xml;base64," + b64encode(svg.encode()).decode(), alt=words)


@cache
def stylesheet(name: str = "lk.css") -> Safe:
    """A stylesheet of the package as an element."""
    return Safe(f"<style>{static(name)}</style>")


@cache
def static(name: str) -> str:
    """A file that stands beside the front end's modules."""
    return (resources.files("ledgerkit.notebook") / "static" / name).read_text("utf-8")


def cell(*children: Child, label: str) -> Safe:
    """What a cell shows, with its style: it needs no other file, and no script.

    Args:
        children: What stands in it.
        label: What it is, for a screen reader.
    """
    return joined([stylesheet(), tag("section", *children, class_="lk", aria_label=label)])


def document(title: str, *children: Child, styles: str = "", script: str = "") -> str:
    """A page that stands alone: nothing may be fetched, and no script may run in it but the one that is given.

    Args:
        title: Its title.
        children: What stands in it.
        styles: Style beside the package's own.
        script: An ES module of the package; never anything of a log. The page's policy names its hash.
    """
    sha = b64encode(sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{sha}'; " if script else ""
    policy = f"default-src 'none'; {scripts}style-src 'unsafe-inline'; img-src data:; "
    policy += "base-uri 'none'; form-action 'none'"
    head = joined(
        [
            tag("meta", charset="utf-8"),
            Safe(f'<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=True)}">'),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("title", title),
            Safe(f"<style>{static('lk.css')}{styles}</style>"),
        ]
    )
    module = Safe(f'<script type="module">{script}</script>' if script else "")
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{joined(children)}{module}</body></html>\n'
