"""A model proposes, the system validates: items of an update, each accepted or rejected with the rule and the reason.

What is accepted cites evidence that exists, came before, is of a kind that can support it, and says what it says. Its
trust is the lowest of its evidence and of the model's own. What is rejected is kept as a message, and enters no memory.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from pydantic import ValidationError

from ledgerkit.extract.claims import ClaimClass, read_claims
from ledgerkit.memory.citations import CITING_SCHEMA, resolve_citations, rule_on_citations
from ledgerkit.memory.rulings import SUPPORTED, decide
from ledgerkit.memory.working.record import RunRecord, lowest
from ledgerkit.protocol.memory import Decision, Fact, OpenProblem, Summary
from ledgerkit.protocol.vocabulary import ClaimOutcome, TrustLevel

PROPOSAL_NOTE: Final = "memory proposal"
"""What the data of a message that keeps a judged item says of itself in ``note``."""
ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"

_Item = Fact | Decision | OpenProblem
_KINDS: Final[dict[str, type[_Item]]] = {"fact": Fact, "decision": Decision, "open_problem": OpenProblem}


@dataclass(frozen=True)
class ItemVerdict:
    """What became of one item of an update.

    Attributes:
        kind: ``fact``, ``decision`` or ``open_problem``.
        item: The item; an accepted one with the outcome and the trust that it may have.
        is_accepted: Whether it may enter a memory.
        rule: The rule that decided.
        why: A sentence.
    """

    kind: str
    item: _Item
    is_accepted: bool
    rule: str
    why: str

    def as_data(self) -> dict[str, Any]:
        """As a message keeps it."""
        return {
            "note": PROPOSAL_NOTE,
            "decision": ACCEPTED if self.is_accepted else REJECTED,
            "kind": self.kind,
            "rule": self.rule,
            "why": self.why,
            "item": self.item.model_dump(mode="json"),
        }


@dataclass(frozen=True)
class AcceptedItems:
    """What earlier proposals brought into a run's memory."""

    facts: tuple[Fact, ...] = ()
    decisions: tuple[Decision, ...] = ()
    open_problems: tuple[OpenProblem, ...] = ()


def judge_update(record: RunRecord, update: Summary) -> list[ItemVerdict]:
    """Holds every item of an update against what the run has recorded.

    Args:
        record: The rows of the run.
        update: What a model proposes.

    Returns:
        One verdict an item: facts, decisions, open problems, in their order.
    """
    items: list[tuple[str, str, _Item]] = [
        *(("fact", item.fact, item) for item in update.facts),
        *(("decision", f"{item.decision} ({item.reason})", item) for item in update.decisions),
        *(("open_problem", item.problem, item) for item in update.open_problems),
    ]
    if not items:
        return []
    end = int(record.parts["sequence_no"].max() or 0) + 1 if record.parts.height else 0  # pyright: ignore[reportArgumentType]
    claims = pl.DataFrame([_claim(record, n, end, *item) for n, item in enumerate(items)], schema=CITING_SCHEMA)
    claims = claims.with_columns(polarity=pl.Series(_polarities(claims["text"].to_list()), dtype=pl.String))
    checks = record.verifier_results.filter(pl.col("tool_call_id").is_not_null())
    cited = resolve_citations(claims, record.parts, checks, record.changes)
    decided = {row["claim_id"]: row for row in decide(rule_on_citations(cited, checks)).iter_rows(named=True)}
    trusts = dict(
        cited.filter(pl.col("is_found")).group_by("claim_id").agg(pl.col("ref_trust_level").drop_nulls()).iter_rows()
    )
    return [
        _verdict(kind, item, decided[str(n)], [TrustLevel(t) for t in trusts.get(str(n), [])])
        for n, (kind, _, item) in enumerate(items)
    ]


def accepted_items(parts: pl.DataFrame) -> AcceptedItems:
    """Items that were accepted before, from the messages that keep them; the last of equal ones counts."""
    notes = parts.filter(
        (pl.col("kind") == "RUN_SUMMARY") & (pl.col("data").str.json_path_match("$.note") == PROPOSAL_NOTE)
    ).sort("sequence_no", "part_index")
    found = dict[str, dict[str, _Item]]()
    for data in notes["data"]:
        said = json.loads(data)
        if said.get("decision") != ACCEPTED or said.get("kind") not in _KINDS:
            continue
        try:
            item = _KINDS[said["kind"]].model_validate(said["item"])
        except ValidationError:  # kept by a version with other rules: what it cannot say has no place in a memory
            continue
        found.setdefault(said["kind"], {})[json.dumps(said["item"], sort_keys=True)] = item
    return AcceptedItems(
        tuple(item for item in found.get("fact", {}).values() if isinstance(item, Fact)),
        tuple(item for item in found.get("decision", {}).values() if isinstance(item, Decision)),
        tuple(item for item in found.get("open_problem", {}).values() if isinstance(item, OpenProblem)),
    )


def _claim(record: RunRecord, number: int, end: int, kind: str, text: str, item: _Item) -> dict[str, Any]:
    return {
        "claim_id": str(number),
        "session_id": None,
        "run_id": record.run_id,
        "sequence_no": end,
        "step": None,
        "claim_kind": kind,
        "text": text,
        "polarity": None,
        "claim_trust_level": item.trust_level.value,
        "is_authority": False,
        "refs": [str(ref) for ref in item.evidence_refs],
        "hashes": [None] * len(item.evidence_refs),
    }


def _polarities(texts: list[str]) -> list[str | None]:
    """Whether each text says that something passed or failed; ``None`` where it says neither, or both."""
    found: list[str | None] = []
    for text in texts:
        said = {claim.polarity.value for claim in read_claims(text) if claim.claim_class is ClaimClass.VERDICT}
        found.append(said.pop() if len(said) == 1 else None)
    return found


def _verdict(kind: str, item: _Item, decided: dict[str, Any], trusts: list[TrustLevel]) -> ItemVerdict:
    is_accepted = decided["verdict"] == SUPPORTED
    # A model's words are never more trusted than a model, nor than what they rest on.
    trust = lowest([*trusts, TrustLevel.MODEL_GENERATED]) if trusts else TrustLevel.UNKNOWN
    changed = item.model_copy(update={"outcome": ClaimOutcome(decided["verdict"]), "trust_level": trust})
    return ItemVerdict(kind, changed, is_accepted, decided["rule"], decided["why"])
