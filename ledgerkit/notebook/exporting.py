"""A notebook as a page: readable without a kernel, a script or a network, whatever its outputs hold.

One rule: of every output the plainest form that people can read is shown, its HTML only after it was taken apart
(``sanitising``); and the page passes the output gate like all that leaves a ledger.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from ledgerkit.errors import ImportSourceError, MissingExtraError, NotebookRunError
from ledgerkit.notebook.html import Child, Safe, document, picture, static, tag
from ledgerkit.notebook.sanitising import sanitised
from ledgerkit.notebook.writing import write_page
from ledgerkit.safety.gate import check_output
from ledgerkit.safety.redaction import standard_redactor

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_LONGEST: Final = 20_000


def export_html(
    notebook: str | os.PathLike[str],
    to: str | os.PathLike[str],
    *,
    run: bool = False,
    allow: Collection[str] = (),
) -> Path:
    """Writes a notebook with its outputs as one HTML page that stands alone.

    Args:
        notebook: The notebook.
        to: The page, or a folder for it.
        run: Run it from top to bottom first, in its own folder; the notebook itself stays as it is.
        allow: Findings of the last scan for secrets that may pass, by name, or ``all``.

    Returns:
        Where the page is.

    Raises:
        ImportSourceError: If it is no notebook.
        MissingExtraError: If it is to be run and the extra ``notebook`` is not installed.
        NotebookRunError: If a cell of it stops with an error.
        OutputBlockedError: If the page holds what looks like a secret.
    """
    source = Path(notebook)
    content = _read(source)
    if run:
        content = _run(content, source)
    page = notebook_page(content, title=source.stem.replace("_", " "))
    check_output("The page", page, standard_redactor(), allow=allow)
    return write_page(page, to, source.stem)


def notebook_page(content: Mapping[str, Any], *, title: str) -> str:
    """A notebook's content (nbformat 4) as a page."""
    cells: list[Child] = []
    for one in cast(list[dict[str, Any]], content.get("cells", [])):
        source = _text(one.get("source"))
        if one.get("cell_type") == "markdown":
            cells.append(tag("div", _markdown(source), class_="lkp-words"))
        elif one.get("cell_type") == "code":
            cells.append(_code(source, one.get("outputs") or ()))
    return document(title, tag("main", *cells, class_="lk lkp"), styles=static("page.css"))


def _code(source: str, outputs: Sequence[Mapping[str, Any]]) -> Safe:
    shown = [output for one in outputs if (output := _output(one)) is not None]
    code = tag("details", tag("summary", "code"), tag("pre", source)) if source.strip() else None
    return tag("div", code, *shown, class_="lkp-cell")


def _output(output: Mapping[str, Any]) -> Safe | None:
    kind = output.get("output_type")
    if kind == "stream":
        return _plain(_text(output.get("text"))) if output.get("name") == "stdout" else None
    if kind == "error":
        return _plain("\n".join(_text(line) for line in output.get("traceback") or ()))
    data = cast(Mapping[str, Any], output.get("data") or {})
    if "text/html" in data:
        return tag("div", sanitised(_text(data["text/html"])))
    if "image/svg+xml" in data:
        return picture(_text(data["image/svg+xml"]), "picture")
    if (png := _png(_text(data.get("image/png")))) is not None:
        return tag("img", src="data:image/png;base64," + png, alt="picture")
    return _plain(_text(data["text/plain"])) if "text/plain" in data else None


def _png(encoded: str) -> str | None:
    """A picture in base64, if it is one."""
    plain = "".join(encoded.split())
    try:
        return plain if b64decode(plain, validate=True).startswith(b"\x89PNG") else None
    except ValueError:
        return None


def _plain(text: str) -> Safe:
    without = _ANSI.sub("", text)
    return tag("pre", without if len(without) <= _LONGEST else without[:_LONGEST] + " …")


def _markdown(source: str) -> Safe:
    """Words of a notebook; HTML in them is shown, not followed, and of links only their text stays."""
    try:
        import mistune
    except ImportError:
        return tag("pre", source)
    made = mistune.create_markdown(escape=True, plugins=["table"])(source)
    return sanitised(str(made))


def _read(source: Path) -> dict[str, Any]:
    try:
        content = json.loads(source.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ImportSourceError(f"{source} is no notebook that can be read: {error}.") from error
    if not isinstance(content, dict) or cast(dict[str, Any], content).get("nbformat") != 4:
        raise ImportSourceError(f"{source} is no notebook of format 4. Save it with a newer JupyterLab.")
    return cast(dict[str, Any], content)


def _run(content: dict[str, Any], source: Path) -> dict[str, Any]:
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError
    except ImportError as error:
        raise MissingExtraError.for_extra("notebook", "Running a notebook") from error
    text = json.dumps(content)
    node = cast(Any, nbformat.reads(text, as_version=4))  # pyright: ignore[reportUnknownMemberType]
    try:
        NotebookClient(node, timeout=600, resources={"metadata": {"path": str(source.parent)}}).execute()
    except CellExecutionError as error:
        number = sum(1 for cell in node.cells if cell.get("execution_count"))
        raise NotebookRunError(
            f"{source.name}, code cell {number} stopped with {error.ename}: {error.evalue}"
        ) from error
    return json.loads(json.dumps(node))


def _text(value: object) -> str:
    return "".join(map(str, cast(list[object], value))) if isinstance(value, list) else str(value or "")
