"""Chase a flaky test: its result depends on the order of a set, and so on the hash seed."""

from __future__ import annotations

from typing import Final

from ledgerkit.agent.scripts.task import Change, Task, Variant

_BATCHES: Final = "tillroll/batches.py"
_TESTS: Final = "tests/test_batches.py"
_SOUND: Final = 'return "-".join(dict.fromkeys(regions))'
_BROKEN: Final = 'return "-".join(set(regions))'
_LOOP: Final = (
    'for seed in 1 2 3; do PYTHONHASHSEED=$seed python -m pytest -q tests/test_batches.py > out.txt || echo "seed '
    '$seed failed: $(tail -1 out.txt)"; done; rm out.txt'
)
_ANY_RED: Final = _LOOP.replace(
    "; rm out.txt", "; rm out.txt; PYTHONHASHSEED=2 python -m pytest -q tests/test_batches.py"
)

TASK: Final = Task(
    task_id="flaky-label",
    title="The batch label test is flaky",
    branch="fix/flaky-label",
    prompt=(
        "tests/test_batches.py::test_label_names_each_region_once fails in CI about every second time and passes on my "
        "machine. Find the cause and fix it for good; please do not just retry or skip the test."
    ),
    scope=(_BATCHES, "CHANGELOG.md"),
    setup=(Change(_BATCHES, _BROKEN, _SOUND),),
    look_at=(_BATCHES, _TESTS),
    aside=("docs/NOTES.md", "pyproject.toml", "conftest.py"),
    search=("batch_label", r"set\("),
    reproduce={
        "careful": ("python -m pytest -q tests/test_batches.py", _LOOP),
        "hasty": ("python -m pytest -q tests/test_batches.py",),
        "frugal": (f"{_LOOP} | tail -3",),
    },
    check=_ANY_RED,
    right=Variant(
        (Change(_BATCHES, _SOUND, _BROKEN),),
        "The label joins a set, whose order of strings depends on PYTHONHASHSEED. The docstring promises order of "
        "first appearance, which dict.fromkeys keeps.",
        "The label joined a set, whose order changes with the hash seed. It now uses `dict.fromkeys`, which keeps the "
        "order of first appearance.",
    ),
    partial=Variant(
        (
            Change(_BATCHES, 'return "-".join(sorted(set(regions)))', _BROKEN),
            Change(_TESTS, '"north"]) == "east-north"', '"north"]) == "north-east"'),
        ),
        "A set has no order. Sorting makes the label stable, and the test has to expect the sorted label.",
        "The label is sorted now, and the test expects the sorted label, so it is stable.",
    ),
    wrong=Variant(
        (Change(_BATCHES, 'return "-".join(list(set(regions)))', _BROKEN),),
        "join over a set looks fragile; a list has a defined order.",
        "The label is joined from a list now, which has a defined order.",
    ),
    explore="Find everything in tillroll whose result may depend on the order of a set or a dict.",
    changelog="- Batch labels keep the order of first appearance.",
)
