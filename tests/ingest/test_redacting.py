"""Secrets are removed from every place of a record before anything is written, and it is noted where they stood."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.ingest.importing import ImportOptions, import_files
from ledgerkit.ingest.redacting import RedactionMode
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.safety.redaction import OffsetMap, SecretMemory
from tests.builders import Log, text, tool_use
from tests.conftest import NOW

SECRET = re.compile(r"hush[0-9]{8}")
KEY_ID = "test"


@dataclass(frozen=True)
class Hit:
    text_index: int
    type: str = "hush"


@dataclass(frozen=True)
class Result:
    texts: Sequence[str]
    replacements: Sequence[Hit]

    def offsets(self, text_index: int) -> OffsetMap:
        del text_index
        return OffsetMap()


class Hushing:
    """A redactor that knows one kind of secret."""

    key_id = KEY_ID

    def redact(self, texts: Sequence[str], memory: SecretMemory | None = None) -> Result:
        del memory
        hits = [Hit(index) for index, one in enumerate(texts) for _ in SECRET.finditer(one)]
        return Result([SECRET.sub(_placeholder, one) for one in texts], hits)


def _placeholder(found: re.Match[str]) -> str:
    return f"[REDACTED_SECRET:hush#{hashlib.sha256(found[0].encode()).hexdigest()[:12]}]"


def import_with(
    ledger: lk.Ledger, path: Path, mode: RedactionMode = RedactionMode.ON, name: str = "i"
) -> lk.ImportAccount:
    options = ImportOptions(name, NOW, redactor=Hushing(), redaction=mode)
    return import_files(ledger._storage, [path], options)  # pyright: ignore[reportPrivateUsage]


def a_log(secret: str) -> Log:
    log = Log("secret")
    log.asks(f"Use {secret}.")
    log.answers(text(f"I see {secret}."), tool_use("c", "Bash", command=f"login {secret}", **{f"k{secret}": 1}))
    log.returns("c", f"{secret}\n" * 9_000, toolUseResult={"stdout": f"{secret} there", "stderr": "", "x": [secret]})
    log.bare("ai-title", aiTitle=f"Login with {secret}", sessionId=log.session)
    log.bare("something-new", sessionId=log.session, secret={"deep": [secret]})
    return log


@pytest.fixture
def secret() -> str:
    return f"hush{int.from_bytes(hashlib.sha256(b'seed').digest()[:4], 'big') % 10**8:08d}"


def all_bytes(folder: Path) -> bytes:
    """Everything in a ledger's folder: raw, and every cell of every Parquet file."""
    raw = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    cells = [str(pl.read_parquet(path, glob=False).to_dicts()).encode() for path in sorted(folder.rglob("*.parquet"))]
    return b"\n".join(raw + cells)


@pytest.mark.long
def test_no_secret_reaches_the_ledger(tmp_path: Path, ledger: lk.Ledger, secret: str) -> None:
    account = import_with(ledger, a_log(secret).write(tmp_path / "a.jsonl"))
    assert secret.encode() not in all_bytes(ledger.path)
    assert account.secrets["hush"] > 9_000
    assert ledger.sql("select distinct redaction from import_files").item() == "on"
    assert ledger.verify().ok


def test_a_redacted_part_says_so_and_its_artifacts_too(tmp_path: Path, ledger: lk.Ledger, secret: str) -> None:
    import_with(ledger, a_log(secret).write(tmp_path / "a.jsonl"))
    seen = ledger.sql("select distinct part_visibility from parts where kind in ('USER_TASK', 'TOOL_CALL_RESULT')")
    assert seen["part_visibility"].to_list() == ["REDACTED"]
    (ref,) = ledger.sql("select artifact_refs from parts where len(artifact_refs) > 0").item()
    content, _, label = ledger.artifact(ref)
    assert label == "redacted"
    assert content.count(b"[REDACTED_SECRET:hush#") == 9_000


def test_every_placeholder_is_a_row_that_names_its_source(tmp_path: Path, ledger: lk.Ledger, secret: str) -> None:
    path = a_log(secret).write(tmp_path / "a.jsonl")
    import_with(ledger, path)
    rows = ledger.sql("from redactions")
    assert rows["fingerprint"].n_unique() == 1
    assert rows["key_id"].unique().to_list() == [KEY_ID]
    assert set(rows["field"]) == {"text", "data", "content", "metadata"}
    assert set(rows["source_file"]) == {str(path)}
    assert rows.filter(pl.col("field") == "content").height == 9_000
    query = "select r.start, placeholder, text from redactions r join parts using (part_id) where field = 'text'"
    joined = ledger.sql(query)
    assert all(cut[start:].startswith(mark) for start, mark, cut in joined.iter_rows())


def test_the_hash_of_arguments_is_that_of_what_is_kept(tmp_path: Path, ledger: lk.Ledger, secret: str) -> None:
    import_with(ledger, a_log(secret).write(tmp_path / "a.jsonl"))
    arguments, found = ledger.sql("select arguments, arguments_hash from tool_calls").row(0)
    assert found == arguments_hash(json.loads(arguments))


def test_an_audit_counts_and_changes_nothing(tmp_path: Path, ledger: lk.Ledger, secret: str) -> None:
    account = import_with(ledger, a_log(secret).write(tmp_path / "a.jsonl"), RedactionMode.AUDIT)
    assert account.secrets["hush"] > 9_000
    assert ledger.sql("select text from parts where kind = 'USER_TASK'").item() == f"Use {secret}."
    (ref,) = ledger.sql("select artifact_refs from parts where len(artifact_refs) > 0").item()
    assert ledger.artifact(ref)[2] == "restricted"
    assert ledger.sql("from redactions").height == 0


def test_content_without_a_secret_is_safe(tmp_path: Path, ledger: lk.Ledger) -> None:
    import_with(ledger, a_log("nothing").write(tmp_path / "a.jsonl"))
    (ref,) = ledger.sql("select artifact_refs from parts where len(artifact_refs) > 0").item()
    assert ledger.artifact(ref)[2] == "safe"


@pytest.mark.long
def test_importing_again_adds_nothing(tmp_path: Path, ledger: lk.Ledger, secret: str) -> None:
    path = a_log(secret).write(tmp_path / "a.jsonl")
    import_with(ledger, path)
    log = a_log(secret)
    log.asks("More.")
    log.write(path)
    assert import_with(ledger, path, name="later").new_messages == 1
    with lk.open(tmp_path / "once", key=bytes(32)) as once:
        import_with(once, path)
        wanted = "select message_id, text, data from parts order by message_id, part_index"
        assert ledger.sql(wanted).equals(once.sql(wanted))
