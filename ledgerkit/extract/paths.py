"""Paths in one form, so that two ways to write the same file compare equal."""

from __future__ import annotations

import posixpath
import re
from typing import Final, NamedTuple

_HOME: Final = re.compile(r"(?:\$HOME|\$\{HOME\}|%USERPROFILE%|~)(?=/|$)")
_HOME_OF: Final = re.compile(r"(/home/[^/]+|/Users/[^/]+|/root)(?:/|$)")
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")
MAX_PATH: Final = 4_096


class NormalPath(NamedTuple):
    """A path in one form."""

    value: str
    """Absolute where it can be; beneath the home folder ``~/…``; relative to the workspace where it lies inside."""
    is_inside: bool | None
    """Whether it lies in the workspace; ``None`` where that cannot be told."""


def normalise_path(raw: str, working_directory: str | None, base: str = "") -> NormalPath:
    """The one form of a path.

    Args:
        raw: As it was written.
        working_directory: The workspace's root, where it is known.
        base: A folder that the line went to before.

    Example:
        >>> normalise_path("./src/../a.py", "/home/dev/x"), normalise_path("$HOME/.ssh/id", "/home/dev/x")
        (NormalPath(value='a.py', is_inside=True), NormalPath(value='~/.ssh/id', is_inside=False))
        >>> normalise_path("../y/b.py", "/home/dev/x").value
        '~/y/b.py'
    """
    text = raw[:MAX_PATH].replace("\\", "/") if _DRIVE.match(raw) else raw[:MAX_PATH]
    if _DRIVE.match(text):
        text = "/" + text[0].lower() + text[2:]
    root = _clean(working_directory) if working_directory else None
    home = _home_of(root)
    text = _HOME.sub("~", text, count=1) if _HOME.match(text) else text
    if not text.startswith(("/", "~")) and base:
        text = base.rstrip("/") + "/" + text
        text = _HOME.sub("~", text, count=1) if _HOME.match(text) else text
    if home and re.match(r"~(?:/|$)", text):
        text = home + text[1:]
    if not text.startswith(("/", "~")):
        return _relative(text, root, home)
    return _placed(_clean(text), root, home)


def _clean(path: str) -> str:
    cleaned = posixpath.normpath(path)
    return cleaned[1:] if cleaned.startswith("//") else cleaned


def _home_of(root: str | None) -> str | None:
    found = _HOME_OF.match(root) if root else None
    return found[1] if found else None


def _relative(text: str, root: str | None, home: str | None) -> NormalPath:
    cleaned = _clean(text)
    if not cleaned.startswith(".."):
        return NormalPath(cleaned, is_inside=True)
    return NormalPath(cleaned, is_inside=False) if root is None else _placed(_clean(f"{root}/{cleaned}"), root, home)


def _placed(path: str, root: str | None, home: str | None) -> NormalPath:
    if root is not None and (path == root or path.startswith(root.rstrip("/") + "/")):
        return NormalPath(path[len(root) :].strip("/") or ".", is_inside=True)
    is_inside = None if root is None and path.startswith("/") else False
    if home is not None and path.startswith(home + "/"):
        return NormalPath("~" + path[len(home) :], is_inside)
    return NormalPath(_without_home(path) if home is None else path, is_inside)


def _without_home(path: str) -> str:
    found = _HOME_OF.match(path)
    return "~" + path[found.end(1) :] if found and found.end(1) < len(path) else path
