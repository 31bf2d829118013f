"""Programs that run another program, or a task that the project names: what a task's name says about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ledgerkit.extract.verifiers.model import CheckKind
from ledgerkit.extract.verifiers.program_table import PROGRAMS
from ledgerkit.extract.verifiers.programs import MAX_SCOPE, VERBS, scope_of
from ledgerkit.extract.words import words


def _set(text: str) -> frozenset[str]:
    return frozenset(words(text))


RUNNERS: Final = _set("npm pnpm yarn bun make gmake just task mise tox nox hatch turbo nx invoke rake poe")
"""Programs that run a named task of the project: the name tells the kind, the output the tool."""
_TASK_WORDS: Final[tuple[tuple[CheckKind | None, str], ...]] = (
    (None, "watch dev serve start clean install setup fix update deploy publish release"),
    (CheckKind.TYPES, "typecheck type-check types-check typechecks typechecking types type tsc mypy pyright"),
    (CheckKind.LINT, "lint lints linter linting eslint ruff clippy biome style format-check format:check fmt-check"),
    (CheckKind.TEST, r"test tests t spec specs unit e2e integration coverage ci verify py\d+"),
    (CheckKind.BUILD, "build compile bundle"),
)
TASKS: Final = (
    *(
        (re.compile(rf"(?i)(?:^|[:_./-])(?:{'|'.join(words(names))})(?={'' if kind is None else '[:_./-]|'}$)"), kind)
        for kind, names in _TASK_WORDS
    ),
    (re.compile(r"(?i)^(?:checks?|validate)$"), CheckKind.LINT),
)
"""What a task's name says about its kind, the first pattern that finds something; null for what is no check."""

LAUNCHERS: Final[Mapping[str, frozenset[str]]] = {
    "uv run": _set("--with --extra --group --python -p --directory --project --package --env-file"),
    "poetry run": frozenset(),
    "pdm run": frozenset(),
    "rye run": frozenset(),
    "hatch run": frozenset(),
    "pipenv run": frozenset(),
    "conda run": _set("-n --name -p"),
    "pixi run": _set("-e"),
    "coverage run": _set("--source --rcfile --omit --include"),
    "npx": _set("-p --package"),
    "bunx": frozenset(),
    "pnpx": frozenset(),
    "uvx": _set("--from --with --python"),
    "pnpm exec": frozenset(),
    "pnpm dlx": frozenset(),
    "yarn exec": frozenset(),
    "yarn dlx": frozenset(),
    "npm exec": frozenset(),
    "bundle exec": frozenset(),
    "mise exec": frozenset(),
    "xvfb-run": _set("-s"),
    "dotenv": _set("-e"),
    "cross-env": frozenset(),
    "rtk": frozenset(),
}
"""Programs that run another one, with their options that take a value."""
ALIASES: Final[Mapping[str, str]] = {
    "mvnw": "mvn",
    "gradlew": "gradle",
    "gmake": "make",
    "django-admin.py": "django-admin",
    "pnpx": "npx",
}
"""Other names of programs."""
_OF_THE_MANAGER: Final = frozenset(
    words("install i ci add remove update up upgrade init publish pack link exec dlx create outdated why audit info")
)
_GOALS: Final = (
    (re.compile(r"test\w*|\w*Test|check|verify|integration-test|surefire:test"), CheckKind.TEST),
    (re.compile(r"build|assemble\w*|compile\w*|classes|package|install|test-compile|bundle\w*|jar"), CheckKind.BUILD),
    (re.compile(r"lint\w*|ktlint\w*|detekt|spotless:?[cC]heck|checkstyle\w*(?::check)?"), CheckKind.LINT),
)


_ANY: Final = {name.split()[0] for name in PROGRAMS} | RUNNERS | set(ALIASES) | {"build", "manage.py"}
MENTIONS: Final = "|".join(re.escape(name) for name in sorted(_ANY - {"-m"}))
"""A pattern, for Polars, that every line with a check matches, so that others need not be read."""


def goal_check(name: str, rest: Sequence[str]) -> tuple[CheckKind, str, str] | None:
    """Maven and Gradle: the kind of the first goal that is a check, tests first."""
    if "--dry-run" in rest:
        return None
    goals = [value for value in rest if not value.startswith("-")]
    for pattern, kind in _GOALS:
        for goal in goals:
            if pattern.fullmatch(goal if name == "mvn" else goal.rsplit(":", 1)[-1]):
                is_skipping = any(value.startswith(("-DskipTests", "-Dmaven.test.skip")) for value in rest)
                is_built = is_skipping and kind is CheckKind.TEST
                return CheckKind.BUILD if is_built else kind, name, scope_of(PROGRAMS[f"{name} test"], rest)
    return None


def task_check(name: str, rest: Sequence[str]) -> tuple[CheckKind, str, str] | None:
    """A task of the project, by its name."""
    takes = frozenset(words("-C -f -j -e -s -t --prefix --filter -F --cwd -w --workspace --directory"))
    if name in ("make", "just") and not {"-n", "--dry-run"}.isdisjoint(rest):
        return None
    if name in ("tox", "nox"):
        takes = frozenset[str]()
    tasks = [one for one in _positional(rest, takes) if name != "make" or "=" not in one]
    verbs = [one for one in tasks[:1] if one in VERBS]
    tasks = tasks[len(verbs) :] if tasks[:1] != ["workspace"] else tasks[2:]
    if not tasks or (name in ("bun", "mise", "npm") and not verbs and tasks[0] not in ("test", "t")):
        return {
            "make": (CheckKind.BUILD, "make", ""),
            "tox": (CheckKind.TEST, "tox", ""),
            "nox": (CheckKind.TEST, "nox", ""),
        }.get(name if not tasks else "")
    if not verbs and name in ("pnpm", "yarn") and tasks[0] in _OF_THE_MANAGER:
        return None
    kind = _kind_of_task(name, tasks)
    return None if kind is None else (kind, name, " ".join(tasks)[:MAX_SCOPE])


def _positional(rest: Sequence[str], takes: frozenset[str]) -> list[str]:
    kept: list[str] = []
    previous = ""
    for value in rest:
        if not value.startswith("-") and previous not in takes:
            kept.append(value)
        previous = value
    return kept


def _kind_of_task(name: str, tasks: Sequence[str]) -> CheckKind | None:
    for task in tasks if name in ("make", "just", "task", "turbo", "tox", "nox") else tasks[:1]:
        if name == "make" and task in ("all", "check"):
            return CheckKind.BUILD if task == "all" else CheckKind.TEST
        kind = next((kind for pattern, kind in TASKS if pattern.search(task)), None)
        if kind is not None:
            return kind
    return CheckKind.TEST if name in ("tox", "nox") else None
