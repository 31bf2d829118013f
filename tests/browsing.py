"""Chromium for tests that drive a page: found, or skipped with the reason; where CI is set, a must."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_FLAGS: Final = (
    "--disable-quic", "--disable-background-networking", "--disable-component-update", "--no-first-run",
    "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip


def chromium_path() -> str:
    """Where Chromium is; skips the test where there is none, and fails it in CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        why = "Chromium is not installed: make browser-deps"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return found


@contextmanager
def browser() -> Generator[Browser]:
    """A headless Chromium that finds no host but this machine."""
    path = chromium_path()
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=path, args=list(_FLAGS))
        try:
            yield launched
        finally:
            launched.close()
