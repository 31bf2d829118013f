"""Every metric again, step by step in plain Python, from the definitions and sharing nothing with the intervals."""

from __future__ import annotations

import json
import math
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from ledgerkit.evaluation import Material
from ledgerkit.strategies import RandomDrop, Strategy, project

MODEL = ("ASSISTANT_RESPONSE", "AGENT_THOUGHT_SUMMARY", "TOOL_CALL_REQUEST")
SOURCES = ("TOOL_CALL_RESULT", "FILE_OBSERVATION", "DIFF_OBSERVATION", "VERIFIER_RESULT", "USER_TASK")
INSTRUCTS = ("PLATFORM_TRUSTED", "ORG_TRUSTED", "USER_TRUSTED")
COMMANDING = ("platform_policy", "org_policy", "task_contract")
_A = re.ASCII


@dataclass
class Run:
    """A run as lists."""

    number: int
    steps: int
    parts: list[dict[str, Any]]  # of the frames, with text, data, path, root, is_own
    verdicts: list[dict[str, Any]]


def runs_of(material: Material) -> list[Run]:
    frames = material.frames
    said = {row["part"]: row for row in material.texts.to_dicts()}
    parts = [{**row, **{k: said[row["part"]][k] for k in ("text", "data", "path", "root", "is_own")}}
             for row in frames.parts.to_dicts()]  # fmt: skip
    place = {(r["session_id"], r["run_id"], r["message_id"], r["part_index"]): r for r in material.part_of.to_dicts()}
    verdicts: list[dict[str, Any]] = []
    for row in material.verdicts.to_dicts():
        at = place.get((row["session_id"], row["run_id"], row["message_id"], row["part_index"]))
        if at is not None:
            verdicts.append({**row, "run": at["run"], "part": at["part"]})
    return [
        Run(run, steps, [p for p in parts if p["run"] == run], [v for v in verdicts if v["run"] == run])
        for run, steps in frames.runs.select("run", "steps").iter_rows()
    ]


def said(part: dict[str, Any]) -> str | None:
    """What a part says: its text, or the values of its arguments."""
    if part["part_type"] != "tool_call":
        return part["text"] if part["text"] is not None else part["data"]
    return None if part["data"] is None else "\n".join(str(v) for v in _values(json.loads(part["data"])))


def _values(value: Any) -> list[Any]:
    if isinstance(value, dict | list):
        inside: Any = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return [one for inner in inside for one in _values(inner)]
    return [value] if isinstance(value, str | int | float) and not isinstance(value, bool) else []


def normal(text: str, root: str | None) -> str:
    """The text with paths as they lie in the workspace."""
    text = re.sub(r"(?m)^(\+\+\+ |--- )[ab]/", r"\1", text)
    if root and root.strip("/"):
        text = re.sub(rf"(?<![\w./~-]){re.escape(root.rstrip('/'))}/", "", text)
        home = re.match(r"(/home/[^/]+|/Users/[^/]+|/root)(/|$)", root)
        if home:
            text = re.sub(rf"(?<![\w./~-]){re.escape(home[1])}/", "~/", text)
    return re.sub(r"(?<![\w./])(\./)+", "", text)


_EDGES = {
    "path": (r"(?<![\w/.~@+%-])", r"(?!\w)(?![/.~@+%-]\w)"),
    "line": (r"(?<![\w/.~@+%-])", r"(?!\w)(?![.-]\w)"),
    "identifier": (r"(?<![\w.])", r"(?!\w)(?!\.\w)(?!::)"),
    "error_code": (r"(?<![\w-])", r"(?!\w)(?!-\w)"),
    "hash": (r"(?<![\w-])", r"(?!\w)(?!-\w)"),
    "url": (r"(?<!\w)", r"(?!\w)(?![/%?=&#~+@.:-]\w)"),
    "number": (r"(?<![\w.])", r"(?!\w)(?!\.\w)"),
}


def mentions(text: str, kind: str, value: str) -> bool:
    """Whether a text of normal form mentions a token."""
    before, behind = _EDGES.get(kind, ("", ""))
    if kind == "quoted":
        before = r"(?<!\w)" if re.match(r"\w", value[0], _A) else ""
        behind = r"(?!\w)" if re.match(r"\w", value[-1], _A) else ""
    return value in text and re.search(before + re.escape(value) + behind, text, _A) is not None


def contexts(material: Material, placements: pl.DataFrame, run: Run) -> list[list[dict[str, Any]]]:
    rows = sorted(placements.filter(pl.col("run") == run.number).to_dicts(), key=lambda r: r["position"])
    return [[r for r in rows if r["from_step"] <= t < r["to_step"]] for t in range(run.steps)]


class Scored:
    """One run under one strategy."""

    def __init__(self, material: Material, run: Run, strategy: Strategy, tokens: dict[int, set[tuple[str, str]]],
                 lines: dict[int, set[str]]) -> None:  # fmt: skip
        self.lines = lines
        self.material, self.run, self.strategy = material, run, strategy
        self.by_part = {p["part"]: p for p in run.parts}
        self.tokens = tokens
        self.contexts = contexts(material, project(material.frames, strategy).placements, run)

    def shown(self, row: dict[str, Any], *, raw: bool = False) -> str:
        """What a placement shows of its part; nothing for references and summaries that nobody wrote."""
        if row["part"] < 0 or row["rendition"] not in ("full", "excerpt"):
            return ""
        part = self.by_part[row["part"]]
        text = said(part)
        if text is None:
            return ""
        text = text if row["rendition"] == "full" else "\n".join(self.strategy.excerpt(text))
        return text if raw else normal(text, part["root"])

    def needs(self, step: int) -> list[tuple[str, str, dict[str, Any]]]:
        """Needs of the action of a step, with their newest source."""
        asked = {token for p in self.run.parts if p["part_type"] == "tool_call" and p["is_own"] and p["step"] == step
                 for token in self.tokens[p["part"]]}  # fmt: skip
        found: list[tuple[str, str, dict[str, Any]]] = []
        for kind, value in sorted(asked):
            there = [p for p in self.run.parts
                     if (text := said(p)) is not None and mentions(normal(text, p["root"]), kind, value)]  # fmt: skip
            if there and there[0]["kind"] in MODEL and not there[0]["is_result"]:
                continue
            sources = [p for p in there if self._is_source(p) and p["visible_from"] <= step]
            if sources:
                found.append((kind, value, max(sources, key=lambda p: (p["visible_from"], p["part"]))))
        return found

    @staticmethod
    def _is_source(part: dict[str, Any]) -> bool:
        return part["kind"] in SOURCES and part["part_type"] != "tool_call" and part["is_eligible"]

    def holds(self, rows: list[dict[str, Any]], kind: str, value: str, *, source: bool = False) -> bool:
        return any(
            (not source or (r["part"] >= 0 and self._is_source(self.by_part[r["part"]])))
            and mentions(self.shown(r), kind, value)
            for r in rows
        )

    def evidence(self) -> dict[str, Any]:
        shares: list[float] = []
        sourced: list[float] = []
        held: list[bool] = []
        ages: list[int] = []
        weights: list[float] = []
        kinds: list[str] = []
        for t, rows in enumerate(self.contexts):
            needs = self.needs(t)
            mine = [self.holds(rows, kind, value) for kind, value, _ in needs]
            if needs:
                shares.append(sum(mine) / len(needs))
                sourced.append(sum(self.holds(rows, k, v, source=True) for k, v, _ in needs) / len(needs))
            held += mine
            kinds += [kind for kind, _, _ in needs]
            ages += [t - p["visible_from"] for (_, _, p), ok in zip(needs, mine, strict=True) if not ok]
            weights += [self.weight(kind, value) for kind, value, _ in needs]
        total = sum(weights)
        return {
            "needs": len(held),
            "missing_needs": len(held) - sum(held),
            "evidence_retention": _mean(shares),
            "evidence_retention_steps": len(shares),
            "source_retention": _mean(sourced),
            "evidence_retention_micro": _mean([float(one) for one in held]),
            "evidence_retention_idf": sum(w for w, ok in zip(weights, held, strict=True) if ok) / total
            if total > 0 else None,
            "missing_age_p50": _quantile(ages, 0.5),
            "missing_age_p90": _quantile(ages, 0.9),
            "missing_age_max": max(ages) if ages else None,
            **{f"evidence_retention_{kind}": _mean([float(ok) for ok, k in zip(held, kinds, strict=True) if k == kind])
               for kind in [*_EDGES, "quoted"]},
        }  # fmt: skip

    def weight(self, kind: str, value: str) -> float:
        brought = {p["visible_from"] for p in self.run.parts
                   if (text := said(p)) is not None and mentions(normal(text, p["root"]), kind, value)}  # fmt: skip
        return math.log(self.run.steps / min(max(len(brought), 1), self.run.steps))

    def control(self) -> dict[str, Any]:
        peak = max(sum(r["tokens"] for r in rows) for rows in self.contexts)
        if peak < 1:
            return {}
        other = Scored(self.material, self.run, RandomDrop(peak, seed=0), self.tokens, self.lines)
        mine, theirs = (one.evidence()["evidence_retention"] for one in (self, other))
        return {"control_retention": theirs, "lift": None if mine is None else mine - theirs,
                "control_input_tokens": sum(r["tokens"] for rows in other.contexts for r in rows)}  # fmt: skip

    def edits(self) -> dict[str, Any]:
        shares: list[float] = []
        lines = 0
        for t, rows in enumerate(self.contexts):
            quoted = {line for p in self.run.parts
                      if p["part_type"] == "tool_call" and p["is_own"] and p["step"] == t
                      for line in self.lines[p["part"]]}  # fmt: skip
            lines += len(quoted)
            if quoted:
                texts = [self.shown(r, raw=True) for r in rows]
                shares.append(sum(any(line in text for text in texts) for line in quoted) / len(quoted))
        return {"edit_support": _mean(shares), "edit_support_steps": len(shares), "edit_lines": lines}

    def failures(self) -> dict[str, Any]:
        good: list[float] = []
        for t, rows in enumerate(self.contexts):
            last: dict[str | None, tuple[tuple[int, int], list[dict[str, Any]]]] = {}
            for v in self.run.verdicts:
                part = self.by_part[v["part"]]
                if part["is_eligible"] and part["visible_from"] <= t:
                    at = (part["visible_from"], part["part"])
                    before = last.get(v["check"])
                    if before is None or at > before[0]:
                        last[v["check"]] = (at, [v])
                    elif at == before[0]:
                        before[1].append(v)
            opened = [vs for _, vs in last.values() if any(v["verdict"] == "failed" for v in vs)]
            if opened:
                good.append(float(all(self._sees(rows, verdicts) for verdicts in opened)))
        return {"failure_visibility": _mean(good), "failure_visibility_steps": len(good)}

    def _sees(self, rows: list[dict[str, Any]], verdicts: list[dict[str, Any]]) -> bool:
        lines = [line for v in verdicts for line in v["lines"]]
        return any(
            r["rendition"] == "full" or (not lines or any(line in self.shown(r, raw=True) for line in lines))
            for r in rows if r["part"] == verdicts[0]["part"] and r["rendition"] in ("full", "excerpt")
        )  # fmt: skip

    def labels(self) -> dict[str, Any]:
        kept: list[float] = []
        shares: list[float] = []
        tokens = unknown = inversions = 0
        for t, rows in enumerate(self.contexts):
            must = [p for p in self.run.parts if p["is_eligible"] and p["visible_from"] <= t and (p["is_pinned"] or (
                p["kind"] in ("USER_TASK", "DEVELOPER_INSTRUCTION") and p["trust_level"] in INSTRUCTS
                and not p["is_result"]))]  # fmt: skip
            whole = {r["part"] for r in rows if r["rendition"] == "full"}
            if must:
                kept.append(float(all(p["part"] in whole for p in must)))
            trust = [(r, "SUMMARY" if r["part"] < 0 else self.by_part[r["part"]]["trust_level"]) for r in rows
                     if r["rendition"] != "reference"]  # fmt: skip
            size = sum(r["tokens"] for r in rows)
            low = ("SUMMARY", "REPOSITORY_UNTRUSTED", "NETWORK_UNTRUSTED")
            if size:
                shares.append(sum(r["tokens"] for r, level in trust if level in low) / size)
            tokens += size
            unknown += sum(r["tokens"] for r, level in trust if level == "UNKNOWN")
            inversions += sum(r["section"] in COMMANDING and level not in INSTRUCTS for r, level in trust)
        return {"policy_retention": _mean(kept), "policy_retention_steps": len(kept), "untrusted_share": _mean(shares),
                "untrusted_share_p95": _quantile(shares, 0.95), "trust_inversions": inversions,
                "unlabelled_share": unknown / tokens if tokens else None}  # fmt: skip

    def files(self) -> dict[str, Any]:
        whole = stale = contradictions = 0
        for t, rows in enumerate(self.contexts):
            held: dict[tuple[Any, ...], set[str]] = {}
            for r in rows:
                part = self.by_part.get(r["part"])
                if part is None or r["rendition"] not in ("full", "excerpt") or not _is_file(part):
                    continue
                whole += r["tokens"]
                later = [p for p in self.run.parts if p["part_type"] == "diff" and p["part"] > part["part"]
                         and p["visible_from"] <= t and _file(p) == _file(part)]  # fmt: skip
                stale += r["tokens"] if later else 0
                if part["part_type"] == "file_snippet" and r["rendition"] == "full":
                    data = json.loads(part["data"] or "{}")
                    key = (_file(part), data.get("start_line"), data.get("end_line"))
                    held.setdefault(key, set()).add(part["text"])
            contradictions += sum(len(contents) > 1 for contents in held.values())
        return {"staleness": stale / whole if whole else None, "file_tokens": whole, "contradictions": contradictions}

    def refetching(self, reads: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """What of the missing a recorded call that only reads could give again; ``reads`` says which calls do."""
        again: list[int | None] = []
        for t, rows in enumerate(self.contexts):
            again += [self._again(p, t, reads) for kind, value, p in self.needs(t) if not self.holds(rows, kind, value)]
        calls = [(p["tool_name"], p["data"]) for p in self.run.parts
                 if p["is_own"] and p["step"] is not None and reads(p)]  # fmt: skip
        return {
            "refetch_exposure": _mean([float(one is not None) for one in again]),
            "refetch_tokens": sum(one for one in again if one is not None),
            "repeated_reads": len(calls) - len(set(calls)),
        }

    def _again(self, source: dict[str, Any], step: int, reads: Callable[[dict[str, Any]], bool]) -> int | None:
        asked = any(p["unit"] == source["unit"] and reads(p) for p in self.run.parts)
        deleted = any(
            p["part_type"] == "diff" and p["part"] > source["part"] and p["visible_from"] <= step
            and json.loads(p["data"] or "{}").get("change") == "deleted"
            and source["path"] is not None and _file(p) == _file(source)
            for p in self.run.parts
        )  # fmt: skip
        return source["tokens"] if source["is_result"] and asked and not deleted else None

    def validity(self) -> dict[str, Any]:
        bad = 0
        moves: dict[int, set[int]] = {}
        for r in (r for rows in self.contexts for r in rows if r["part"] >= 0):
            part = self.by_part[r["part"]]
            moves.setdefault(part["unit"], set()).add(r["position"] - part["position"])
        for t, rows in enumerate(self.contexts):
            places = {r["part"]: r["position"] for r in rows}
            units: dict[int, list[dict[str, Any]]] = {}
            for p in self.run.parts:
                if p["is_eligible"] and p["visible_from"] <= t:
                    units.setdefault(p["unit"], []).append(p)
            broken = False
            for unit in units.values():
                there = [p for p in unit if p["part"] in places]
                torn = len(there) > 1 and len(moves[unit[0]["unit"]]) > 1
                broken |= 0 < len(there) < len(unit) or torn
            bad += broken
        return {"validity": (self.run.steps - bad) / self.run.steps, "determinism": 1.0}


def _is_file(part: dict[str, Any]) -> bool:
    shows = part["part_type"] == "file_snippet" or (
        part["kind"] == "FILE_OBSERVATION" and part["part_type"] == "tool_result"
    )
    return shows and part["path"] is not None and part["text"] is not None


def _file(part: dict[str, Any]) -> str | None:
    if part["path"] is None:
        return None
    return posixpath.relpath(posixpath.join(part["root"] or "/", part["path"]), part["root"] or "/")


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _quantile(values: list[Any], share: float) -> Any:
    """The smallest value that so great a share does not exceed, of the places between first and last."""
    if not values:
        return None
    return sorted(values)[math.ceil(share * (len(values) - 1) - 1e-9)]
