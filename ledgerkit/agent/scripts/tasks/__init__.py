"""The eight tasks, in a fixed order."""

from __future__ import annotations

from typing import Final

from ledgerkit.agent.scripts.task import Task
from ledgerkit.agent.scripts.tasks import (
    add_currency,
    build_catalogue,
    bump_ratebook,
    debug_region,
    fix_discount,
    flaky_label,
    refactor_rows,
    write_stock_tests,
)

TASKS: Final[dict[str, Task]] = {
    task.task_id: task
    for task in (
        fix_discount.TASK,
        add_currency.TASK,
        refactor_rows.TASK,
        bump_ratebook.TASK,
        write_stock_tests.TASK,
        flaky_label.TASK,
        debug_region.TASK,
        build_catalogue.TASK,
    )
}
"""Tasks by id."""
