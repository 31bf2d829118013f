"""A JupyterLab server of a test's own: own port, own settings, no network, ended by its process id."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ledgerkit.notebook.lab import Lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

TOKEN: Final = "lab-test"
_START_S: Final = 60
_CELLS_MS: Final = 90_000
_OWN: Final = (
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
    "IPYTHONDIR",
)


@contextmanager
def running(lab: Lab, room: Path) -> Generator[str]:
    """Starts JupyterLab by the command that ``ledgerkit lab`` starts it by, and gives its address.

    Args:
        lab: The folder of notebooks.
        room: Folder for its settings and logs.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*lab.command(port=port, browser=False), "--allow-root", f"--IdentityProvider.token={TOKEN}",
               "--expose-app-in-browser", "--ServerApp.port_retries=0"]  # fmt: skip
    environment = {**lab.environment(), **{name: str(room / name.lower()) for name in _OWN}}
    environment["JUPYTERLAB_SETTINGS_DIR"] = str(lab.folder / ".jupyterlab-settings")
    environment["JUPYTER_PLATFORM_DIRS"] = "1"
    address = f"http://127.0.0.1:{port}"
    with (room / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT, cwd=room)
        try:
            _wait(address, server, room / "server.log")
            yield address
        finally:
            server.terminate()
            try:
                server.wait(timeout=15)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(timeout=15)


def _wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"{address}/api?token={TOKEN}", timeout=2).close()  # noqa: S310 - our own server
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text('utf-8', 'replace')[-3000:]}")


@dataclass
class Opened:
    """A notebook in a browser.

    Attributes:
        page: The page.
        said: Errors and warnings of its console.
        requests: Addresses that it asked for.
    """

    page: Page
    said: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])

    @property
    def notebook(self) -> Locator:
        """The notebook that is in view."""
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    def command(self, name: str, **arguments: Any) -> None:
        """Runs a command of JupyterLab, and waits until it is done."""
        self.page.evaluate("([name, args]) => window.jupyterapp.commands.execute(name, args)", [name, arguments])

    def run_all(self) -> None:
        """Runs all cells; a cell that fails fails the test with what it said."""
        self.command("notebook:run-all-cells")
        done = self.notebook.locator(".jp-OutputArea-output", has_text="ALL-DONE")
        failed = self.notebook.locator('[data-mime-type="application/vnd.jupyter.error"]')
        done.or_(failed).first.wait_for(state="attached", timeout=_CELLS_MS)
        assert failed.count() == 0, failed.first.inner_text()

    def theme(self, name: str) -> None:
        """Switches the theme."""
        self.command("apputils:change-theme", theme=name)
        self.page.locator(f"body[data-jp-theme-name='{name}']").wait_for(state="attached")


@contextmanager
def opened(browser: Browser, address: str, notebook: str, *, width: int = 1280, height: int = 900) -> Generator[Opened]:
    """Opens a notebook in a new page and waits until its kernel is ready."""
    page = browser.new_page(viewport={"width": width, "height": height})
    made = Opened(page)
    page.on("request", lambda request: made.requests.append(request.url))
    page.on("console", lambda message: made.said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: made.said.append(str(error)))
    page.goto(f"{address}/lab/workspaces/auto-t/tree/{notebook}?token={TOKEN}&reset")
    page.locator("#jp-main-statusbar").get_by_text(re.compile(r"\| Idle$")).wait_for(timeout=_CELLS_MS)
    try:
        yield made
    finally:
        page.close()


def connection_file(address: str, room: Path) -> Path:
    """The connection file of the one kernel that the server runs: how a test talks to the reader's own kernel."""
    with urllib.request.urlopen(f"{address}/api/kernels?token={TOKEN}", timeout=10) as answer:  # noqa: S310
        kernels = json.load(answer)
    assert len(kernels) == 1, kernels
    found = list((room / "jupyter_runtime_dir").rglob(f"kernel-{kernels[0]['id']}.json"))
    assert found
    return found[0]


def asked(connection: Path, code: str) -> str:
    """What an expression is in that kernel."""
    from jupyter_client.blocking.client import BlockingKernelClient

    client: Any = BlockingKernelClient(connection_file=str(connection))
    client.load_connection_file()
    client.start_channels()
    try:
        reply = client.execute("pass", user_expressions={"it": code}, reply=True, timeout=30)
        said = reply["content"]["user_expressions"]["it"]
        assert said["status"] == "ok", said
        return said["data"]["text/plain"]
    finally:
        client.stop_channels()


def write_notebook(path: Path, *cells: str) -> None:
    """Writes a notebook of code cells."""
    made: dict[str, Any] = {
        "cells": [
            {"cell_type": "code", "id": f"c{n}", "metadata": {}, "execution_count": None, "outputs": [], "source": cell}
            for n, cell in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(made), "utf-8")


def shut_kernels(address: str) -> None:
    """Ends every kernel of the server, so that the next test finds its own alone."""
    with urllib.request.urlopen(f"{address}/api/kernels?token={TOKEN}", timeout=10) as answer:  # noqa: S310
        kernels = json.load(answer)
    for kernel in kernels:
        url = f"{address}/api/kernels/{kernel['id']}?token={TOKEN}"
        request = urllib.request.Request(url, method="DELETE")  # noqa: S310
        urllib.request.urlopen(request, timeout=20).close()  # noqa: S310
