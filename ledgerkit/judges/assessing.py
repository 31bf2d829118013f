"""From subjects to messages: a judge is asked, held to what it was shown, and what it says is made ready to append."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from ledgerkit.judges.case import case_of
from ledgerkit.judges.judge import Assessment, BatchJudge, Judge, RecordingJudge
from ledgerkit.judges.judgement import Subject, held_to_what_was_shown
from ledgerkit.judges.material import Material
from ledgerkit.judges.records import answer_commands, judgement_command, labels_of, round_of, source_labels
from ledgerkit.judges.rules import RuleJudge
from ledgerkit.protocol.messages import AppendMessageCommand
from ledgerkit.protocol.vocabulary import Audience, TrustLevel


def assessed(
    judge: Judge, material: Material, subjects: Sequence[Subject], there: Collection[str]
) -> Iterator[list[AppendMessageCommand]]:
    """The messages of each judgement, the judgement last, in the order of the subjects.

    Args:
        judge: The judge.
        material: Rows of the runs of the subjects.
        subjects: What to judge.
        there: Idempotency keys of the review run.
    """
    sources = source_labels(material)
    own = TrustLevel.TOOL_TRUSTED if isinstance(judge, RuleJudge) else TrustLevel.MODEL_GENERATED
    for made in _assessments(judge, material, subjects):
        number, labels = round_of(made.judgement.subject, there), labels_of(made.judgement, sources)
        yield [*answer_commands(made, number), judgement_command(made, own, labels, number)]


def _assessments(judge: Judge, material: Material, subjects: Sequence[Subject]) -> Iterator[Assessment]:
    if isinstance(judge, BatchJudge):
        known = material.known_references
        parted = known.partition_by("run_id", as_dict=True)
        shown = {str(key[0]): set(rows["reference"].to_list()) for key, rows in parted.items()}
        for judgement in judge.assess_many(material, subjects):
            held = held_to_what_was_shown(judgement, shown.get(judgement.subject.run_id, set()))
            yield Assessment(held, (), {})
        return
    for subject in subjects:
        max_tokens: int = getattr(judge, "max_input_tokens", 12_000)
        audience: Audience = getattr(judge, "audience", Audience.MODEL)
        proves = bool(judge.rubric.settings.get("checks_prove", False))
        case = case_of(material, subject, max_tokens=max_tokens, audience=audience, checks_prove=proves)
        made = (
            judge.assess_recorded(case) if isinstance(judge, RecordingJudge) else Assessment(judge.assess(case), (), {})
        )
        yield replace(made, judgement=held_to_what_was_shown(made.judgement, case.shown))
