"""Formats of other packages, through entry points; and the check that they can run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import ledgerkit as lk
from ledgerkit.importers import claude_code, registry
from ledgerkit.importers.conformance import ConformanceError, check_format
from ledgerkit.importers.drafts import MessageDraft, Node, ParsedFile, PartDraft, Quarantined, RecordDraft
from ledgerkit.importers.plugins import GROUP, plugged_in
from ledgerkit.importers.reader import Damage, read_json_lines
from ledgerkit.importers.registry import LogFormat
from ledgerkit.importers.shapes import is_object
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel
from tests.builders import working_session


def sniff(values: list[Any]) -> bool:
    return is_object(values[0]) and values[0].get("acme") == 1


def read(
    path: Path, *, offset: int = 0, line: int = 1, keep_reasoning: bool = False, measure: Callable[[bytes | str], str]
) -> ParsedFile:
    """A format of one line a prompt: ``{"acme": 1, "said": …}``."""
    del keep_reasoning
    records: list[RecordDraft] = []
    damaged: list[Quarantined] = []
    cursor = offset
    for item in read_json_lines(path, offset=offset, line=line):
        if isinstance(item, Damage):
            damaged.append(Quarantined(item.number, item.offset, item.size, item.reason))
            continue
        part = PartDraft(PartType.TEXT, TrustLevel.USER_TRUSTED, text=str(item.value.get("said")))
        message = MessageDraft(MessageKind.USER_TASK, "user", [part])
        digest = measure(json.dumps(item.value))
        records.append(
            RecordDraft(item.number, item.offset, "said", digest, session="acme", node=Node.PROMPT, messages=[message])
        )
        cursor = item.offset + item.size
    return ParsedFile(records, damaged, cursor, len(records) + len(damaged), "acme")


FORMAT = LogFormat("acme", sniff, read)
NO_FORMAT = "acme"


def points(*names: str) -> list[EntryPoint]:
    return [EntryPoint(name.lower(), f"{__name__}:{name}", GROUP) for name in names]


def _one_package(group: str) -> list[EntryPoint]:
    assert group == GROUP
    return points("FORMAT")


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_text("".join(json.dumps({"acme": 1, "said": f"number {n}"}) + "\n" for n in range(20)), "utf-8")
    return path


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if a package with the format were installed."""
    monkeypatch.setattr("ledgerkit.importers.plugins.entry_points", _one_package)
    registry.formats.cache_clear()
    yield
    registry.formats.cache_clear()


@pytest.mark.usefixtures("installed")
def test_a_package_adds_a_format(acme: Path, ledger: lk.Ledger) -> None:
    account = ledger.import_logs(acme)
    assert account.closes
    assert account.formats["format"].to_list() == ["acme"]
    assert ledger.sql("select text from parts order by sequence_no")["text"][0] == "number 0"
    assert ledger.import_logs(acme).new_messages == 0


def test_without_the_package_its_files_are_unsupported(acme: Path, ledger: lk.Ledger) -> None:
    assert ledger.import_logs(acme).unsupported == (str(acme),)


def test_what_cannot_be_loaded_is_named() -> None:
    with pytest.raises(lk.ConfigurationError, match="'missing'"):
        plugged_in(LogFormat, points("MISSING"))
    with pytest.raises(lk.ConfigurationError, match="is no LogFormat"):
        plugged_in(LogFormat, points("NO_FORMAT"))
    assert plugged_in(LogFormat, points("FORMAT")) == [FORMAT]


def test_the_check_passes_a_good_importer(acme: Path, tmp_path: Path) -> None:
    check_format(FORMAT, [acme])
    ours = LogFormat(claude_code.NAME, claude_code.sniff, claude_code.read)
    check_format(ours, [working_session().write(tmp_path / "a.jsonl")])


def _fails(path: Path, **_: Any) -> ParsedFile:
    raise ValueError(path.name)


def _silent(path: Path, **more: Any) -> ParsedFile:
    parsed = read(path, **more)
    for record in parsed.records[:1]:
        record.messages = []
    return parsed


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (LogFormat("greedy", lambda _: True, read), "takes"),
        (LogFormat("blind", lambda _: False, read), "not recognised"),
        (LogFormat("silent", sniff, _silent), "has messages, or a rule"),
    ],
)
def test_the_check_names_what_is_missing(bad: LogFormat, why: str, acme: Path) -> None:
    with pytest.raises(ConformanceError, match=why):
        check_format(bad, [acme])


def test_the_check_finds_an_importer_that_a_cut_breaks(acme: Path) -> None:
    def fragile(path: Path, **more: Any) -> ParsedFile:
        parsed = read(path, **more)
        return _fails(path) if parsed.quarantined else parsed

    with pytest.raises(ConformanceError, match="cut off after"):
        check_format(LogFormat("fragile", sniff, fragile), [acme])
