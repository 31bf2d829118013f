"""The labelled claims: histories written for the project as frames of a ledger's views, and how they are scored."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import polars as pl

from ledgerkit.extract.claims import claims_frame
from ledgerkit.extract.verifiers import verifier_frame
from ledgerkit.memory import CITING_SCHEMA, check_claims, decide, resolve_citations, rule_on_citations
from ledgerkit.memory.evidence import calls_frame, changes_frame, checks_frame
from ledgerkit.memory.rules.sets import r16_failure_completeness, r17_changed_files, r18_coverage
from ledgerkit.memory.spoken.check import prepared, spoken_rulings
from ledgerkit.memory.spoken.joins import Evidence

HERE: Final = Path(__file__).resolve().parent
_BY_MODEL: Final = ("ASSISTANT_RESPONSE", "RUN_SUMMARY", "TOOL_CALL_REQUEST")
HALVES: Final = ("tuning", "held_out")
SETS: Final = (*HALVES, "later")
"""The claims that were written first, in two halves, and those that were added afterwards."""
_PART: Final = {
    **dict.fromkeys(
        (
            "session_id",
            "run_id",
            "message_id",
            "kind",
            "part_trust_level",
            "part_visibility",
            "part_type",
            "text",
            "data",
        ),
        pl.String,
    ),
    **dict.fromkeys(("tool_call_id", "tool_name", "status", "error_category"), pl.String),
    "sequence_no": pl.Int64,
    "part_index": pl.Int32,
    "step": pl.Int32,
}
_CALL: Final = {
    **dict.fromkeys(
        (
            "session_id",
            "run_id",
            "message_id",
            "tool_call_id",
            "tool_name",
            "arguments",
            "path",
            "status",
            "result_message_id",
        ),
        pl.String,
    ),
    "result_text": pl.String,
    "sequence_no": pl.Int64,
    "result_sequence_no": pl.Int64,
}


def cases(half: str) -> list[dict[str, Any]]:
    """The labelled cases of one half."""
    lines = (HERE / f"claims_labelled.{half}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


class Run:
    """A run that is written step by step, as rows of ``parts`` and ``tool_calls``."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.parts: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.continued: list[dict[str, Any]] = []
        self.number = 0
        self.forgotten_at: int | None = None

    def message(self, kind: str, **part: Any) -> int:
        row = {
            "session_id": "s",
            "run_id": self.run_id,
            "message_id": f"{self.run_id}.{self.number}",
            "sequence_no": self.number,
        }
        trust = "MODEL_GENERATED" if kind in _BY_MODEL else "REPOSITORY_UNTRUSTED"
        self.parts.append(
            {
                **row,
                "kind": kind,
                "part_trust_level": trust,
                "part_type": "text",
                "part_visibility": "MODEL_VISIBLE",
                "part_index": 0,
                "step": self.number,
                **part,
            }
        )
        self.number += 1
        return self.number - 1

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        text: str | None,
        code: int | None = 0,
        *,
        failed: bool | None = None,
    ) -> None:
        call_id = f"{self.run_id}-call{self.number}"
        data = json.dumps(arguments)
        same = {"tool_call_id": call_id, "tool_name": tool}
        asked = self.message("TOOL_CALL_REQUEST", part_type="tool_call", data=data, status="REQUESTED", **same)
        status = (
            "UNKNOWN"
            if text is None or (code is None and failed is None)
            else "FAILED"
            if (failed or code)
            else "SUCCEEDED"
        )
        row = {
            "session_id": "s",
            "run_id": self.run_id,
            "message_id": f"{self.run_id}.{asked}",
            **same,
            "arguments": data,
        }
        row |= {"sequence_no": asked, "status": status, "path": arguments.get("file_path")}
        if text is not None:
            result = json.dumps({"exit_code": code}) if code is not None and tool == "Bash" else None
            seen = self.message(
                "TOOL_CALL_RESULT", part_type="tool_result", text=text, data=result, status=status, **same
            )
            row |= {"result_message_id": f"{self.run_id}.{seen}", "result_sequence_no": seen, "result_text": text}
        self.calls.append(row)

    def act(self, action: list[Any]) -> None:
        name, *rest = action
        if name == "sh":
            self._shell(*rest)
        elif name.rstrip("!") in ("edit", "write"):
            tool = {"edit": "Edit", "write": "Write"}[name.rstrip("!")]
            self.call(
                tool,
                {"file_path": rest[0]},
                "Error: refused" if name.endswith("!") else "ok",
                failed=name.endswith("!"),
            )
        elif name == "read":
            self.call("Read", {"file_path": rest[0]}, rest[1])
        elif name == "grep":
            self.call("Grep", {"pattern": rest[0]} | ({"path": rest[2]} if rest[2] else {}), rest[1])
        elif name == "todo":
            self.call("TodoWrite", {"todos": [{"content": one, "status": status} for one, status in rest[0]]}, "ok")
        elif name == "task":
            self.call("Task", {"prompt": rest[0]}, rest[1])
        elif name == "say":
            self.message("ASSISTANT_RESPONSE", text=rest[0])
        else:
            self._other(name, rest)

    def _other(self, name: str, rest: list[Any]) -> None:
        if name == "compact":
            self.forgotten_at = self.number
        elif name == "user":
            self.message("USER_TASK", text=rest[0], part_trust_level="USER_TRUSTED")
        elif name == "summary":
            self.continued.append(
                {
                    "session_id": "s",
                    "run_id": self.run_id,
                    "sequence_no": self.message("RUN_SUMMARY", text="Earlier work."),
                }
            )
        else:
            raise ValueError(f"no action {name!r}")

    def _shell(self, command: str, text: str, code: int | None, how: str = "") -> None:
        arguments = {"command": command} | ({"run_in_background": True} if how == "background" else {})
        self.call("Bash", arguments, text, code)


def written(labelled: list[dict[str, Any]]) -> list[Run]:
    """One run for each case."""
    runs: list[Run] = []
    for case in labelled:
        run = Run(case["id"])
        for action in case["history"]:
            run.act(action)
        run.message("ASSISTANT_RESPONSE", text=case["say"])
        for action in case.get("after", []):
            run.act(action)
        runs.append(run)
    return runs


def frames(runs: list[Run]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Parts, tool calls, and where runs go on from what is not recorded."""
    continued = {"session_id": pl.String, "run_id": pl.String, "sequence_no": pl.Int64}
    return (
        pl.DataFrame([row for run in runs for row in run.parts], schema=_PART),
        pl.DataFrame([row for run in runs for row in run.calls], schema=_CALL),
        pl.DataFrame([row for run in runs for row in run.continued], schema=continued),
    )


def placements(runs: list[Run]) -> pl.DataFrame:
    """What stood in the context of each step: all that came before, but for what a compaction took out."""
    rows = [
        (
            part["run_id"],
            part["message_id"] + "#0",
            f"tool-call:{part['tool_call_id']}" if part.get("tool_call_id") else f"message:{part['message_id']}",
            part["sequence_no"] + 1,
            run.forgotten_at if run.forgotten_at is not None and part["sequence_no"] < run.forgotten_at else None,
        )
        for run in runs
        for part in run.parts
    ]
    names = {"run_id": pl.String, "part_id": pl.String, "reference": pl.String, "from_step": pl.Int64}
    return pl.DataFrame(rows, schema={**names, "to_step": pl.Int64}, orient="row")


def checked(runs: list[Run]) -> pl.DataFrame:
    """All claims of some runs, checked at once."""
    parts, calls, continued = frames(runs)
    return check_claims(
        claims_frame(parts), calls, verifier_frame(parts), texts=parts, continued=continued,
        placements=placements(runs),
    )  # fmt: skip


def compared(labelled: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """For each labelled or found claim: the case, the right verdict, the given one (``none`` for no claim)."""
    found = checked(written(labelled))
    pairs: list[tuple[str, str, str]] = []
    for case in labelled:
        rows = [
            (row["claim_class"], row["verdict"])
            for row in found.filter(pl.col("run_id") == case["id"]).iter_rows(named=True)
        ]
        for claim_class, verdict, _ in case["claims"]:
            match = next((row for row in rows if row[0] == claim_class), None)
            if match is not None:
                rows.remove(match)
            pairs.append((case["id"], verdict, "none" if match is None else match[1]))
        pairs += [(case["id"], "none", verdict) for _, verdict in rows]
        if not case["claims"] and not rows:
            pairs.append((case["id"], "none", "none"))
    return pairs


def table(pairs: list[tuple[str, str, str]]) -> pl.DataFrame:
    """The confusion table: one row a right verdict, one column a given one."""
    names = ("supported", "contradicted", "unsupported", "stale", "unverified", "none")
    counts = Counter((want, got) for _, want, got in pairs)
    return pl.DataFrame([{"labelled": want, **{got: counts[want, got] for got in names}} for want in names])


def precision_and_recall(pairs: list[tuple[str, str, str]], verdict: str = "contradicted") -> tuple[float, float]:
    """Of the claims that got a verdict, how many should have; of those that should have it, how many got it."""
    hits = sum(want == got == verdict for _, want, got in pairs)
    given, wanted = sum(got == verdict for *_, got in pairs), sum(want == verdict for _, want, _ in pairs)
    return hits / given if given else 1.0, hits / wanted if wanted else 1.0


def written_rulings() -> pl.DataFrame:
    """What every rule says of the labelled claims of assistants."""
    runs = [run for name in SETS for run in written(cases(name))]
    parts, calls, continued = frames(runs)
    in_form = calls_frame(calls)
    evidence = Evidence(in_form, changes_frame(in_form), checks_frame(verifier_frame(parts), in_form))
    rows = prepared(claims_frame(parts), in_form, parts, continued)
    return spoken_rulings(rows, evidence, placements(runs))


def set_rulings() -> pl.DataFrame:
    """The labelled memories and summaries: what they should be, and what the rules about whole sets say of them."""
    rows: list[dict[str, Any]] = []
    for case in cases("sets"):
        frames_of = [pl.DataFrame(case[name], schema=_SETS[name]) for name in _OF_RULE[case["rule"]]]
        found = _SET_RULES[case["rule"]](*(frame.with_columns(claim_id=pl.lit("x")) for frame in frames_of))
        failing = found.filter(pl.col("outcome") != "supported")
        given = failing["outcome"][0] if failing.height else "supported"
        rows.append({"id": case["id"], "rule": case["rule"], "want": case["want"], "verdict": given})
    return pl.DataFrame(rows)


_SETS: Final[dict[str, dict[str, Any]]] = {
    "failures": {"check_key": pl.String, "evidence": pl.List(pl.String)},
    "told": {"check_key": pl.String},
    "told_files": {"path": pl.String},
    "changed": {"path": pl.String, "evidence": pl.List(pl.String)},
    "ranges": {"chain": pl.String, "run_id": pl.String, "version": pl.Int64, "from_sequence_no": pl.Int64,
               "to_sequence_no": pl.Int64},
}  # fmt: skip
_OF_RULE: Final = {"R16": ("failures", "told"), "R17": ("told_files", "changed"), "R18": ("ranges",)}
_SET_RULES: Final[dict[str, Callable[..., pl.DataFrame]]] = {
    "R16": r16_failure_completeness, "R17": r17_changed_files, "R18": r18_coverage,
}  # fmt: skip
_CITING_PART: Final = {**_PART, "part_id": pl.String, "path": pl.String, "artifact_refs": pl.List(pl.String)}


def cited_rulings() -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """The labelled claims that cite, and what every rule says of them."""
    labelled = cases("cited")
    runs: list[Run] = []
    claims: list[dict[str, Any]] = []
    for case in labelled:
        run = Run(case["id"])
        for action in case["history"]:
            run.act(action)
        place = run.message("ASSISTANT_RESPONSE", text=case["claim"]["text"])
        for action in case.get("after", []):
            run.act(action)
        runs.append(run)
        claims.append(_citing(case, run, place))
    parts = pl.DataFrame([row for run in runs for row in run.parts], schema=_CITING_PART).with_columns(
        part_id=pl.col("message_id") + "#0"
    )
    calls = calls_frame(pl.DataFrame([row for run in runs for row in run.calls], schema=_CALL))
    checks = verifier_frame(parts)
    cited = resolve_citations(pl.DataFrame(claims, schema=CITING_SCHEMA), parts, checks, changes_frame(calls))
    return labelled, rule_on_citations(cited, checks, placements(runs))


def cited_verdicts() -> pl.DataFrame:
    """The labelled claims that cite: what they should be, and what they are."""
    labelled, found = cited_rulings()
    decided = decide(found)
    wanted = pl.DataFrame(
        [(case["id"], *case["want"]) for case in labelled], schema=["claim_id", "want", "by"], orient="row"
    )
    return wanted.join(decided, on="claim_id", how="left", maintain_order="left")


def _citing(case: dict[str, Any], run: Run, place: int) -> dict[str, Any]:
    said = case["claim"]
    refs = [_named(ref, run) for ref in said["refs"]]
    text = run.parts[1]["text"] if len(run.parts) > 1 else ""
    whole = {"same": text, "other": text + " "}.get(said.get("hash", ""))
    digest = None if whole is None else hashlib.sha256(whole.encode()).hexdigest()
    return {
        "claim_id": case["id"], "session_id": "s", "run_id": run.run_id, "sequence_no": place, "step": place,
        "claim_kind": said["kind"], "text": said["text"], "polarity": said.get("polarity"),
        "claim_trust_level": said.get("trust"), "is_authority": said.get("authority", False),
        "refs": refs, "hashes": [digest for _ in refs],
    }  # fmt: skip


def _named(ref: str, run: Run) -> str:
    target, _, span = ref.partition("#")
    if target.startswith("@call"):
        target = f"tool-call:{run.calls[int(target[5:])]['tool_call_id']}"
    elif target.startswith("@msg"):
        target = f"message:{run.run_id}.{target[4:]}"
    return f"{target}#{span}" if span else target
