"""The demo runs and the notebooks that come with the package, and a ledger made of the runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import platformdirs

from ledgerkit import errors
from ledgerkit.ledger import Ledger
from ledgerkit.ledger import open as open_ledger
from ledgerkit.safety.redaction import RedactionKey, standard_redactor

DEMO_VARIABLE: Final = "LEDGERKIT_DEMO_LEDGER"
"""Environment variable that says where the demo ledger stands; ``ledgerkit lab`` sets it."""
_IMPORTED_AT: Final = datetime(2026, 3, 1, tzinfo=UTC)


def bundled(name: str) -> Path:
    """A folder that comes with the package: ``notebooks`` or ``data``.

    Raises:
        UnknownNameError: If this installation has no such folder.
    """
    here = Path(__file__).resolve().parent
    for place in (here / "bundled" / name, here.parent.parent / name):
        if place.is_dir():
            return place
    raise errors.UnknownNameError(
        f"This installation of ledgerkit has no folder {name!r}; install it from its wheel.", name=name
    )


def demo_ledger(path: str | os.PathLike[str] | None = None) -> Ledger:
    """The ledger of the demo runs: 48 runs of a small agent on eight tasks, and their subagents.

    It is made at the first call, in some seconds, and opened at the next ones. All runs were made by a program, with
    faults planted in them; no person and no model wrote them.

    Args:
        path: Where it stands. If not given: where ``ledgerkit lab`` put it, or in the user's cache folder.
    """
    source = bundled("data")
    where = Path(path or os.environ.get(DEMO_VARIABLE) or _cached(source))
    if not (where / "ledger.json").is_file():
        where.parent.mkdir(parents=True, exist_ok=True)
        _make(where, source)
    return _opened(where)


def _opened(where: Path) -> Ledger:
    ledger = open_ledger(where, key=bytes(32))
    ledger.redactor = standard_redactor(RedactionKey.public())  # the same demo for everybody
    return ledger


def _make(where: Path, source: Path) -> None:
    """Imports beside the place and moves the whole there, so that two processes do not meet in it."""
    room = Path(tempfile.mkdtemp(prefix="demo-", dir=where.parent))
    try:
        with _opened(room / "demo.ledger") as made:
            made.import_logs(source, now=_IMPORTED_AT)
        try:
            (room / "demo.ledger").rename(where)
        except OSError:
            if not (where / "ledger.json").is_file():  # another process was not first: it is a real failure
                raise
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _cached(source: Path) -> Path:
    from ledgerkit import __version__

    names = sorted(f"{path.relative_to(source)} {path.stat().st_size}" for path in source.rglob("*") if path.is_file())
    state = hashlib.sha256("\n".join([__version__, *names]).encode()).hexdigest()[:12]
    return platformdirs.user_cache_path("ledgerkit") / f"demo-{state}.ledger"
