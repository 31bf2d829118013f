"""Packs tiktoken's rank files into ``ledgerkit/vocabularies``.

Usage::

    python scripts/build_vocabularies.py o200k_base.tiktoken cl100k_base.tiktoken

A rank file may be gzipped (``o200k_base.tiktoken.gz``). Some tokenizer packages hold them (``bpe-openai`` in its folder
``data``). A file whose hash is not the one that tiktoken states is refused.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import sys
from pathlib import Path

from ledgerkit import vocabularies

TARGET = Path(__file__).parent.parent / "ledgerkit" / "vocabularies"


def read_tokens(path: Path) -> list[bytes]:
    """The tokens of a rank file, in rank order."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    lines = [line.split() for line in content.splitlines()]
    if [int(rank) for _, rank in lines] != list(range(len(lines))):
        sys.exit(f"{path}: the ranks are not 0, 1, 2, … in order, so the packed form cannot hold them.")
    return [base64.b64decode(token) for token, _ in lines]


def build(path: Path) -> None:
    """Packs one rank file and says what was written."""
    name = path.name.partition(".")[0]
    if name not in vocabularies.VOCABULARIES:
        sys.exit(f"{path}: add {name} to VOCABULARIES first.")
    vocabulary = vocabularies.VOCABULARIES[name]
    tokens = read_tokens(path)
    found = hashlib.sha256(vocabularies.rank_file_of(tokens)).hexdigest()
    if found != vocabulary.rank_file_sha256:
        sys.exit(f"{path}: sha256 is {found}, tiktoken states {vocabulary.rank_file_sha256}.")
    content = vocabularies.content_of(tokens)
    packed = vocabularies.compress(content)
    (TARGET / f"{name}.xz").write_bytes(packed)
    digest = hashlib.sha256(content).hexdigest()
    print(f"{name}: {len(tokens)} tokens, {len(packed)} bytes, content_sha256={digest}")
    if (len(tokens), digest) != (vocabulary.size, vocabulary.content_sha256):
        print("  VOCABULARIES says otherwise: correct its size and content_sha256.")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        build(Path(argument))
