"""Made durable: on disk, and not only on its way there.

A write is durable when its file was synced, and a new or renamed file when its folder was synced too. Delta Lake's
library syncs neither, so the store does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def sync_file(path: Path) -> None:
    """Waits until a file's content is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folders(folders: Iterable[Path]) -> None:
    """Waits until the entries of some folders are on disk."""
    for folder in sorted(set(folders)):
        sync_file(folder)


def make_folder(folder: Path) -> None:
    """Makes a folder and those above it, durably."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    sync_folders(one.parent for one in missing)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that it is there whole or not at all, after a power loss too; replaces what was there."""
    staged = path.with_name(f"{path.name}.{os.getpid()}.new")
    with staged.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    staged.replace(path)
    sync_file(path.parent)
