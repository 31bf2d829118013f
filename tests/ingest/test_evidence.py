"""What evidence refers to is still there after redaction, at the place or under the id that it has now."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.ingest.evidence import RedactedText, moved_reference
from ledgerkit.protocol.references import CharRange, LineRange
from ledgerkit.safety.redaction import OffsetMap

LABELS = {"trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}


def a_secret() -> str:
    rng = random.Random(5)
    return "".join(rng.choice("abcdefghkmnpqrstuvwxyzABCDEFGHKLMNPQRSTUVWXYZ23456789") for _ in range(26))


def test_ranges_and_ids_follow_their_texts(tmp_path: Path, ledger: lk.Ledger) -> None:
    secret = a_secret()
    said = f"line one\nexport DB_PASSWORD={secret}\nthe finding"
    content = f"DB_PASSWORD={secret}\nthe proof"
    ids = [str(uuid.UUID(int=number, version=4)) for number in (1, 2)]
    place = said.index("finding")
    references = [
        f"message:{ids[0]}#c{place}-{place + 7}",
        f"message:{ids[0]}#L3-L3",
        f"message:{ids[0]}#c30-32",
        f"artifact:{'e' * 32}#c{content.index('proof')}-{len(content)}",
        "file:src/a.py#L1-L2",
    ]
    head = {"session_id": "s", "run_id": "r", "actor": "user", "created_at": "2026-02-01T09:00:00Z"}
    lines = [
        {"type": "ledgerkit-jsonl", "version": 1, "session_id": "s"},
        {"type": "artifact", "content_id": "e" * 32, "media_type": "text/plain", "content": content},
        {"type": "message", "message": {**head, "message_id": ids[0], "sequence_no": 0, "kind": "USER_TASK",
            "parts": [{"type": "text", "text": said, **LABELS}]}},
        {"type": "message", "message": {**head, "message_id": ids[1], "sequence_no": 1, "kind": "RUN_SUMMARY",
            "parts": [{"type": "text", "text": "See there.", "evidence_refs": references,
                       "artifact_refs": ["e" * 32], **LABELS}]}},
    ]  # fmt: skip
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    ledger.import_logs(path)
    kept = ledger.sql("select text, evidence_refs, artifact_refs from parts order by sequence_no")
    text, refs = kept["text"][0], kept["evidence_refs"][1].to_list()
    assert secret not in text
    first, last = (int(bound) for bound in refs[0].split("#c")[1].split("-"))
    assert text[first:last] == "finding"
    assert refs[1] == references[1]
    first, last = (int(bound) for bound in refs[2].split("#c")[1].split("-"))
    assert text[first:last].startswith("[REDACTED_SECRET:password#")
    artifact, _, span = refs[3].removeprefix("artifact:").partition("#c")
    assert artifact == kept["artifact_refs"][1][0]
    first, last = map(int, span.split("-"))
    assert ledger.artifact(artifact)[0].decode()[first:last] == "proof"
    assert refs[4] == references[4]


@given(st.text(alphabet="ab\n", min_size=1, max_size=40), st.data())
def test_a_range_beside_a_secret_says_the_same_text(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    after = f"{text[:start]}[X]{text[end:]}"
    moved = RedactedText(text, after, OffsetMap.of([(start, end, 3)]))
    first = data.draw(st.integers(0, len(text) - 1))
    last = data.draw(st.integers(first + 1, len(text)))
    span = moved.moved(CharRange(start=first, end=last))
    assert isinstance(span, CharRange)
    if last <= start or first >= end:
        assert after[span.start : span.end] == text[first:last]
    else:
        assert "[X]" in after[span.start : span.end]


def test_lines_are_counted_anew_where_a_secret_had_several() -> None:
    text = "one\nSECRET\nSECRET\nSECRET\nfive\nsix"
    start, end = text.index("SECRET"), text.rindex("SECRET") + 6
    moved = RedactedText(text, f"{text[:start]}[X]{text[end:]}", OffsetMap.of([(start, end, 3)]))
    assert moved.moved(LineRange(first=5, last=6)) == LineRange(first=3, last=4)
    assert moved.moved(LineRange(first=3, last=3)) == LineRange(first=2, last=2)
    assert moved.moved(None) is None


def test_what_is_no_reference_of_ours_stays() -> None:
    assert moved_reference("see above", {}) == "see above"
    assert moved_reference("message:m", {}) == "message:m"
