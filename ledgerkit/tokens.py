"""Count tokens, exactly and offline: the only module that knows tiktoken.

tiktoken fetches its vocabularies at first use; ledgerkit ships them, and builds the encoding from tiktoken's own
pattern and special tokens. Nothing is loaded before the first count (about 0.4 s for ``o200k_base``, once a process).

A count never depends on the engine. ``toktok`` (``pip install 'agent-ledgerkit[fast]'``) is used only if it agrees
with tiktoken's recorded counts on every probe text (:func:`engine_note` says why it is not), and only for texts whose
characters both sort alike (:mod:`ledgerkit.vocabularies.settled`).

tiktoken panics on a million blanks in a row, so a long text is cut before it is counted, only where its pattern ends a
piece whatever stands around: each cut is exact, and the sum is the count of the whole text. Lone surrogates count as
U+FFFD. Special tokens in a text are ordinary text.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import itertools
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from ledgerkit import vocabularies
from ledgerkit.errors import LedgerkitError, MissingExtraError, ProtocolError
from ledgerkit.vocabularies import cuts
from ledgerkit.vocabularies.proof import BatchCount, UnusableError, proved_toktok
from ledgerkit.vocabularies.settled import is_settled

if TYPE_CHECKING:
    import tiktoken

DEFAULT_ENCODING: Final = "o200k_base"
"""Encoding of every stored token count."""

ENCODINGS: Final = tuple(vocabularies.VOCABULARIES)
"""Encodings that can be counted, all of them offline."""

ENGINES: Final = ("toktok", "tiktoken")
"""Engines, the preferred one first."""

_MEMO_KEY_LENGTH: Final = 128


def count(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """Number of tokens of a text. For many texts :func:`count_many` is up to 60 times faster.

    Raises:
        ProtocolError: If the encoding is not one of :data:`ENCODINGS`.

    >>> count("hello world"), count("<|endoftext|>"), count("")
    (2, 7, 0)
    """
    return _engine(encoding).count_batch([text])[0]


def count_many(texts: Sequence[str], encoding: str = DEFAULT_ENCODING) -> list[int]:
    """Number of tokens of each text, in order. Each distinct text is counted once.

    Raises:
        ProtocolError: If the encoding is not one of :data:`ENCODINGS`.

    >>> count_many(["hello world", "", "hello world"])
    [2, 0, 2]
    """
    distinct = list(dict.fromkeys(texts))
    counts = dict(zip(distinct, _engine(encoding).count_batch(distinct), strict=True))
    return [counts[text] for text in texts]


def engine_name(encoding: str = DEFAULT_ENCODING) -> str:
    """The engine that counts: ``toktok`` where it is installed and proved equal, else ``tiktoken``."""
    return _engine(encoding).name


def engine_note(encoding: str = DEFAULT_ENCODING) -> str:
    """Why the faster engine is not used; empty if it is."""
    return _engine(encoding).note


class TokenCounter:
    """Counts tokens and remembers the counts of recent texts, for use during an import.

    The memo is bounded: at most ``memo_size`` texts, the oldest forgotten first, and a long text is remembered by its
    hash. A counter belongs to one thread.

    >>> counter = TokenCounter(memo_size=1000)
    >>> counter.count("hello world"), counter.count_many(["hello", "hello world"])
    (2, [1, 2])
    """

    def __init__(
        self, encoding: str = DEFAULT_ENCODING, *, engine: str | None = None, memo_size: int = 100_000
    ) -> None:
        """Prepares a counter; nothing is loaded before the first count.

        Args:
            encoding: One of :data:`ENCODINGS`.
            engine: One of :data:`ENGINES` to insist on it; None takes the fastest that is proved equal.
            memo_size: Number of texts to remember; 0 remembers none.

        Raises:
            ProtocolError: If the encoding or the engine is unknown.
        """
        self.encoding = _known("encoding", encoding, ENCODINGS)
        self._wanted = None if engine is None else _known("engine", engine, ENGINES)
        self._memo_size = memo_size
        self._memo: dict[str | bytes, int] = {}

    @property
    def engine_name(self) -> str:
        """The engine that counts; loads it."""
        return _engine(self.encoding, self._wanted).name

    @property
    def remembered(self) -> int:
        """Number of texts in the memo."""
        return len(self._memo)

    def count(self, text: str) -> int:
        """Number of tokens of a text."""
        return self.count_many([text])[0]

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, in order.

        Raises:
            MissingExtraError: If the engine that was insisted on is not installed, or not equal to tiktoken.
        """
        keys = [_memo_key(text) for text in texts]
        known = {key: self._memo[key] for key in keys if key in self._memo}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            counts = _engine(self.encoding, self._wanted).count_batch(list(missing.values()))
            known.update(zip(missing, counts, strict=True))
            self._remember({key: known[key] for key in missing})
        return [known[key] for key in keys]

    def _remember(self, counts: dict[str | bytes, int]) -> None:
        self._memo |= counts
        surplus = len(self._memo) - self._memo_size
        for key in list(itertools.islice(self._memo, max(surplus, 0))):
            del self._memo[key]


def tiktoken_encoding(name: str = DEFAULT_ENCODING) -> tiktoken.Encoding:
    """The tiktoken encoding itself, for token ids and decoding. Built once a process, from the shipped vocabulary.

    Raises:
        ProtocolError: If the encoding is not one of :data:`ENCODINGS`.
        LedgerkitError: If the installed tiktoken expects another vocabulary.
    """
    return _tiktoken_encoding(_known("encoding", name, ENCODINGS))


@dataclass(frozen=True, slots=True)
class _Engine:
    name: str
    note: str
    count_batch: Callable[[Sequence[str]], list[int]]


def _engine(encoding: str, wanted: str | None = None) -> _Engine:
    return _build_engine(_known("encoding", encoding, ENCODINGS), wanted)


@functools.cache
def _build_engine(encoding: str, wanted: str | None) -> _Engine:
    note = ""
    if wanted != "tiktoken":
        try:
            return _Engine("toktok", "", functools.partial(_count_with_toktok, proved_toktok(encoding), encoding))
        except UnusableError as error:
            note = str(error)
            if wanted:
                raise MissingExtraError.for_extra("fast", f"Counting with toktok ({note})") from error
    return _Engine("tiktoken", note, functools.partial(_count_with_tiktoken, encoding))


@functools.cache
def _tiktoken_encoding(name: str) -> tiktoken.Encoding:
    import tiktoken

    return tiktoken.Encoding(**_encoding_parameters(name))


@functools.cache
def _single_piece_encoding(name: str) -> tiktoken.Encoding:
    """The same vocabulary, but a text is one piece: for blanks that are too many for the encoding's own pattern."""
    import tiktoken

    parameters = _encoding_parameters(name)
    parameters["pat_str"] = "(?s:.+)"
    return tiktoken.Encoding(**parameters)


def _encoding_parameters(name: str) -> dict[str, Any]:
    """Name, pattern, ranks and special tokens, from tiktoken's own constructor.

    The constructor runs with its own copy of its module's names, in which the function that fetches the ranks is
    ours. So tiktoken itself is not patched, no environment variable or cache folder is read, and no lock is needed.
    """

    def shipped_ranks(_url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        if expected_hash != vocabularies.VOCABULARIES[name].rank_file_sha256:
            message = f"The installed tiktoken expects another {name} than ledgerkit ships. Install another tiktoken."
            raise LedgerkitError(message)
        return {token: rank for rank, token in enumerate(vocabularies.load_tokens(name))}

    names = vars(importlib.import_module("tiktoken_ext.openai_public"))
    constructor = cast("types.FunctionType", names[name])
    with_shipped_ranks = types.FunctionType(constructor.__code__, {**names, "load_tiktoken_bpe": shipped_ranks})
    return with_shipped_ranks()


def _count_with_tiktoken(encoding: str, texts: Sequence[str]) -> list[int]:
    encode = _tiktoken_encoding(encoding).encode_ordinary
    return [
        sum(
            len(_single_piece_encoding(encoding).encode_ordinary(piece) if is_blank_run else encode(piece))
            for piece, is_blank_run in cuts.pieces(text, encoding)
        )
        for text in texts
    ]


def _count_with_toktok(batch_count: BatchCount, encoding: str, texts: Sequence[str]) -> list[int]:
    """Counts with toktok the texts in which it cannot differ from tiktoken, and the rare others with tiktoken."""
    others = [index for index, text in enumerate(texts) if not is_settled(text)]
    if not others:
        return batch_count(texts, encoding, 1)
    counts = dict(zip(others, _count_with_tiktoken(encoding, [texts[index] for index in others]), strict=True))
    settled = [index for index in range(len(texts)) if index not in counts]
    counts.update(zip(settled, batch_count([texts[index] for index in settled], encoding, 1), strict=True))
    return [counts[index] for index in range(len(texts))]


def _memo_key(text: str) -> str | bytes:
    if len(text) <= _MEMO_KEY_LENGTH:
        return text
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _known(what: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ProtocolError.unknown_value(what, value, allowed)
    return value
