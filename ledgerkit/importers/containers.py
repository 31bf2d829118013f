"""What a file's bytes are packed in: nothing, gzip or zstd, told by its first bytes and never by its name."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Final, cast

CHUNK: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
DAMAGED: Final = (EOFError, OSError, zlib.error, gzip.BadGzipFile)
"""What reading damaged packed bytes raises."""


def is_compressed(path: Path) -> bool:
    """Whether a file is compressed (gzip or zstd), by its first bytes."""
    with path.open("rb") as file:
        head = file.read(4)
    return head.startswith((_GZIP, _ZSTD))


@contextmanager
def opened(path: Path) -> Generator[tuple[BufferedIOBase, int]]:
    """The bytes of a file, and where they end. Offsets in a compressed file are offsets in what it unpacks to."""
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(0)
        if head.startswith(_GZIP):
            with gzip.open(file) as unpacked:
                yield cast(BufferedIOBase, unpacked), sys.maxsize
        elif head == _ZSTD:
            yield _unzstd(file), sys.maxsize
        else:
            yield file, path.stat().st_size


def _unzstd(file: BufferedIOBase) -> BufferedIOBase:
    """The content of a zstd file, forward only: what is before an offset is read and left."""
    import pyarrow as pa

    return cast(BufferedIOBase, io.BufferedReader(_Forward(pa.CompressedInputStream(file, "zstd")), CHUNK))


class _Forward(io.RawIOBase):
    """A stream that can skip, but not go back."""

    def __init__(self, stream: Any) -> None:  # noqa: ANN401 - pyarrow's stream has no types
        self._stream = stream
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - the protocol of io
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence != io.SEEK_SET or offset < self._at:
            raise io.UnsupportedOperation("a compressed stream goes forward only")
        while self._at < offset and (data := self._stream.read(min(CHUNK, offset - self._at))):
            self._at += len(data)
        return self._at
