"""The key of the fingerprints: where it comes from, and that it is made once."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

import ledgerkit as lk
from ledgerkit.errors import ConfigurationError
from ledgerkit.safety.redaction import RedactionKey, redaction_key
from ledgerkit.safety.redaction.keys import ENVIRONMENT
from tests.builders import Log

HEX = bytes(range(32)).hex()


def test_the_variable_holds_the_key() -> None:
    key = redaction_key({ENVIRONMENT: f" {HEX}\n"})
    assert key == RedactionKey.of(bytes(range(32)))
    assert key == redaction_key({ENVIRONMENT: HEX.upper()})


def test_the_variable_says_public() -> None:
    assert redaction_key({ENVIRONMENT: "public "}) == RedactionKey.public()
    assert RedactionKey.public().key_id == "public"


@pytest.mark.parametrize("value", ["", "secret", "PUBLIC KEY", HEX[:31], HEX[:30], "0x" + HEX, "ä" * 32])
def test_a_bad_variable_is_named_and_not_shown(value: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as raised:
        redaction_key({ENVIRONMENT: value}, tmp_path)
    assert ENVIRONMENT in str(raised.value)
    assert not value or value not in str(raised.value)
    assert list(tmp_path.iterdir()) == []  # no other key takes its place in silence


def test_the_variable_goes_before_the_file(tmp_path: Path) -> None:
    from_file = redaction_key({}, tmp_path)
    assert redaction_key({ENVIRONMENT: HEX}, tmp_path) != from_file


def test_the_file_is_made_once_and_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "settings" / "ledgerkit"
    first = redaction_key({}, folder)
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(bytes.fromhex(path.read_text().strip())) == 32
    assert redaction_key({}, folder) == first
    assert redaction_key({}, tmp_path / "other") != first
    assert list(folder.iterdir()) == [path]


def test_whoever_makes_it_at_the_same_time_gets_the_same(tmp_path: Path) -> None:
    for number in range(10):
        start = Barrier(8)
        folder = tmp_path / str(number)

        def make(_: int, folder: Path = folder, start: Barrier = start) -> RedactionKey:
            start.wait()
            return redaction_key({}, folder)

        with ThreadPoolExecutor(8) as pool:
            keys = set(pool.map(make, range(8)))
        assert len(keys) == 1
        assert [path.name for path in folder.iterdir()] == ["redaction.key"]


@pytest.mark.parametrize("content", [b"", b"no key", HEX[:20].encode(), "ключ".encode(), b"\xff\xfe" + HEX.encode()])
def test_a_bad_file_is_named_and_stays(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "redaction.key"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"redaction\.key"):
        redaction_key({}, tmp_path)
    assert path.read_bytes() == content


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "redaction.key").mkdir()
    with pytest.raises(ConfigurationError, match=r"redaction\.key"):
        redaction_key({}, tmp_path)


def test_a_folder_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "folder").symlink_to(tmp_path / "nowhere" / "to be found")
    with pytest.raises(ConfigurationError, match=ENVIRONMENT):
        redaction_key({}, tmp_path / "folder")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nobody forbids anything to this user")
def test_a_file_of_somebody_else_is_named(tmp_path: Path) -> None:
    path = tmp_path / "redaction.key"
    path.write_text(HEX)
    path.chmod(0)
    with pytest.raises(ConfigurationError, match=r"redaction\.key"):
        redaction_key({}, tmp_path)


def test_a_key_says_nothing_about_itself_but_its_id() -> None:
    key = RedactionKey.of(bytes(range(32)))
    assert HEX not in repr(key)
    assert str(key.secret) not in repr(key)
    assert key.key_id in repr(key)
    assert key.key_id not in HEX
    assert key.key_id != RedactionKey.of(bytes(range(1, 33))).key_id


@pytest.mark.parametrize("size", [0, 1, 15])
def test_a_short_key_is_refused(size: int) -> None:
    with pytest.raises(ConfigurationError, match="at least 16 bytes"):
        RedactionKey.of(bytes(size))


def test_the_key_is_never_inside_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = bytes(range(7, 39))
    monkeypatch.setenv(ENVIRONMENT, secret.hex())
    log = Log("keyed")
    log.asks("export DB_PASSWORD='" + "v9#" + "Lq2xW7-kR4'")
    with lk.open(tmp_path / "runs.ledger", key=bytes(32)) as ledger:
        account = ledger.import_logs(log.write(tmp_path / "a.jsonl"))
        assert account.secrets == {"password": 1}
        assert ledger.sql("select distinct key_id from redactions").item() == RedactionKey.of(secret).key_id
    held = b"".join(path.read_bytes() for path in ledger.path.rglob("*") if path.is_file())
    names = [path.name for path in ledger.path.rglob("*")]
    assert secret not in held
    assert secret.hex().encode() not in held
    assert "redaction.key" not in names
