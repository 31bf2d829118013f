"""Any server behind a known interface: an OpenAI-compatible endpoint, a local server, a provider.

Needs nothing but the standard library.

The rule: the key goes into a header and nowhere else: no error, no message and no repr holds it.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from ledgerkit.errors import ConfigurationError, ModelUnavailableError
from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.protocol.requests import LlmRequest
from ledgerkit.providers.answers import Answer, read_answer
from ledgerkit.providers.mapping import map_request

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""A longer answer is refused, so that a server cannot fill the memory."""
_SHOWN: Final = 300
_PATHS: Final = {
    ProviderInterface.OPENAI_CHAT: "/chat/completions",
    ProviderInterface.LOCAL: "/chat/completions",
    ProviderInterface.OPENAI_RESPONSES: "/responses",
    ProviderInterface.ANTHROPIC: "/messages",
}
_UNREACHABLE: Final = 0
"""Status of a call that no answer came of."""


@dataclass(frozen=True)
class HttpModel:
    """A model behind an HTTP interface. Redirects are not followed, so that the key reaches the named host only.

    Attributes:
        base_url: Address of the interface, such as ``http://127.0.0.1:8080/v1``.
        name: The model, as the server calls it.
        interface: What the server speaks.
        key: Gives the key when a request is sent; ``None`` for a server that wants none.
        timeout: Seconds to wait for an answer.
        headers: Further headers.
    """

    base_url: str
    name: str
    interface: ProviderInterface = ProviderInterface.OPENAI_CHAT
    key: Callable[[], str] | None = field(default=None, repr=False)
    timeout: float = 120.0
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def __post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise ConfigurationError(
                "base_url is the http or https address of an interface, without a user in it. "
                "Example: http://127.0.0.1:8080/v1"
            )
        if self.interface not in _PATHS:
            raise ConfigurationError(
                f"HttpModel does not speak {self.interface.value}. It speaks: {', '.join(one.value for one in _PATHS)}"
            )

    def ask(self, request: LlmRequest) -> Answer:
        """Sends a request and reads the answer.

        Raises:
            ModelUnavailableError: If no answer came, or the server says that it cannot answer now.
            ProtocolError: If the request does not fit the interface, or what came back is no answer of it.
        """
        payload = map_request(request.model_copy(update={"model": self.name}), self.interface)
        return read_answer(self.interface, self._post(payload.to_json()), aliases=payload.aliases)

    def send(self, request: LlmRequest) -> bytes:
        """Sends a request and gives the answer's body as it came, for who keeps it; no tools may be declared in it.

        Raises:
            ModelUnavailableError: If no answer came, or the server says that it cannot answer now.
            PayloadRefusedError: If the request does not fit the interface.
        """
        return self._post(map_request(request.model_copy(update={"model": self.name}), self.interface).to_json())

    def _post(self, body: bytes) -> bytes:
        address = self.base_url.rstrip("/") + _PATHS[self.interface]
        post = urllib.request.Request(address, data=body, headers=self._all_headers(), method="POST")  # noqa: S310
        try:
            with _OPENER.open(post, timeout=self.timeout) as answer:
                return _bounded(cast("bytes", answer.read(MAX_ANSWER_BYTES + 1)))
        except urllib.error.HTTPError as error:
            with error:
                said = _message_of(error.read(_SHOWN * 4))
            raise ModelUnavailableError(f"The server answered {error.code}: {said}", error.code) from None
        except (TimeoutError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise ModelUnavailableError(f"No answer from the server: {reason}", _UNREACHABLE) from None

    def _all_headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self.headers}
        if self.key is None:
            return headers
        if self.interface is ProviderInterface.ANTHROPIC:
            return {"anthropic-version": "2023-06-01", **headers, "x-api-key": self.key()}
        return {**headers, "Authorization": f"Bearer {self.key()}"}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: object, **_more: object) -> None:
        """A redirect is an answer that is none."""
        return


_OPENER: Final = urllib.request.build_opener(_NoRedirects)


def _bounded(body: bytes) -> bytes:
    if len(body) > MAX_ANSWER_BYTES:
        raise ModelUnavailableError(f"The answer is longer than {MAX_ANSWER_BYTES} bytes.", _UNREACHABLE)
    return body


def _message_of(body: bytes) -> str:
    """What an error says, short. It may quote anything: it is recorded as untrusted text, and never followed."""
    text = body.decode("utf-8", "replace")
    try:
        error = cast("dict[str, Any]", json.loads(text))["error"]
        text = str(cast("dict[str, Any]", error)["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass  # no JSON, or none in the usual form: shown as it came
    return " ".join(text.split())[:_SHOWN]
