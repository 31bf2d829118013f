"""Where a log records the prompt itself, ``AsRecorded`` gives the same messages."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ledgerkit as lk

pytestmark = pytest.mark.corpus
_PLACEHOLDER = re.compile(r"\[REDACTED[^\]]*\]")


def _words(content: Any) -> str:
    """What a recorded message says, without what is no text."""
    if isinstance(content, str):
        return content
    blocks: list[Any] = content or []
    return "".join(block.get("text", "") for block in blocks if not isinstance(block, str))


def _said(context: Any) -> list[tuple[str, str]]:
    """Roles and texts of a context, calls left out, neighbours of one voice and message joined."""
    return [
        (message["role"], message["text"])
        for message in context.recorded_messages()
        if message["text"] and not (message["role"] == "assistant" and "tool_call_id" in message)
    ]


def _same(wanted: list[tuple[str, str]], got: list[tuple[str, str]]) -> bool:
    """Whether two conversations are equal, but for secrets that the ledger holds replaced."""
    if len(wanted) != len(got):
        return False
    return all(
        role == its_role and re.fullmatch(".+".join(map(re.escape, _PLACEHOLDER.split(its_text))), text, re.DOTALL)
        for (role, text), (its_role, its_text) in zip(wanted, got, strict=True)
    )


@pytest.mark.slow
def test_swe_agent_wrote_down_the_prompt_of_each_step(
    corpus: Path, corpus_import: tuple[Path, lk.ImportAccount]
) -> None:
    """Version 1.0 keeps one list and appends to it: what a step recorded as its prompt holds its own answer too."""
    ledger = lk.open(corpus_import[0])
    files = [
        path for path in (corpus / "swe-agent").rglob("*.traj") if '"messages"' in path.read_text("utf-8")[:400_000]
    ]
    checked = 0
    for path in files:
        trajectory: list[dict[str, Any]] = json.loads(path.read_text("utf-8")).get("trajectory") or []
        found = ledger.sql("select run_id from runs where source_file = ?", [str(path)])["run_id"]
        for step, recorded in enumerate(trajectory):
            if "messages" not in recorded or step % 6:
                continue
            context = ledger.project(found[0], step + 1, allow="all")
            wanted = [(one["role"], _words(one["content"])) for one in recorded["messages"]]
            assert _said(context) == [one for one in wanted if one[1]], (path.name, step)
            checked += 1
    assert checked >= 8


def _samples(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.startswith("samples/"):
                    yield json.loads(archive.read(name))
    else:
        yield from json.loads(path.read_text("utf-8")).get("samples") or ()


def _inputs(sample: dict[str, Any]) -> list[list[tuple[str, str]]]:
    """The prompt of every model call of a sample."""
    attached: dict[str, str] = sample.get("attachments") or {}

    def whole(text: str) -> str:
        scheme, _, key = text.partition("://")
        return attached.get(key, text) if scheme in ("attachment", "tc") else text

    calls: list[dict[str, Any]] = [event for event in sample.get("events") or () if event.get("event") == "model"]
    said = [[(one["role"], whole(_words(one["content"]))) for one in call["input"]] for call in calls]
    return [[one for one in call if one[1]] for call in said]


def _compared(ledger: lk.Ledger, path: Path, most: int) -> Counter[str]:
    """How many prompts of a log the ledger gives back, of its first samples."""
    counts = Counter[str]()
    runs = ledger.sql("select run_id from runs where source_file = ? order by run_id", [str(path)])["run_id"].to_list()
    first = {run: _said(ledger.project(run, 0, allow="all")) for run in runs[:120]}
    for sample in list(_samples(path))[:most]:
        prompts = _inputs(sample)
        run = next((run for run, said in first.items() if prompts and _same(prompts[0], said)), None)
        if not prompts or run is None:
            counts["no model call" if not prompts else "run not found"] += 1
            continue
        for step, prompt in enumerate(prompts):
            counts["same" if _same(prompt, _said(ledger.project(run, step, allow="all"))) else "other"] += 1
    return counts


@pytest.mark.slow
def test_inspect_wrote_down_the_input_of_each_call(corpus: Path, corpus_import: tuple[Path, lk.ImportAccount]) -> None:
    ledger = lk.open(corpus_import[0])
    counts = Counter[str]()
    for path in (*(corpus / "inspect" / "docent").rglob("*.eval"), *(corpus / "inspect").rglob("*browser.json")):
        counts += _compared(ledger, path, 2)
    assert counts["other"] == counts["run not found"] == 0
    assert counts["same"] >= 15


@pytest.mark.slow
def test_inspect_in_whole(corpus: Path, corpus_import: tuple[Path, lk.ImportAccount]) -> None:
    ledger = lk.open(corpus_import[0])
    counts = Counter[str]()
    for path in sorted((*(corpus / "inspect").rglob("*.eval"), *(corpus / "inspect").rglob("*.json"))):
        counts += _compared(ledger, path, 8)
    print(counts)  # noqa: T201 - the figures of this test
    assert counts["other"] == counts["run not found"] == 0
