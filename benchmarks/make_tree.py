"""A tree of logs of any size, made of sample logs: the same shapes, and in every copy other ids, dates and texts.

The first copy of the samples is as they are. In every further one each id (of a session, record, message, request, call
or agent) is another one, the same everywhere in the copy, so that links still hold and nothing is a duplicate of the
copy before; days move back by a week; and a third of the words of longer texts are other words of the same length from
the same samples. So neither deduplication nor a cache of texts gains anything from the copies, while texts keep the
look, the token counts and the compressibility of real ones. What the samples hold twice stays twice, in each copy.

    python benchmarks/make_tree.py SAMPLES OUT --megabytes 70 --formats claude-code,codex
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final

MEGABYTE: Final = 1_000_000
_UUID: Final = rb"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_PREFIXED: Final = rb"\b(?:msg|toolu|srvtoolu|req|resp|rs|fc|ctc|ws|call)_[A-Za-z0-9_]{16,}"
_DAY: Final = rb"\b20\d\d-[01]\d-[0-3]\d(?=T\d\d:)"
_NAMED_ID: Final = re.compile(
    rb'"(?:sessionId|session_id|uuid|parentUuid|leafUuid|logicalParentUuid|sourceToolAssistantUUID|requestId|messageId|'
    rb"agentId|tool_use_id|toolUseID|parentToolUseID|call_id|turn_id|forked_from_id|parent_thread_id|slug|eval_id|"
    rb'run_id|sample_id)"\s*:\s*"([\w.:-]{4,80})"'
)
_LONG_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.){60,}"', re.DOTALL)
_WORD: Final = re.compile(rb"(?<![\\A-Za-z0-9_])[a-z]{4,12}(?![A-Za-z0-9_])")
_WORDS_CHANGED: Final = 3
"""One word in so many becomes another one."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What was made.

    Attributes:
        root: The folder.
        files: Number of files.
        size: Bytes.
    """

    root: Path
    files: int
    size: int


class Sample:
    """A sample file, cut once at everything that differs between copies."""

    def __init__(self, path: Path, below: Path) -> None:
        self.path = path.relative_to(below)
        self._data = path.read_bytes()
        self._pieces: list[bytes] = []
        self._slots: list[tuple[str, bytes]] = []

    def cut(self, own_ids: Iterable[bytes]) -> None:
        """Finds ids (any of ``own_ids`` too), days and words."""
        named = b"|".join(re.escape(one) for one in sorted(own_ids, key=len, reverse=True))
        pattern = re.compile(
            b"(?P<id>" + _UUID + b"|" + _PREFIXED + (b'|(?<=")(?:' + named + b')(?=")' if named else b"") + b")"
            b"|(?P<day>" + _DAY + b")"
        )
        spots = [(m.start(), m.end(), m.lastgroup or "") for m in pattern.finditer(self._data)]
        for text in _LONG_TEXT.finditer(self._data):
            spots += [(m.start(), m.end(), "word") for m in _WORD.finditer(self._data, text.start(), text.end())]
        last = 0
        for start, end, kind in sorted(spots):
            if start >= last:
                self._pieces.append(self._data[last:start])
                self._slots.append((kind, self._data[start:end]))
                last = end
        self._pieces.append(self._data[last:])

    def ids(self) -> set[bytes]:
        """Ids that only their names give away."""
        return set(_NAMED_ID.findall(self._data))

    def words(self) -> set[bytes]:
        """The words that may become others."""
        return {value for kind, value in self._slots if kind == "word"}

    @property
    def original(self) -> bytes:
        """The file as it is."""
        return self._data

    def copied(self, change: Callable[[str, bytes], bytes]) -> bytes:
        """The file with every id, day and word changed."""
        known = {slot: change(*slot) for slot in dict.fromkeys(self._slots)}
        joined: list[bytes] = [self._pieces[0]]
        for slot, piece in zip(self._slots, self._pieces[1:], strict=True):
            joined += (known[slot], piece)
        return b"".join(joined)


class Copy:
    """The changes of one copy: the same value becomes the same other one in all files."""

    def __init__(self, number: int, words: Sequence[bytes]) -> None:
        self._key = b"copy-%d" % number
        self._days = 7 * number
        self._words = dict(_exchanged(words, number))

    def change(self, kind: str, value: bytes) -> bytes:
        """What stands in the place of a value."""
        if kind == "word":
            return self._words.get(value, value)
        if kind == "day":
            return self._moved(value)
        return self._other_id(value)

    def name(self, path: Path) -> Path:
        """A path whose ids are those of the copy."""
        parts = [re.sub(_UUID, lambda m: self._other_id(m[0]), os.fsencode(part)) for part in path.parts]
        return Path(*map(os.fsdecode, parts))

    def _other_id(self, value: bytes) -> bytes:
        digits = hashlib.blake2b(value.lower(), key=self._key, digest_size=32).hexdigest()
        if re.fullmatch(_UUID, value):
            time = value[:14].decode() if value[14:15] == b"7" else f"{digits[:8]}-{digits[8:12]}-"
            version = value[14:15].decode()
            return f"{time}{version}{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}".encode()
        head, mark, tail = value.rpartition(b"_")
        more = digits * (1 + len(tail) // len(digits))
        return head + mark + more[: len(tail)].encode()

    def _moved(self, day: bytes) -> bytes:
        try:
            return (date.fromisoformat(day.decode()) - timedelta(days=self._days)).isoformat().encode()
        except ValueError:
            return day


def _exchanged(words: Sequence[bytes], number: int) -> Iterator[tuple[bytes, bytes]]:
    """Every third word and another one of the same length."""
    draw = random.Random(number)  # noqa: S311 - the same tree every time
    by_length: dict[int, list[bytes]] = {}
    for word in words:
        by_length.setdefault(len(word), []).append(word)
    for listed in by_length.values():
        chosen = draw.sample(listed, len(listed) // _WORDS_CHANGED)
        yield from zip(chosen, draw.sample(listed, len(chosen)), strict=True)


def samples_of(folder: Path, formats: Sequence[str]) -> list[Sample]:
    """The sample logs below the folders of some formats, cut."""
    paths = [path for name in formats for path in sorted((folder / name).rglob("*.jsonl"))]
    if not paths:
        raise SystemExit(f"No *.jsonl below {', '.join(str(folder / name) for name in formats)}.")
    samples = [Sample(path, folder) for path in paths]
    own_ids = {one for sample in samples for one in sample.ids()}
    own_ids = {one for one in own_ids if not re.fullmatch(_UUID + b"|" + _PREFIXED, one)}
    for sample in samples:
        sample.cut(one for one in own_ids if one in sample.original)
    return samples


def make_tree(samples: Sequence[Sample], out: Path, megabytes: float) -> Tree:
    """Writes copies of samples below a folder until they have a size. The same samples give the same tree."""
    words = sorted({word for sample in samples for word in sample.words()})
    size = files = number = 0
    while size < megabytes * MEGABYTE:
        copy = Copy(number, words)
        for sample in samples:
            if size >= megabytes * MEGABYTE:
                break
            data = sample.copied(copy.change) if number else sample.original
            path = out / f"copy-{number:04d}" / copy.name(sample.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            size, files = size + len(data), files + 1
        number += 1
    return Tree(out, files, size)


def main() -> None:
    """Makes a tree."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("samples", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--megabytes", type=float, default=70.0)
    options.add_argument("--formats", default="claude-code")
    given = options.parse_args()
    tree = make_tree(samples_of(given.samples, given.formats.split(",")), given.out, given.megabytes)
    print(f"{tree.files} files, {tree.size / MEGABYTE:.1f} MB below {tree.root}")


if __name__ == "__main__":
    main()
