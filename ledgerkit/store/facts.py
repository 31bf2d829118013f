"""What a live writer may say about a run."""

from __future__ import annotations

from typing import TypedDict

from ledgerkit.protocol.vocabulary import RunRelation


class RecordedFacts(TypedDict, total=False):
    """What is known about a run that its messages do not say: columns of ``runs``."""

    agent: str | None
    agent_version: str | None
    repository: str | None
    branch: str | None
    working_directory: str | None
    task_id: str | None
    title: str | None
    parent_run_id: str | None
    forked_at: str | None
    relation: RunRelation | str | None
