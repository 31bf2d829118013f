"""Every link between pages leads somewhere, and every page can be found."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.conftest import ROOT
from tests.docs.reading import DOCS, NOTEBOOKS, PAGES, anchors, links, name_of


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = [target for target in links(page) if not _resolves(page, target)]
    assert broken == []


def _resolves(page: Path, target: str) -> bool:
    parts = urlsplit(target)
    if parts.scheme:
        return parts.scheme in ("http", "https", "mailto")
    file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not file.exists() or not file.is_relative_to(ROOT):
        return False
    return not parts.fragment or (file.suffix == ".md" and parts.fragment in anchors(file))


def test_a_link_to_a_heading_that_is_not_there_is_found() -> None:
    page = DOCS / "index.md"
    assert _resolves(page, "ledger-format.md#erasure")
    assert not _resolves(page, "ledger-format.md#no-such-heading")
    assert not _resolves(page, "no-such-page.md")


def test_the_index_lists_every_page() -> None:
    index = DOCS / "index.md"
    listed = {(index.parent / urlsplit(target).path).resolve() for target in links(index)}
    reference = DOCS / "reference" / "index.md"
    listed |= {(reference.parent / urlsplit(target).path).resolve() for target in links(reference)}
    missing = {name_of(path) for path in DOCS.rglob("*.md") if path not in listed} - {"docs/index.md"}
    assert missing == set()
    assert {name_of(path) for path in NOTEBOOKS if path not in listed} == set()


def test_pages_that_source_and_notebooks_name_are_there() -> None:
    # The demo agent speaks of pages in the workspaces that it makes.
    sources = [path for path in (ROOT / "ledgerkit").rglob("*.py") if "ledgerkit/agent/" not in path.as_posix()]
    named = {
        (name_of(source), page)
        for source in [*sources, *NOTEBOOKS]
        for page in re.findall(r"docs/[\w/-]+\.(?:md|json)", source.read_text("utf-8"))
    }
    assert len(named) > 3
    assert {(source, page) for source, page in named if not (ROOT / page).is_file()} == set()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name_of)
def test_links_in_notebooks_lead_to_files(notebook: Path) -> None:
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert [target for target in targets if not _resolves(notebook, target)] == []
