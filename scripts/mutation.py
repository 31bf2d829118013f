"""Mutation testing: how many small changes of a group of modules its tests notice.

``python scripts/mutation.py integrity`` tries every change that mutmut makes there; ``--sample 300`` so many, drawn
with a seed. The tree is copied to ``build/mutation/<group>`` first, where ``mutmut browse`` shows what was found.
Prints what was not noticed, and exits with 1 if that is more than one in ten. Changes that were looked at and change no
answer stand in ``scripts/mutations_alike.toml``, with the reason; they are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
MUTMUT: Final = Path(sys.executable).with_name("mutmut")
COPIED: Final = ("ledgerkit", "tests", "scripts", "data", "docs", "notebooks", "README.md", "pyproject.toml")
NOTICED: Final = 0.9
_SECTION: Final = "[tool.mutmut]"
_PASSED: Final = 0
_NO_TESTS: Final = 33
_NOBODY: Final = "no.such.mutant"
_NAMES_AT_ONCE: Final = 1_000
"""A command line holds no more names than that safely."""


@dataclass(frozen=True)
class Group:
    """Modules that are changed, and the tests that are to notice; examples in their docstrings are among them.

    Attributes:
        modules: Patterns from the root.
        tests: Files and folders. Only what runs without a ledger: a change is tried in half a second then.
        sample: How many changes are tried where nothing else is said; all of them if not given.
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    sample: int | None = None

    def files(self) -> list[Path]:
        """The modules, as paths from the root."""
        found = {path for pattern in self.modules for path in ROOT.glob(pattern)}
        return sorted(path.relative_to(ROOT) for path in found)


GROUPS: Final = {
    "claims": Group(
        ("ledgerkit/extract/claims/*.py",),
        ("tests/extract/test_claim_texts.py", "tests/extract/test_claim_units.py"),
        sample=400,
    ),
    "cost": Group(
        ("ledgerkit/cost/**/*.py",),
        ("tests/cost", "tests/attribution/test_attribution.py", "tests/attribution/test_labels.py"),
        sample=400,
    ),
    "integrity": Group(
        ("ledgerkit/store/integrity/*.py",),
        ("tests/store/test_tree.py", "tests/store/test_leaves.py", "tests/store/test_checks.py"),
    ),
}


def prepare(name: str, group: Group) -> Path:
    """A copy of the tree in which mutmut works."""
    folder = ROOT / "build" / "mutation" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for one in COPIED:
        source, target = ROOT / one, folder / one
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    chosen = {
        "only_mutate": [str(path) for path in group.files()],
        "pytest_add_cli_args_test_selection": [*group.tests, *sorted({str(path.parent) for path in group.files()})],
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in chosen.items()]
    settings = folder / "pyproject.toml"
    settings.write_text(settings.read_text("utf-8").replace(_SECTION, "\n".join([_SECTION, *lines])), "utf-8")
    return folder


def ended(folder: Path) -> dict[str, int | None]:
    """How each change ended: 0 if all tests passed with it; ``None`` if it was not tried."""
    found: dict[str, int | None] = {}
    for path in sorted((folder / "mutants").rglob("*.meta")):
        found |= json.loads(path.read_text("utf-8"))["exit_code_by_key"]
    return found


def attempt(folder: Path, names: Sequence[str], children: int) -> int:
    """Has mutmut try some changes; its exit code."""
    environment = os.environ | {"HYPOTHESIS_PROFILE": "fast", "CI": "1"}  # the same examples every time
    command = [str(MUTMUT), "run", "--max-children", str(children), *names]
    with (folder / "run.log").open("a", encoding="utf-8") as log:
        return subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=log, check=False).returncode


def tried(folder: Path, group: Group, given: argparse.Namespace) -> dict[str, int | None]:
    """Makes all changes, and tries those that are chosen."""
    attempt(folder, [_NOBODY], given.children)  # makes the changes, sees which test runs which function, tries none
    names = sorted(ended(folder))
    if not names:
        sys.exit(f"mutmut made no changes; {folder / 'run.log'} says why.")
    count = min(given.sample or group.sample or len(names), len(names))
    chosen = Random(given.seed).sample(names, count)  # noqa: S311 - a sample of changes, no secret
    print(f"{len(chosen)} of {len(names)} changes", flush=True)
    for begin in range(0, len(chosen), _NAMES_AT_ONCE):
        if attempt(folder, chosen[begin : begin + _NAMES_AT_ONCE], given.children):
            sys.exit(f"mutmut stopped; {folder / 'run.log'} says why.")
    found = ended(folder)
    return {name: found[name] for name in sorted(chosen)}


def difference(folder: Path, name: str) -> tuple[str, str]:
    """The lines that a change takes out, and those that it puts in."""
    shown = subprocess.run([str(MUTMUT), "show", name], cwd=folder, capture_output=True, text=True, check=True).stdout
    lines = [re.findall(rf"^[{sign}](?![{sign}]{{2}})(.*)$", shown, re.MULTILINE) for sign in ("-", "+")]
    return "\n".join(lines[0]), "\n".join(lines[1])


def is_alike(module: str, before: str, after: str, alike: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a change is one of those that change no answer: a text goes (``- text``) or comes (``+ text``) by it."""
    texts = [text for where, reasons in alike.items() if module.startswith(where) for text in reasons]
    gone = [text[2:] for text in texts if text.startswith("-")]
    new = [text[2:] for text in texts if text.startswith("+")]
    return any(text in before and text not in after for text in gone) or any(
        text in after and text not in before for text in new
    )


def report(folder: Path, found: Mapping[str, int | None]) -> bool:
    """Prints what was not noticed, and how much was, module by module. Whether it was enough."""
    alike: dict[str, dict[str, str]] = tomllib.loads((ROOT / "scripts" / "mutations_alike.toml").read_text("utf-8"))
    whole, noticed, same = Counter[str](), Counter[str](), Counter[str]()
    for name, code in found.items():
        module = name.rpartition(".")[0]
        whole[module] += 1
        if code not in (_PASSED, _NO_TESTS, None):
            noticed[module] += 1
            continue
        before, after = difference(folder, name)
        if is_alike(module, before, after, alike):
            same[module] += 1
        else:
            print(f"{name}{': no test runs it' if code == _NO_TESTS else ''}\n-{before}\n+{after}\n")
    for module in sorted(whole):
        print(_line(module, whole[module], noticed[module], same[module]))
    print(_line("together", whole.total(), noticed.total(), same.total()), flush=True)
    return noticed.total() >= NOTICED * (whole.total() - same.total())


def _line(name: str, whole: int, noticed: int, same: int) -> str:
    share = f"{noticed / (whole - same):.1%}" if whole > same else "-"
    return f"{name:46} {whole:5} tried {noticed:5} noticed {same:4} change nothing {share:>7}"


def main() -> None:
    """Tries changes of some groups."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", default=list(GROUPS), metavar="group", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--sample", type=int, help="try so many changes of each group (default: what the group says)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    parser.add_argument("--children", type=int, default=os.cpu_count() or 1, help="changes that are tried at once")
    given = parser.parse_args()
    if unknown := sorted(set(given.groups) - GROUPS.keys()):
        parser.error(f"there is no group {unknown[0]!r}; there are {', '.join(GROUPS)}")
    enough = True
    for name in given.groups:
        print(f"{name}: ", end="", flush=True)
        folder = prepare(name, GROUPS[name])
        enough &= report(folder, tried(folder, GROUPS[name], given))
    sys.exit(0 if enough else 1)


if __name__ == "__main__":
    main()
