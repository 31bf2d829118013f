"""Where a record holds the prompt whole and its usage, every cent belongs to a part: all lines are zero."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.agent import session, usage
from ledgerkit.agent.demo import make_demo
from ledgerkit.agent.exchange import Block, ToolSpec, ToolUse
from tests.conftest import NOW

pytestmark = pytest.mark.long

_counted_text = usage.content_text


def _as_recorded(block: Block | ToolSpec | str) -> str:
    if isinstance(block, ToolUse):
        return json.dumps(dict(block.arguments), ensure_ascii=False, separators=(",", ":"))
    return _counted_text(block)


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> lk.Ledger:
    """Runs of the demo's agent whose prompts hold nothing that its record does not: no schemas, wrappers or framing."""
    monkeypatch.setattr(usage, "FRAMING", 0)
    monkeypatch.setattr(usage, "content_text", _as_recorded)
    monkeypatch.setattr(session, "TOOLS", ())
    monkeypatch.setattr(session, "repository_reminder", lambda text, path: text)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    make_demo(tmp_path / "runs", seeds=[2], format="ledgerkit", tasks=["fix-discount"], jobs=1)
    ledger = lk.open(tmp_path / "l", key=bytes(32))
    ledger.import_logs(tmp_path / "runs", redact="off", now=NOW)
    return ledger


def test_no_line_is_left_where_everything_is_recorded(whole: lk.Ledger) -> None:
    lost = whole.sql("select distinct run_id from tool_calls where result_count = 0")["run_id"]
    runs = whole.runs().filter(
        pl.col("relation").is_null(), pl.col("compactions") == 0, ~pl.col("run_id").is_in(lost.implode())
    )["run_id"]
    rows = whole.attribute_cost(["run_id"]).filter(pl.col("run_id").is_in(runs.implode()))
    assert runs.len() >= 2
    assert set(rows["run_id"]) == set(runs)
    assert rows.filter(pl.col("line").is_not_null() & (pl.col("cost") != 0)).is_empty()
    assert rows["cost"].sum() == whole.cost("run_id").filter(pl.col("run_id").is_in(runs.implode()))["cost"].sum() > 0
