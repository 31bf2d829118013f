"""Models behind HTTP: a server on this machine plays the endpoint."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Final, cast

import pytest

import ledgerkit as lk
from ledgerkit.agent.live import Ending, HttpModel, Limits
from ledgerkit.agent.model import ModelUnavailableError
from ledgerkit.errors import ConfigurationError, ProtocolError
from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.protocol.requests import LlmRequest
from tests.agent.live_case import RUN, Case

REQUEST: Final = LlmRequest(request_id="q", model="m")


class Endpoint(HTTPServer):
    """Answers with what stands in a list, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, bytes]] = []
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def will_say(self, message: dict[str, Any], code: int = 200, **more: Any) -> None:
        usage = {"prompt_tokens": 120, "completion_tokens": 9, "total_tokens": 129}
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
        body = {"id": f"chat-{len(self.answers)}", "model": "served-1", "choices": [choice], "usage": usage, **more}
        self.answers.append((code, json.dumps(body).encode()))


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = cast("Endpoint", self.server)
        length = int(self.headers["Content-Length"])
        server.asked.append((self.path, dict(self.headers), json.loads(self.rfile.read(length))))
        code, body = server.answers.pop(0)
        self.send_response(code)
        if 300 <= code < 400:
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_agent_works_through_an_endpoint_that_fails_once(endpoint: Endpoint, tmp_path: Path) -> None:
    key = secrets.token_hex(16)
    call = {"id": "abc", "type": "function", "function": {"name": "ship", "arguments": '{"parcel": "part-c"}'}}
    endpoint.answers.append((503, b'{"error": {"message": "Overloaded"}}'))
    endpoint.will_say({"content": None, "tool_calls": [call]})
    done = {"nextAction": "FINISH_WITH_PATCH", "rationaleSummary": "Shipped.", "toolName": None, "toolArguments": None}
    endpoint.will_say({"content": json.dumps(done)})
    case = Case(tmp_path, model=HttpModel(endpoint.url, "served-1", key=lambda: key))
    assert case.run().ending is Ending.FINISHED
    assert case.carried_out == ["part-c"]
    path, headers, body = endpoint.asked[0]
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {key}")
    assert {tool["function"]["name"] for tool in body["tools"]} >= {"ship", "read_file"}
    assert body == endpoint.asked[1][2]  # a retry sends the same bytes
    calls = case.ledger.run(RUN).calls()
    assert calls.select("step", "model", "input_tokens", "output_tokens").rows() == [
        (0, "served-1", 120, 9), (1, "served-1", 120, 9),
    ]  # fmt: skip
    (error,) = case.messages("ERROR_EVENT")
    assert "Overloaded" in str(error.parts[0])
    assert error.trust_level is lk.TrustLevel.NETWORK_UNTRUSTED
    everything = "".join(m.model_dump_json() for m in case.messages())
    assert key not in everything
    assert key not in repr(case.model)


def test_an_endpoint_that_is_not_there_leaves_the_run_to_be_taken_up(tmp_path: Path) -> None:
    case = Case(tmp_path, model=HttpModel("http://127.0.0.1:9/v1", "m", timeout=2))
    assert case.run(limits=Limits(max_attempts=1)).ending is Ending.MODEL_UNAVAILABLE


@pytest.mark.parametrize("code", [301, 400, 401, 429, 500])
def test_what_is_no_answer_is_an_error_without_the_key(endpoint: Endpoint, code: int) -> None:
    key = secrets.token_hex(16)
    endpoint.answers.append((code, b'{"error": "no"}'))
    model = HttpModel(endpoint.url, "m", ProviderInterface.OPENAI_CHAT, lambda: key)
    with pytest.raises(ModelUnavailableError, match=str(code)) as caught:
        model.ask(REQUEST)
    assert caught.value.status == code
    assert key not in str(caught.value)
    assert len(endpoint.asked) == 1  # a redirect is not followed: the key goes to the named host only


@pytest.mark.parametrize("depth", [900, 100_000])
def test_an_error_that_is_nested_without_end_is_shown_as_it_came(endpoint: Endpoint, depth: int) -> None:
    endpoint.answers.append((400, b'{"error": ' + b"[" * depth + b"]" * depth + b"}"))
    with pytest.raises(ModelUnavailableError, match=r"\[\[\["):
        HttpModel(endpoint.url, "m").ask(REQUEST)


DEEP = b'{"choices": ' + b"[" * 5000 + b"]" * 5000 + b"}"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"choices": []}', b'{"choices": 7}', DEEP])
def test_an_answer_in_another_form_is_refused(endpoint: Endpoint, body: bytes) -> None:
    endpoint.answers.append((200, body))
    with pytest.raises(ProtocolError):
        HttpModel(endpoint.url, "m").ask(REQUEST)


def test_an_answer_without_end_is_cut_off(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledgerkit.providers.http.MAX_ANSWER_BYTES", 1000)
    endpoint.answers.append((200, b"x" * 5000))
    with pytest.raises(ModelUnavailableError, match="longer than"):
        HttpModel(endpoint.url, "m").ask(REQUEST)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "127.0.0.1:80", "http://user:word@host/v1", "http://"])
def test_addresses_that_are_none_are_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="base_url"):
        HttpModel(url, "m")
