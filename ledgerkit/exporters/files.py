"""Files of an export: made beside their place, and moved there when all of them are made and may leave.

Nothing that was there is overwritten unasked, and an export that fails leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from ledgerkit.errors import ExportTargetError


class Staging:
    """Where the files of an export wait. Use it with ``with``.

    Args:
        target: A folder, or a file if its name ends with ``suffix``.
        suffix: End of the files' names.
        overwrite: Whether files of the same names may be replaced.

    Raises:
        ExportTargetError: If something is there that may not be replaced.
    """

    def __init__(self, target: Path, suffix: str, *, overwrite: bool) -> None:
        self._target = target
        self._suffix = suffix
        self._overwrite = overwrite
        self._is_file = target.suffix == suffix and not target.is_dir()
        self._folder = target.parent if self._is_file else target
        self._names: list[str] = []
        if self._folder.exists() and not self._folder.is_dir():
            raise ExportTargetError(f"{self._folder} is no folder. Give another path.")
        if self._is_file:
            self._refuse(target)

    def __enter__(self) -> Self:
        self._made = [folder for folder in (self._folder, *self._folder.parents) if not folder.exists()]
        self._folder.mkdir(parents=True, exist_ok=True)
        self._waiting = Path(tempfile.mkdtemp(prefix=".export-", dir=self._folder))
        return self

    def add(self, name: str, content: bytes) -> None:
        """Writes a file where it waits.

        Raises:
            ExportTargetError: If it may not stand in its place, or is the second of a single file.
        """
        if self._is_file and self._names:
            raise ExportTargetError(
                f"The runs make more than one document, and {self._target} is one file. Give a folder, or fewer runs."
            )
        place = self._target if self._is_file else self._folder / f"{name}{self._suffix}"
        self._refuse(place)
        with (self._waiting / place.name).open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self._names.append(place.name)

    def place(self) -> list[Path]:
        """Moves the files to their places, and says where these are."""
        places = [self._folder / name for name in self._names]
        for each in places:
            self._refuse(each)
        for each in places:
            (self._waiting / each.name).replace(each)
        self._made = []
        return places

    def _refuse(self, place: Path) -> None:
        if place.is_dir() or (not self._overwrite and place.exists()):
            raise ExportTargetError(f"{place} is there already. Give another path, or ask to overwrite it.")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._waiting, ignore_errors=True)
        for folder in self._made:  # what this export made itself, the innermost first
            folder.rmdir()
