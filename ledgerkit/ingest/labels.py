"""Outcomes and labels from outside: a table with a row for each run, which becomes messages of these runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from ledgerkit.errors import ImportSourceError
from ledgerkit.protocol.messages import AppendMessageCommand
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Verdict, Visibility

KEYS: Final = ("run_id", "session_id", "task_id")
"""Columns that say which run a row is about, the first that is there."""
ACTOR: Final = "labels"
_VERDICTS: Final = {
    Verdict.PASSED: ("passed", "pass", "success", "successful", "succeeded", "resolved", "true", "1", "1.0", "yes"),
    Verdict.FAILED: ("failed", "fail", "failure", "unresolved", "error", "false", "0", "0.0", "no"),
    Verdict.INCONCLUSIVE: ("inconclusive", "unknown", "none", "null", "nan", "n/a"),
}
_WORDS: Final = {word: verdict for verdict, words in _VERDICTS.items() for word in words}
_PARQUET: Final = b"PAR1"


@dataclass(frozen=True, slots=True)
class LabelAccount:
    """What became of a table of labels.

    Attributes:
        rows: Rows of the table.
        labelled: Rows whose labels are in the ledger now, or were before.
        messages: Messages that are new.
        unmatched: Keys for which the ledger has no run, or more than one.
    """

    rows: int
    labelled: int
    messages: int
    unmatched: tuple[str, ...]


def read_labels(path: Path) -> pl.DataFrame:
    """A table of labels: Parquet, JSON, JSON Lines or CSV, told by its first bytes.

    Raises:
        ImportSourceError: If it is no table, or names no runs.
    """
    try:
        with path.open("rb") as file:
            head = file.read(64).lstrip()
        if head.startswith(_PARQUET):
            frame = pl.read_parquet(path, glob=False)
        elif head.startswith(b"["):
            frame = pl.read_json(path, infer_schema_length=None)
        elif head.startswith(b"{"):
            frame = pl.read_ndjson(path, infer_schema_length=None)
        else:
            frame = pl.read_csv(path, infer_schema=False, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ImportSourceError(f"{path} is no table of labels: {error}") from error
    if key_of(frame) is None:
        raise ImportSourceError(f"{path} names no runs: a column {', '.join(KEYS[:-1])} or {KEYS[-1]} is needed.")
    return frame


def key_of(frame: pl.DataFrame) -> str | None:
    """The column that says which run a row is about."""
    return next((name for name in KEYS if name in frame.columns), None)


def label_commands(row: Mapping[str, Any], run: tuple[str, str], where: str) -> Iterator[AppendMessageCommand]:
    """The messages for a row: its outcome as a verdict, everything else as labels.

    Args:
        row: The row, without the keys of runs.
        run: Session and run.
        where: The file and row, for errors and as what the message says of its source.

    Raises:
        ImportSourceError: If the outcome is no outcome.
    """
    given = {name: value for name, value in row.items() if value is not None}
    outcome = given.pop("outcome", None)
    if outcome is not None:
        verdict = _WORDS.get(str(outcome).strip().lower())
        if verdict is None:
            known = ", ".join(words[0] for words in _VERDICTS.values())
            raise ImportSourceError(f"{where}: {outcome!r} is no outcome. Known: {known}, true, false.")
        part = {"type": "verification", "verdict": verdict.value, "check": "label", "scope": "run"}
        yield _command(run, MessageKind.VERIFIER_RESULT, part)
    if given:
        yield _command(run, MessageKind.JUDGE_RESULT, {"type": "json", "data": {"labels": given}})


def _command(run: tuple[str, str], kind: MessageKind, part: dict[str, Any]) -> AppendMessageCommand:
    said = json.dumps([*run, part], sort_keys=True, default=str)
    labels = {"trust_level": TrustLevel.USER_TRUSTED.value, "visibility": Visibility.HUMAN_VISIBLE.value}
    return AppendMessageCommand.model_validate_json(
        json.dumps(
            {
                "session_id": run[0],
                "run_id": run[1],
                "kind": kind.value,
                "actor": ACTOR,
                "idempotency_key": f"labels:{hashlib.sha256(said.encode()).hexdigest()[:32]}",
                "parts": [{**part, **labels}],
            },
            default=str,
        )
    )


def apply_labels(
    path: Path,
    runs: pl.DataFrame,
    append: Callable[[AppendMessageCommand], bool],
    resolve: Callable[[str], tuple[str, str] | None],
) -> LabelAccount:
    """Gives runs the labels of a table.

    Args:
        path: The table.
        runs: The ledger's runs: ``session_id``, ``run_id``, ``task_id``.
        append: Appends a message; says whether it is new.
        resolve: Session and run of an id that was shortened; None where no run, or more than one, fits.

    Raises:
        ImportSourceError: If it is no table, names no runs, or has an outcome that is none. Then nothing is appended.
    """
    frame = read_labels(path)
    key = key_of(frame) or KEYS[0]
    keys = pl.col(key).cast(pl.String)
    known: dict[str, list[tuple[str, str]]] = {}
    for row in runs.filter(pl.col(key).is_not_null()).iter_rows(named=True):
        known.setdefault(row[key], []).append((row["session_id"], row["run_id"]))
    planned: list[AppendMessageCommand] = []
    unmatched: list[str] = []
    for number, row in enumerate(frame.with_columns(keys).iter_rows(named=True), start=1):
        name = row[key]
        about = known.get(name) or _shortened(known, key, name, resolve)
        if not about:
            unmatched.append(str(name))
            continue
        said = {column: value for column, value in row.items() if column not in (key, *KEYS[:2])}
        for run in about:
            planned += label_commands(said, run, f"{path}, row {number}")
    return LabelAccount(
        rows=frame.height,
        labelled=frame.height - len(unmatched),
        messages=sum(append(command) for command in planned),
        unmatched=tuple(unmatched),
    )


def _shortened(
    known: Mapping[str, list[tuple[str, str]]],
    key: str,
    name: str | None,
    resolve: Callable[[str], tuple[str, str] | None],
) -> list[tuple[str, str]]:
    """The runs of a shortened id, as tables show them; names of tasks are never shortened."""
    if name is None or key not in KEYS[:2] or (found := resolve(name)) is None:
        return []
    return [found] if key == "run_id" else known.get(found[0], [])
