"""Notebooks as pages: readable without a kernel, and nothing in them acts, whatever the outputs hold."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.notebook import export_html
from ledgerkit.notebook.exporting import notebook_page
from ledgerkit.notebook.sanitising import sanitised
from tests.browsing import browser
from tests.notebook.hostile import ATTACK
from tests.parsed import Parsed

_ACTING = {"script", "iframe", "svg", "a", "object", "embed", "form", "link", "base", "input", "button", "style"}


def notebook_of(*outputs: dict[str, Any], words: str = "") -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": "code",
        "source": ["1 + 1"],
        "outputs": list(outputs),
        "metadata": {},
        "execution_count": 1,
    }
    said: dict[str, Any] = {"cell_type": "markdown", "source": [words], "metadata": {}}
    return {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [said, cell]}


def html_output(html: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {"text/html": [html], "text/plain": ["x"]}, "metadata": {}}


def hostile_notebook() -> dict[str, Any]:
    png = {"output_type": "display_data", "data": {"image/png": f'" onerror="x{ATTACK}'}, "metadata": {}}
    script = {
        "output_type": "display_data",
        "data": {"application/javascript": "document.title='owned'"},
        "metadata": {},
    }
    error = {"output_type": "error", "ename": "E", "evalue": ATTACK, "traceback": [f"\x1b[31m{ATTACK}\x1b[0m"]}
    stream = {"output_type": "stream", "name": "stdout", "text": [ATTACK]}
    words = f"# Title\n\n{ATTACK}\n\n[go](javascript:document.title='owned') ![x](http://example.invalid/x.png)"
    return notebook_of(html_output(f"<div>{ATTACK}</div>"), png, script, error, stream, words=words)


def test_a_page_of_a_hostile_notebook_holds_nothing_that_acts() -> None:
    page = notebook_page(hostile_notebook(), title=ATTACK)
    body = page[page.index("<body>") :]
    parsed = Parsed(body)
    assert not parsed.tags & _ACTING
    assert [key for key, _ in parsed.attributes if key.startswith("on") or key in ("href", "style", "srcdoc")] == []
    assert [value for key, value in parsed.attributes if key == "src" and not value.startswith("data:image/")] == []
    assert "owned" in "".join(parsed.texts), "it stays readable"
    assert "\x1b" not in page
    assert "Content-Security-Policy" in page


def test_what_our_own_cards_and_polars_show_stays(tmp_path: Path) -> None:
    row = '<table><tbody><tr><td class="right">1,234</td></tr></tbody></table>'
    table = f'<style>.a{{}}</style><section class="lk">{row}</section>'
    picture = '<img src="data:image/svg+xml;base64,PHN2Zy8+" alt="chart">'
    page = notebook_page(notebook_of(html_output(table + picture), words="# Words\n\n| a |\n|---|\n| b |"), title="t")
    assert '<td class="right">1,234</td>' in page
    assert 'src="data:image/svg+xml;base64,PHN2Zy8+"' in page
    assert "<h1>Words</h1>" in page
    assert "<td>b</td>" in page


@given(
    st.text(alphabet=string.ascii_letters[:6] + "<>/=\"' &;!-[]\x1b\u202e", max_size=80),
    st.sampled_from(sorted(_ACTING)),
)
def test_nothing_gets_through_however_it_is_broken(text: str, tag: str) -> None:
    html = f"<p {text}<{tag} {text}>{text}</{tag}><img src={text}><{tag.upper()}/{text}>{text}"
    clean = sanitised(html)
    parsed = Parsed(clean)
    assert not parsed.tags & _ACTING
    assert all(key in ("class", "title", "alt", "src") or not key.startswith("on") for key, _ in parsed.attributes)
    assert not any(key == "src" and not value.startswith("data:image/") for key, value in parsed.attributes)
    assert sanitised(clean) == clean


def test_a_notebook_with_a_secret_is_not_written(tmp_path: Path) -> None:
    secret = "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=36))
    stream = {"output_type": "stream", "name": "stdout", "text": [f"export GITHUB_TOKEN=ghp_{secret}"]}
    (tmp_path / "n.ipynb").write_text(json.dumps(notebook_of(stream)), "utf-8")
    with pytest.raises(lk.OutputBlockedError):
        export_html(tmp_path / "n.ipynb", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_no_notebook_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text("{", "utf-8")
    (tmp_path / "b.ipynb").write_text('{"nbformat": 3}', "utf-8")
    for name in ("a.ipynb", "b.ipynb", "c.ipynb"):
        with pytest.raises(lk.ImportSourceError, match=name):
            export_html(tmp_path / name, tmp_path)


@pytest.mark.slow
def test_a_notebook_is_run_and_left_as_it_was(tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="the extra notebook is not installed")
    source = tmp_path / "n.ipynb"
    content = notebook_of()
    content["cells"][1]["source"] = ["print(6 * 7)"]
    source.write_text(json.dumps(content), "utf-8")
    before = source.read_bytes()
    page = export_html(source, tmp_path / "out", run=True)
    assert page == tmp_path / "out" / "n.html"
    assert "<pre>42\n</pre>" in page.read_text("utf-8")
    assert source.read_bytes() == before


@pytest.mark.browser
def test_a_page_asks_for_nothing_and_runs_nothing_in_a_browser(tmp_path: Path) -> None:
    (tmp_path / "hostile.ipynb").write_text(json.dumps(hostile_notebook()), "utf-8")
    page = export_html(tmp_path / "hostile.ipynb", tmp_path)
    requests: list[str] = []
    said: list[str] = []
    with browser() as started:
        shown = started.new_page()
        shown.on("request", lambda request: requests.append(request.url))
        shown.on("console", lambda message: said.append(message.text))
        shown.goto(page.as_uri())
        shown.wait_for_timeout(300)
        assert shown.title() == "hostile"
        assert "owned" in shown.locator("main").inner_text()
    assert [url for url in requests if not url.startswith("data:")] == [page.as_uri()]
    assert said == []


def test_a_cell_that_stops_is_named(tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="the extra notebook is not installed")
    stopping = notebook_of()
    stopping["cells"][1]["source"] = ["1 / 0"]
    stopping["cells"][1]["outputs"] = []
    path = tmp_path / "stops.ipynb"
    path.write_text(json.dumps(stopping))
    with pytest.raises(lk.NotebookRunError, match=r"stops\.ipynb, code cell 1 stopped with ZeroDivisionError"):
        export_html(path, tmp_path / "out", run=True)
    assert not (tmp_path / "out").exists()
