"""What stands in the pages: links, headings, blocks of code."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "data").glob("*.md")])
WRITTEN = [path for path in PAGES if path.parent != DOCS / "reference"]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, or a code cell of a notebook."""

    page: str
    line: int
    language: str
    code: str


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tokens_of(path: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(path.read_text("utf-8"))


def links(path: Path) -> list[str]:
    """Targets of links and pictures."""
    inline = [child for token in tokens_of(path) for child in token.children or ()]
    found = [token.attrGet("href") or token.attrGet("src") for token in inline]
    return [str(target) for target in found if target]


@cache
def anchors(path: Path) -> list[str]:
    """Fragments of a page's headings, as GitHub makes them: letters, digits, - and _; repeated ones are numbered."""
    tokens = tokens_of(path)
    seen = Counter[str]()
    made = list[str]()
    for opening, inside in pairwise(tokens):
        if opening.type == "heading_open":
            shown = "".join(child.content for child in inside.children or ())
            slug = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
            made.append(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return made


def blocks(language: str) -> Iterator[Block]:
    """Blocks of a language in the pages that people write."""
    for path in WRITTEN:
        for token in tokens_of(path):
            if token.type == "fence" and (token.info.split() or [""])[0] == language and token.map:
                yield Block(name_of(path), token.map[0] + 1, language, token.content)


def cells() -> Iterator[Block]:
    """Code cells of the notebooks."""
    for path in NOTEBOOKS:
        for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"]):
            if cell["cell_type"] == "code":
                yield Block(name_of(path), number, "python", "".join(cell["source"]))


def code_of(text: str) -> str:
    """Code of a block; of one with prompts, what stands behind them."""
    if ">>>" not in text:
        return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("%", "!")))
    return "\n".join(line[4:] for line in text.splitlines() if line.startswith((">>>", "...")))
