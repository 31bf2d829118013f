"""A server that speaks the chat interface of OpenAI, in a process of its own: what it answers is scripted.

``POST /script`` takes a list of answers, one for each request that follows; ``GET /asked`` gives what was asked.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, cast

_EXHIBIT = re.compile(r'source="(E\d+) (\w+) (\S+) proof=(yes|no)"')
_QUESTION = re.compile(r"^- (\w+)( \(gate\))?: ", re.MULTILINE)


class Server(HTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send(200, json.dumps(cast("Server", self.server).asked).encode())

    def do_POST(self) -> None:
        server = cast("Server", self.server)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/script":
            server.script = list(body)
            server.asked = []
            self._send(200, b"{}")
            return
        server.asked.append(body)
        step = server.script.pop(0) if len(server.script) > 1 else server.script[0]
        time.sleep(step.get("seconds", 0))
        if step.get("status", 200) != 200:
            self._send(step["status"], json.dumps({"error": {"message": step.get("text", "no")}}).encode())
            return
        if "raw" in step:
            self._send(200, step["raw"].encode())
            return
        message: dict[str, Any] = {"role": "assistant", "content": content(step, body)}
        message |= step.get("message", {})
        choice = {"index": 0, "message": message, "finish_reason": step.get("finish", "stop")}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        answer = {"id": f"chat-{len(server.asked)}", "model": body["model"], "choices": [choice], "usage": usage}
        self._send(200, json.dumps(answer).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # whoever asked has given up waiting
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


def content(step: dict[str, Any], body: dict[str, Any]) -> str:
    """The answer that a step asks for, from what the request shows."""
    if "text" in step:
        return step["text"]
    words = json.dumps(body, ensure_ascii=False).replace('\\"', '"').replace("\\n", "\n")
    exhibits = _EXHIBIT.findall(words)
    proofs = [name for name, _, _, proof in exhibits if proof == "yes"]
    others = [name for name, _, _, proof in exhibits if proof == "no"]
    cited = {"proof": proofs[:1], "untrusted": others[:1], "unseen": ["E999"], "none": []}[step.get("cites", "proof")]
    outcome = step.get("outcome", "failed" if step["label"] == "failed" else "passed")
    answers = [
        {"criterion": name, "outcome": outcome, "why": step.get("why", "It shows."), "evidence": cited}
        for name, _ in _QUESTION.findall(words)
    ]
    answers = answers[: step.get("answers", len(answers))]
    return json.dumps({"label": step["label"], "criteria": answers, "rationale": step.get("why", "It shows.")})


if __name__ == "__main__":
    server = Server()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
    sys.exit()
