"""The fate of every record of a batch: new, there already, left out by a rule, or damaged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from ledgerkit.importers.drafts import RecordDraft
from ledgerkit.ingest.account import Fate, FileState
from ledgerkit.ingest.lineage import record_key
from ledgerkit.ingest.reading import Reading
from ledgerkit.ingest.sessions import Batch, SessionIntake

_OTHER_CONTENT: Final = "the ledger holds a message of this id that says something else"
_ELSEWHERE: Final = "bookkeeping of a session that is not in this file"


def decide_fates(readings: Sequence[tuple[Reading, FileState]], batch: Batch) -> None:
    """Decides the fate of every record of a batch; what the ledger holds of its sessions is loaded at once."""
    by_format: dict[str, list[tuple[Reading, FileState]]] = defaultdict(list)
    for reading, state in readings:
        by_format[reading.log_format].append((reading, state))
    for name, files in sorted(by_format.items()):
        intake = batch.intake(name)
        intake.meet({one for reading, _ in files for one in sessions_of(reading)})
        for reading, state in files:
            _decide(reading, state, intake)


def sessions_of(reading: Reading) -> set[str]:
    """The sessions that a file holds records of."""
    return {record.draft.session for record in reading.records if record.draft.session}


def _decide(reading: Reading, state: FileState, intake: SessionIntake) -> None:
    """Decides the fate of each record of a file, and hands on those that are new."""
    for damage in reading.quarantined:
        state.count(damage.record_type, Fate.QUARANTINED, damage.reason)
        state.quarantine.append(damage)
    records = [record.draft for record in reading.records]
    latest_first = dict.fromkeys(record.session for record in reversed(records) if record.session)
    met = [session for session in reversed(latest_first) if session]
    state.sessions = [*(session for session in state.sessions if session not in latest_first), *met]
    ordinals = _Ordinals(intake.keys_of(state, met))
    lines: set[str] = set()
    for record, draft in zip(reading.records, records, strict=True):
        if identity := draft.line_id or draft.native_id:
            lines.add(identity)
            state.identified += 1
        if draft.session is None:
            state.count(draft.record_type, Fate.SKIPPED, _ELSEWHERE)
            continue
        key = record_key(draft.session, draft) if draft.native_id else ordinals.key(draft.session, draft)
        state.record_keys.append(key)
        if draft.skipped:
            state.count(draft.record_type, Fate.SKIPPED, draft.skipped)
        else:
            fate = intake.offer(record, key, state)
            state.count(draft.record_type, fate, _OTHER_CONTENT if fate is Fate.SKIPPED else "")
    intake.close_file(state, met)
    state.distinct_records += len(lines)


class _Ordinals:
    """Numbers the records of a file that have no id of their own and say the same."""

    def __init__(self, earlier: set[int]) -> None:
        self._earlier = earlier
        self._next: dict[int, int] = {}

    def key(self, session: str, draft: RecordDraft) -> int:
        first = record_key(session, draft)
        number = self._next.get(first, 0)
        while (key := record_key(session, draft, number)) in self._earlier:
            number += 1
        self._next[first] = number + 1
        return key
