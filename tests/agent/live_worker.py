"""Agents that work until somebody kills them.

``python -m tests.agent.live_worker`` loads the library once and forks an agent for each folder that it reads, as
``tests.durability.workers`` does and for the same reason.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
import traceback
from pathlib import Path

from ledgerkit.agent.live import standard_tools
from ledgerkit.tokens import TokenCounter
from tests.agent.live_case import Case, Looking, shipping_tool


def work(folder: Path, seed: int) -> None:
    """Works on the task, or goes on with it. Shipping takes a moment, so that a kill can fall into it."""
    draw = random.Random(seed)

    def dawdle(_when: str) -> None:
        time.sleep(draw.random() / 10)

    tools = (*standard_tools(), shipping_tool(dawdle))
    case = Case(folder, tools=tools, person=Looking(workspace=folder / "work"))
    case.run()


def answer(number: int) -> None:
    """A number for whoever asked."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main() -> None:
    """Forks an agent for each line: a folder and a seed. Prints its process id, and how it ended."""
    TokenCounter().count("so that no agent waits for the tables")
    for line in sys.stdin:
        folder, seed = json.loads(line)
        child = os.fork()
        if not child:
            code = 1
            try:
                work(Path(folder), seed)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        answer(child)
        _, status = os.waitpid(child, 0)
        answer(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
