"""Secrets at the places where protocols and files of credentials have them: headers, addresses, cookies, Secrets."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from ledgerkit.safety.redaction.places import Place, value_at
from ledgerkit.safety.redaction.values import is_reference, is_stopped, looks_like_password, looks_random

_AUTH_SCHEME: Final = re.compile(
    r"(?:[A-Za-z-]{2,16}[ :]+)?",
    re.IGNORECASE,
)
_TO_LINE_END: Final = re.compile(r"[^\"'`\n\r\\]+")


def read_authorization(text: str, start: int) -> Iterator[Place]:
    """The credential of a header, behind the name of its scheme."""
    found = _TO_LINE_END.match(text, start, start + 3000)
    if found is None:
        return
    scheme = _AUTH_SCHEME.match(text, start, found.end())
    begin = scheme.end() if scheme else start
    end = begin + len(text[begin : found.end()].partition("  ")[0].rstrip())
    value = text[begin:end]
    token = re.search(r"(?:token|response|signature|api_?key)=\"?([^\s\",]+)", value, re.IGNORECASE)
    word = re.split(r"[ &;,]", value, maxsplit=1)[0]
    if word != value and token is None:
        value, end = word, begin + len(word)
    probe = token[1] if token else word
    if len(value) >= 8 and not is_stopped(probe) and (looks_random(probe) or is_basic(probe)) and not _is_call(value):
        yield Place(begin, end, "authorization")


def _is_call(value: str) -> bool:
    return re.match(r"[A-Za-z_.]+[(\[]", value) is not None


def is_basic(value: str) -> bool:
    """Whether a value is ``user:password`` in base64.

    Example:
        >>> is_basic("dXNlcjpBNHh6OTFxdw=="), is_basic("bm90aGluZyBhdCBhbGw=")
        (True, False)
    """
    if len(value) < 10 or len(value) % 4:
        return False
    try:
        text = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return False
    _, colon, password = text.partition(":")
    return bool(colon) and text.isprintable() and len(password) >= 3 and not is_stopped(password)


def read_basic(text: str, start: int) -> Iterator[Place]:
    """A user's name and password in base64."""
    begin, end, _ = value_at(text, start)
    found = re.match(r"[A-Za-z0-9+/=]+", text[begin:end])
    if found and is_basic(found[0]):
        yield Place(begin, begin + found.end(), "basic-auth")


def read_bearer(text: str, start: int) -> Iterator[Place]:
    """A token behind the word *Bearer*."""
    found = re.compile(r"[A-Za-z0-9_.~+/=-]+").match(text, start, start + 4000)
    if found and not is_stopped(found[0]) and not is_reference(found[0]) and looks_random(found[0], least=16):
        yield Place(start, found.end(), "bearer-token")


_COOKIE_PARTS: Final = frozenset(
    ["path", "domain", "expires", "max-age", "samesite", "secure", "httponly", "priority", "version", "comment"]
)


def read_cookie(text: str, start: int) -> Iterator[Place]:
    """The whole value of a cookie header, if one of its cookies can be a secret."""
    found = _TO_LINE_END.match(text, start, start + 4000)
    if found is None:
        return
    value = found[0].split("  ")[0].rstrip()
    values = [
        right
        for part in value.split(";")
        for left, equals, right in [part.strip().partition("=")]
        if equals and left.lower() not in _COOKIE_PARTS
    ]
    if any(len(item) >= 12 and not is_stopped(item) and looks_random(item, least=12) for item in values):
        yield Place(start, start + len(value), "cookie")


def read_userinfo(text: str, start: int) -> Iterator[Place]:
    """The password of an address."""
    found = re.compile(r"[^\s\"'<>`@]{1,200}(?=@)").match(text, start, start + 220)
    if found is None:
        return
    value = found[0]
    if re.match(r"\d{1,5}(?:/|$)", value) or is_stopped(value) or "://" in value or ("," in value and "=" in value):
        return
    if looks_like_password(value, least=6) or looks_random(value, least=16):
        yield Place(start, found.end(), "url-password")


def read_url_token(text: str, start: int) -> Iterator[Place]:
    """A token in the place of a user's name in an address."""
    found = re.compile(r"[^\s\"'<>`@/:]{16,200}(?=(?::x-oauth-basic)?@)").match(text, start, start + 220)
    if found and not is_stopped(found[0]) and looks_random(found[0], least=16):
        yield Place(start, found.end(), "url-token")


def read_docker_auth(text: str, start: int) -> Iterator[Place]:
    """A login in a settings file of Docker or npm."""
    begin, end, _ = value_at(text, start)
    if is_basic(text[begin:end]):
        yield Place(begin, end, "docker-auth")


_DATA_BLOCK: Final = re.compile(r"(?:string)?[dD]ata[\"']?\s{0,4}:\s{0,4}\{?")
_DATA_ROW: Final = re.compile(
    r"[\"'\s{,]([\w./-]{1,80})[\"']?\s{0,4}:\s{0,4}[\"']?([A-Za-z0-9+/=_.-]{8,2000})[\"']?\s{0,4},?(?=\s|\}|$)"
)
_MOST_ROWS: Final = 40


def read_kubernetes(text: str, start: int) -> Iterator[Place]:
    """The values below ``data`` of a Secret. Whatever the text, only so many rows of it are looked at."""
    offset = max(0, start - 1500)
    window = text[offset : start + 4000]
    block = _DATA_BLOCK.search(window)
    rows = _DATA_ROW.finditer(window, block.end() - 1) if block else ()
    for row in islice(rows, _MOST_ROWS):
        value = row[2]
        if not is_stopped(value) and looks_random(value, least=8) and "." not in value:
            yield Place(offset + row.start(2), offset + row.end(2), "kubernetes-secret")
