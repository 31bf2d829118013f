"""Pages made from code are current."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT


def test_the_page_of_tables_is_what_the_declarations_say() -> None:
    script = ROOT / "scripts" / "build_tables_page.py"
    done = subprocess.run([sys.executable, script, "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
