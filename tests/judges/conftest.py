"""One small ledger for many tests of judges, and the server that model judges ask."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

import ledgerkit as lk
from tests.judges import made


@dataclass(frozen=True)
class Endpoint:
    """A server in a process of its own."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def will_say(self, *script: dict[str, Any]) -> None:
        """Scripts the next answers; the last one is repeated."""
        body = json.dumps(script).encode()
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/script", body, timeout=10).close()

    def asked(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/asked", timeout=10) as answer:
            return cast("list[dict[str, Any]]", json.loads(answer.read()))


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Endpoint]:
    script = Path(__file__).with_name("server.py")
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield Endpoint(int(process.stdout.readline()))
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lk.Ledger]:
    """Runs of every sort that the rules tell apart, made once; tests add judgements by one rubric and annotations."""
    with lk.open(tmp_path_factory.mktemp("judged") / "runs.ledger", key=bytes(32)) as ledger:
        made.runs_of_every_sort(ledger)
        yield ledger
