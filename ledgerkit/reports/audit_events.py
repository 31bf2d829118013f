"""Questions 6 to 10 of the audit report: errors, verifiers, second attempts, secrets, untrusted text; and verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from ledgerkit.formatting import format_money, plural
from ledgerkit.judges.rules.said import unresolved
from ledgerkit.reports.audit_answers import Answer, AnswerRow, answer
from ledgerkit.reports.audit_input import AuditInput, message, quote

_BRANCHES: Final = ("rewind", "retry", "fork")
_KEY_FILES: Final = (
    r"(?i)(?:^|/)(?:\.env(?:\.[\w-]+)?|\.netrc|\.npmrc|\.pypirc|\.pgpass|id_(?:rsa|dsa|ecdsa|ed25519)|credentials|"
    r"[\w.-]*\.(?:pem|key|p12|pfx|kdbx)|secrets?\.(?:ya?ml|json|toml|env))$"
)
"""Names of files that hold secrets by custom."""


def errors(number: int, given: AuditInput) -> Answer:
    """Calls that failed, and errors of the agent or a provider, in order."""
    failed = given.calls.filter(pl.col("status").is_in(["FAILED", "TIMED_OUT"]))
    rows: list[tuple[int, AnswerRow]] = [
        (sequence, AnswerRow(f"{quote(name, 60)} {status.lower().replace('_', ' ')}: {quote(text)}", (ref,)))
        for sequence, name, status, text, ref in failed.select(
            "sequence_no", "tool_name", "status", "result_text", "reference"
        ).iter_rows()
    ]
    events = given.material.parts.filter(pl.col("kind") == "ERROR_EVENT")
    rows += [
        (sequence, AnswerRow(f"{quote(category or 'error', 60)}: {quote(text)}", (message(message_id),)))
        for sequence, category, text, message_id in events.select(
            "sequence_no", "error_category", "text", "message_id"
        ).iter_rows()
    ]
    ordered = [row for _, row in sorted(rows, key=lambda pair: pair[0])]
    said = f"{plural(failed.height, 'failed call')} and {plural(events.height, 'error')}, in order:"
    return answer(number, ordered, said, "No error is recorded.")


def failing_verifiers(number: int, given: AuditInput) -> Answer:
    """Every failing verdict, and whether a later one of the same check passed."""
    verdicts = given.material.verifier_results.filter(pl.col("superseded_by").is_null()).sort("sequence_no", "check_no")
    open_ids = set(unresolved(given.material)["part_id"])
    failed = verdicts.filter(pl.col("verdict") == "failed")
    rows = [_failing(row, is_open=row["part_id"] in open_ids) for row in failed.iter_rows(named=True)]
    said = f"{plural(len(rows), 'failing verdict')} of {verdicts.height}:"
    nothing = (
        "None of the recorded verdicts is a failure." if verdicts.height else "No verifier ran, as far as recorded."
    )
    return answer(number, rows, said, nothing, recorded=verdicts.height > 0)


def _failing(row: dict[str, Any], *, is_open: bool) -> AnswerRow:
    later = ", and did not pass later" if is_open else ""
    text = f"{quote(row['scope'] or row['actor'], 80)} failed ({row['source']}{later}){_names(row['failing'])}"
    refs: list[str] = row["evidence_refs"] or []
    return AnswerRow(text, (*refs[:2], message(row["message_id"])))


def _names(failing: list[str] | None) -> str:
    shown = ", ".join(quote(one, 80) for one in (failing or [])[:3])
    more = f" and {len(failing or []) - 3} more" if len(failing or []) > 3 else ""
    return f": {shown}{more}" if shown else ""


def second_strategies(number: int, given: AuditInput) -> Answer:
    """What followed failures: changes between a failing check and the next one, other calls, and branches."""
    rows = [*_after_checks(given), *_after_calls(given), *_branches(given)]
    said = f"{plural(len(rows), 'time')} a failure was followed by another attempt, or a branch was taken:"
    return answer(number, rows, said, "No failure was followed by another attempt.")


def _after_checks(given: AuditInput) -> Iterator[AnswerRow]:
    checks = given.material.checks.filter(pl.col("verdict").is_in(["passed", "failed"])).to_dicts()
    for number, check in enumerate(checks):
        if check["verdict"] != "failed":
            continue
        later = next((one for one in checks[number + 1 :] if one["sequence_no"] > check["sequence_no"]), None)
        end = later["sequence_no"] if later is not None else None
        between = given.material.changes.filter(
            pl.col("seen_at") > check["sequence_no"], pl.lit(end is None) | (pl.col("seen_at") <= (end or 0))
        )
        if not between.height:
            continue
        names = ", ".join(quote(one, 60) for one in between["name"].drop_nulls().unique(maintain_order=True).head(5))
        then = (
            f"then {quote(later['scope'] or later['actor'], 60)} {later['verdict']}" if later else "no check followed"
        )
        why = f"{quote(check['scope'] or check['actor'], 60)} failed; it changed {names or 'the tree'}; {then}."
        refs = (check["reference"], *between["reference"].head(3), *([later["reference"]] if later else []))
        yield AnswerRow(why + _said_after(given, check["step"], refs), refs)


def _said_after(given: AuditInput, step: int | None, refs: tuple[str, ...]) -> str:
    del refs
    said = given.words.get((step if step is not None else -2) + 1)
    return f" The model said: “{quote(said[1])}”" if said is not None else ""


def _after_calls(given: AuditInput) -> Iterator[AnswerRow]:
    """A call that failed, and the next of the same tool with other arguments."""
    calls = given.calls.filter(pl.col("action") != "shell").select(
        "tool_name", "status", "arguments_hash", "reference", "step"
    )
    rows = calls.with_columns(
        next_hash=pl.col("arguments_hash").shift(-1).over("tool_name"),
        next_ref=pl.col("reference").shift(-1).over("tool_name"),
        next_status=pl.col("status").shift(-1).over("tool_name"),
    ).filter(pl.col("status") == "FAILED", pl.col("next_hash") != pl.col("arguments_hash"))
    for row in rows.iter_rows(named=True):
        refs = (row["reference"], row["next_ref"])
        why = (
            f"{quote(row['tool_name'], 60)} failed and was called with other arguments ({row['next_status'].lower()})."
        )
        yield AnswerRow(why + _said_after(given, row["step"], refs), refs)


def _branches(given: AuditInput) -> Iterator[AnswerRow]:
    for run_id, relation, forked_at in given.children.filter(pl.col("relation").is_in(_BRANCHES)).select(
        "run_id", "relation", "forked_at"
    ).iter_rows():  # fmt: skip
        refs = (message(forked_at),) if forked_at is not None else ()
        yield AnswerRow(f"Run {quote(run_id)} goes on from here as a {relation}.", refs)


def secrets(number: int, given: AuditInput) -> Answer:
    """Secrets that were taken out of what it read or wrote, and files of secrets that it touched."""
    found = given.redactions.group_by("message_id", "secret_type", maintain_order=True).agg(pl.len())
    rows = [
        AnswerRow(
            f"{quote(kind, 80)}: {plural(count, 'placeholder')} in a message of the kind "
            f"{given.kinds.get(place, ('unknown', None))[0]} (the value is not kept)", (message(place),),
        )
        for place, kind, count in found.iter_rows()
    ]  # fmt: skip
    touched = given.calls.filter(pl.col("path").str.contains(_KEY_FILES).fill_null(value=False))
    rows += [
        AnswerRow(f"{quote(tool, 60)} touched {quote(path)}, a file that holds secrets by custom", (ref,))
        for tool, path, ref in touched.select("tool_name", "path", "reference").iter_rows()
    ]
    said = (
        f"{plural(found.height, 'place')} with redacted secrets, {plural(touched.height, 'call')} on files of secrets:"
    )
    nothing = (
        "No secret was redacted in it, and no call names a file of secrets. A secret that no rule knows is not found."
    )
    return answer(number, rows, said, nothing)


def untrusted_instructions(number: int, given: AuditInput) -> Answer:
    """Calls traced to untrusted text, and markers of injection that the model was shown."""
    marked = set(given.material.markers["part_id"])
    rows = [
        AnswerRow(
            f"{quote(row['tool_name'], 60)} names {quote(row['value'], 100)}, which only {_level(row)} text had named "
            f"({row['severity']}{', in a part with markers of injection' if row['source_part_id'] in marked else ''})",
            (message(row["message_id"]), message(row["source_message_id"])),
        )
        for row in given.material.tainted.iter_rows(named=True)
    ]
    shown = given.material.markers.filter(pl.col("exposure") != "not_shown")
    by_message = shown.group_by("message_id", maintain_order=True).agg(
        pl.col("rule").unique().sort(), pl.col("excerpt").first()
    )
    rows += [
        AnswerRow(
            f"The model was shown text with markers ({', '.join(rules)}): “{quote(text, 120)}”", (message(place),)
        )
        for place, rules, text in by_message.iter_rows()
    ]
    calls = given.material.tainted["tool_call_id"].n_unique()
    said = (
        f"{plural(calls, 'call')} traced to untrusted text, {plural(by_message.height, 'message')} with markers shown:"
    )
    nothing = "No call is traced to untrusted text, and no known marker was shown. That does not make the run clean."
    return answer(number, rows, said, nothing)


def _level(row: dict[str, Any]) -> str:
    return str(row["source_trust_level"] or "unlabelled").lower().replace("_", " ")


# Verdicts


def judged(given: AuditInput) -> Iterator[str]:
    """What judges say of the run, and how far each can be trusted."""
    keys = ["judge_id", "judge_version", "rubric_hash", "kind"]
    known = {row[:4]: row[4:] for row in given.calibrations.select(*keys, "labelled", "kappa").iter_rows()}
    for row in given.judgements.filter(pl.col("kind") == "run").iter_rows(named=True):
        score = "" if row["score"] is None else f", score {row['score']:.2f}"
        trust = known.get(tuple(row[name] for name in keys))
        if trust is None:
            how = "NOT CALIBRATED: nobody has held this judge against people's labels"
        else:
            kappa = "not known" if trust[1] is None else f"{trust[1]:.2f}"
            how = f"calibrated on {plural(trust[0], 'label')}, kappa {kappa}"
        who = f"{row['judge_id']} by {row['rubric_id']} {row['rubric_version']}"
        yield f"{who}: {row['label']}{score} ({how}). {row['rationale'] or ''}"


def annotated(given: AuditInput) -> Iterator[str]:
    """What people say of the run and of things in it."""
    for row in given.annotations.iter_rows(named=True):
        words: list[str | None] = [row["label"], *(row["tags"] or []), row["note"]]
        where = f" of {row['reference']}" if row["reference"] else ""
        yield f"{row['by']}{where}: {' · '.join(one for one in words if one)}"


def patterned(given: AuditInput) -> Iterator[str]:
    """The anti-patterns of the run, with what each cost."""
    for row in given.patterns.iter_rows(named=True):
        cost = "cost not known" if row["cost"] is None else f"cost {format_money(row['cost'])}"
        yield f"{row['pattern'].replace('_', ' ')} ({row['severity']}, {cost}): {row['why']}"
