"""Pages made from code are current, and every script that makes one can say so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SCRIPTS = sorted((ROOT / "scripts").glob("build_*_page.py"))


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_pages_are_what_the_code_says(script: Path) -> None:
    done = subprocess.run([sys.executable, script, "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_there_are_scripts() -> None:
    names = {path.stem for path in SCRIPTS}
    assert names >= {"build_cli_page", "build_comparison_schema_page", "build_reference_page", "build_tables_page"}


@pytest.mark.long
def test_the_width_of_a_terminal_changes_no_page() -> None:
    narrow = subprocess.run(
        [sys.executable, ROOT / "scripts" / "build_cli_page.py", "--check"],
        env={"COLUMNS": "40", "LEDGERKIT_LEDGER": "/elsewhere", "PATH": ""}, cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    assert narrow.returncode == 0, narrow.stderr
