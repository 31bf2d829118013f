"""``ledgerkit lab``: JupyterLab on the notebooks, with the demo ledger ready."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ledgerkit.cli.failing import explained_errors
from ledgerkit.cli.output import console, note, text
from ledgerkit.formatting import plural

if TYPE_CHECKING:
    from ledgerkit.notebook.lab import Lab


@click.command("lab")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("ledgerkit-lab"))
@click.option("--port", default=8888, show_default=True, help="Port; the next free one if it is taken.")
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@click.option("--prepare", is_flag=True, help="Make the folder ready, and do not start JupyterLab.")
@click.option("--jupyter", "options", metavar="OPTION", multiple=True,
              help="An option for JupyterLab itself, as in --jupyter=--allow-root. May be repeated.")  # fmt: skip
@click.option("--pages", type=click.Path(path_type=Path, file_okay=False), metavar="OUT",
              help="Run the notebooks and write each as a page that needs no kernel, instead.")  # fmt: skip
def lab_command(
    folder: Path, port: int, no_browser: bool, prepare: bool, options: tuple[str, ...], pages: Path | None
) -> None:
    """Open JupyterLab on the notebooks, with the demo ledger ready.

    The notebooks are copied to FOLDER (ledgerkit-lab if not given). What is there already stays as it is.
    """
    from ledgerkit.notebook.lab import prepare_lab

    with explained_errors():
        lab = prepare_lab(folder)
    said = (
        f"{plural(len(lab.copied), 'notebook')} copied to {lab.folder}" if lab.copied else f"Notebooks in {lab.folder}"
    )
    note(f"{said}; demo ledger {lab.ledger.name}.", "")
    if pages is not None:
        _write_pages(lab, pages)
    if prepare or pages is not None:
        return
    command = [*lab.command(port=port, browser=not no_browser), *options]
    try:
        code = subprocess.run(command, env=lab.environment(), check=False).returncode  # noqa: S603 - our own interpreter
    except KeyboardInterrupt:
        return
    if code:
        raise click.ClickException(f"JupyterLab ended with exit code {code}.")


def _write_pages(lab: Lab, out: Path) -> None:
    from ledgerkit.notebook import export_html

    os.environ |= lab.environment()  # the notebooks' kernels are children of this process
    for notebook in sorted(lab.folder.glob("*.ipynb")):
        with explained_errors():
            page = export_html(notebook, out, run=True)
        console().print(text(f"{page}"))
