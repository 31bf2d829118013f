"""Long texts cut short.

One rule: what is cut is counted.  Where all texts together are too long, each is cut at the same length, so that the
end of a run is told as well as its beginning.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast

from ledgerkit.reports.blocks import Excerpt
from ledgerkit.safety.inert import inert_html

_SHORTEST: Final = 200
_INLINE: Final = 100
_MAX_FIELDS: Final = 40
_GIST_KEYS: Final = (
    "command",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "query",
    "url",
    "notebook_path",
    "description",
    "subject",
    "prompt",
)


def common_length(lengths: Iterable[int], limit: int, total: int) -> int:
    """The length at which to cut every text, so that they are not longer than ``total`` together.

    Example:
        >>> common_length([100, 5000], 4000, 10_000), common_length([5000] * 10, 4000, 10_000)
        (4000, 1000)
    """
    sizes = sorted(lengths)
    cut = limit
    while cut > _SHORTEST and sum(min(size, cut) for size in sizes) > total:
        cut //= 2
    return max(cut, min(_SHORTEST, limit))


def excerpt(text: str | None, limit: int, *, whole_bytes: int | None = None) -> Excerpt:
    """The beginning of a text.

    Args:
        text: The text; None is empty.
        limit: Its most characters. Text that escaping makes more than twice as long is cut further.
        whole_bytes: Size of the whole content, where the text is only the head of it.
    """
    whole = text or ""
    head = whole[:limit]
    while head and len(inert_html(head)) > 2 * limit:
        head = head[: len(head) // 2]
    size = _size(whole)
    left_out = size - (size if len(head) == len(whole) else _size(head))
    return Excerpt(head, left_out + max((whole_bytes or 0) - size, 0))


def one_line(text: str | None, limit: int) -> str:
    r"""The beginning of a text as one line.

    Example:
        >>> one_line("Fix the bug.\n\nThen run the tests, all of them.", 24)
        'Fix the bug. Then run t…'
    """
    words = " ".join((text or "")[: limit * 4].replace("\n", " ").replace("\t", " ").split(" ")).strip()
    while "  " in words:
        words = words.replace("  ", " ")
    return words if len(words) <= limit else words[: limit - 1] + "…"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call: a short value, or a text of its own."""

    name: str
    value: str
    text: Excerpt | None = None


def arguments(data: str | None, limit: int) -> list[Argument]:
    """The arguments of a tool call, the way a person reads them: strings as texts, the rest as indented JSON.

    Args:
        data: The arguments as JSON; what is no object is shown as one argument without a name.
        limit: Characters of one value.
    """
    value = _parsed(data)
    if not isinstance(value, dict):
        return [] if data is None else [Argument("", "", excerpt(data, limit))]
    fields = list(cast("dict[str, object]", value).items())
    shown = [_argument(str(name), field, limit) for name, field in fields[:_MAX_FIELDS]]
    if len(fields) > _MAX_FIELDS:
        shown.append(Argument("…", f"{len(fields) - _MAX_FIELDS} more arguments"))
    return shown


def gist(data: str | None, limit: int = 120) -> str:
    """What a call is about, in one line: its command, path or pattern, else its first text.

    Example:
        >>> gist('{"timeout": 10, "command": "pytest -q"}')
        'pytest -q'
    """
    value = _parsed(data)
    if not isinstance(value, dict):
        return one_line(data, limit)
    fields = cast("dict[str, object]", value)
    texts = {name: field for name, field in fields.items() if isinstance(field, str) and field.strip()}
    chosen = next((texts[name] for name in _GIST_KEYS if name in texts), next(iter(texts.values()), ""))
    return one_line(chosen, limit)


def indented(data: str | None, limit: int) -> Excerpt:
    """JSON on several lines; as it stands where it is no JSON."""
    value = _parsed(data)
    return excerpt(data if value is None else _json(value), limit)


def _argument(name: str, value: object, limit: int) -> Argument:
    text = value if isinstance(value, str) else _json(value)
    if len(text) <= _INLINE and "\n" not in text:
        return Argument(one_line(name, _INLINE), text)
    return Argument(one_line(name, _INLINE), "", excerpt(text, limit))


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except RecursionError:
        return "(nested too deeply to show)"


def _parsed(data: str | None) -> object:
    if not data:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
