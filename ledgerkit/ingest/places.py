"""Where installed agents keep their logs, so that nobody has to remember it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PLACES: Final = (
    ("Claude Code", "CLAUDE_CONFIG_DIR", (".claude", ".config/claude"), ("projects",)),
    ("Codex", "CODEX_HOME", (".codex",), ("sessions", "archived_sessions")),
    ("Gemini CLI", "GEMINI_CLI_HOME", (".gemini",), ("tmp",)),
    ("pi", "PI_CODING_AGENT_DIR", (".pi/agent",), ("sessions",)),
    ("OpenHands", "OPENHANDS_HOME", (".openhands",), ("conversations", "sessions")),
)
"""Agent, the variable that moves its folder, the folder below the home, and the folders of logs in it.

As the agents' documentation has them; a folder that is not there is passed over."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of logs.

    Attributes:
        agent: Whose logs they are, if its name is right; what the files hold is told by their content.
        path: The folder.
        files: Files in it and below.
        size: Their bytes.
    """

    agent: str
    path: Path
    files: int
    size: int


def usual_places(home: Path | None = None, environment: Mapping[str, str] | None = None) -> list[Place]:
    """The folders of logs of installed agents that are there and hold files.

    Args:
        home: The user's home folder, if not that of the process.
        environment: Variables of the environment, if not those of the process.
    """
    found: list[Place] = []
    for agent, path in _candidates(home or Path.home(), os.environ if environment is None else environment):
        sizes = [file.stat().st_size for file in path.rglob("*") if file.is_file()] if path.is_dir() else []
        if sizes:
            found.append(Place(agent, path, len(sizes), sum(sizes)))
    return found


def places_looked_at(home: Path | None = None, environment: Mapping[str, str] | None = None) -> list[Path]:
    """All folders that :func:`usual_places` looks at, there or not."""
    return [path for _, path in _candidates(home or Path.home(), os.environ if environment is None else environment)]


def _candidates(home: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    for agent, variable, folders, logs in _PLACES:
        moved = environment.get(variable)
        bases = [Path(moved).expanduser()] if moved else [home / folder for folder in folders]
        yield from ((agent, base / name) for base in bases for name in logs)
