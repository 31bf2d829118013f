"""Where a ledger keeps what: a folder with ``ledger.json`` and one Delta table per stored table.

``ledger.json`` names the layout version and the key under which contents get their ids. A content id is a keyed
hash, so that an id seen outside (in a report) does not let anybody test guesses of a short secret.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ledgerkit import errors, tables
from ledgerkit.protocol.identifiers import hash_uuid
from ledgerkit.store.durability import make_folder
from ledgerkit.store.place import Place, place_of

Where = str | os.PathLike[str] | Place
"""A path, a URL or a place."""
MARKER = "ledger.json"
"""The file that makes a folder a ledger."""
_FORMAT = "ledgerkit-ledger"
_ID_BYTES = 16
_KEY_BYTES = (16, 64)
_UNUSABLE = re.compile(r"[\[\]|^\\\x00-\x1f]|%[0-9A-Fa-f]{2}")


class _Marker(msgspec.Struct):
    """What ``ledger.json`` says."""

    format: str = ""
    layout_version: int = 0
    content_key: str = ""
    ledger_id: str = ""


@dataclass(frozen=True, slots=True)
class ContentKey:
    """Gives contents their ids: all that a worker in another process needs of a ledger."""

    key: bytes

    def content_id(self, content: bytes | str) -> str:
        """Keyed hash of a content, 32 hexadecimal digits."""
        raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        return hashlib.blake2b(raw, key=self.key, digest_size=_ID_BYTES).hexdigest()


@dataclass(frozen=True, slots=True)
class Layout:
    """An existing ledger.

    Attributes:
        place: Where it is.
        version: Version of its layout.
        key: Key of its content ids.
        ledger_id: Its identity, which checkpoints name.
    """

    place: Place
    version: int
    key: bytes
    ledger_id: str

    @property
    def root(self) -> Path:
        """Its folder on this machine; of a ledger in an object store the one that mirrors it."""
        return self.place.root

    def table_path(self, name: str) -> Path:
        """Folder of a stored table."""
        return self.root / name

    @property
    def origin(self) -> str:
        """The ledger's name in its checkpoints."""
        return f"ledgerkit/{self.ledger_id}"

    @property
    def journals(self) -> Path:
        """Folder of the journals of runs that are recorded live."""
        return self.root / "journal"

    def journal_path(self, session_id: str, run_id: str) -> Path:
        """The journal of a run."""
        return self.journals / f"{hash_uuid(session_id, run_id)}.journal"

    def content_id(self, content: bytes | str) -> str:
        """Keyed hash of a content, 32 hexadecimal digits."""
        return ContentKey(self.key).content_id(content)


def is_ledger(at: Where) -> bool:
    """Whether there is a ledger."""
    return _place(at).exists(MARKER)


def open_layout(at: Where) -> Layout:
    """The layout of an existing ledger.

    Raises:
        LedgerNotFoundError: If there is none.
        LedgerFormatError: If there is something else, or a version that this code cannot read.
    """
    place = _place(at)
    _check_path(place)
    root = place.uri("").rstrip("/")
    marker = f"{root}/{MARKER}"
    try:
        facts = msgspec.json.decode(place.read(MARKER), type=_Marker)
        key = bytes.fromhex(facts.content_key)
    except FileNotFoundError:
        raise errors.LedgerNotFoundError(
            f"No ledger at {root}. Make one of your logs with: ledgerkit import FOLDER --ledger {root} (ledgerkit demo "
            "makes demo/demo.ledger), or say where it is: --ledger, LEDGERKIT_LEDGER."
        ) from None
    except ValueError as error:
        raise errors.LedgerFormatError(f"{marker} is damaged ({error}). Restore it from a copy.") from error
    if facts.format != _FORMAT:
        raise errors.LedgerFormatError(f"{marker} does not describe a ledger. Choose another folder.")
    if not key:
        raise errors.LedgerFormatError(f"{marker} lacks its content key. Restore it from a copy.")
    if facts.layout_version > tables.LAYOUT_VERSION:
        raise errors.LedgerFormatError(
            f"{root} has layout version {facts.layout_version}; this ledgerkit reads up to "
            f"{tables.LAYOUT_VERSION}. Upgrade agent-ledgerkit."
        )
    return Layout(place, facts.layout_version, key, facts.ledger_id or _id_of(key))


def _id_of(key: bytes) -> str:
    """Identity of a ledger that was made before ledgers had one."""
    return hashlib.blake2b(b"ledger", key=key[:64], digest_size=16).hexdigest()


def write_layout(layout: Layout, version: int) -> Layout:
    """Notes a new layout version of an existing ledger."""
    moved = Layout(layout.place, version, layout.key, layout.ledger_id)
    _write(moved)
    return moved


def _write(layout: Layout) -> None:
    facts = {
        "format": _FORMAT,
        "layout_version": layout.version,
        "ledger_id": layout.ledger_id,
        "content_key": layout.key.hex(),
    }
    layout.place.write(MARKER, (json.dumps(facts, indent=2) + "\n").encode())


def _check_path(place: Place) -> None:
    """Delta Lake takes a path for a URL, and some characters for something else."""
    if place.is_local and (found := _UNUSABLE.search(str(place.root))):
        raise errors.LedgerFormatError(
            f"A ledger cannot stand below a folder with {found.group()!r} in its name. Choose another path "
            f"than {place.root}."
        )


def create_layout(at: Where, *, key: bytes | None = None) -> Layout:
    """Makes a folder, or a prefix of an object store, a ledger.

    Args:
        at: The folder; it may exist if it is empty.
        key: Key of content ids, 16 to 64 bytes; random if not given.

    Raises:
        LedgerFormatError: If there is something else.
        ValueError: If the key is too short or too long.
    """
    place = _place(at)
    _check_path(place)
    if key is not None and not _KEY_BYTES[0] <= len(key) <= _KEY_BYTES[1]:
        raise ValueError(f"a content key has {_KEY_BYTES[0]} to {_KEY_BYTES[1]} bytes, not {len(key)}")
    if place.is_local:
        _claim(place.root)
    key = os.urandom(32) if key is None else key
    layout = Layout(place, tables.LAYOUT_VERSION, key, _id_of(key))
    _write(layout)
    return layout


def _claim(root: Path) -> None:
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise errors.LedgerFormatError(f"{root} exists and is not a ledger. Choose another path, or an empty folder.")
    make_folder(root)


def _place(at: Where) -> Place:
    return place_of(at) if isinstance(at, str | os.PathLike) else at
