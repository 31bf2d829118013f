"""Reports: self-contained, inert, and with the figures of the frames."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import ledgerkit as lk
from ledgerkit.formatting import format_money
from tests.absent import run_without
from tests.conftest import NOW
from tests.parsed import Parsed

pytestmark = pytest.mark.long

ATTACK = "</style></title><script>document.title='owned'</script><img src=x onerror=alert(1)>\x1b[2J\u202eabc"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("hostile")
    envelope = {"sessionId": "hostile", "cwd": f"/home/{ATTACK}", "gitBranch": ATTACK, "version": ATTACK}
    call = {"type": "tool_use", "id": "t1", "name": f"Bash{ATTACK}", "input": {"command": ATTACK, "file_path": ATTACK}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": ATTACK, "is_error": True}
    usage = {"input_tokens": 10, "output_tokens": 5}
    records = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": ATTACK}},
        {
            "type": "assistant",
            "uuid": "a1",
            "parentUuid": "u1",
            "message": {"id": "m1", "model": "claude-opus-4-5", "content": [call], "usage": usage},
        },
        {"type": "user", "uuid": "r1", "parentUuid": "a1", "message": {"role": "user", "content": [result]}},
        {"type": "custom-title", "customTitle": ATTACK},
    ]
    log = folder / "hostile.jsonl"
    stamped = ({**envelope, "timestamp": f"2026-01-01T00:00:0{n}Z", **record} for n, record in enumerate(records))
    log.write_text("".join(json.dumps(record) + "\n" for record in stamped), "utf-8")
    ledger = lk.open(folder / "l", key=bytes(32))
    ledger.import_logs(log, now=NOW)
    return ledger


@pytest.fixture(scope="module")
def pages(hostile: lk.Ledger) -> dict[str, str]:
    run = hostile.run(hostile.runs()["run_id"][0])
    return {"run": run.report(generated_at=NOW), "ledger": hostile.report(generated_at=NOW)}


@pytest.mark.parametrize("which", ["run", "ledger"])
def test_hostile_log_text_is_text_on_the_page(pages: dict[str, str], which: str) -> None:
    page = Parsed(pages[which])
    assert page.tags.isdisjoint({"script", "iframe", "object", "embed", "form", "base"})
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    links = [value for name, value in page.attributes if name in ("src", "href", "xlink:href", "action")]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "document.title='owned'" in "".join(page.texts)
    assert not {"\x1b", "\u202e"} & set(pages[which])


@pytest.mark.parametrize("which", ["run", "ledger"])
def test_the_page_forbids_scripts_and_requests(pages: dict[str, str], which: str) -> None:
    policy = [value for name, value in Parsed(pages[which]).attributes if name == "content" and "default-src" in value]
    assert len(policy) == 1
    assert "default-src 'none'" in policy[0]
    assert "script-src" not in policy[0]


@pytest.mark.slow
def test_the_same_ledger_gives_the_same_bytes(hostile: lk.Ledger, pages: dict[str, str]) -> None:
    assert hostile.report(generated_at=NOW) == pages["ledger"]
    assert hostile.run(hostile.runs()["run_id"][0]).report(generated_at=NOW) == pages["run"]


def test_a_report_states_the_figures_of_the_ledger(demo_path: Path) -> None:
    with lk.open(demo_path) as ledger:
        shown = " ".join(Parsed(ledger.report(generated_at=NOW)).texts)
        assert format_money(ledger.cost([])["cost"].item()) in shown
        dearest = ledger.runs().sort("cost", descending=True, nulls_last=True).row(0, named=True)
        run = " ".join(Parsed(ledger.run(dearest["run_id"]).report(generated_at=NOW)).texts)
    assert format_money(dearest["cost"]) in run
    assert dearest["run_id"] in run


@pytest.mark.slow
def test_an_audit_report_shows_what_people_only_see_counted(demo_path: Path) -> None:
    with lk.open(demo_path) as ledger:
        held = ledger.sql(
            "select run_id, any_value(text) as text from parts "
            "where part_visibility = 'AUDIT_ONLY' and length(text) > 20 group by 1 order by 1 limit 1"
        )
        if held.is_empty():
            run = ledger.run(ledger.sql("select run_id from parts where part_visibility = 'AUDIT_ONLY' limit 1").item())
        else:
            run = ledger.run(held["run_id"][0])
        people, audit = (run.report(generated_at=NOW, audience=a) for a in (lk.Audience.PEOPLE, lk.Audience.AUDIT))
    assert "not for the audience" in people
    assert len(audit) > len(people)


@pytest.mark.slow
def test_a_report_without_the_extra_shows_tables_and_says_so(demo_path: Path, tmp_path: Path) -> None:
    program = """
from pathlib import Path
import ledgerkit as lk
with lk.open(sys.argv[2], create=False) as ledger:
    Path(sys.argv[3]).write_text(ledger.report(), "utf-8")
"""
    written = tmp_path / "plain.html"
    done = run_without("altair,vl_convert", program, str(demo_path), str(written))
    assert done.returncode == 0, done.stderr
    plain = Parsed(written.read_text("utf-8"))
    assert "table" in plain.tags
    assert plain.tags.isdisjoint({"img", "svg"})
    assert "agent-ledgerkit[charts]" in "".join(plain.texts)


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_no_script_of_a_log_runs_in_a_browser_and_nothing_is_requested(pages: dict[str, str], tmp_path: Path) -> None:
    asked: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = tmp_path / "hostile.html"
    # The page as it is, and one whose text names a server that listens: the second must be as silent as the first.
    page.write_text(pages["run"].replace("src=x", f"src=http://127.0.0.1:{server.server_port}/x"), "utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    flags += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={tmp_path / 'p'}"]
    command = ["chromium", *flags, "--virtual-time-budget=3000", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    server.shutdown()
    server.server_close()
    dom = Parsed(done.stdout)
    assert "127.0.0.1" in "".join(dom.texts)
    assert asked == []
    assert "script" not in dom.tags
    assert [value[:11] for name, value in dom.attributes if name == "src" and not value.startswith("data:image/")] == []
    assert "<title>owned</title>" not in done.stdout
