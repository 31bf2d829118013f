"""Repair a build whose log has 20,000 lines, one of which says what is wrong."""

from __future__ import annotations

from typing import Final

from ledgerkit.agent.scripts.task import Change, Task, Variant

_OVERRIDES: Final = "catalogue/overrides.csv"
_BUILDER: Final = "tools/build_catalogue.py"
_BUILD: Final = f"python {_BUILDER}"

TASK: Final = Task(
    task_id="build-catalogue",
    title="The catalogue build fails",
    branch="fix/catalogue",
    prompt=(
        f"`{_BUILD}` exits with 1 since this morning. Its log has 20,000 lines. Find the page that breaks the build "
        "and repair it; the builder itself is right."
    ),
    scope=(_OVERRIDES,),
    setup=(Change(_OVERRIDES, "F0912;12,50", "F0912;12.50"),),
    look_at=(_OVERRIDES, _BUILDER),
    aside=("catalogue/ranges.csv", "README.md", "docs/NOTES.md"),
    search=("F0912", "12,50"),
    reproduce={
        "careful": (f"{_BUILD} > build.log; tail -1 build.log; grep -n ERROR build.log",),
        "hasty": (f'{_BUILD}; echo "exit code $?"',),
        "frugal": (f"{_BUILD} | tail -3", f"{_BUILD} | grep -n ERROR"),
    },
    check=f"{_BUILD} > build.log; code=$?; tail -1 build.log; exit $code",
    right=Variant(
        (Change(_OVERRIDES, "F0912;12.50", "F0912;12,50"),),
        "The override of F0912 is written with a comma. The builder wants a point.",
        "The price of F0912 in `catalogue/overrides.csv` was written with a comma; it is 12.50 now.",
    ),
    partial=Variant(
        (Change(_OVERRIDES, "D2044;8.90\n", "D2044;8.90\nF0912;12,50\n"),),
        "The override of F0912 cannot be read. Without it the article falls back to the price of its range.",
        "The unreadable override of F0912 is removed, so the build goes through.",
    ),
    wrong=Variant(
        (Change(_OVERRIDES, 'F0912;"12.50"', "F0912;12,50"),),
        "The price has a comma in it. In a CSV file such a value is quoted.",
        "The price of F0912 is quoted now.",
    ),
    explore="Find out how the catalogue builder reads prices, and every override that it could not read.",
    success="The build passes",
    needs_evidence=True,
)
