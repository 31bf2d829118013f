"""Which reader judges the candidates of which contextual rule."""

from __future__ import annotations

from functools import cache
from typing import Final

from ledgerkit.errors import UnknownNameError
from ledgerkit.safety.redaction.assignments import (
    Reader,
    explicit,
    read_assignment,
    read_option,
    read_phrase,
    read_prose,
    read_said,
)
from ledgerkit.safety.redaction.keyblocks import read_key_block, read_key_tail
from ledgerkit.safety.redaction.protocols import (
    read_authorization,
    read_basic,
    read_bearer,
    read_cookie,
    read_docker_auth,
    read_kubernetes,
    read_url_token,
    read_userinfo,
)
from ledgerkit.safety.redaction.ruleset import contextual_rules

_READERS: Final[dict[str, Reader]] = {
    "assignment": read_assignment,
    "authorization": read_authorization,
    "basic": read_basic,
    "bearer": read_bearer,
    "cookie": read_cookie,
    "docker-auth": read_docker_auth,
    "key-block": read_key_block,
    "key-tail": read_key_tail,
    "kubernetes": read_kubernetes,
    "option": read_option,
    "phrase": read_phrase,
    "prose": read_prose,
    "said": read_said,
    "url-token": read_url_token,
    "userinfo": read_userinfo,
}


@cache
def readers() -> dict[str, Reader]:
    """The reader of each contextual rule."""
    return {name: _reader(rule.reader, rule.type) for name, rule in contextual_rules().items()}


def _reader(name: str, kind: str) -> Reader:
    if name == "explicit":
        return explicit(kind)
    if name not in _READERS:
        raise UnknownNameError.among("reader", name, ["explicit", *_READERS])
    return _READERS[name]
