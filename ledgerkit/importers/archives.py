"""Zip files whose members are read one by one, also where the list of members or some of them are damaged.

Python before 3.14 cannot read members that are packed with zstd, and gives up a whole file whose list at the end is cut
off. So a member is unpacked here from its own bytes, and a file without its list is searched for heads of members.
"""

from __future__ import annotations

import io
import mmap
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from ledgerkit.importers.containers import CHUNK

MAX_MEMBER_BYTES: Final = 1024 * 1024 * 1024
_HEAD: Final = b"PK\x03\x04"
_HEAD_FIELDS: Final = struct.Struct("<4s5H3I2H")
_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_UNPACKING: Final = (OSError, EOFError, zlib.error, ValueError)
_LISTING: Final = (zipfile.BadZipFile, OSError, ValueError, struct.error, UnicodeDecodeError, NotImplementedError)


class ArchiveDamage(ValueError):
    """A member that cannot be unpacked; its message says why."""


class Member(msgspec.Struct, frozen=True, gc=False):
    """A member: its name, where its head begins, and how much room it takes.

    Attributes:
        crc: Checksum of its content; ``None`` where only the end of the file knows it.
    """

    name: str
    offset: int
    size: int
    method: int
    crc: int | None


class Archive(msgspec.Struct, frozen=True, gc=False):
    """The members of a file in the order of their places, and whether its list of them was there."""

    path: Path
    members: list[Member]
    is_whole: bool

    def content(self, member: Member) -> bytes:
        """The content of a member.

        Raises:
            ArchiveDamage: If it cannot be unpacked, or is not what was packed.
        """
        if member.offset < 0:
            raise ArchiveDamage("the list of members says that it begins before the file does")
        with self.path.open("rb") as file:
            file.seek(member.offset)
            head = file.read(_HEAD_FIELDS.size)
            if len(head) < _HEAD_FIELDS.size or not head.startswith(_HEAD):
                raise ArchiveDamage("the member's head is damaged")
            *_, name_size, extra_size = _HEAD_FIELDS.unpack(head)
            file.seek(name_size + extra_size, io.SEEK_CUR)
            packed = file.read(member.size)
        if len(packed) < member.size:
            raise ArchiveDamage("cut off")
        try:
            content = _unpacked(packed, member.method)
        except ArchiveDamage:
            raise
        except _UNPACKING as error:
            raise ArchiveDamage(f"compressed data is damaged: {error}") from error
        if len(content) > MAX_MEMBER_BYTES:
            raise ArchiveDamage(f"longer than {MAX_MEMBER_BYTES} bytes")
        if member.crc is not None and zlib.crc32(content) != member.crc:
            raise ArchiveDamage("its checksum does not fit")
        return content


def is_archive(path: Path) -> bool:
    """Whether a file begins as a zip file with members does."""
    with path.open("rb") as file:
        return file.read(len(_HEAD)) == _HEAD


def read_archive(path: Path) -> Archive:
    """The members of a zip file."""
    try:
        with zipfile.ZipFile(path) as listed:
            infos = sorted(listed.infolist(), key=lambda info: info.header_offset)
    except _LISTING:
        return Archive(path, list(_searched(path)), is_whole=False)
    members = [Member(i.filename, i.header_offset, i.compress_size, i.compress_type, i.CRC) for i in infos]
    return Archive(path, members, is_whole=True)


def _searched(path: Path) -> Iterator[Member]:
    """The members that stand in a file whose list is not there, by their heads."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        at = raw.find(_HEAD)
        while at >= 0 and at + _HEAD_FIELDS.size <= len(raw):
            _, _, flags, method, _, _, crc, size, _, name_size, extra_size = _HEAD_FIELDS.unpack_from(raw, at)
            begin = at + _HEAD_FIELDS.size + name_size + extra_size
            streamed = bool(flags & 8)  # then the head does not know the size
            following = raw.find(_HEAD, begin if streamed else begin + size)
            if streamed:
                size = (following if following >= 0 else len(raw)) - begin
            name = raw[at + _HEAD_FIELDS.size : at + _HEAD_FIELDS.size + name_size].decode("utf-8", "replace")
            yield Member(name, at, max(size, 0), method, None if streamed else crc)
            at = following


def _unpacked(packed: bytes, method: int) -> bytes:
    if method == _STORED:
        return packed
    if method == _DEFLATED:
        unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
        content = unpacking.decompress(packed, MAX_MEMBER_BYTES + 1)
        if not unpacking.eof and len(content) <= MAX_MEMBER_BYTES:
            raise ArchiveDamage("cut off")
        return content
    if method == _ZSTD:
        return b"".join(_chunks(packed))
    raise ArchiveDamage(f"packed with method {method}, which ledgerkit does not read")


def _chunks(packed: bytes) -> Iterator[bytes]:
    import pyarrow as pa

    stream = cast(Any, pa).CompressedInputStream(pa.BufferReader(packed), "zstd")
    read = 0
    while read <= MAX_MEMBER_BYTES and (chunk := stream.read(CHUNK)):
        read += len(chunk)
        yield chunk
