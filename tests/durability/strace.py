"""The system calls of a program that change files below a folder, in order, as strace saw them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STRACE: Final = Path("/usr/bin/strace")
_TRACED: Final = (
    "openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,rename,renameat,renameat2,link,linkat,unlink,unlinkat,"
    "rmdir,mkdir,mkdirat,fsync,fdatasync,sync_file_range,ftruncate,truncate,fallocate,copy_file_range,sendfile,close,"
    "lseek,dup,dup2,dup3,fcntl,symlink,symlinkat,io_uring_setup"
)
_SAME: Final = {
    "open": "openat", "creat": "openat", "renameat": "rename", "renameat2": "rename", "linkat": "link",
    "unlinkat": "unlink", "rmdir": "unlink", "mkdirat": "mkdir", "dup2": "dup", "dup3": "dup",
}  # fmt: skip
_KNOWN: Final = frozenset(
    (
        "openat",
        "close",
        "dup",
        "lseek",
        "write",
        "pwrite64",
        "ftruncate",
        "fsync",
        "fdatasync",
        "mkdir",
        "rename",
        "link",
        "unlink",
        "fcntl",
    )
)
_ON_DESCRIPTOR: Final = _KNOWN - {"openat", "mkdir", "rename", "link", "unlink"}
_LINE: Final = re.compile(r"(\w+)\((.*)\)\s+= (\d+)")
_TEXT: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
_DESCRIPTOR: Final = re.compile(r"(\d+)<((?:\\x[0-9a-f]{2})*)>(?:\(deleted\))?")
_FOLDER: Final = re.compile(r"(?:AT_FDCWD|\d+)<((?:\\x[0-9a-f]{2})*)>")


@dataclass(frozen=True)
class Call:
    """A system call that did what was asked.

    Attributes:
        name: Its name; of calls that do the same, the simplest one's.
        result: What it returned.
        paths: Paths below the folder.
        descriptor: The file that it works on.
        data: What was written.
        number: A place or a length.
        flags: How a file was opened.
    """

    name: str
    result: int
    paths: tuple[str, ...] = ()
    descriptor: int = -1
    data: bytes = b""
    number: int = 0
    flags: str = ""


@dataclass(frozen=True)
class Note:
    """A line that the program wrote to its file of notes."""

    text: str


def traced(program: list[str], *, folder: Path, notes: Path, output: Path, cwd: Path) -> list[Call | Note]:
    """Runs a program under strace.

    Args:
        program: The program.
        folder: The folder whose calls matter.
        notes: The file whose lines are wanted among the calls.
        output: Where strace writes.
        cwd: Where the program runs.
    """
    options = ["-f", "-y", "-xx", "-s", "268435456", "-o", str(output), "-e", f"trace={_TRACED}", "-e", "signal=none"]
    done = subprocess.run([str(STRACE), *options, *program], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(_Parser(folder, notes).calls(output))


class _Parser:
    def __init__(self, folder: Path, notes: Path) -> None:
        self._folder = str(folder)
        self._notes = str(notes)
        self._begun: dict[str, str] = {}
        self._noting = ""

    def calls(self, output: Path) -> Iterator[Call | Note]:
        with output.open(encoding="ascii") as lines:
            for line in lines:
                process, _, said = line.rstrip("\n").partition(" ")
                whole = self._whole(process, said.strip())
                if whole is not None:
                    yield from self._parsed(whole)

    def _whole(self, process: str, said: str) -> str | None:
        """A call whose beginning and end stand on two lines counts when it ended."""
        if said.endswith("<unfinished ...>"):
            begun = said.removesuffix("<unfinished ...>")
            if begun.startswith("close("):  # its number may be given away again before it ends
                return begun + ") = 0"
            self._begun[process] = begun
            return None
        if said.startswith("<..."):
            return None if said.startswith("<... close ") else self._begun.pop(process) + said.partition("resumed>")[2]
        return said

    def _parsed(self, line: str) -> Iterator[Call | Note]:
        found = _LINE.match(line)
        if found is None:  # it failed, or the process ended in it
            return
        given, arguments, result = found[1], found[2], int(found[3])
        name = _SAME.get(given, given)
        if name in _ON_DESCRIPTOR or name not in _KNOWN:
            yield from self._on_descriptor(name, arguments, result)
        else:
            yield from self._on_paths(name, arguments, result)

    def _on_descriptor(self, name: str, arguments: str, result: int) -> Iterator[Call | Note]:
        opened = _DESCRIPTOR.match(arguments)
        path = "" if opened is None else _decoded(opened[2]).decode()
        if path == self._notes and name == "write":
            yield from self._noted(_texts(arguments)[0][:result])
        if opened is None or self._below(path) is None:
            return
        assert name in _KNOWN, f"{name} on {path}: nobody knows what it does to a disk"
        if name == "fcntl" and "F_DUPFD" not in arguments:
            return
        numbers = arguments.rsplit(", ", 1)
        yield Call(
            "dup" if name == "fcntl" else name,
            result,
            descriptor=int(opened[1]),
            data=_texts(arguments)[0] if name in ("write", "pwrite64") else b"",
            number=int(numbers[-1]) if name in ("pwrite64", "ftruncate") else 0,
        )

    def _on_paths(self, name: str, arguments: str, result: int) -> Iterator[Call]:
        folders = [_decoded(one).decode() for one in _FOLDER.findall(arguments)]
        paths: list[str] = []
        for place, text in enumerate(_texts(arguments)):
            path = Path(folders[min(place, len(folders) - 1)] if folders else "/") / text.decode()
            below = self._below(str(path))
            if below is not None:
                paths.append(below)
        if paths:
            assert len(paths) == (2 if name in ("rename", "link") else 1), f"{name} leads out of the folder: {paths}"
            yield Call(name, result, tuple(paths), flags=arguments if name == "openat" else "")

    def _below(self, path: str) -> str | None:
        if path == self._folder:
            return ""
        return path.removeprefix(self._folder + "/") if path.startswith(self._folder + "/") else None

    def _noted(self, data: bytes) -> Iterator[Note]:
        self._noting += data.decode()
        *whole, self._noting = self._noting.split("\n")
        yield from (Note(line) for line in whole)


def _texts(arguments: str) -> list[bytes]:
    found = _TEXT.findall(arguments)
    assert not any(more for _, more in found), "strace cut a text off"
    return [_decoded(text) for text, _ in found]


def _decoded(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))
