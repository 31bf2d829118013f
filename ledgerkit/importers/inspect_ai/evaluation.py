"""What a log says of its evaluation as a whole: the task, the model that was asked, the scorers."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from ledgerkit.importers.drafts import JsonObject, RunFacts
from ledgerkit.importers.pieces import digest
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of

NAME: Final = "inspect"
SAMPLE: Final = re.compile(r"samples/.+_epoch_\d+\.json")
_STATUS: Final = frozenset({"started", "success", "cancelled", "error"})


def is_log(value: object) -> bool:
    """Whether a value is a log: a status, and of the evaluation the task, the model and when it began."""
    if not is_object(value) or not is_object(value.get("eval")):
        return False
    spec: JsonObject = value["eval"]
    status = value.get("status")
    return spec.keys() >= {"task", "model", "created"} and isinstance(status, str) and status in _STATUS


class Evaluation(msgspec.Struct, frozen=True, gc=False):
    """The evaluation that samples belong to; empty where what describes it is damaged."""

    spec: JsonObject
    plan: Any = None
    results: Any = None

    @classmethod
    def of(cls, header: object) -> Evaluation:
        """The evaluation that a header (or the journal's beginning of one) describes."""
        if not is_object(header):
            return cls({})
        spec = header.get("eval")
        return cls(spec if is_object(spec) else {}, header.get("plan"), header.get("results"))

    def session_of(self, sample: JsonObject) -> str:
        """The session of a sample: its own id, or the evaluation's with the sample's number and epoch."""
        if uuid := nonempty_text(sample.get("uuid")):
            return f"sample:{uuid}"
        named = nonempty_text(self.spec.get("eval_id"))
        own = named or f"{self.spec.get('run_id')}/{self.spec.get('task_id')}"
        if not named and self.spec.get("run_id") is None:
            own = f"unnamed:{digest([self.spec, sample.get('events') or sample])}"
        return f"{own}/{sample.get('id')}/{sample.get('epoch')}"

    def facts_of(self, sample: JsonObject) -> RunFacts:
        """The sample's task: its number counts only within the task."""
        task, number = nonempty_text(self.spec.get("task")), sample.get("id")
        packages = self.spec.get("packages")
        is_named = isinstance(number, str | int) and not isinstance(number, bool) and number != ""
        return RunFacts(
            task_id=f"{task}/{number}" if task and is_named else None,
            agent=nonempty_text(self.spec.get("solver")),
            agent_version=nonempty_text(packages.get("inspect_ai")) if is_object(packages) else None,
        )

    def described(self) -> JsonObject:
        """The evaluation as a sample's run keeps it: what it was, not how it came out."""
        dataset = self.spec.get("dataset")
        beside = {k: v for k, v in dataset.items() if k != "sample_ids"} if is_object(dataset) else dataset
        spec = {**self.spec, "dataset": beside} if beside else self.spec
        return {"eval": spec, "plan": self.plan} if self.plan else {"eval": spec}

    @property
    def model(self) -> str | None:
        """The model that was evaluated."""
        return nonempty_text(self.spec.get("model"))

    def counts_right_answers(self, scorer: str) -> bool:
        """Whether a scorer's number is the share of right answers: one of its metrics is the accuracy."""
        found = [*objects_of(self.spec.get("scorers"))]
        if is_object(self.results):
            found += objects_of(self.results.get("scores"))
        return any(_has_accuracy(each.get("metrics")) for each in found if each.get("name") == scorer)


def _has_accuracy(metrics: object) -> bool:
    names: list[object] = [each.get("name") for each in objects_of(metrics)] if is_list(metrics) else []
    names += list(metrics) if is_object(metrics) else []
    return any(isinstance(name, str) and name.rpartition("/")[2] == "accuracy" for name in names)
