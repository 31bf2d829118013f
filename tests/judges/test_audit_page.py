"""The page of an audit report in Chromium, from a file: it shows its answers, asks for nothing and runs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import ledgerkit as lk
from tests.browsing import browser
from tests.conftest import NOW
from tests.judges import made

pytestmark = pytest.mark.browser
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def test_the_page_works_from_a_file_and_what_is_hostile_in_it_is_inert(tmp_path: Path) -> None:
    with lk.open(tmp_path / "runs.ledger", key=bytes(32)) as ledger:
        run = made.Recorded(ledger, f"run-{HOSTILE}", branch=HOSTILE)
        run.task(HOSTILE)
        run.answer(HOSTILE)
        run.call("Bash", HOSTILE, command=f"echo {HOSTILE}", status="FAILED")
        run.close()
        page_path = tmp_path / "audit.html"
        page_path.write_text(ledger.audit_report(f"run-{HOSTILE}", generated_at=NOW).to_html(), "utf-8")
    asked: list[str] = []
    problems: list[str] = []
    with browser() as chromium:
        page = chromium.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.goto(page_path.as_uri())
        assert page.title() == f"Run run-{HOSTILE} · ledgerkit"
        assert page.locator("h2").count() == 13
        page.get_by_role("link", name="Which commands were run?").click()
        assert page.url.endswith("#q4")
        assert page.locator("#q4").is_visible()
        assert page.get_by_text(HOSTILE).first.is_visible()
        assert page.locator("script, img").count() == 0
    assert asked == [page_path.as_uri()]
    assert problems == []
