"""What a cell shows of core objects: escaped, self-contained, the same each time, and text where nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit import notebook
from ledgerkit.notebook.hooks import bundle_of
from ledgerkit.notebook.html import document, tag
from tests.absent import run_without
from tests.notebook.hostile import ATTACK, hostile_ledger
from tests.parsed import Parsed

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lk.Ledger]:
    with hostile_ledger(tmp_path_factory.mktemp("hostile")) as ledger:
        yield ledger


@pytest.fixture(scope="module")
def demo(demo_path: Path) -> Iterator[lk.Ledger]:
    with lk.open(demo_path) as ledger:
        yield ledger


def html_of(shown: object) -> str:
    bundle = shown._repr_mimebundle_() if hasattr(shown, "_repr_mimebundle_") else bundle_of(shown)  # pyright: ignore
    return str(bundle["text/html"])  # pyright: ignore


@pytest.fixture(scope="module")
def attacked(hostile: lk.Ledger) -> dict[str, object]:
    return shown_of(hostile)


@pytest.fixture(scope="module")
def plain(demo: lk.Ledger) -> dict[str, object]:
    return shown_of(demo)


def shown_of(ledger: lk.Ledger) -> dict[str, object]:
    run = ledger.run(ledger.runs()["run_id"][0])
    return {
        "ledger": ledger,
        "run": run,
        "replay": run.replay(),
        "step": run.replay().step(1),
        "claims": notebook.claim_cards(ledger.check_claims()),
        "memory": notebook.memory_card(ledger.memory(run.run_id)),
        "table": notebook.show(run.parts(), title=ATTACK),
        "view": notebook.views(ledger).parts,
        "evaluation": ledger.evaluate(["FullHistory"], metrics=["validity"], jobs=1),
    }


_NAMES = ("ledger", "run", "replay", "step", "claims", "memory", "table", "view", "evaluation")


@pytest.mark.parametrize("name", _NAMES)
def test_hostile_text_stays_text_in_every_card(attacked: dict[str, object], name: str) -> None:
    page = html_of(attacked[name])
    parsed = Parsed(page)
    assert not parsed.tags & {"script", "iframe", "svg", "a", "object", "form", "link", "meta"}
    acting = [key for key, _ in parsed.attributes if key.startswith("on") or key in ("href", "srcdoc", "style")]
    assert acting == []
    assert all(value.startswith("data:image/") for key, value in parsed.attributes if key == "src")
    assert "\x1b" not in page
    assert "\u202e" not in page


@pytest.mark.parametrize("name", _NAMES)
def test_hostile_text_acts_on_no_terminal(attacked: dict[str, object], name: str) -> None:
    shown = attacked[name]
    bundle = shown._repr_mimebundle_()  # pyright: ignore
    text = str(bundle["text/plain"])  # pyright: ignore
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("name", _NAMES)
def test_a_card_is_one_piece_with_its_style_and_bounded(plain: dict[str, object], name: str) -> None:
    page = html_of(plain[name])
    assert page.startswith("<style>")
    assert "url(" not in page
    assert "http://" not in "".join(value for _, value in Parsed(page).attributes)
    assert len(page.encode()) < 400_000
    assert page == html_of(plain[name])


def test_a_ledger_card_says_the_figures_that_the_calls_say(demo: lk.Ledger) -> None:
    texts = Parsed(html_of(demo)).texts
    runs = demo.runs()
    assert f"{runs.height}" in texts
    assert f"{runs['steps'].sum()}" in texts
    assert "$1.97" in texts
    assert f"${demo.cost('model')['cost'].sum():.2f}" == "$1.97"


def test_a_step_card_shows_what_the_step_holds(demo: lk.Ledger) -> None:
    step = demo.run(demo.runs()["run_id"][0]).replay().step(1)
    text = " ".join(Parsed(html_of(step)).texts)
    assert "Step 1" in text
    for part in step.wrote["tool_name"].drop_nulls():
        assert part in text


def test_a_plain_repr_is_not_touched(demo: lk.Ledger) -> None:
    assert repr(demo).startswith("Ledger(")


def test_an_empty_ledger_says_how_to_fill_it(tmp_path: Path) -> None:
    with lk.open(tmp_path / "empty.ledger") as ledger:
        assert "import_logs" in html_of(ledger)


def test_iteration_over_a_replay_is_what_it_was(demo: lk.Ledger) -> None:
    replay = demo.run(demo.runs()["run_id"][0]).replay()
    assert [step.number for step in replay] == list(range(len(replay)))


def test_a_table_formats_by_name_and_type_and_says_how_to_replay() -> None:
    frame = pl.DataFrame(
        {
            "run_id": ["run-00000001"],
            "step": [4],
            "cost": pl.Series(["0.0123"], dtype=pl.String).cast(pl.Decimal(18, 9)),
            "input_tokens": [1_234_567],
            "duration_s": [75.0],
            "verdict": ["failed"],
            "nothing": pl.Series([None], dtype=pl.String),
        }
    )
    texts = Parsed(html_of(notebook.show(frame))).texts
    for said in ("$0.0123", "1.2 M", "1 min 15 s", "failed", 'ledger.run("00000001").replay().step(4)'):
        assert said in texts
    assert "nothing" not in texts, "a column without any value is left out"


def test_a_table_gives_its_frame_back_and_says_what_it_leaves_out() -> None:
    frame = pl.DataFrame({"n": range(100)})
    table = notebook.show(frame, limit=10)
    assert table.frame.equals(frame)
    assert "100 rows, the first 10 of them shown" in html_of(table)
    with pytest.raises(lk.UnknownNameError, match="No column 'm'"):
        notebook.show(frame, ["m"])


def test_claims_stand_in_the_order_of_doubt_with_rule_and_evidence(demo: lk.Ledger) -> None:
    claims = demo.check_claims()
    cards = notebook.claim_cards(claims, limit=claims.height)
    page = html_of(cards)
    first, last = page.index(">contradicted<"), page.index(">supported<")
    assert first < last
    assert page.count("<article") == claims.height
    evidence = claims.filter(verdict="contradicted")["evidence"].explode().drop_nulls()
    assert all(reference in page for reference in evidence)


def test_an_evaluation_never_stands_without_its_caveats(demo: lk.Ledger) -> None:
    result = demo.evaluate(["FullHistory"], metrics=["validity"], jobs=1)
    text = "".join(Parsed(html_of(result)).texts)
    assert all(caveat in text for caveat in result.caveats)


def test_only_this_module_makes_html_from_strings() -> None:
    assert tag("p", "<b>", title='"') == '<p title="&quot;">&lt;b&gt;</p>'
    assert "script-src" not in document("x")
    assert "default-src &#x27;none&#x27;" in document("x")


def test_without_the_extra_there_is_html_and_a_widget_says_what_to_install() -> None:
    program = """
import ledgerkit as lk, tempfile
from ledgerkit import notebook
from ledgerkit.replay import Replay
from ledgerkit.notebook.hooks import bundle_of
ledger = lk.open(tempfile.mkdtemp() + "/l")
assert "text/html" in bundle_of(ledger)
try:
    notebook.ReplayWidget
except lk.MissingExtraError as error:
    print(error)
"""
    done = run_without("anywidget,IPython,altair,vl_convert,jupyterlab,ipywidgets", program)
    assert done.returncode == 0, done.stderr
    assert "agent-ledgerkit[notebook]" in done.stdout
