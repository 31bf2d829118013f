"""The claim check: its confusion tables on the labelled claims, and its time against that of importing the same runs.

Goal: checking costs less than importing. With a corpus of real logs (``LEDGERKIT_CORPUS``) the table of its labels too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Final

import polars as pl

import ledgerkit as lk
from tests.conftest import NOW, corpus_path
from tests.memory.labelled import (
    HALVES,
    HERE,
    SETS,
    Run,
    cases,
    checked,
    cited_verdicts,
    compared,
    precision_and_recall,
    set_rulings,
    table,
    written,
)

_PLACE: Final = ["run_id", "message_id", "part_index", "start", "end", "claim_class"]


def show(title: str, pairs: list[tuple[str, str, str]]) -> None:
    """Prints a confusion table with its figures."""
    agreed = sum(want == got for _, want, got in pairs)
    precision, recall = precision_and_recall(pairs)
    print(f"\n{title}: {agreed} of {len(pairs)} agree; contradicted: precision {precision:.2f}, recall {recall:.2f}")
    with pl.Config(
        tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_cols=10, tbl_formatting="ASCII_MARKDOWN"
    ):
        print(table(pairs))


def labelled() -> None:
    """The labelled sets of the tests."""
    for name in SETS:
        show(f"written claims, {name}{' half' if name in HALVES else ''}", compared(cases(name)))
    show("written claims, all", [pair for name in SETS for pair in compared(cases(name))])
    found = cited_verdicts()
    show("claims that cite", list(found.select("claim_id", "want", "verdict").iter_rows()))
    show("memories and summaries as wholes", list(set_rulings().select("id", "want", "verdict").iter_rows()))


def many(runs: int) -> None:
    """The check of many runs at once: the written ones, again and again under other ids."""
    copies = [one for n in range(runs // 100 + 1) for one in _renamed(n)][:runs]
    begin = time.perf_counter()
    found = checked(copies)
    print(f"\n{runs} runs, {found.height} claims, read and checked at once: {time.perf_counter() - begin:.2f} s")


def _renamed(number: int) -> list[Run]:
    labelled_cases = [{**case, "id": f"{case['id']}-{number}"} for name in SETS for case in cases(name)]
    return written(labelled_cases)


def corpus() -> None:
    """The labelled claims of real sessions, and the time of the check against that of the import."""
    logs = corpus_path()
    if not (logs / "expected.json").is_file():
        print("\nno corpus of real logs: its table is left out")
        return
    labels = pl.DataFrame(
        json.loads((HERE / "claims_corpus.json").read_text("utf-8"))["claims"],
        schema_overrides={"part_index": pl.Int32, "note": pl.String},
    )
    with tempfile.TemporaryDirectory() as folder, lk.open(Path(folder) / "runs.ledger", key=bytes(32)) as ledger:
        begin = time.perf_counter()
        ledger.import_logs(logs, now=NOW)
        imported = time.perf_counter()
        found = ledger.check_claims()
        done = time.perf_counter()
        runs = ledger.runs().height
    judged = labels.join(found, on=_PLACE, how="left").with_columns(pl.col("verdict").fill_null("none"))
    show("claims of real sessions", list(judged.select("run_id", "label", "verdict").iter_rows()))
    ratio = (done - imported) / (imported - begin)
    verdict = "met" if ratio < 1 else "MISSED"
    print(
        f"{runs} runs: import {imported - begin:.1f} s, check {done - imported:.1f} s, ratio {ratio:.2f}  < 1  "
        f"{verdict}"
    )


def main() -> None:
    """Prints the tables and the times."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=1_000)
    runs = options.parse_args().runs
    labelled()
    many(runs)
    corpus()


if __name__ == "__main__":
    main()
