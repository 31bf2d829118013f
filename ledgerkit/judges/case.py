"""What a judge is shown of one subject: exhibits with a reference and a trust level each, as many as fit.

The rule: an allowlist. Only what the judge's audience may see is shown, long texts are cut, and what is left out is
counted. Whether an exhibit may prove success is said by its origin, never by what it says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import polars as pl

from ledgerkit.judges.judgement import Subject
from ledgerkit.judges.material import RUN, TRUSTED, Material
from ledgerkit.judges.rubric import SubjectKind
from ledgerkit.memory.evidence.calls import references
from ledgerkit.protocol.vocabulary import Audience, ContextSection, TrustLevel
from ledgerkit.safety.gate import visible_to
from ledgerkit.tokens import count

DEFAULT_TOKENS: Final = 12_000
"""Tokens of all exhibits together."""
LONGEST: Final = 4_000
"""Characters of one exhibit: of a longer text its head and its tail are shown."""
_FRAME_TOKENS: Final = 40
_INSTRUCTING: Final = (
    "SYSTEM_INSTRUCTION", "DEVELOPER_INSTRUCTION", "ORG_POLICY", "REPOSITORY_INSTRUCTION", "JUDGE_RESULT",
    "RUN_SUMMARY",
)  # fmt: skip
_SECTIONS: Final = {
    "USER_TASK": ContextSection.TASK_CONTRACT,
    "ORG_POLICY": ContextSection.ORG_POLICY,
    "SYSTEM_INSTRUCTION": ContextSection.PLATFORM_POLICY,
    "REPOSITORY_INSTRUCTION": ContextSection.REPOSITORY_INSTRUCTIONS,
    "VERIFIER_RESULT": ContextSection.VERIFIER,
    "RUN_SUMMARY": ContextSection.WORKING_MEMORY,
}
_RANKS: Final = {
    "USER_TASK": 0, "VERIFIER_RESULT": 1, "APPROVAL_DECISION": 2, "ASSISTANT_RESPONSE": 3, "DIFF_OBSERVATION": 4,
    "TOOL_CALL_RESULT": 5, "ERROR_EVENT": 5, "TOOL_CALL_REQUEST": 6, "FILE_OBSERVATION": 7, "RUN_SUMMARY": 7,
}  # fmt: skip
"""What is shown first where not all fits; the latest first within one rank."""
_LAST_RANK: Final = 8


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One thing that a judge is shown.

    Attributes:
        name: What it is called in the judge's input: ``E1``.
        reference: The evidence reference that it stands for.
        kind: The kind of its message.
        trust_level: Where it comes from.
        text: What is shown of it.
        left_out: Characters that are not.
        may_prove: Whether it can be evidence of success.
    """

    name: str
    reference: str
    kind: str
    trust_level: TrustLevel
    text: str
    left_out: int = 0
    may_prove: bool = False

    @property
    def section(self) -> ContextSection:
        """The section that it stands in."""
        untrusted = self.trust_level.is_untrusted
        return _SECTIONS.get(self.kind, ContextSection.REPOSITORY_DATA if untrusted else ContextSection.RECENT_MESSAGES)


@dataclass(frozen=True)
class Case:
    """A subject with what its judge may look at.

    Attributes:
        subject: What is judged.
        material: All rows of its run, for judges that go by rows.
        exhibits: What is shown, in the order of the run.
        left_out: Parts that are not shown, because they do not fit or the audience may not see them.
        about: The claim, summary or diff itself, as text; empty for a run.
    """

    subject: Subject
    material: Material = field(repr=False)
    exhibits: tuple[Exhibit, ...] = ()
    left_out: int = 0
    about: str = ""

    @property
    def shown(self) -> frozenset[str]:
        """References of what is shown."""
        return frozenset(one.reference for one in self.exhibits)


def case_of(
    material: Material,
    subject: Subject,
    *,
    max_tokens: int = DEFAULT_TOKENS,
    audience: Audience = Audience.MODEL,
    checks_prove: bool = False,
) -> Case:
    """The case of a subject.

    Args:
        material: Rows of its run; of others too, if need be.
        subject: The subject.
        max_tokens: Tokens of all exhibits together, counted as o200k_base.
        audience: Whose eyes the judge has: what it may not see is left out.
        checks_prove: Whether a passing check whose verdict was read from a shell call's output may prove success. What
            it prints is the repository's text, so by default it may not.
    """
    mine = material.of_run(subject.run_id)
    seen, _ = visible_to(mine.parts, audience)
    chosen = _chosen(_candidates(seen, mine, subject, checks_prove=checks_prove), max_tokens)
    exhibits = tuple(
        Exhibit(
            f"E{number}", row["reference"], row["kind"], TrustLevel(row["part_trust_level"] or "UNKNOWN"), row["shown"],
            row["left_out"], row["may_prove"],
        )
        for number, row in enumerate(chosen.iter_rows(named=True), start=1)
    )  # fmt: skip
    return Case(subject, mine, exhibits, mine.parts.height - chosen.height, _about(mine, subject))


def _candidates(seen: pl.DataFrame, mine: Material, subject: Subject, *, checks_prove: bool) -> pl.DataFrame:
    """Parts that say something, with what is shown of each, in order of importance."""
    said = pl.coalesce("text", "data")
    first_answer = seen.filter(pl.col("part_trust_level") == "MODEL_GENERATED")["sequence_no"].min()
    is_asked = (pl.col("kind") == "USER_TASK") & (
        pl.col("sequence_no") < (first_answer if first_answer is not None else 0)
    )
    checked = (
        mine.checks.filter(pl.col("verdict") == "passed", pl.col("hidden_by").is_null())
        if checks_prove
        else mine.checks.clear()
    )
    proves = pl.col("part_trust_level").is_in(TRUSTED) & ~pl.col("kind").is_in(_INSTRUCTING) & ~is_asked
    of_call = mine.parts.select("tool_call_id").drop_nulls().unique()["tool_call_id"]
    rows = (
        seen.filter(said.is_not_null(), said.str.len_chars() > 0)
        .join(references(of_call).rename({"reference": "call"}), on="tool_call_id", how="left", maintain_order="left")
        .with_columns(
            said=said,
            reference=pl.when(pl.col("kind") == "TOOL_CALL_REQUEST")
            .then("call")
            .otherwise(pl.format("message:{}", "message_id")),
            rank=pl.col("kind").replace_strict(_RANKS, default=_LAST_RANK, return_dtype=pl.Int64),
            may_prove=(proves | pl.col("part_id").is_in(checked["part_id"].to_list())).fill_null(value=False),
        )
        .with_columns(pl.col("reference").fill_null(pl.format("message:{}", "message_id")))
    )
    if subject.reference is not None:
        rank = pl.when(pl.col("reference") == str(subject.reference).split("#", 1)[0]).then(-1).otherwise("rank")
        rows = rows.with_columns(rank=rank)
    head, tail = LONGEST * 2 // 3, LONGEST // 3
    length = pl.col("said").str.len_chars()
    cut = pl.concat_str(
        pl.col("said").str.head(head), pl.format("\n[… {} characters left out …]\n", length - head - tail),
        pl.col("said").str.tail(tail),
    )  # fmt: skip
    is_long = length > LONGEST + 200
    return rows.with_columns(
        shown=pl.when(is_long).then(cut).otherwise("said"),
        left_out=pl.when(is_long).then(length - head - tail).otherwise(0).cast(pl.Int64),
    ).sort("rank", pl.col("sequence_no"), descending=[False, True], maintain_order=True)


def _chosen(rows: pl.DataFrame, max_tokens: int) -> pl.DataFrame:
    """As many of the first rows as fit; one that does not is passed over. In the order of the run."""
    kept, spent = list[int](), 0
    for number, text in enumerate(rows["shown"]):
        tokens = count(text) + _FRAME_TOKENS
        if spent + tokens <= max_tokens:
            kept.append(number)
            spent += tokens
    return rows[kept].sort(*RUN, "sequence_no", "part_index")


def _about(mine: Material, subject: Subject) -> str:
    if subject.reference is None:
        return ""
    place = str(subject.reference)
    if subject.kind is SubjectKind.CLAIM:
        found = mine.claims.filter(pl.col("place") == place)["text"]
    else:
        rows = mine.parts.filter(pl.format("message:{}", "message_id") == place)
        found = rows.select(pl.coalesce("text", "data")).to_series().drop_nulls()
    return "" if found.is_empty() else str(found[0])[:LONGEST]
