"""The token vocabularies: shipped inside the package, unpacked in memory, never fetched.

A vocabulary is the list of its tokens in rank order. It is stored as one byte of length per token, then the bytes of
all tokens, compressed with xz (o200k_base: 0.8 MB). ``scripts/build_vocabularies.py`` makes the files from tiktoken's
rank files (MIT licence, OpenAI).

The check of a load is a hash of the unpacked bytes (1 ms). That those bytes are tiktoken's rank file, byte for byte,
is proved once by a test, which rebuilds the rank file and hashes it (120 ms, too slow for every start).
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final, TypedDict

from ledgerkit.errors import LedgerkitError


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a vocabulary must be.

    Attributes:
        name: The name of the encoding.
        size: Number of tokens; ranks are 0 to size - 1.
        rank_file_sha256: Hash of tiktoken's rank file, as tiktoken itself states it.
        content_sha256: Hash of the unpacked bytes.
    """

    name: str
    size: int
    rank_file_sha256: str
    content_sha256: str


VOCABULARIES: Final = {
    vocabulary.name: vocabulary
    for vocabulary in (
        Vocabulary(
            "o200k_base",
            199_998,
            "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            "440741350e7cfa1c0f4869ce742d1b043550adbda5187adcac9e787edac6fba9",
        ),
        Vocabulary(
            "cl100k_base",
            100_256,
            "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            "18288f996f452d44e0e65996176591a4b712a3eb1b42afd6f0511e735c099480",
        ),
    )
}
"""The vocabularies that ledgerkit ships, by name."""


class Probe(TypedDict):
    """A text that tells tokenizers apart, with tiktoken's own count of it by encoding."""

    name: str
    text: str
    counts: dict[str, int]


_FILTERS: Final = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]


def load_tokens(name: str) -> list[bytes]:
    """Unpacks a vocabulary: its tokens in rank order.

    Raises:
        LedgerkitError: If the file is not the one that ledgerkit was released with.
    """
    vocabulary = VOCABULARIES[name]
    content = lzma.decompress(resources.files(__name__).joinpath(f"{name}.xz").read_bytes())
    if hashlib.sha256(content).hexdigest() != vocabulary.content_sha256:
        message = f"The vocabulary {name} of this installation is damaged. Install agent-ledgerkit again."
        raise LedgerkitError(message)
    ends = itertools.accumulate(content[: vocabulary.size], initial=vocabulary.size)
    return [content[start:end] for start, end in itertools.pairwise(ends)]


def load_probes() -> list[Probe]:
    """Texts that a faster engine must count as tiktoken does, to be used.

    They exercise each branch of the patterns (case changes, contractions, marks, numbers, white space at either end)
    and the scripts, symbols and formats that logs hold. A test counts them again with tiktoken.
    """
    return json.loads(resources.files(__name__).joinpath("probes.json").read_bytes())


def content_of(tokens: Sequence[bytes]) -> bytes:
    """The bytes that are stored for some tokens, before compression."""
    return bytes(map(len, tokens)) + b"".join(tokens)


def compress(content: bytes) -> bytes:
    """Compresses the content of a vocabulary for its file."""
    return lzma.compress(content, format=lzma.FORMAT_XZ, filters=_FILTERS)


def rank_file_of(tokens: Sequence[bytes]) -> bytes:
    """Tiktoken's rank file of some tokens: base64, a space and the rank on each line."""
    return b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))
