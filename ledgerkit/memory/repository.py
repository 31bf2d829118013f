"""What runs have learnt about one repository: commands that worked, instructions that it gives, where work was done.

Memory of one repository is made from its own runs alone; it enters no context of another unless a caller asks for it
by name. Every fact names the message that last showed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

import polars as pl

from ledgerkit.memory.working import files, outcomes
from ledgerkit.memory.working.intentions import sentence
from ledgerkit.memory.working.record import RunRecord, message_ref
from ledgerkit.protocol.memory import RepositoryFact, RepositoryMemory, RepositoryTopic
from ledgerkit.protocol.vocabulary import ClaimOutcome, MessageKind, TrustLevel

MOST_MODULES: Final = 20
"""Folders in which most files were changed; the others are left out."""


def repository_memory(repository: str, records: Sequence[RunRecord]) -> RepositoryMemory:
    """What some runs show about a repository.

    Args:
        repository: Its name.
        records: The rows of its runs, the earliest first. Those of other repositories must not be among them.
    """
    facts = [*_commands(records), *_conventions(records), *_modules(records)]
    return RepositoryMemory(repository=repository, facts=tuple(facts))


def _commands(records: Sequence[RunRecord]) -> list[RepositoryFact]:
    """Checks by command, as they ended last."""
    last = dict[str, outcomes.Check]()
    for record in records:
        for check in outcomes.checks(record):
            if check.row["command"] and check.verdict != "inconclusive":
                last[check.name] = check
    return [
        RepositoryFact(
            fact=sentence(f"{name} {check.verdict} when it was last run"),
            topic=RepositoryTopic.COMMAND,
            evidence_refs=check.refs,
            trust_level=check.trust_level,
            outcome=ClaimOutcome.SUPPORTED,
        )
        for name, check in sorted(last.items())
    ]


def _conventions(records: Sequence[RunRecord]) -> list[RepositoryFact]:
    """Instructions that the repository gives, each distinct text as it was last seen. They inform; they do not bind."""
    last = dict[str, tuple[str, str, TrustLevel]]()
    for record in records:
        rows = record.parts.filter(
            pl.col("kind") == MessageKind.REPOSITORY_INSTRUCTION.value, pl.col("text").is_not_null()
        ).sort("sequence_no", "part_index")
        for message, path, text, trust in rows.select("message_id", "path", "text", "part_trust_level").iter_rows():
            last[text] = (message, path or "an instruction file", TrustLevel(trust))
    return [
        RepositoryFact(
            fact=sentence(f"{path} says: {text}"),
            topic=RepositoryTopic.CONVENTION,
            evidence_refs=(message_ref(message),),
            trust_level=trust,
            outcome=ClaimOutcome.SUPPORTED,
        )
        for text, (message, path, trust) in sorted(last.items())
        if text.strip()
    ]


def _modules(records: Sequence[RunRecord]) -> list[RepositoryFact]:
    """Folders in which files were changed, most changed files first."""
    changed = dict[str, dict[str, files.ChangedFile]]()
    for record in records:
        for one in files.changed_files(record):
            changed.setdefault(str(PurePosixPath(one.path).parent), {})[one.path] = one
    ranked = sorted(changed.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_MODULES]
    return [
        RepositoryFact(
            fact=sentence(f"{len(paths)} files were changed in {folder}: {', '.join(sorted(paths))}"),
            topic=RepositoryTopic.MODULE,
            evidence_refs=tuple(dict.fromkeys(ref for one in paths.values() for ref in one.evidence_refs))[:8],
            trust_level=TrustLevel.MODEL_GENERATED,
            outcome=ClaimOutcome.SUPPORTED,
        )
        for folder, paths in ranked
    ]
