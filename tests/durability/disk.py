"""A disk as a power loss may leave it: what was synced is there, what was not may be, and may not be."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.durability.strace import Call


@dataclass(eq=False)
class _File:
    """A file: what was written to it, and what of that is on disk for sure."""

    content: bytes = b""
    synced: bytes = b""


@dataclass(eq=False)
class _Folder:
    """A folder: its entries, and those that are on disk for sure."""

    entries: dict[str, _Entry] = field(default_factory=dict[str, "_Entry"])
    synced: dict[str, _Entry] = field(default_factory=dict[str, "_Entry"])


_Entry = _File | _Folder


@dataclass
class _Open:
    """An open file."""

    entry: _Entry
    place: int
    appends: bool


Tree = dict[str, bytes | None]
"""Files (their content) and folders (``None``), by path."""

_DATA: Final[dict[str, Callable[[_File], bytes]]] = {
    "lost": lambda file: file.synced,
    "kept": lambda file: file.content,
}
_NAMES: Final[dict[str, Callable[[_Folder], dict[str, _Entry]]]] = {
    "lost": lambda folder: folder.synced,
    "kept": lambda folder: folder.entries,
}


class Disk:
    """A folder and all below it, as system calls change it.

    Attributes:
        changes: Grows with every change of what is on disk for sure.
    """

    def __init__(self) -> None:
        self._root = _Folder()
        self._open: dict[int, _Open] = {}
        self.changes = 0
        self._calls: Mapping[str, Callable[[Call], None]] = {
            "openat": self._open_file, "close": self._close, "dup": self._duplicate, "lseek": self._seek,
            "write": self._write, "pwrite64": self._write_at, "ftruncate": self._truncate,
            "fsync": self._sync, "fdatasync": self._sync, "mkdir": self._make_folder, "rename": self._rename,
            "link": self._link, "unlink": self._remove,
        }  # fmt: skip

    @classmethod
    def of(cls, folder: Path) -> Disk:
        """A disk that holds a folder, all of it synced."""
        disk = cls()
        disk._root = _loaded(folder)
        return disk

    # What a power loss leaves

    def after_power_loss(self, *, data: str = "lost", names: str = "lost") -> Tree:
        """What is there if unsynced data, or unsynced names, are ``lost`` or ``kept``."""
        tree: Tree = {}
        _walk(self._root, "", _DATA[data], _NAMES[names], tree)
        return tree

    def after_some_power_loss(self, draw: random.Random) -> Tree:
        """What is there if each unsynced thing is lost or kept by chance; of a write also a part."""

        def data(file: _File) -> bytes:
            cut = draw.choice((0.0, draw.random(), 1.0))
            if not file.content.startswith(file.synced):
                return draw.choice((file.content, file.synced))
            return file.content[: len(file.synced) + round(cut * (len(file.content) - len(file.synced)))]

        def names(folder: _Folder) -> dict[str, _Entry]:
            chosen: dict[str, _Entry] = {}
            for name in sorted(folder.entries.keys() | folder.synced.keys()):
                entry = draw.choice((folder.entries, folder.synced)).get(name)
                if entry is not None:
                    chosen[name] = entry
            return chosen

        tree: Tree = {}
        _walk(self._root, "", data, names, tree)
        return tree

    # What calls do

    def apply(self, call: Call) -> None:
        """Does what a system call did."""
        self._calls[call.name](call)

    def power_off(self) -> None:
        """Forgets which files are open."""
        self._open.clear()

    def _folder(self, path: str) -> tuple[_Folder, str]:
        """The folder that a path stands in, and its name there."""
        folder = self._root
        *above, name = path.split("/")
        for part in above:
            below = folder.entries[part]
            assert isinstance(below, _Folder)
            folder = below
        return folder, name

    def _entry(self, path: str) -> _Entry:
        if not path:
            return self._root
        folder, name = self._folder(path)
        return folder.entries[name]

    def _open_file(self, call: Call) -> None:
        if "O_CREAT" in call.flags:
            folder, name = self._folder(call.paths[0])
            folder.entries.setdefault(name, _File())
        entry = self._entry(call.paths[0])
        if "O_TRUNC" in call.flags and isinstance(entry, _File):
            entry.content = b""
        self._open[call.result] = _Open(entry, 0, "O_APPEND" in call.flags)

    def _close(self, call: Call) -> None:
        self._open.pop(call.descriptor, None)

    def _duplicate(self, call: Call) -> None:
        if call.descriptor in self._open:
            self._open[call.result] = self._open[call.descriptor]

    def _seek(self, call: Call) -> None:
        self._open[call.descriptor].place = call.result

    def _written(self, call: Call) -> tuple[_Open, _File]:
        opened = self._open[call.descriptor]
        assert isinstance(opened.entry, _File)
        return opened, opened.entry

    def _write(self, call: Call) -> None:
        opened, file = self._written(call)
        place = len(file.content) if opened.appends else opened.place
        _put(file, place, call.data[: call.result])
        opened.place = place + call.result

    def _write_at(self, call: Call) -> None:
        _, file = self._written(call)
        _put(file, call.number, call.data[: call.result])

    def _truncate(self, call: Call) -> None:
        _, file = self._written(call)
        file.content = file.content[: call.number].ljust(call.number, b"\0")

    def _sync(self, call: Call) -> None:
        entry = self._open[call.descriptor].entry
        if isinstance(entry, _File):
            self.changes += entry.synced != entry.content
            entry.synced = entry.content
        else:
            self.changes += entry.synced != entry.entries
            entry.synced = dict(entry.entries)

    def _make_folder(self, call: Call) -> None:
        folder, name = self._folder(call.paths[0])
        folder.entries[name] = _Folder()

    def _rename(self, call: Call) -> None:
        (source, old), (target, new) = (self._folder(path) for path in call.paths)
        target.entries[new] = source.entries.pop(old)

    def _link(self, call: Call) -> None:
        (source, old), (target, new) = (self._folder(path) for path in call.paths)
        target.entries[new] = source.entries[old]

    def _remove(self, call: Call) -> None:
        folder, name = self._folder(call.paths[0])
        del folder.entries[name]


def _put(file: _File, place: int, data: bytes) -> None:
    before = file.content[:place].ljust(place, b"\0")
    file.content = before + data + file.content[place + len(data) :]


def _loaded(folder: Path) -> _Folder:
    entries: dict[str, _Entry] = {
        path.name: _loaded(path) if path.is_dir() else _File(*[path.read_bytes()] * 2) for path in folder.iterdir()
    }
    return _Folder(entries, dict(entries))


def _walk(
    folder: _Folder,
    above: str,
    data: Callable[[_File], bytes],
    names: Callable[[_Folder], dict[str, _Entry]],
    tree: Tree,
) -> None:
    for name, entry in names(folder).items():
        path = above + name
        if isinstance(entry, _File):
            tree[path] = data(entry)
        else:
            tree[path] = None
            _walk(entry, path + "/", data, names, tree)


def write_tree(folder: Path, tree: Tree) -> None:
    """Makes a folder that holds a tree."""
    folder.mkdir(parents=True)
    for path, content in _by_depth(tree.items()):
        target = folder / path
        if content is None:
            target.mkdir()
        else:
            target.write_bytes(content)


def _by_depth(items: Iterable[tuple[str, bytes | None]]) -> list[tuple[str, bytes | None]]:
    return sorted(items, key=lambda item: item[0].count("/"))
