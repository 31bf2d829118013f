"""HTML of cell outputs made inert: taken apart, and only what is known to do nothing is put together again.

One rule: an allowlist. Elements that are not on it go, and with those that act (script, style, frames, forms) all that
is in them; text stays text; of attributes stay labels and classes, never an address, but for pictures inside the page.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

from ledgerkit.notebook.html import Safe
from ledgerkit.safety.inert import inert_html

_ELEMENTS: Final = frozenset({
    "article", "b", "blockquote", "br", "caption", "code", "col", "colgroup", "dd", "del", "details", "div", "dl", "dt",
    "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "li", "ol", "p", "pre",
    "progress", "section", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "ul",
})  # fmt: skip
_VOID: Final = frozenset({"br", "col", "hr", "img"})
_WITH_ALL: Final = frozenset({
    "applet", "audio", "base", "button", "canvas", "embed", "form", "frame", "frameset", "head", "iframe", "input",
    "link", "math", "meta", "noembed", "noframes", "noscript", "object", "plaintext", "script", "select", "style",
    "svg", "template", "textarea", "title", "video", "xmp",
})  # fmt: skip
"""Elements that go with all that is in them."""
_ATTRIBUTES: Final = frozenset({
    "alt", "aria-hidden", "aria-label", "class", "colspan", "max", "open", "role", "rowspan", "scope", "tabindex",
    "title", "value",
})  # fmt: skip
_PICTURE: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*\Z")
_ENDLESS: Final = frozenset({"meta", "link", "base", "embed", "input", "frame"})
"""Elements that have no end, and so hold nothing."""


class _Cleaner(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.kept: list[str] = []
        self.open: list[str] = []
        self.hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.hidden or tag in _WITH_ALL:
            if tag in _WITH_ALL and tag not in _ENDLESS:
                self.hidden.append(tag)
            return
        if tag not in _ELEMENTS:
            return
        kept = [written for name, value in attrs if (written := _attribute(tag, name, value)) is not None]
        if tag == "img" and not any(one.startswith("src=") for one in kept):
            return
        self.kept.append(f"<{' '.join([tag, *kept])}>")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.hidden:
            if tag in self.hidden:
                while self.hidden.pop() != tag:
                    pass
            return
        if tag in self.open:
            while (last := self.open.pop()) != tag:
                self.kept.append(f"</{last}>")
            self.kept.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.kept.append(inert_html(data))


def sanitised(html: str) -> Safe:
    """HTML with nothing in it that acts, asks or is styled by itself.

    Example:
        >>> sanitised('<p onclick="x()">a<script>b</script><a href="javascript:c">d</a>')
        '<p>ad</p>'
    """
    cleaner = _Cleaner()
    cleaner.feed(html)
    cleaner.close()
    return Safe("".join([*cleaner.kept, *(f"</{tag}>" for tag in reversed(cleaner.open))]))


def _attribute(tag: str, name: str, value: str | None) -> str | None:
    if tag == "img" and name == "src":
        return f'src="{inert_html(value)}"' if value and _PICTURE.match(value) else None
    if name not in _ATTRIBUTES:
        return None
    return name if value is None else f'{name}="{inert_html(value)}"'
