"""What the fuzz target asks holds of drawn bytes, and of every sample cut and glued."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledgerkit.importers import reader
from tests.damage.fuzzing import check
from tests.damage.samples import SAMPLES, Sample

TOKENS = (
    b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\n", b"\r\n", b"\0", b" ", b"\xef\xbb\xbf", b"\xe2\x80\xa8",
    b"\xff", b"\\ud800", b"1e999",
    b"NaN", b"-0", b"null", b'{"type":"user","uuid":"a","sessionId":"s"}', b'"\xed\xa0\x80"',
    b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"[" * 200, b"x" * 230,
)  # fmt: skip
DRAWN = st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(TOKENS), max_size=40).map(b"".join))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=DRAWN)
def test_any_bytes_are_read_and_accounted_for(raw: bytes, tmp_path: Path) -> None:
    check(raw, tmp_path / "log.json")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_every_sample_is_read_whole_cut_and_glued(sample: Sample, tmp_path: Path) -> None:
    raw = sample.content
    for content in (raw, raw[: len(raw) // 2], raw[len(raw) // 3 :], raw.replace(b"\n", b"")):
        check(content, tmp_path / "log.json")


def test_bytes_that_belong_to_nothing_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(*_: object, **__: object) -> Iterator[object]:
        return iter(())

    monkeypatch.setattr(reader, "_repaired", forgetful)
    with pytest.raises(AssertionError, match="belong to nothing"):
        check(b'{"a": 1}\nnot JSON\n', tmp_path / "log.json")
