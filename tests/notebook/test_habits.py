"""Working habits: names complete themselves, what is shown can be asked for again, long calls show how far they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit import notebook, tables
from ledgerkit.notebook.cell_progress import CellProgress
from ledgerkit.notebook.demo import DEMO_VARIABLE, bundled
from ledgerkit.notebook.lab import prepare_lab

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def demo(demo_path: Path) -> Iterator[lk.Ledger]:
    with lk.open(demo_path) as ledger:
        yield ledger


def test_names_of_tables_and_columns_complete_themselves(demo: lk.Ledger) -> None:
    views: Any = notebook.views(demo)
    assert dir(views) == sorted(tables.VIEWS)
    assert views._ipython_key_completions_() == list(tables.VIEWS)
    assert set(demo.describe("tool_calls")["column"]) <= set(dir(views.tool_calls))
    assert views.tool_calls._ipython_key_completions_() == demo.describe("tool_calls")["column"].to_list()


def test_a_wrong_name_says_the_nearest(demo: lk.Ledger) -> None:
    views = notebook.views(demo)
    with pytest.raises(lk.UnknownNameError, match="'tool_calls'"):
        _ = views.tool_call
    with pytest.raises(lk.UnknownNameError, match="'tool_name'"):
        _ = views.tool_calls.tool_nam
    with pytest.raises(lk.UnknownNameError, match="'status'"):
        views.tool_calls.where(statu="FAILED")


def test_a_column_is_an_expression(demo: lk.Ledger) -> None:
    view = notebook.views(demo).tool_calls
    failed = view.frame().filter(view.status == "FAILED")
    assert failed.height == view.where(status="FAILED").frame().height > 0


@pytest.mark.parametrize("value", ["FAILED", "it's", 'a"b', None, "'; drop table x; --"])
def test_sql_polars_and_frame_say_the_same(demo: lk.Ledger, value: str | None) -> None:
    keys = ("run_id", "tool_call_id", "tool_name", "status")
    view = (
        notebook.views(demo).tool_calls.where(status=value).select(*keys).sort("tool_call_id", descending=True).head(7)
    )
    by_sql = demo.sql(view.as_sql())
    by_polars = eval(view.as_polars(), {"ledger": demo, "pl": pl})  # noqa: S307 - the text is what is tested
    assert view.frame().equals(by_sql)
    assert by_sql.equals(by_polars)


def test_what_a_view_shows_can_be_copied(demo: lk.Ledger) -> None:
    view: Any = notebook.views(demo).model_calls.head(3)
    page = str(view._repr_mimebundle_()["text/html"])
    assert "select *" in page
    assert "ledger.scan(&#x27;model_calls&#x27;)" in page
    assert ".head(3).collect()" in page


def test_progress_is_drawn_seldom_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(n * 0.01 for n in range(1_000))
    shown: list[dict[str, str]] = []
    bar = CellProgress("Importing", clock=lambda: next(now))

    def keep(_: CellProgress, bundle: dict[str, str]) -> None:
        shown.append(bundle)
        object.__setattr__(bar, "_handle", object())

    monkeypatch.setattr(CellProgress, "_show", keep)
    for done in range(1, 101):
        bar(done, 100, "<file>")
    assert len(shown) < 12
    assert "100%" in shown[-1]["text/plain"]
    assert "&lt;file&gt;" in shown[0]["text/html"]


@pytest.mark.long
def test_progress_fits_import_and_evaluation(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]}
    (tmp_path / "chat.jsonl").write_text(json.dumps(chat) + "\n", "utf-8")
    with lk.open(tmp_path / "l") as ledger:
        ledger.import_logs(tmp_path / "chat.jsonl", progress=notebook.progress("Importing"))
        result = ledger.evaluate(["FullHistory"], jobs=1, progress=notebook.progress("Evaluating"))
    assert result.runs.height == 1


@pytest.mark.slow
def test_the_demo_ledger_is_made_once_and_the_same_for_everybody(tmp_path: Path, demo: lk.Ledger) -> None:
    with notebook.demo_ledger(tmp_path / "demo.ledger") as first:
        assert first.runs()["run_id"].sort().equals(demo.runs()["run_id"].sort())
        commits = first.commits()
    with notebook.demo_ledger(tmp_path / "demo.ledger") as second:
        assert second.commits().equals(commits), "nothing is imported again"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.ledger"]


def test_a_lab_copies_what_is_not_there_and_overwrites_nothing(tmp_path: Path, demo_path: Path) -> None:
    pytest.importorskip("jupyterlab", reason="the extra notebook is not installed")
    (tmp_path / "demo.ledger").symlink_to(demo_path)
    first = bundled("notebooks") / "01_first_look.ipynb"
    (tmp_path / first.name).write_text("mine", "utf-8")
    lab = prepare_lab(tmp_path)
    assert (tmp_path / first.name).read_text("utf-8") == "mine"
    assert first.name not in lab.copied
    assert len(lab.copied) == len(list(bundled("notebooks").glob("*.ipynb"))) - 1
    assert prepare_lab(tmp_path).copied == ()
    assert lab.environment()[DEMO_VARIABLE] == str(tmp_path / "demo.ledger")
    command = " ".join(lab.command(browser=False))
    assert "NeverCheckForUpdate" in command
    assert "--LabApp.news_url= " in command


_NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", _NOTEBOOKS, ids=lambda path: path.stem)
def test_each_notebook_has_words_parameters_and_a_claim_that_it_asserts(path: Path) -> None:
    cells: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cells"]
    assert cells[0]["cell_type"] == "markdown"
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", ())]
    assert len(tagged) == 1
    assert "LEDGER = None" in "".join(tagged[0]["source"])
    assert any("assert " in "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert all(not cell.get("outputs") for cell in cells)
