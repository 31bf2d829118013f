"""The rules as data, and the engine that they are given to."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest

from ledgerkit.errors import UnknownNameError
from ledgerkit.safety import redaction
from ledgerkit.safety.redaction import engine
from ledgerkit.safety.redaction.engine import Engine, own_rules, rule_name
from ledgerkit.safety.redaction.readers import readers
from ledgerkit.safety.redaction.ruleset import (
    contextual_rules,
    families,
    pair_scores,
    prefix_families,
    prefix_of,
    prefix_types,
    shapes,
    words,
)
from ledgerkit.safety.redaction.secrets import PLACEHOLDER, placeholder_of
from tests.conftest import ROOT

TABLES = resources.files("ledgerkit.safety.redaction") / "rules"
WORD_LISTS = ("password", "token", "secret", "key", "auth", "before_key", "vendors", "never", "tails")


def named_in(table: str, heading: str) -> list[str]:
    """The names of the rules of a file, as they stand there."""
    text = (TABLES / f"{table}.toml").read_text(encoding="utf-8")
    return re.findall(rf'(?m)^\[\[{heading}\]\]\nname = "([^"]+)"', text)


@pytest.mark.parametrize(
    ("table", "heading", "loaded"),
    [("contextual", "rules", contextual_rules()), ("prefixes", "families", families()), ("shapes", "shapes", shapes())],
)
def test_every_rule_of_a_file_is_loaded_once(table: str, heading: str, loaded: dict[str, object]) -> None:
    names = named_in(table, heading)
    assert len(names) > 1
    assert names == list(loaded)  # a name that stands there twice would be lost in silence


def test_no_two_rules_share_a_name() -> None:
    names = Counter([*contextual_rules(), *shapes(), *(f"prefix-{name}" for name in families())])
    assert [name for name, count in names.items() if count > 1] == []


def test_every_rule_has_a_reader_that_exists() -> None:
    found = readers()
    assert found.keys() == contextual_rules().keys()
    assert all(callable(reader) for reader in found.values())
    for rule in contextual_rules().values():
        assert bool(rule.type) is (rule.reader == "explicit"), rule.name


def test_every_type_fits_into_a_placeholder() -> None:
    types = {rule.type for rule in contextual_rules().values() if rule.type}
    types |= {*prefix_types().values(), *(shape.type for shape in shapes().values())}
    assert len(types) > 100
    assert [kind for kind in types if not PLACEHOLDER.fullmatch(placeholder_of(kind, "0" * 12))] == []


def test_every_prefix_has_one_type_and_one_family() -> None:
    prefixes = Counter(prefix for family in families().values() for prefix in family.prefixes)
    assert [prefix for prefix, count in prefixes.items() if count > 1] == []
    assert prefixes.keys() == prefix_types().keys() == prefix_families().keys()
    assert all(kind and prefix for prefix, kind in prefix_types().items())


def test_no_prefix_stands_twice_in_the_file() -> None:
    text = (TABLES / "prefixes.toml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "name =" not in line]
    written = [prefix for line in lines for prefix in re.findall(r'"([^"]+)"', line)]
    assert [prefix for prefix, count in Counter(written).items() if count > 1] == []
    assert set(written) == set(prefix_types())


def test_every_prefix_is_found_as_itself() -> None:
    assert [prefix for prefix in prefix_types() if prefix_of(prefix + "x7") != prefix] == []


def test_every_family_says_how_a_tail_looks() -> None:
    for family in families().values():
        assert re.fullmatch(rf"{family.tail}+", "Ab9_"), family.name
        assert family.least >= 10


def test_every_pattern_has_the_group_that_is_read() -> None:
    # Python reads RE2's syntax but for flags that stand inside; the groups are what counts here.
    for rule in own_rules()["rules"]:
        assert re.compile(rule["pattern"]).groups >= 1, rule["id"]


def test_the_engine_refuses_a_pattern_that_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"name": "x", "id": "ledgerkit.x.0", "pattern": "(abc", "min_entropy": 0.0, "confidence": "medium"}
    monkeypatch.setattr(engine, "own_rules", lambda: {"rules": [broken]})
    with pytest.raises(RuntimeError, match="could not compile"):
        Engine(has_builtins=False)


@pytest.mark.slow
def test_every_pattern_compiles_in_the_engine() -> None:
    loaded = Engine(has_builtins=False)  # it refuses a pattern that it cannot compile
    assert list(loaded.find(["nothing here"], decodes_base64=True)) == []
    ids = [rule["id"] for rule in own_rules()["rules"]]
    assert len(set(ids)) == len(ids) > 400
    assert {rule_name(one) for one in ids} == {
        *contextual_rules(),
        *shapes(),
        *(f"prefix-{name}" for name in families()),
    }


@pytest.mark.parametrize("name", WORD_LISTS)
def test_words_are_lower_case_and_no_word_stands_twice(name: str) -> None:
    assert all(word == word.lower() and word.isascii() for word in words(name))
    text = (TABLES / "words.toml").read_text(encoding="utf-8")
    block = re.search(rf'(?ms)^{name} = """\n(.*?)"""', text)
    assert block
    assert [word for word, count in Counter(block[1].split()).items() if count > 1] == []


def test_there_are_no_other_lists_of_words() -> None:
    text = (TABLES / "words.toml").read_text(encoding="utf-8")
    assert tuple(re.findall(r"(?m)^(\w+) = ", text)) == WORD_LISTS
    with pytest.raises(UnknownNameError, match="list of words"):
        words("nonsense")


def test_pairs_of_letters_have_one_score() -> None:
    text = (TABLES / "pairs.toml").read_text(encoding="utf-8")
    written = Counter(pair for block in re.findall(r'(?s)= """\n(.*?)"""', text) for pair in block.split())
    assert [pair for pair, count in written.items() if count > 1] == []
    assert written.keys() == pair_scores().keys()
    assert all(re.fullmatch("[a-z]{2}", pair) for pair in written)


def test_nothing_names_the_classes_that_would_use_the_network() -> None:
    folder = Path(redaction.__file__).parent
    sources = {path: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    assert [path.name for path, source in sources.items() if "kingfisher_sdk" in source] == [Path(engine.__file__).name]
    imported = re.findall(r"from kingfisher_sdk import ([^\n]+)", Path(engine.__file__).read_text(encoding="utf-8"))
    assert imported == ["Rules, Scanner"]
    assert not [path for path, source in sources.items() if re.search(r"\b(?:Validator|Revoker)\b", source)]


SCAN = """
import random, socket, sys

def refused(*_, **__):
    raise AssertionError("a scan must not use the network")

class NoSocket(socket.socket):
    def __new__(cls, *_, **__):
        refused()

socket.socket = NoSocket
socket.create_connection = socket.getaddrinfo = socket.gethostbyname = refused

def audited(event, _):
    if event.startswith("socket."):
        refused()

sys.addaudithook(audited)
from ledgerkit.safety.redaction import RedactionKey, standard_redactor

draw = random.Random(5)
letters = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
value = "".join(draw.choice(letters) for _ in range(36))
result = standard_redactor(RedactionKey.public()).redact(
    ["gh" + "p_" + value, "https://dev:" + value + "@db.example/x", "TOKEN=" + value]
)
assert len(result.replacements) == 3, result
assert value not in str(result)
print("done")
"""


def test_a_scan_uses_no_network() -> None:
    done = subprocess.run([sys.executable, "-c", SCAN], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
