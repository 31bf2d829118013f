"""Each notebook of the repository as a page: run from a clean kernel, readable without one, and inert."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledgerkit.notebook import export_html
from tests.browsing import browser
from tests.conftest import ROOT
from tests.parsed import Parsed

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_a_page_that_reads_without_a_kernel(notebook: Path, tmp_path: Path) -> None:
    page = export_html(notebook, tmp_path, run=True)
    parsed = Parsed(page.read_text("utf-8"))
    assert not parsed.tags & {"script", "iframe", "object", "embed", "form", "link"}
    assert [key for key, _ in parsed.attributes if key.startswith("on")] == []
    assert "Traceback" not in "".join(parsed.texts)
    with browser() as opened:
        shown = opened.new_page()
        asked: list[str] = []
        said: list[str] = []
        shown.on("request", lambda request: asked.append(request.url))
        shown.on("console", lambda message: said.append(message.text))
        shown.goto(page.as_uri())
        assert shown.locator("h1").first.is_visible()
        assert shown.locator("table, img").count() > 0
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert said == []
