"""Pages as files. One rule: a page goes where it was told to, and what stands in the way is said."""

from __future__ import annotations

import os
from pathlib import Path

from ledgerkit.errors import ExportTargetError


def write_page(page: str, to: str | os.PathLike[str], name: str) -> Path:
    """Writes a page.

    Args:
        page: The page.
        to: Its file, or a folder for it.
        name: What its file is called in a folder, without the ending.

    Returns:
        Where it is.

    Raises:
        ExportTargetError: If it cannot be written.
    """
    target = Path(to)
    if target.is_dir() or not target.suffix:
        target = target / f"{name}.html"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, "utf-8")
    except OSError as error:
        raise ExportTargetError(f"{target} cannot be written: {error.strerror}.") from error
    return target
