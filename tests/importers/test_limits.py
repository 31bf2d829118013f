"""What has no end is not read to its end: documents, compressed files, members of archives."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from ledgerkit.importers import archives, reader

LIMIT = 10_000


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_DOCUMENT_BYTES", LIMIT)
    monkeypatch.setattr(archives, "MAX_MEMBER_BYTES", LIMIT)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_document_over_the_limit_is_damage_and_one_at_the_limit_is_read(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "document.json"

    def read(size: int) -> reader.Line | reader.Damage:
        empty = json.dumps({"a": ""}, indent=1)
        raw = json.dumps({"a": "x" * (size - len(empty))}, indent=1).encode()
        assert len(raw) == size
        path.write_bytes(gzip.compress(raw) if compressed else raw)
        (item,) = reader.read_values(path)
        return item

    assert isinstance(read(LIMIT), reader.Line)
    damage = read(1_000_000)
    assert isinstance(damage, reader.Damage)
    assert damage.reason == f"document longer than {LIMIT} bytes"
    assert damage.size == LIMIT + 1, "no more than that was unpacked"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_over_the_limit_is_damage_and_its_neighbours_are_read(tmp_path: Path, method: int) -> None:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w", method) as made:
        made.writestr("long", b"x" * 5_000_000)
        made.writestr("short", b"x" * LIMIT)
    archive = archives.read_archive(path)
    found = {member.name: member for member in archive.members}
    assert archive.content(found["short"]) == b"x" * LIMIT
    with pytest.raises(archives.ArchiveDamage, match=f"longer than {LIMIT} bytes"):
        archive.content(found["long"])
