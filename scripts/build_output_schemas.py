"""Writes docs/schemas/*.json for the outputs of ``--json``, and the list of them in docs/configuration.md.

``--check`` only says whether they are current. ``comparison.json`` has its own program.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Final

from scripts.output_schemas.outputs import outputs
from scripts.output_schemas.sample import ROOT, example
from scripts.output_schemas.shapes import Output, document

FOLDER: Final = ROOT / "docs" / "schemas"
PAGE: Final = ROOT / "docs" / "configuration.md"
COMPARISON: Final = "comparison"
_TABLE: Final = re.compile(r"(<!-- schemas -->\n).*?(?=<!-- end of schemas -->)", re.DOTALL)


def files() -> dict[Path, str]:
    """Each file that is written, as it should be."""
    with example() as sample:
        found = outputs(sample)
    made = {FOLDER / f"{name}.json": _schema(one) for name, one in found.items()}
    return {**made, PAGE: _TABLE.sub(lambda match: match[1] + _list(found), PAGE.read_text("utf-8"))}


def _schema(one: Output) -> str:
    what = f"What `ledgerkit {one.command}` prints as JSON. {one.what}"
    return json.dumps(document(what, one.shape), indent=1, ensure_ascii=False) + "\n"


def _list(found: dict[str, Output]) -> str:
    named = {**{name: one.command for name, one in found.items()}, COMPARISON: "compare"}
    lines = [f"| `{command}` | [{name}.json](schemas/{name}.json) |" for name, command in sorted(named.items())]
    return "\n".join(["", "| command | schema |", "|---|---|", *lines, "", ""])


def main(arguments: list[str]) -> int:
    """Writes the files, or says which are not current."""
    made = files()
    left = {one for one in FOLDER.glob("*.json") if one.stem != COMPARISON} - made.keys()
    if "--check" in arguments:
        stale = sorted(one.name for one in {*left, *(file for file, text in made.items() if not _is(file, text))})
        if stale:
            print(f"Not current: {', '.join(stale)}. Run scripts/build_output_schemas.py.")
        return int(bool(stale))
    for file in left:
        file.unlink()
    for file, text in made.items():
        file.write_text(text, "utf-8")
    return 0


def _is(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text("utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
