"""What a trajectory is known by: its session, and its run within it."""

from __future__ import annotations

from typing import Final

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.pieces import digest
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of

NAME: Final = "atif"


def is_trajectory(value: object) -> bool:
    """Whether a value names a version of the format and has steps."""
    if not is_object(value) or not is_list(value.get("steps")):
        return False
    version = value.get("schema_version")
    return isinstance(version, str) and version.startswith("ATIF-")


def agent_of(trajectory: JsonObject) -> JsonObject:
    """What the trajectory says of its agent."""
    agent = trajectory.get("agent")
    return agent if is_object(agent) else {}


def session_of(trajectory: JsonObject) -> str:
    """The session: the run's own id, or else the trajectory's.

    Since 1.7 both may be missing. Then a first step with its time is known again; without one only the same document
    is the same run, since another run of the task may begin alike.
    """
    named = nonempty_text(trajectory.get("session_id")) or nonempty_text(trajectory.get("trajectory_id"))
    if named:
        return named
    first = objects_of(trajectory.get("steps"))[:1]
    if first and nonempty_text(first[0].get("timestamp")):
        return f"begins:{digest([agent_of(trajectory).get('name'), first[0]])}"
    return f"document:{digest(trajectory)}"


def run_key_of(trajectory: JsonObject) -> str:
    """The run within the session.

    Session ids do not tell trajectories apart: the parts of a run that was continued share one, and so may siblings.
    """
    named = nonempty_text(trajectory.get("trajectory_id"))
    return embedded_key(named) if named else _part_key(trajectory, continuation_of(trajectory))


def embedded_key(trajectory_id: str) -> str:
    """The run of a trajectory that has an id."""
    return f"trajectory:{trajectory_id}"


def key_before(trajectory: JsonObject) -> str | None:
    """The run that a continuation goes on from, if it begins with the same task; ``None`` for a beginning."""
    number = continuation_of(trajectory)
    return _part_key(trajectory, number - 1) if number else None


def continuation_of(trajectory: JsonObject) -> int:
    """Which part of a run that was continued this is; the agents of Harbor count them from 1."""
    extra = agent_of(trajectory).get("extra")
    number = extra.get("continuation_index") if is_object(extra) else None
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else 0


def _part_key(trajectory: JsonObject, number: int) -> str:
    first = objects_of(trajectory.get("steps"))[:1]
    begins = [[step.get("source"), step.get("message")] for step in first]
    return f"begins:{digest([agent_of(trajectory).get('name'), number, begins])}"
