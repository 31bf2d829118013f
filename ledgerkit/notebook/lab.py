"""``ledgerkit lab``: JupyterLab on the notebooks of the package, with the demo ledger ready.

One rule: nothing of the reader's is overwritten, and nothing asks the internet.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ledgerkit.errors import MissingExtraError
from ledgerkit.notebook.demo import DEMO_VARIABLE, bundled, demo_ledger

_PACKAGES: Final = ("jupyterlab", "anywidget", "ipywidgets", "altair", "vl_convert")
_QUIET: Final = {
    "@jupyterlab/apputils-extension/notification.jupyterlab-settings": {"fetchNews": "false", "checkForUpdates": False},
}


@dataclass(frozen=True)
class Lab:
    """A folder of notebooks, ready to be opened.

    Attributes:
        folder: The folder.
        copied: Names of notebooks that were put there now; others were there already and are as they were.
        ledger: Where the demo ledger is.
    """

    folder: Path
    copied: tuple[str, ...]
    ledger: Path

    def command(self, *, port: int = 8888, browser: bool = True) -> list[str]:
        """The command that starts JupyterLab on the folder.

        Args:
            port: Its port; the next free one if it is taken.
            browser: Whether a browser is opened.
        """
        return [
            *(sys.executable, "-m", "jupyterlab", "--ip=127.0.0.1", f"--port={port}"),
            *(f"--ServerApp.root_dir={self.folder}", f"--LabApp.default_url=/lab/tree/{self.first}"),
            *("--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.news_url="),
            "--LabApp.extension_manager=readonly",
            *([] if browser else ["--no-browser"]),
        ]

    @property
    def first(self) -> str:
        """The notebook to begin with."""
        return min((path.name for path in self.folder.glob("*.ipynb")), default="")

    def environment(self) -> dict[str, str]:
        """Environment variables of the server, besides those that are there."""
        given = {DEMO_VARIABLE: str(self.ledger), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        if "JUPYTERLAB_SETTINGS_DIR" not in os.environ and not _user_settings().is_dir():
            given["JUPYTERLAB_SETTINGS_DIR"] = str(self.folder / ".jupyterlab-settings")
        return {**os.environ, **given}


def prepare_lab(folder: str | os.PathLike[str]) -> Lab:
    """Copies the notebooks to a folder, where they are not there yet, and makes the demo ledger beside them.

    Args:
        folder: The folder; made if it is not there.

    Raises:
        MissingExtraError: If the extra ``notebook`` is not installed.
    """
    if any(find_spec(name) is None for name in _PACKAGES):
        raise MissingExtraError.for_extra("notebook", "ledgerkit lab")
    place = Path(folder).absolute()
    place.mkdir(parents=True, exist_ok=True)
    copied = list[str]()
    for notebook in sorted(bundled("notebooks").glob("*.ipynb")):
        if not (place / notebook.name).exists():
            shutil.copyfile(notebook, place / notebook.name)
            copied.append(notebook.name)
    for name, settings in _QUIET.items():
        path = place / ".jupyterlab-settings" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings), "utf-8")
    ledger = place / "demo.ledger"
    demo_ledger(ledger).close()
    return Lab(place, tuple(copied), ledger)


def _user_settings() -> Path:
    from jupyterlab import commands  # pyright: ignore[reportMissingTypeStubs]

    return Path(str(commands.get_user_settings_dir()))  # pyright: ignore[reportUnknownArgumentType]
