"""Drill 1: a build log that is far too long for a context."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from ledgerkit.agent.drills.report import Drill, Point
from ledgerkit.agent.drills.scene import RUN, Scene, call, ends
from ledgerkit.strategies import FullHistory, HeadTail

LINES: Final = 9_000
WINDOW: Final = 8_000
_FAILING: Final = "tests/test_total.py::test_discount"
_BUILD: Final = f"""\
#!/bin/sh
awk 'BEGIN {{ for (i = 1; i <= {LINES}; i++) print "[INFO] Downloading artifact " i " of {LINES}" }}'
echo "FAILED {_FAILING} - AssertionError: 90 != 100"
echo "========================= 1 failed, 41 passed in 3.12s ========================="
exit 1
"""


def carry_out(folder: Path, broken: bool) -> list[Point]:  # noqa: FBT001 - the form of a drill
    """The agent runs a check that prints thousands of lines; broken, its context takes everything in full."""
    scene = Scene(folder)
    scene.command("pytest", _BUILD)
    script = [
        call("run_command", "The task wants the suite to pass, so run it.", command="./pytest tests"),
        ends("FINISH_FAILED", "The suite fails."),
    ]
    with scene.ledger() as ledger:
        scene.run(ledger, "Make the suite pass.", script)
        run = ledger.run(RUN)
        row = run.parts().filter(pl.col("kind") == "TOOL_CALL_RESULT").row(0, named=True)
        refs: list[str] = row["artifact_refs"] or []
        whole = ledger.artifact(refs[0])[0] if refs else b""
        kept = whole.count(b"Downloading artifact")
        strategy = FullHistory() if broken else HeadTail()
        context = run.project(1, strategy, None if broken else WINDOW)
        text = context.to_json()
        noise = text.count("Downloading artifact")
        problems = [one.problem for one in ledger.memory(RUN).open_problems]
        found = ledger.search(f"Downloading artifact {LINES // 2} ").height
    return [
        Point(
            "The whole log goes into the artifact store.",
            f"Artifact of {len(whole):,} bytes with {kept:,} of {LINES:,} lines.",
            kept == LINES,
            'ledger.artifact(run.parts().filter(kind="TOOL_CALL_RESULT")["artifact_refs"][0][0])',
        ),
        Point(
            "The error extractor makes a summary.",
            f"Summary: {row['summary']!r}. Open problems: {problems}.",
            _FAILING in (row["summary"] or "") and any(_FAILING in one for one in problems),
            "ledger.memory(run_id).open_problems",
        ),
        Point(
            "The context holds the relevant errors and not the log.",
            f"Context of {context.tokens:,} tokens with {noise:,} lines of the log; the failing test "
            f"{'stands' if _FAILING in text else 'does not stand'} in it.",
            context.tokens <= WINDOW and noise < LINES // 20 and _FAILING in text,
            f"run.project(1, HeadTail(), {WINDOW})",
        ),
        Point(
            "The artifact's reference is there for an audit.",
            f"{len(refs)} reference on the message; a line that no context holds is found {found} time.",
            len(refs) == 1 and found == 1,
            f'ledger.search("Downloading artifact {LINES // 2} ")',
        ),
    ]


DRILL: Final = Drill(1, "A build log is too long", "the context takes every part in full, without a budget", carry_out)
