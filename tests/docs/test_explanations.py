"""What the glossary, the architecture and the threat model say is what the code has."""

from __future__ import annotations

import importlib
import pkgutil
import re
import tomllib
from enum import Enum
from pathlib import Path

import pytest

from ledgerkit import protocol
from tests.conftest import ROOT
from tests.docs.reading import DOCS, links, tokens_of

GLOSSARY = DOCS / "glossary.md"
WORDS = {
    "artifact", "boundary", "budget", "checkpoint", "claim", "context", "digest", "erase", "evidence reference",
    "fidelity", "finding", "journal", "judge", "kind", "leaf", "ledger", "memory", "message", "model call", "part",
    "placement", "projection", "provenance", "quarantine", "rendition", "replay", "revision", "run", "seal", "section",
    "session", "snapshot", "step", "strategy", "trust level", "unit", "verdict", "view", "visibility",
}  # fmt: skip
"""Words of the design that a user meets."""


def vocabularies() -> dict[str, type[Enum]]:
    modules = [
        importlib.import_module(f"{protocol.__name__}.{found.name}")
        for found in pkgutil.iter_modules(protocol.__path__)
    ]
    values = [value for module in modules for value in vars(module).values()]
    return {
        value.__name__: value
        for value in values
        if isinstance(value, type) and issubclass(value, Enum) and value.__module__.startswith(protocol.__name__)
    }


def entries(path: Path) -> list[tuple[str, str, str]]:
    """Words, meanings and links of the glossary, in their order."""
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \| \[.+\]\((.+)\) \|$", path.read_text("utf-8"), re.M)
    return [(word, meaning, link) for word, meaning, link in rows]


def test_the_glossary_has_the_words_once_in_order_with_a_sentence_and_a_link() -> None:
    found = entries(GLOSSARY)
    words = [word for word, _, _ in found]
    assert words == sorted(set(words))
    assert WORDS - set(words) == set()
    assert [word for word, meaning, _ in found if not meaning.endswith(".")] == []
    assert {link for _, _, link in found} <= set(links(GLOSSARY))


@pytest.mark.parametrize("name", sorted(vocabularies()))
def test_the_glossary_has_every_value_of_a_closed_vocabulary_and_no_other(name: str) -> None:
    text = GLOSSARY.read_text("utf-8")
    section = re.search(rf"^### {name}\n(.*?)(?=^### |\Z)", text, re.M | re.S)
    assert section is not None, f"the glossary has no {name}"
    told = re.findall(r"^\| `(.+?)` \| .+ \|$", section[1], re.M)
    assert told == [str(each.name if isinstance(each.value, int) else each.value) for each in vocabularies()[name]]


def test_the_glossary_has_no_vocabulary_that_is_none() -> None:
    headings = [t.content for t in tokens_of(GLOSSARY) if t.type == "inline" and t.level == 1]
    named = {heading for heading in headings if re.fullmatch(r"[A-Z][A-Za-z]+", heading)} - {"Glossary"}
    assert named == set(vocabularies())


def test_the_layers_of_the_architecture_are_those_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    ladder = [re.findall(r"\w+", layer) for layer in contracts[0]["layers"]]
    text = (DOCS / "architecture.md").read_text("utf-8")
    table = text.split("## The layers")[1].split("\n\n| layer |")[1].split("\n\n")[0]
    assert [re.findall(r"`(\w+)`", row.split(" | ")[0]) for row in table.splitlines()[2:]] == ladder


@pytest.mark.parametrize("page", ["threat-model.md", "architecture.md"])
def test_the_code_and_tests_that_a_page_names_are_there(page: str) -> None:
    named = re.findall(r"`((?:[\w-]+/)+(?:[\w-]+\.py)?)`", (DOCS / page).read_text("utf-8"))
    assert len(named) >= 5
    there = [name for name in named if any((base / name).exists() for base in (ROOT, ROOT / "ledgerkit"))]
    assert set(named) - set(there) == set()


def test_every_control_of_the_threat_model_names_a_test() -> None:
    text = (DOCS / "threat-model.md").read_text("utf-8")
    rows = [
        row for row in text.splitlines() if row.startswith("| ") and not row.startswith(("| attack", "| what must"))
    ]
    assert len(rows) > 25
    assert [row for row in rows if "`tests/" not in row.rsplit(" | ", 1)[-1]] == []
