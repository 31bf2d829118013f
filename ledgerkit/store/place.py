"""Where a ledger's files are: a folder, or an object store with a folder beside it that mirrors what was read.

Files of a ledger never change once they are written, so a mirrored file is right as long as it is there. What
changes (``ledger.json``, the logs of the Delta tables) is never mirrored.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from ledgerkit import errors
from ledgerkit.store.durability import make_folder, sync_folders, write_whole

CACHE_VARIABLE: Final = "LEDGERKIT_CACHE"
"""Environment variable: the folder of mirrors; ``~/.cache/ledgerkit`` if it is not set."""


class Place(Protocol):
    """Where a ledger's files are. Paths are relative to the ledger, with ``/``."""

    root: Path
    is_local: bool

    def uri(self, relative: str) -> str:
        """What Delta Lake's library calls a folder."""
        ...

    def read(self, relative: str) -> bytes:
        """A file's content; ``FileNotFoundError`` if there is none."""
        ...

    def write(self, relative: str, content: bytes) -> None:
        """Writes a small file whole, in the place of one that was there."""
        ...

    def exists(self, relative: str) -> bool:
        """Whether there is such a file."""
        ...

    def size(self, relative: str) -> int:
        """Bytes of a file."""
        ...

    def files(self, folder: str) -> Iterator[str]:
        """Paths of the files in a folder, sorted."""
        ...

    def fetch(self, relative: str, *, anew: bool = False) -> Path:
        """A file of a table on this machine; ``anew`` does not trust a mirrored one."""
        ...

    def publish(self, relative: str) -> None:
        """Makes a file that was written below ``root`` part of the ledger."""
        ...

    def remove(self, relative: str) -> None:
        """Removes a file, if it is there."""
        ...


class LocalPlace:
    """A folder on a file system."""

    is_local = True

    def __init__(self, root: Path) -> None:
        self.root = root

    def uri(self, relative: str) -> str:
        """The folder's path."""
        return str(self.root / relative)

    def read(self, relative: str) -> bytes:
        """A file's content."""
        return (self.root / relative).read_bytes()

    def write(self, relative: str, content: bytes) -> None:
        """Writes a file durably."""
        write_whole(self.root / relative, content)

    def exists(self, relative: str) -> bool:
        """Whether there is such a file."""
        return (self.root / relative).is_file()

    def size(self, relative: str) -> int:
        """Bytes of a file."""
        return (self.root / relative).stat().st_size

    def files(self, folder: str) -> Iterator[str]:
        """Paths of the files in a folder."""
        for path in sorted((self.root / folder).glob("*")):
            if path.is_file():
                yield f"{folder}/{path.name}"

    def fetch(self, relative: str, *, anew: bool = False) -> Path:
        """The file itself."""
        del anew
        return self.root / relative

    def publish(self, relative: str) -> None:
        """Nothing to do: it is there."""

    def remove(self, relative: str) -> None:
        """Removes a file durably."""
        (self.root / relative).unlink(missing_ok=True)
        sync_folders([(self.root / relative).parent])


class ObjectStorePlace:
    """A URL of an object store (``s3://``, ``gs://``, …), read and written through pyarrow.

    Credentials and endpoints come from the environment, as both pyarrow and Delta Lake's library read them.

    Args:
        url: The ledger's URL.

    Raises:
        LedgerFormatError: If pyarrow knows no such store.
    """

    is_local = False

    def __init__(self, url: str) -> None:
        import pyarrow.fs as pyarrow_fs

        self.url = url.rstrip("/")
        try:
            found: Any = pyarrow_fs.FileSystem.from_uri(self.url)
        except (ValueError, OSError, NotImplementedError) as error:
            raise errors.LedgerFormatError(f"{url} is of no object store that can be reached: {error}") from error
        self._files, self._base = found
        self.root = _mirrors() / hashlib.sha256(self.url.encode()).hexdigest()[:32]
        make_folder(self.root)

    def uri(self, relative: str) -> str:
        """The folder's URL."""
        return f"{self.url}/{relative}"

    def read(self, relative: str) -> bytes:
        """A file's content."""
        with self._files.open_input_stream(f"{self._base}/{relative}") as stream:
            return bytes(stream.read())

    def write(self, relative: str, content: bytes) -> None:
        """Puts an object."""
        with self._files.open_output_stream(f"{self._base}/{relative}") as stream:
            stream.write(content)

    def exists(self, relative: str) -> bool:
        """Whether there is such an object."""
        return bool(self._files.get_file_info(f"{self._base}/{relative}").is_file)

    def size(self, relative: str) -> int:
        """Bytes of an object."""
        return int(self._files.get_file_info(f"{self._base}/{relative}").size)

    def files(self, folder: str) -> Iterator[str]:
        """Paths of the objects in a folder."""
        import pyarrow.fs as pyarrow_fs

        selector = pyarrow_fs.FileSelector(f"{self._base}/{folder}", allow_not_found=True)
        for info in sorted(self._files.get_file_info(selector), key=lambda info: str(info.path)):
            if info.is_file:
                yield f"{folder}/{info.base_name}"

    def fetch(self, relative: str, *, anew: bool = False) -> Path:
        """The mirrored file, downloaded if it is not there."""
        target = self.root / relative
        if anew or not target.exists():
            make_folder(target.parent)
            write_whole(target, self.read(relative))
        return target

    def publish(self, relative: str) -> None:
        """Uploads a file that was written into the mirror."""
        self.write(relative, (self.root / relative).read_bytes())

    def remove(self, relative: str) -> None:
        """Removes an object, and what mirrors it."""
        (self.root / relative).unlink(missing_ok=True)
        if self.exists(relative):
            self._files.delete_file(f"{self._base}/{relative}")


def place_of(path: str | os.PathLike[str]) -> Place:
    """The place that a path or a URL names."""
    text = os.fspath(path)
    if "://" in text and not text.startswith("file://"):
        return ObjectStorePlace(text)
    return LocalPlace(Path(text.removeprefix("file://")).expanduser().absolute())


def _mirrors() -> Path:
    return Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "ledgerkit")
