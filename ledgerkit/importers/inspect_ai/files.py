"""The two files of a log: members of a zip file, read one at a time, or one document with all samples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.archives import Archive, ArchiveDamage, Member, read_archive
from ledgerkit.importers.drafts import JsonObject, ParsedFile, Quarantined, RecordDraft
from ledgerkit.importers.inspect_ai.evaluation import NAME, SAMPLE, Evaluation, is_log
from ledgerkit.importers.inspect_ai.sample import SampleReading
from ledgerkit.importers.pieces import digest, note_message, unknown_message
from ledgerkit.importers.reader import Damage, Line, read_bytes, read_values
from ledgerkit.importers.shapes import is_list, is_object, objects_of
from ledgerkit.protocol.vocabulary import TrustLevel

_HEADERS: Final = ("header.json", "_journal/start.json", "start.json")
_BESIDE: Final = frozenset({*_HEADERS, "results.json", "reductions.json"})
_SUMMARIES: Final = re.compile(r"(?:_journal/)?summaries/\d+\.json|summar(?:y|ies)\.json")
_REPLACED: Final = "a later member of the same name replaces it"
_AS_A_WHOLE: Final = "the evaluation as a whole: what it says of samples stands on each of them"
_SUMMED: Final = "sums up samples that the log holds"


def is_archive_of_log(names: list[str]) -> bool:
    """Whether members of these names make a log: a header or its beginning, and samples or summaries of them."""
    if "_journal/start.json" in names:
        return True
    has_samples = any(SAMPLE.fullmatch(name) for name in names)
    return has_samples or ("header.json" in names and "summaries.json" in names)


def read_document(path: Path, parsed: ParsedFile, *, keep_reasoning: bool) -> None:
    """Reads a log that is one document."""
    last = 0
    for item in read_values(path):
        parsed.line_count += item.number != last
        last = item.number
        place = (item.number, item.offset)
        if isinstance(item, Damage):
            parsed.quarantined.append(Quarantined(*place, item.size, item.reason))
            parsed.torn_tail = parsed.torn_tail or item.torn
        elif is_log(item.value):
            log: JsonObject = item.value
            evaluation = Evaluation.of(log)
            listed: Any = log.get("samples")
            for sample in listed if is_list(listed) else []:
                parsed.records += _sample(sample, evaluation, item, keep_reasoning=keep_reasoning)
            header = {name: value for name, value in log.items() if name != "samples"}
            parsed.records.append(_left_out("header", header, place, _AS_A_WHOLE))
        elif is_object(item.value):
            parsed.records.append(_unknown("unknown", item.value, place))
        else:
            parsed.quarantined.append(Quarantined(*place, item.size, "not a JSON object", "no object"))


def _sample(sample: object, evaluation: Evaluation, item: Line, *, keep_reasoning: bool) -> Iterator[RecordDraft]:
    place = (item.number, item.offset)
    if is_object(sample):
        for draft in SampleReading(sample, evaluation, place, keep_reasoning=keep_reasoning).records():
            if item.flags and draft.record_type == "sample":
                draft.messages[0].metadata = {"repaired": list(item.flags)}
            yield draft
    else:
        yield _unknown("sample", sample, place)


def _draft(record_type: str, said: object, place: tuple[int, int]) -> RecordDraft:
    return RecordDraft(*place, record_type, digest(said), run_key=None)


def _left_out(record_type: str, said: object, place: tuple[int, int], why: str) -> RecordDraft:
    draft = _draft(record_type, said, place)
    draft.skipped = why
    return draft


def _unknown(record_type: str, value: object, place: tuple[int, int]) -> RecordDraft:
    draft = _draft(record_type, value, place)
    draft.messages = [unknown_message(value, NAME)]
    return draft


def read_archived(path: Path, parsed: ParsedFile, *, keep_reasoning: bool) -> None:
    """Reads a log that is a zip file, one member at a time. A damaged member costs only itself."""
    reading = _Archived(read_archive(path), parsed)
    evaluation = reading.evaluation()
    for item in reading.samples():
        parsed.records += _sample(item.value, evaluation, item, keep_reasoning=keep_reasoning)
    parsed.records += reading.summaries(evaluation)
    parsed.records += reading.rest()
    if not reading.archive.is_whole:
        size = path.stat().st_size
        parsed.quarantined.append(Quarantined(len(reading.archive.members) + 1, size, 0, _NO_LIST, "zip directory"))
    parsed.torn_tail = not reading.archive.is_whole


_NO_LIST: Final = "the list of members at the end of the file is damaged or cut off; members were looked for"


class _Archived:
    """The members of a zip file, and which of them were read."""

    def __init__(self, archive: Archive, parsed: ParsedFile) -> None:
        self.archive = archive
        self._parsed = parsed
        self._number = {id(member): number for number, member in enumerate(archive.members, 1)}
        self._last = {member.name: member for member in archive.members}
        self._read: set[tuple[object, object]] = set()
        self._values: dict[str, Any] = {}
        parsed.line_count = len(archive.members)

    def _place(self, member: Member) -> tuple[int, int]:
        return self._number[id(member)], member.offset

    def _value(self, member: Member) -> Line | None:
        """The content of a member; ``None`` if it is damaged, which is said once."""
        place = self._place(member)
        try:
            item = read_bytes(self.archive.content(member), *place)
            reason = item.reason if isinstance(item, Damage) else None
        except ArchiveDamage as error:
            item, reason = None, str(error)
        if item is None or isinstance(item, Damage):
            why = f"{member.name}: {reason}"
            self._parsed.quarantined.append(Quarantined(*place, member.size, why, member.name))
            return None
        return item

    def evaluation(self) -> Evaluation:
        """The evaluation, by the first of its headers that can be read."""
        for name in _BESIDE:
            if name in self._last:
                item = self._value(self._last[name])
                if item is not None:
                    self._values[name] = item.value
        return Evaluation.of(next((self._values[name] for name in _HEADERS if name in self._values), None))

    def samples(self) -> Iterator[Line]:
        """Each sample, read when it is asked for."""
        for member in self.archive.members:
            if SAMPLE.fullmatch(member.name) and self._last[member.name] is member:
                item = self._value(member)
                if item is not None:
                    if is_object(item.value):
                        self._read.add(_number_of(item.value))
                    yield item

    def summaries(self, evaluation: Evaluation) -> Iterator[RecordDraft]:
        """What the journal says of samples that the log does not hold (any more)."""
        for member in self.archive.members:
            if not _SUMMARIES.fullmatch(member.name) or self._last[member.name] is not member:
                continue
            item = self._value(member)
            if item is None:
                continue
            lost = [each for each in objects_of(item.value) if _number_of(each) not in self._read]
            yield from self._lost(lost, evaluation, self._place(member))
            yield _left_out(member.name, item.value, self._place(member), _SUMMED)

    def _lost(
        self, summaries: Iterable[JsonObject], evaluation: Evaluation, place: tuple[int, int]
    ) -> Iterator[RecordDraft]:
        for summary in summaries:
            self._read.add(_number_of(summary))
            draft = _draft("summary", summary, place)
            draft.session, draft.run_key = evaluation.session_of(summary), ""
            draft.facts = evaluation.facts_of(summary)
            draft.messages = [note_message({"note": "summary", **summary}, NAME, TrustLevel.UNKNOWN)]
            yield draft

    def rest(self) -> Iterator[RecordDraft]:
        """The members that are no samples."""
        for member in self.archive.members:
            place = self._place(member)
            if self._last[member.name] is not member:
                yield _left_out(member.name, [member.name, member.offset], place, _REPLACED)
            elif member.name in self._values:
                yield _left_out(member.name, self._values[member.name], place, _AS_A_WHOLE)
            elif not (member.name in _BESIDE or SAMPLE.fullmatch(member.name) or _SUMMARIES.fullmatch(member.name)):
                why = "no member that a log is known to have"
                yield _left_out(member.name, [member.name, member.size], place, why)


def _number_of(sample: JsonObject) -> tuple[object, object]:
    return str(sample.get("id")), str(sample.get("epoch"))
