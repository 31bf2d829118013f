"""One changed formula against the rebuild: exits with 1 if the comparison notices, with 0 if it does not.

``python -m tests.strategies.mutant MODULE N`` makes the n-th change of a module, in a process of its own: what runs
for ever or eats all memory is ended from outside, which is noticing it, too.
"""

from __future__ import annotations

import ast
import copy
import resource
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from ledgerkit.strategies import attribution, caching, clearing_walk, eviction, observations, prefixes, ranges, standing
from ledgerkit.strategies import summary_walk as summaries
from tests.strategies.drawn import drawn_frames
from tests.strategies.test_naive import CACHES, check

MUTATED: dict[ModuleType, tuple[str, ...]] = {
    standing: ("full", "polling", "sections"),
    prefixes: ("full", "polling", "clear", "random", "sections"),
    attribution: ("full", "polling", "clear", "random"),
    ranges: ("random", "sections"),
    caching: ("full", "polling"),
    eviction: ("window", "random", "sections", "last | window"),
    observations: ("last", "last one", "polling"),
    clearing_walk: ("clear", "clear late", "clear to target", "clear tied", "last | clear", "random | clear tied"),
    summaries: ("summary", "summary tied", "last | summary"),
}
RUNS = (30, 90)
"""Numbers of drawn runs that a changed formula is tried on: some strategies walk through few one by one."""
SECONDS = 120
"""CPU time of one try; without a change it takes less than a tenth."""
MEMORY = 12 << 30
"""Address space of one try, most of which is never touched."""


class _Swap(ast.NodeTransformer):
    """Changes the n-th comparison, sum or small number of a module."""

    def __init__(self, chosen: int) -> None:
        self.chosen, self.count, self.what = chosen, 0, ""

    def _is_chosen(self, node: ast.AST) -> bool:
        self.count += 1
        if self.count - 1 == self.chosen:
            self.what = f"line {getattr(node, 'lineno', '?')}: {ast.unparse(node)}"
            return True
        return False

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        pairs = ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq))
        swaps: dict[type, type] = {one: other for a, b in pairs for one, other in ((a, b), (b, a))}
        if type(node.ops[0]) in swaps and self._is_chosen(node):
            node.ops = [swaps[type(node.ops[0])](), *node.ops[1:]]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        swaps: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
        if type(node.op) in swaps and self._is_chosen(node):
            node.op = swaps[type(node.op)]()
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        swaps: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
        if type(node.op) in swaps and self._is_chosen(node):
            node.op = swaps[type(node.op)]()
        return node


def points(module: ModuleType) -> int:
    counter = _Swap(-1)
    counter.visit(_tree(module))
    return counter.count


def _tree(module: ModuleType) -> ast.Module:
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):  # types are no formulas
            node.returns = None
            for argument in [*node.args.args, *node.args.kwonlyargs]:
                argument.annotation = None
    return tree


@contextmanager
def _mutated(module: ModuleType, chosen: int) -> Generator[str]:
    """A module with one change, wherever its functions were imported."""
    swap = _Swap(chosen)
    tree = ast.fix_missing_locations(swap.visit(copy.deepcopy(_tree(module))))
    before = dict(vars(module))
    fresh: dict[str, Any] = {k: v for k, v in before.items() if k.startswith("__")}
    exec(compile(tree, str(module.__file__), "exec"), fresh)  # noqa: S102
    users = [one for name, one in sys.modules.items() if name.startswith("ledgerkit.strategies")]
    replaced = [
        (user, name, value, fresh[name])
        for user in users
        for name, value in list(vars(user).items())
        if name in before
        and value is before[name]
        and name in fresh
        and callable(value)
        and value.__module__ == module.__name__
    ]
    try:
        for user, name, _, new in replaced:
            setattr(user, name, new)
        yield f"{module.__name__} {swap.what}"
    finally:
        for user, name, old, _ in replaced:
            setattr(user, name, old)


def is_noticed(module: ModuleType, chosen: int) -> tuple[str, bool]:
    """What was changed, and whether a comparison failed."""
    frames = [drawn_frames(seed, runs, most_steps=18, result_first=True) for seed, runs in enumerate(RUNS, 1)]
    with _mutated(module, chosen) as what:
        try:
            for name in MUTATED[module]:
                for runs, cache in zip(frames, ("openai", "anthropic"), strict=True):
                    check(runs, name, CACHES[cache])
        except Exception:  # an error is a catch like a wrong figure
            return what, True
    return what, False


def main() -> None:
    """Tries one change."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    module = next(module for module in MUTATED if module.__name__ == sys.argv[1])
    what, noticed = is_noticed(module, int(sys.argv[2]))
    sys.stdout.write(what)
    sys.exit(int(noticed))


if __name__ == "__main__":
    main()
