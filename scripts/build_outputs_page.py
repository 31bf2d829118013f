"""Writes into the pages what the commands they show print on the example runs; ``--check`` only says whether it is so.

A page asks for it in a comment, and the block behind it is replaced:

    <!-- output of: ledgerkit runs -n 5 | lines 1-4, 7 | width 110 -->
    ```text
    ```
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_BLOCK: Final = re.compile(
    r"(<!-- output of: (?P<command>[^|\n]+?)(?: \| lines (?P<lines>[\d, -]+?))?(?: \| width (?P<width>\d+))? -->\n"
    r"```text\n)(?P<shown>.*?)(?=```\n)",
    re.DOTALL,
)
_WIDTH: Final = 120


def pages() -> dict[Path, str]:
    """Each page that shows outputs, as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        run(["ledgerkit", "demo"], Path(folder))
        texts = {page: page.read_text("utf-8") for page in PAGES}
        return {page: _written(text, Path(folder)) for page, text in texts.items() if _BLOCK.search(text)}


def run(words: list[str], folder: Path, width: int = _WIDTH) -> str:
    """What a command prints in a terminal so wide, in a folder where the example runs were imported.

    Raises:
        SystemExit: If the command fails, or prints nothing.
    """
    environment = {
        **os.environ, "COLUMNS": str(width), "NO_COLOR": "1", "LEDGERKIT_LEDGER": "demo/demo.ledger",
        "LEDGERKIT_REDACTION_KEY": "public",
    }  # fmt: skip
    command = [str(Path(sys.executable).parent / words[0]), *words[1:]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout.strip():  # 1: an answer that is bad news
        sys.exit(f"{shlex.join(words)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def shown(output: str, lines: str | None) -> str:
    """The chosen lines of an output; what is left out between them becomes an ellipsis."""
    whole = [line.rstrip() for line in output.splitlines()]
    chosen: list[str] = []
    end = 0
    for begin, last in _ranges(lines, len(whole)):
        if chosen and begin > end + 1:
            chosen.append("…")
        chosen += whole[begin - 1 : last]
        end = last
    return "".join(f"{line}\n" for line in chosen)


def _ranges(lines: str | None, count: int) -> list[tuple[int, int]]:
    if lines is None:
        return [(1, count)]
    parts = [part.strip().partition("-") for part in lines.split(",")]
    return [(int(first), int(last or count) if dash else int(first)) for first, dash, last in parts]


def _written(text: str, folder: Path) -> str:
    def block(match: re.Match[str]) -> str:
        width = int(match["width"] or _WIDTH)
        return match[1] + shown(run(shlex.split(match["command"]), folder, width), match["lines"])

    return _BLOCK.sub(block, text)


if __name__ == "__main__":
    stale = {page: text for page, text in pages().items() if page.read_text("utf-8") != text}
    if "--check" in sys.argv:
        names = ", ".join(str(page.relative_to(ROOT)) for page in stale)
        sys.exit(f"{names}: outputs are not what the commands print. Run `make docs`." if stale else 0)
    for page, text in stale.items():
        page.write_text(text, "utf-8")
